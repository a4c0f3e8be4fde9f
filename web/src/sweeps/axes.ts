/** The axes of a parallel-coordinates plot, and what a person types for a list or a range. */

import type { Value } from "../api/types";
import { accuracyOf, figure, isShare } from "../runs/listing";
import type { PlaceRow, SweepDetail, TrialRow } from "./api";

export interface Axis {
  key: string;
  title: string;
  /** Where a value lies, from 0 (below) to 1; null when it has no place. */
  at: (trial: TrialRow) => number | null;
  ticks: { at: number; label: string }[];
}

/** An interval of an axis that a person has marked. */
export type Brushes = Readonly<Record<string, readonly [number, number]>>;
export const RESULT = "";

const shown = (value: Value | undefined): string =>
  typeof value === "number" ? String(+value.toPrecision(4)) : typeof value === "string" ? value : JSON.stringify(value);

export const shortPath = (path: string) => path.slice(path.indexOf(".") + 1);
export const valueText = shown;

interface Spread {
  from: number;
  to: number;
  scale?: string;
}

const isSpread = (over: unknown): over is Spread => typeof over === "object" && over !== null && "from" in over;

/** Ticks that a person would choose: powers of ten and their 2 and 5 on a log axis, round steps else. */
export function ticksOf(low: number, high: number, log: boolean): number[] {
  if (!(high > low)) return [low];
  if (log) {
    const ticks = (multiples: readonly number[]): number[] => {
      const found: number[] = [];
      for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high) + 1; e++)
        for (const m of multiples) found.push(+(m * 10 ** e).toPrecision(3));
      return found.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
    };
    const all = ticks([1, 2, 5]);
    const few = all.length > 7 ? ticks([1]) : all;
    return few.length > 1 ? few : [low, high];
  }
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? power;
  const found: number[] = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step / 1e6; tick += step)
    found.push(+tick.toPrecision(6));
  return found.length > 1 ? found : [low, high];
}

function numbers(
  key: string,
  title: string,
  low: number,
  high: number,
  log: boolean,
  of: (trial: TrialRow) => unknown,
): Axis {
  const scale = (value: number) => (log ? Math.log(value) : value);
  const [a, b] = [scale(low), scale(high)];
  const place = (value: number) => (b > a ? (scale(value) - a) / (b - a) : 0.5);
  return {
    key,
    title,
    at: (trial) => {
      const value = of(trial);
      return typeof value === "number" && (!log || value > 0) ? Math.min(1, Math.max(0, place(value))) : null;
    },
    ticks: ticksOf(low, high, log).map((tick) => ({ at: place(tick), label: figureText(tick) })),
  };
}

const figureText = (value: number) =>
  Math.abs(value) >= 1e4 || (value !== 0 && Math.abs(value) < 1e-3)
    ? value.toExponential(0)
    : String(+value.toPrecision(4));

/** One axis for each varied place, in order, and one for what decides. */
export function axesOf(sweep: SweepDetail, title: string): Axis[] {
  const axes = Object.entries(sweep.space).map(([path, over]): Axis => {
    const of = (trial: TrialRow) => trial.values[path];
    if (isSpread(over)) return numbers(path, shortPath(path), over.from, over.to, over.scale === "log", of);
    const values = (over as Value[]).map((value) => JSON.stringify(value));
    const place = (i: number) => (values.length > 1 ? i / (values.length - 1) : 0.5);
    return {
      key: path,
      title: shortPath(path),
      at: (trial) => {
        const index = values.indexOf(JSON.stringify(of(trial)));
        return index < 0 ? null : place(index);
      },
      ticks: (over as Value[]).map((value, i) => ({ at: place(i), label: shown(value) })),
    };
  });
  const results = sweep.rows.flatMap((trial) => (trial.value === null ? [] : [trial.value]));
  if (!results.length) return axes;
  const [low, high] = [Math.min(...results), Math.max(...results)];
  // Losses that differ by orders of magnitude would all lie at the bottom.
  const log = low > 0 && high / low > 30;
  return [...axes, numbers(RESULT, title, low, high, log, (trial) => trial.value)];
}

/** Whether a trial passes every marked interval. */
export function passes(trial: TrialRow, axes: readonly Axis[], brushes: Brushes): boolean {
  return axes.every((axis) => {
    const brush = brushes[axis.key];
    if (!brush) return true;
    const at = axis.at(trial);
    return at !== null && at >= brush[0] - 1e-9 && at <= brush[1] + 1e-9;
  });
}

