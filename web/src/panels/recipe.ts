/** What the form of a recipe has a place for, and what of it can be said here. */

import type { Attribute, Attributes, RecipeField } from "../api/types";

const KINDS = { whole: "size", number: "number", flag: "flag", text: "text", choice: "choice" } as const;

/** A recipe's field in the form of an attribute, for those that are one value. */
export function asAttribute(field: RecipeField): Attribute | null {
  const kind = KINDS[field.kind as keyof typeof KINDS];
  if (!kind) return null;
  const { name, help, minimum = null, maximum = null } = field;
  const choices = field.choices ?? [];
  const automatic = field.default === 0 && help.includes("0 = choose");
  return {
    ...{ name, help, kind, minimum, maximum, choices, default: automatic ? "auto" : field.default },
    ...{ inferred: false, required: false, letter: "", axes: 0, unit: "" },
  };
}

/** Fields that are lists, and shown all the same. */
const LISTS = ["recompute"];

/** Whether the form has a place for a field. */
export const isShown = (field: RecipeField): boolean => asAttribute(field) !== null || LISTS.includes(field.name);

/** The form of what is written into a field; in capitals, since no value looks so. */
export const FORMS: Record<string, string> = {
  switch_engine: "ENGINE@STEP",
  init_renamed: "OLD=NEW",
  resize: "HEIGHTxWIDTH",
};

export const SECTIONS = {
  startsFrom: ["init_from", "init_memory", "init_renamed"],
  computes: ["device", "precision", "engine", "switch_engine", "threads", "loaders", "recompute"],
  severalWorkers: ["workers", "sharded", "joint_norm"],
  keeps: ["checkpoint", "signals"],
} as const;

export const SECTIONED: readonly string[] = Object.values(SECTIONS).flat();

const isAlone = (recipe: Attributes): boolean => Number(recipe.workers ?? 1) < 2;

/** Whether a field has no use beside the others: one worker alone shares nothing, parted weights give no signals. */
export function isIdle(name: string, recipe: Attributes): boolean {
  if (name === "sharded" || name === "joint_norm") return isAlone(recipe);
  return name === "signals" && recipe.sharded === true && !isAlone(recipe);
}

/** Leave out what cannot be had here, and what has no use beside the rest. */
export function possible(recipe: Attributes, fields: RecipeField[]): Attributes {
  const missing = fields.filter((field) => field.missing).map((field) => field.name);
  const had = Object.fromEntries(Object.entries(recipe).filter(([name]) => !missing.includes(name)));
  return Object.fromEntries(Object.entries(had).filter(([name]) => !isIdle(name, had)));
}
