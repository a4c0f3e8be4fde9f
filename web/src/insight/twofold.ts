/** Networks that can be seen as a plane: those with two input numbers. */

import type { Report } from "../api/types";
import type { Drawing } from "../model/drawing";

/** How many numbers enter a drawing, as far as it is checked. */
export function inputCount(drawing: Drawing, report: Report | null): number {
  let count = 0;
  for (const { id, symbol } of drawing.capsule.values()) {
    if (symbol !== "data") continue;
    const output = report?.structures.capsules[id]?.output;
    count += output ? output.shape.reduce<number>((product, size) => product * Number(size), 1) : Number.NaN;
  }
  return count;
}

export const hasSurface = (drawing: Drawing, report: Report | null): boolean => inputCount(drawing, report) === 2;
