/** What is where on a picture: which boxes are shown, in which colours, and in which words. */

import type { Schemas } from "../api/types";
import type { Theme } from "../glyphs/forms";
import { COLOURS } from "../runs/curves";

export type Marks = Schemas["Marks"];
export type MarkedBox = Schemas["MarkedBox"];

/** The colour of a class; the background, which is class 0, has none. */
export const classColour = (label: number, theme: Theme): string =>
  COLOURS[theme][(label - 1 + COLOURS[theme].length) % COLOURS[theme].length] ?? "#888888";

/** Red, green and blue of a colour such as #5a3fd0. */
export const channelsOf = (colour: string): [number, number, number] =>
  [1, 3, 5].map((i) => Number.parseInt(colour.slice(i, i + 2), 16)) as [number, number, number];

export const surely = (score: number | null): string => (score === null ? "" : `${Math.round(100 * score)} %`);

/** The boxes that are sure enough; what is true always is. */
export const sureBoxes = (marks: Marks | null | undefined, least: number): MarkedBox[] =>
  (marks?.boxes ?? []).filter((box) => box.score === null || box.score >= least);

/** Where a box lies, in parts of the picture. */
export function shareOf(box: MarkedBox, { width, height }: Marks): { x: number; y: number; w: number; h: number } {
  const [x1, y1, x2, y2] = box.corners;
  return { x: x1 / width, y: y1 / height, w: (x2 - x1) / width, h: (y2 - y1) / height };
}

/** How many of all pixels each class has; classes without any are left out. */
export function pixelShares(pixels: readonly (readonly number[])[]): Map<number, number> {
  const counts = new Map<number, number>();
  let all = 0;
  for (const row of pixels)
    for (const label of row) {
      counts.set(label, (counts.get(label) ?? 0) + 1);
      all++;
    }
  return new Map([...counts].sort(([a], [b]) => a - b).map(([label, count]) => [label, count / Math.max(1, all)]));
}

/** The edges between pixels of different classes, as a path in pixels. */
export function outlineOf(pixels: readonly (readonly number[])[]): string {
  const parts: string[] = [];
  pixels.forEach((row, y) => {
    row.forEach((label, x) => {
      if (x && row[x - 1] !== label) parts.push(`M${x} ${y}v1`);
      if (y && pixels[y - 1]?.[x] !== label) parts.push(`M${x} ${y}h1`);
    });
  });
  return parts.join("");
}

/** The classes that a legend names: all that can be marked, the background left out. */
export const legendOf = (marks: readonly (Marks | null | undefined)[]): [number, string][] => {
  const classes = marks.find((one) => one?.classes.length)?.classes ?? [];
  return classes.map((name, label): [number, string] => [label, name]).slice(1);
};

/** What a screen reader says of marks: the surest boxes, or the shares of the classes. */
export function spokenMarks(marks: Marks | null | undefined, least: number, nothing: string): string {
  if (!marks) return "";
  if (marks.pixels) {
    const shares = [...pixelShares(marks.pixels)].filter(([label]) => label > 0);
    const told = shares.map(([label, share]) => `${marks.classes[label] ?? label} ${surely(share)}`);
    return told.join(", ") || nothing;
  }
  const boxes = sureBoxes(marks, least).map((box) => `${box.name}${box.score === null ? "" : ` ${surely(box.score)}`}`);
  return boxes.join(", ") || nothing;
}

/** How much of two boxes is shared. */
export function overlap(first: MarkedBox, second: MarkedBox): number {
  const [a, b] = [first.corners, second.corners];
  const width = Math.min(a[2], b[2]) - Math.max(a[0], b[0]);
  const height = Math.min(a[3], b[3]) - Math.max(a[1], b[1]);
  if (width <= 0 || height <= 0) return 0;
  const area = (c: MarkedBox["corners"]) => (c[2] - c[0]) * (c[3] - c[1]);
  return (width * height) / (area(a) + area(b) - width * height);
}

export interface Judged {
  right: number;
  extra: number;
  missed: number;
}

/** Count the boxes that are right, found where nothing is, and missed: each true one is found once at most. */
export function judge(found: Marks | null | undefined, there: Marks | null | undefined, least: number): Judged | null {
  if (!found || !there || ((found.pixels || there.pixels) && !found.boxes.length && !there.boxes.length)) return null;
  const left = new Set(there.boxes);
  const boxes = sureBoxes(found, least);
  let right = 0;
  for (const box of boxes) {
    const match = [...left].find((one) => one.label === box.label && overlap(one, box) >= 0.5);
    if (!match) continue;
    left.delete(match);
    right++;
  }
  return { right, extra: boxes.length - right, missed: left.size };
}
