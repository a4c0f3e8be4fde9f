/** What goes wrong inside of a network that learns, as sentences can tell it: signals that vanish or explode, dead units. */

import type { Signals } from "./api";

export type Trouble = "broken" | "exploding" | "vanishing" | "dead" | "wild" | "still";

export interface Warning {
  kind: Trouble;
  /** The capsule or connection of the network. */
  id: string;
  value: number;
}

/** An error so much smaller than the largest of the network teaches nothing. */
const VANISHING = 1e-4;
/** An error that has grown so much since the first measurement runs away. */
const EXPLODING = 1e3;
const HUGE = 1e5;
/** Half of the units or more are silent for the whole batch. */
const DEAD = 0.5;
/** One step that changes weights by so much of themselves, or by so little: usual is about a thousandth. */
const WILD = 0.3;
const STILL = 1e-7;
const GRAVITY: readonly Trouble[] = ["broken", "exploding", "vanishing", "dead", "wild", "still"];

const numberAt = (series: readonly (number | null)[] | null | undefined, i: number) => {
  const value = series?.[i];
  return typeof value === "number" ? value : null;
};

/** A number that was there and is there no more was not finite. */
const isBroken = (series: readonly (number | null)[] | null | undefined, i: number): boolean =>
  series?.[i] === null && series.slice(0, i).some((value) => value !== null);

const firstOf = (series: readonly (number | null)[] | null | undefined) => series?.find((value) => value !== null);

/** No error ever comes where none is passed on: behind a choice of boxes, for one. Nothing has vanished there. */
const everCame = (series: readonly (number | null)[] | null | undefined, i: number): boolean =>
  series?.slice(0, i + 1).some((value) => value !== null && value > 0) ?? false;

function ofErrors(signals: Signals, i: number): Warning[] {
  const found: Warning[] = [];
  const all = Object.entries(signals.capsules);
  const largest = Math.max(0, ...all.map(([, one]) => numberAt(one.delta, i) ?? 0));
  for (const [id, { delta, output, dead }] of all) {
    const value = numberAt(delta, i);
    const out = numberAt(output, i);
    const first = firstOf(delta);
    if (isBroken(delta, i) || isBroken(output, i)) found.push({ kind: "broken", id, value: Number.NaN });
    else if (out !== null && out > HUGE) found.push({ kind: "exploding", id, value: out });
    // Data learn nothing, and a label may well have no error.
    if (value === null || numberAt(dead, i) === null) continue;
    if (first && value > first * EXPLODING && value > 1) found.push({ kind: "exploding", id, value });
    else if (value < largest * VANISHING && everCame(delta, i)) found.push({ kind: "vanishing", id, value });
  }
  return found;
}

/** The middle of the updates of all weights: at the end of many a schedule the rate is nearly nothing for all. */
function usualUpdate(all: readonly { update?: readonly (number | null)[] | null }[], i: number): number {
  const values = all.flatMap(({ update }) => numberAt(update, i) ?? []).sort((a, b) => a - b);
  return values[Math.floor(values.length / 2)] ?? 0;
}

function ofUpdates(signals: Signals, i: number): Warning[] {
  const found: Warning[] = [];
  const usual = usualUpdate([...Object.values(signals.capsules), ...Object.values(signals.connections)], i);
  for (const [id, { weight, update }] of [
    ...Object.entries(signals.capsules),
    ...Object.entries(signals.connections),
  ]) {
    const value = numberAt(update, i);
    if (isBroken(weight, i)) found.push({ kind: "broken", id, value: Number.NaN });
    else if (value !== null && value > WILD) found.push({ kind: "wild", id, value });
    else if (value !== null && value > 0 && value < STILL && usual >= STILL) found.push({ kind: "still", id, value });
  }
  return found;
}

/** All that is wrong at one epoch, the gravest first. */
export function warningsOf(signals: Signals, i: number): Warning[] {
  if (i < 0) return [];
  const dead = Object.entries(signals.capsules).flatMap(([id, one]): Warning[] => {
    const value = numberAt(one.dead, i);
    return value !== null && value >= DEAD ? [{ kind: "dead", id, value }] : [];
  });
  const all = [...ofErrors(signals, i), ...dead, ...ofUpdates(signals, i)];
  return all.sort(
    (a, b) =>
      GRAVITY.indexOf(a.kind) - GRAVITY.indexOf(b.kind) ||
      (a.kind === "vanishing" ? a.value - b.value : b.value - a.value),
  );
}
