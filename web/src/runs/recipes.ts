/** Recipes beside each other: each as fields by name, and of several only what is different. */

import type { Value } from "../api/types";

export interface FieldRow {
  name: string;
  values: string[];
}

const said = (value: Value | undefined): string =>
  value === undefined || value === null || value === ""
    ? "–"
    : typeof value === "string"
      ? value
      : JSON.stringify(value);

/** The fields of a recipe by their paths: optimiser.rate, data.name, losses.0.kind. */
export function flat(value: Value | undefined, path = ""): Map<string, string> {
  const found = new Map<string, string>();
  if (typeof value !== "object" || value === null) return path ? found.set(path, said(value)) : found;
  for (const [name, inner] of Object.entries(value)) {
    if (!path && (name === "format" || name === "version")) continue;
    for (const [key, text] of flat(inner as Value, path ? `${path}.${name}` : name)) found.set(key, text);
  }
  return found;
}

/** A row for every field; of several recipes for every field that is different. */
export function compared(recipes: readonly Value[]): FieldRow[] {
  const all = recipes.map((recipe) => flat(recipe));
  const names = [...new Set(all.flatMap((one) => [...one.keys()]))];
  const rows = names.map((name) => ({ name, values: all.map((one) => one.get(name) ?? "–") }));
  return recipes.length < 2 ? rows : rows.filter(({ values }) => values.some((value) => value !== values[0]));
}