/** How good a trial is among all, from 0 (worst) to 1 (best), by its rank: one that failed to learn hides no other. */
export function goodness(sweep: SweepDetail): ReadonlyMap<number, number> {
  const measured = sweep.rows.filter((trial) => trial.value !== null);
  const order = [...measured].sort((a, b) => ((a.value ?? 0) - (b.value ?? 0)) * (sweep.highest ? 1 : -1));
  return new Map(order.map((trial, i) => [trial.number, order.length > 1 ? i / (order.length - 1) : 1]));
}

export type TrialColumn = "number" | "state" | "value" | "accuracy" | "epochs" | (string & {});

/** Trials in the wished order; those that have no value stand last, whichever way. */
export function sortedTrials(rows: readonly TrialRow[], column: TrialColumn | null, down: boolean): TrialRow[] {
  if (column === null) return [...rows];
  const key = (trial: TrialRow): Value | undefined =>
    column === "number"
      ? trial.number
      : column === "state"
        ? trial.state
        : column === "value"
          ? trial.value
          : column === "epochs"
            ? trial.epochs
            : column === "accuracy"
              ? accuracyOf({ values: trial.scores })
              : trial.values[column];
  return [...rows].sort((a, b) => {
    const [x, y] = [key(a) ?? null, key(b) ?? null];
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
    const way = typeof x === "number" && typeof y === "number" ? x - y : shown(x).localeCompare(shown(y));
    return down ? -way : way;
  });
}

const RANGE = /^([^\s,[{]+?)\.\.([^\s,]+)(\s+log)?(?:\s+(\d+))?$/;

function plain(text: string, kind: PlaceRow["kind"]): Value {
  if (kind === "text") return text;
  try {
    return JSON.parse(text) as Value;
  } catch {
    return text;
  }
}

/** What was typed for a place, as the server takes it: a list, or a range. */
export function overOf(text: string, kind: PlaceRow["kind"]): Value {
  const trimmed = text.trim();
  if (/^[[{]/.test(trimmed)) return plain(trimmed, "value");
  const found = kind === "whole" || kind === "number" ? RANGE.exec(trimmed) : null;
  if (found) {
    const [, low = "", high = "", log, points] = found;
    const spread: Record<string, Value> = { from: plain(low, kind), to: plain(high, kind) };
    return { ...spread, scale: log ? "log" : "linear", ...(points ? { points: Number(points) } : {}) };
  }
  return trimmed
    .split(",")
    .filter((part) => part.trim())
    .map((part) => plain(part.trim(), kind));
}

/** How many points a grid takes of what was typed. */
export function pointsOf(over: Value): number {
  if (Array.isArray(over)) return over.length;
  return typeof over === "object" && over !== null && "points" in over ? Number(over.points) : 5;
}

/** What to try first, as a person might type it: around what a place holds now. */
export function proposal(place: PlaceRow): string {
  const now = place.now;
  if (place.kind === "flag") return "true, false";
  if (place.choices.length) {
    const others = place.choices.filter((choice) => choice !== now && choice !== "auto").slice(0, 2);
    return [...(typeof now === "string" && now ? [now] : []), ...others].join(", ");
  }
  if (place.path === "recipe.optimiser.rate") return "0.0001..0.1 log";
  if (place.path === "recipe.seed") return "0, 1, 2";
  if (place.kind === "whole" && typeof now === "number" && now > 0) {
    const around = [Math.max(place.minimum ?? 1, Math.floor(now / 2)), now, now * 2];
    return [...new Set(around)].filter((one) => one <= (place.maximum ?? Number.POSITIVE_INFINITY)).join(", ");
  }
  if (place.kind === "number" && typeof now === "number" && now > 0) {
    const most = place.maximum ?? Number.POSITIVE_INFINITY;
    return `${+(now / 2).toPrecision(3)}, ${now}, ${+Math.min(now * 2, (now + most) / 2).toPrecision(3)}`;
  }
  return now === null || now === undefined || now === "" ? "" : shown(now);
}

/** The value that decides, for people. */
export function resultText(value: number | null, monitor: string): string {
  if (value === null) return "–";
  return isShare(monitor) ? `${(value * 100).toFixed(2)} %` : figure(value);
}
