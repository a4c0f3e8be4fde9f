/** What is measured of a network while it learns, and how numbers of many things become one colour scale. */

import type { Signals } from "./api";

export const MEASURES = ["delta", "output", "weight", "update", "dead", "milliseconds", "megabytes"] as const;
export type Measure = (typeof MEASURES)[number];

/** How what lies in a closed group becomes one number. */
export type Together = "sum" | "norm" | "most";

export const TOGETHER: Record<Measure, Together> = {
  delta: "most",
  output: "most",
  weight: "norm",
  update: "most",
  dead: "most",
  milliseconds: "sum",
  megabytes: "sum",
};

export type Sample = number | null | undefined;
const isNumber = (value: Sample): value is number => typeof value === "number" && Number.isFinite(value);

/** One number for many; none where there is none. */
export function together(values: Iterable<Sample>, how: Together): number | null {
  let found = false;
  let sum = 0;
  for (const value of values) {
    if (!isNumber(value)) continue;
    sum = how === "sum" ? sum + value : how === "norm" ? Math.hypot(sum, value) : found ? Math.max(sum, value) : value;
    found = true;
  }
  return found ? sum : null;
}

export type Series = readonly Sample[];

/** The measure of a thing of the network over the epochs; none where it has none. */
export function seriesOf(signals: Signals, id: string, measure: Measure): Series | undefined {
  const capsule = signals.capsules[id] as Partial<Record<Measure, Series | null>> | undefined;
  const line = signals.connections[id] as Partial<Record<Measure, Series | null>> | undefined;
  const found = capsule?.[measure] ?? line?.[measure];
  return found?.some((value) => value !== null && value !== undefined) ? found : undefined;
}

const indexes = new WeakMap<Signals, Map<string, string[]>>();

/** Everything of the network that lies in a use of a group, by the use's path. */
export function within(signals: Signals, use: string): readonly string[] {
  let index = indexes.get(signals);
  if (!index) {
    index = new Map();
    for (const id of [...Object.keys(signals.capsules), ...Object.keys(signals.connections)])
      for (let end = id.lastIndexOf("."); end > 0; end = id.lastIndexOf(".", end - 1)) {
        const path = id.slice(0, end);
        const there = index.get(path);
        if (there) there.push(id);
        else index.set(path, [id]);
      }
    indexes.set(signals, index);
  }
  return index.get(use) ?? [];
}

/** The measure of a closed group over the epochs. */
export function groupSeries(signals: Signals, use: string, measure: Measure): Series | undefined {
  const all = within(signals, use).flatMap((id) => {
    const one = seriesOf(signals, id, measure);
    return one ? [one] : [];
  });
  if (!all.length) return undefined;
  return signals.epochs.map((_, i) =>
    together(
      all.map((series) => series[i]),
      TOGETHER[measure],
    ),
  );
}

export interface Domain {
  low: number;
  high: number;
  logarithmic: boolean;
}

/** A share of units goes from none to all; a cost starts at nought; norms reach as far as they do. */
const FROM_NOUGHT: readonly Measure[] = ["milliseconds", "megabytes"];
/** Beyond this ratio equal steps would show the largest only; costs add up, so that their steps stay equal longer. */
const WIDE = 10;
const WIDE_COST = 60;
/** What is smaller by more than this looks like nothing. */
const DEEPEST = 1e-9;

/** The range that colours stand for: all that is shown, in all epochs, so that a colour means the same in each. */
export function domainOf(all: Iterable<Series>, measure: Measure): Domain | null {
  if (measure === "dead") return { low: 0, high: 1, logarithmic: false };
  let [low, high, least] = [Infinity, -Infinity, Infinity];
  for (const series of all)
    for (const value of series) {
      if (!isNumber(value)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
      if (value > 0) least = Math.min(least, value);
    }
  if (low > high) return null;
  const wide = FROM_NOUGHT.includes(measure) ? WIDE_COST : WIDE;
  if (high > 0 && high / least > wide) return { low: Math.max(least, high * DEEPEST), high, logarithmic: true };
  return { low: FROM_NOUGHT.includes(measure) ? 0 : low, high, logarithmic: false };
}

/** Where a number lies in its range, from 0 to 1. */
export function shareOf(value: number, { low, high, logarithmic }: Domain): number {
  if (high <= low) return 0.5;
  const share = logarithmic
    ? (Math.log(Math.max(value, low)) - Math.log(low)) / (Math.log(high) - Math.log(low))
    : (value - low) / (high - low);
  return Math.min(1, Math.max(0, share));
}

/** Numbers to be written at a legend: its ends, and between them the middle, or powers of ten that have room. */
export function ticksOf(domain: Domain): number[] {
  const { low, high, logarithmic } = domain;
  if (high <= low) return [low];
  if (!logarithmic) return [low, (low + high) / 2, high];
  const [first, last] = [Math.ceil(Math.log10(low)), Math.floor(Math.log10(high))];
  const step = Math.max(1, Math.ceil((last - first + 1) / 3));
  const powers: number[] = [];
  for (let power = first; power <= last; power += step) powers.push(10 ** power);
  const roomy = powers.filter((power) => shareOf(power, domain) > 0.22 && shareOf(power, domain) < 0.78);
  return [low, ...roomy, high];
}

/** A number as it is written on the canvas: short, with its unit where it has one. */
export function reading(value: Sample, measure: Measure): string {
  if (!isNumber(value)) return "–";
  if (measure === "dead") return `${(value * 100).toFixed(value > 0 && value < 0.0995 ? 1 : 0)} %`;
  if (measure === "milliseconds") return `${brief(value)} ms`;
  if (measure === "megabytes") return `${brief(value)} MB`;
  return brief(value);
}

/** Three digits, and powers of ten as 1.2e-4. */
export function brief(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size < 1e-2 || size >= 1e4) return value.toExponential(1).replace("e+", "e").replace(".0e", "e");
  return String(Number(value.toPrecision(3)));
}
