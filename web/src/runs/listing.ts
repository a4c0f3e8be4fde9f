/** The list of runs: sorted, filtered, and merged with what a look at the running ones has brought. */

import type { RunRow } from "../api/types";

export type Column =
  | "state"
  | "name"
  | "drawn"
  | "data"
  | "epoch"
  | "best"
  | "loss"
  | "accuracy"
  | "started"
  | "seconds";
export interface Order {
  column: Column;
  down: boolean;
}
export interface Filter {
  search: string;
  state: string;
  drawn: string;
  data: string;
}

export const GOING: readonly string[] = ["created", "running"];
export const isGoing = (run: { state: string }) => GOING.includes(run.state);
export const lossOf = (run: RunRow) => run.values.val_loss ?? run.values.loss ?? null;

/** What is measured beside the loss, the most telling first: of pixels their overlap says more than their share. */
export const QUALITIES = ["map", "mean_iou", "accuracy", "recall", "retrieval", "mae"] as const;
export type Quality = (typeof QUALITIES)[number];
/** Of these less is better; all others are shares of a whole. */
const ERRORS: readonly string[] = ["mae"];

/** The measure of a value such as val_map or accuracy.classes; nothing for a loss or a rate. */
export const qualityOf = (name: string): Quality | undefined => {
  const bare = name.replace(/^val_/, "").split(".", 1)[0];
  return QUALITIES.find((one) => one === bare);
};

export interface Measured {
  name: Quality;
  value: number;
}

/** All that was measured of a run, on the validation part where there is one. */
export const qualitiesOf = (values: RunRow["values"]): Measured[] =>
  QUALITIES.flatMap((name) => {
    const value = values[`val_${name}`] ?? values[name];
    return value === undefined || value === null ? [] : [{ name, value }];
  });

/** Those of them that are shares of a whole, of which more is better. */
export const sharesOf = (values: RunRow["values"]): Measured[] =>
  qualitiesOf(values).filter(({ name }) => !ERRORS.includes(name));

export const accuracyOf = ({ values }: Pick<RunRow, "values">) => sharesOf(values)[0]?.value ?? null;

/** Whether a value such as val_map is a share of a whole. */
export const isShare = (name: string): boolean => {
  const quality = qualityOf(name);
  return quality !== undefined && !ERRORS.includes(quality);
};

/** A measured value: a share in per cent, anything else as the number that it is. */
export const measured = (name: string, value: number | null | undefined): string =>
  isShare(name) ? percent(value) : figure(value);

const KEYS: Record<Column, (run: RunRow) => string | number | null> = {
  state: (run) => run.state,
  name: (run) => run.name,
  drawn: (run) => run.drawn,
  data: (run) => run.data,
  epoch: (run) => run.epoch,
  best: (run) => run.best_value,
  loss: lossOf,
  accuracy: accuracyOf,
  started: (run) => run.created,
  seconds: (run) => run.seconds,
};

/** Runs in the wished order; those that have no value stand last, whichever way. */
export function sorted(runs: readonly RunRow[], { column, down }: Order): RunRow[] {
  const key = KEYS[column];
  const compare = new Intl.Collator(undefined, { numeric: true }).compare;
  return [...runs].sort((a, b) => {
    const [x, y] = [key(a), key(b)];
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
    const way = typeof x === "number" && typeof y === "number" ? x - y : compare(String(x), String(y));
    return down ? -way : way;
  });
}

/** Runs that fit: every word of the search is somewhere in the name, the drawing, the data, the tags or the note. */
export function fitting(runs: readonly RunRow[], { search, state, drawn, data }: Filter): RunRow[] {
  const wanted = search.toLowerCase().split(/\s+/).filter(Boolean);
  return runs.filter((run) => {
    if ((state && run.state !== state) || (drawn && run.drawn !== drawn) || (data && run.data !== data)) return false;
    const text = [run.name, run.drawn, run.data, run.state, run.note, ...run.tags].join("\n").toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

/** A new list in which rows that say the same are the same objects, so that they need no drawing. */
export function merged(before: readonly RunRow[], now: readonly RunRow[]): RunRow[] {
  const old = new Map(before.map((run) => [run.id, run]));
  return now.map((run) => {
    const known = old.get(run.id);
    return known && JSON.stringify(known) === JSON.stringify(run) ? known : run;
  });
}

/** Take in what is told of running runs; nothing where another run runs than before, so that all must be asked for. */
export function withGoing(before: readonly RunRow[], going: readonly RunRow[]): RunRow[] | null {
  const fresh = new Map(going.map((run) => [run.id, run]));
  const known = before.filter(isGoing);
  if (known.length !== fresh.size || known.some((run) => !fresh.has(run.id))) return null;
  return merged(
    before,
    before.map((run) => fresh.get(run.id) ?? run),
  );
}

/** Seconds for people: 8 s, 3 min 05 s, 2 h 10 min. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  if (h) return `${h} h ${String(m).padStart(2, "0")} min`;
  return m ? `${m} min ${String(s).padStart(2, "0")} s` : `${s} s`;
}

/** A number with as many digits as tell something. */
export function figure(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) return value.toExponential(2);
  return value.toFixed(size < 1 ? 4 : size < 100 ? 3 : 1);
}

export const percent = (value: number | null | undefined) =>
  value === null || value === undefined ? "–" : `${(value * 100).toFixed(1)} %`;

/** The state in the page's language; one that the page does not know yet is told as it is. */
export function stateWord(state: string, word: object): string {
  return (word as Record<string, string>)[state] ?? state;
}

/** What a run that was killed goes on from, and what of it is trained again. */
export function lostWords(run: RunRow, word: Record<"lostAll" | "lostSome" | "lostNone", string>): string {
  if (run.checkpoint === null || isGoing(run)) return "";
  if (!run.checkpoint) return word.lostAll;
  const text = run.step > run.checkpoint ? word.lostSome : word.lostNone;
  return text.replace("{at}", String(run.checkpoint)).replace("{n}", String(run.step - run.checkpoint));
}
