/** Curves of several runs for one plot: chosen by what they measure, smoothed, on common steps. */

import type uPlot from "uplot";
import type { Drawn } from "../api/types";
import { QUALITIES } from "./listing";

export type Points = [number, number][];

/** Colours of runs, told apart also by those who see red and green alike; in the order in which runs are chosen. */
export const COLOURS = {
  light: ["#5a3fd0", "#c8641b", "#12805c", "#c2327f", "#1f6fb5", "#8a6d00", "#7a4a2b", "#4d5568"],
  dark: ["#a797f0", "#f0a566", "#5cc795", "#f08abb", "#72b4ee", "#d9bd4e", "#c99a78", "#a3a8ba"],
} as const;

export const colourOf = (i: number, theme: "light" | "dark") => COLOURS[theme][i % COLOURS[theme].length] ?? "#888888";

export interface Measure {
  key: string;
  /** What is drawn solid, and what dashed beside it. */
  solid: string;
  dashed?: string;
}

/** What can be drawn of these runs: the loss first, then accuracy and rate, then whatever else was measured. */
export function measuresOf(drawn: readonly Drawn[]): Measure[] {
  const names = new Set(drawn.flatMap((one) => Object.keys(one.series)));
  const found: Measure[] = [];
  if (names.has("loss") || names.has("val_loss")) found.push({ key: "loss", solid: "loss", dashed: "val_loss" });
  for (const name of QUALITIES) if (names.has(`val_${name}`)) found.push({ key: name, solid: `val_${name}` });
  if (names.has("rate")) found.push({ key: "rate", solid: "rate" });
  const known = new Set(["loss", "val_loss", "rate", ...QUALITIES.map((name) => `val_${name}`)]);
  return [...found, ...[...names].filter((name) => !known.has(name)).map((name) => ({ key: name, solid: name }))];
}

/** A moving mean in which older values count less and less; its beginning is not drawn towards nought. */
export function smoothed(points: Points, weight: number): Points {
  if (weight <= 0) return points;
  let [mean, total] = [0, 0];
  return points.map(([step, value]) => {
    mean = weight * mean + (1 - weight) * value;
    total = weight * total + (1 - weight);
    return [step, mean / total];
  });
}

export interface Line {
  run: string;
  points: Points;
  dashed: boolean;
  /** What was measured, under the smoothed curve. */
  faint: boolean;
}

export function linesOf(drawn: readonly Drawn[], measure: Measure, weight: number): Line[] {
  return drawn.flatMap(({ id, series }) =>
    [measure.solid, measure.dashed ?? ""].flatMap((name, i): Line[] => {
      const points = series[name];
      if (!points?.length) return [];
      const line = { run: id, dashed: i === 1, faint: false };
      const smooth = { ...line, points: smoothed(points, weight) };
      return weight > 0 ? [{ ...line, points, faint: true }, smooth] : [smooth];
    }),
  );
}

/** One table for uPlot: all steps, and each line where it has a value; a logarithm has no place for nought. */
export function tableOf(lines: readonly Line[], logarithmic: boolean): uPlot.AlignedData {
  const steps = [...new Set(lines.flatMap((line) => line.points.map(([step]) => step)))].sort((a, b) => a - b);
  const at = new Map(steps.map((step, i) => [step, i]));
  const columns = lines.map((line) => {
    const column: (number | null | undefined)[] = new Array(steps.length).fill(undefined);
    for (const [step, value] of line.points)
      column[at.get(step) ?? 0] = Number.isFinite(value) && !(logarithmic && value <= 0) ? value : null;
    return column;
  });
  return [steps, ...columns] as uPlot.AlignedData;
}
