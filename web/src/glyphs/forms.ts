/** Shapes by rank and colours by theme: the measures of the pictures that Inkcap writes, so that both look alike. */

import type { Glyph } from "../api/types";

export type Shape = "circle" | "pill" | "stack" | "volume" | "group" | "note";
export type Theme = "light" | "dark";

export interface Form {
  halfWidth: number;
  halfHeight: number;
  mark: number;
  /** How far sheets lie behind, to the right and above. */
  sheets: number;
}

export const FORMS: Record<Shape, Form> = {
  circle: { halfWidth: 17, halfHeight: 17, mark: 26, sheets: 0 },
  pill: { halfWidth: 12.5, halfHeight: 32.7, mark: 25, sheets: 0 },
  stack: { halfWidth: 24, halfHeight: 24, mark: 44, sheets: 8.7 },
  volume: { halfWidth: 24, halfHeight: 24, mark: 40, sheets: 13 },
  group: { halfWidth: 46, halfHeight: 26, mark: 0, sheets: 0 },
  note: { halfWidth: 90, halfHeight: 30, mark: 0, sheets: 0 },
};

const BY_RANK: Shape[] = ["circle", "pill", "stack", "volume"];

export const shapeOf = (rank: number): Shape => BY_RANK[rank] ?? "stack";

export const extent = (form: Form) => ({
  width: form.halfWidth * 2 + form.sheets,
  height: form.halfHeight * 2 + form.sheets,
});

function channels(colour: string): number[] {
  return [1, 3, 5].map((i) => Number.parseInt(colour.slice(i, i + 2), 16));
}

function blend(first: string, second: string, share: number): string {
  const [a, b] = [channels(first), channels(second)];
  return `#${a
    .map((x, i) =>
      Math.round(x + ((b[i] ?? 0) - x) * share)
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;
}

const kept = new Map<string, [string, string]>();

/** Ink and wash of a symbol in a theme. */
export function colours(glyph: Pick<Glyph, "ink" | "wash">, theme: Theme): [string, string] {
  if (theme === "light") return [glyph.ink, glyph.wash];
  const there = kept.get(glyph.ink);
  if (there) return there;
  const made: [string, string] = [blend(glyph.ink, "#ffffff", 0.42), blend("#161822", glyph.ink, 0.3)];
  kept.set(glyph.ink, made);
  return made;
}
