/** What is seen of a training on the canvas: whether, of which run, which measure, at which epoch; and what was asked. */

import { create } from "zustand";
import type { RunRow } from "../api/types";
import { isGoing } from "../runs/listing";
import type { Answer, Part, Signals, Subject } from "./api";
import { MEASURES, type Measure } from "./measures";
import { NO_PAINTS, NO_SERIES, type Paint, type SceneSeries } from "./painting";

/** What lies below the canvas instead of the dock. */
export type Sheet = "evaluation" | "playground" | "surface";

export interface InsightState {
  on: boolean;
  runs: readonly RunRow[] | null;
  run: string | null;
  signals: Signals | null;
  /** Why there are no signals, where the server refused. */
  why: string;
  measure: Measure;
  /** The epoch that is looked at; nothing follows the newest. */
  epoch: number | null;
  playing: boolean;
  shown: SceneSeries;
  paints: ReadonlyMap<string, Paint>;
  /** The drawn thing that the pointer is over. */
  hover: string | null;
  sheet: Sheet | null;
  part: Part;
  subject: Subject | null;
  answer: Answer | null;
  asking: boolean;
  /** Why there is no answer. */
  refused: string;
}

const AFRESH = {
  on: false,
  runs: null,
  run: null,
  signals: null,
  why: "",
  epoch: null,
  playing: false,
  shown: NO_SERIES,
  paints: NO_PAINTS,
  hover: null,
  sheet: null,
  subject: null,
  answer: null,
  asking: false,
  refused: "",
};

export const useInsight = create<InsightState>(() => ({ ...AFRESH, measure: "delta", part: "validation" }));

const now = () => useInsight.getState();

export const forgetInsight = (): void => useInsight.setState(AFRESH);
export const hideInsight = (): void =>
  useInsight.setState({ on: false, playing: false, sheet: null, paints: NO_PAINTS, hover: null });

/** Show a run on the canvas: the named one, the one before, or the newest. */
export function showInsight(run?: string): void {
  useInsight.setState(run && run !== now().run ? { ...AFRESH, runs: now().runs, on: true, run } : { on: true });
}

export const toggleInsight = (): void => (now().on ? hideInsight() : showInsight());

export const chooseRun = (run: string): void => {
  const { sheet, subject, runs } = now();
  useInsight.setState({ ...AFRESH, on: true, runs, run, sheet, subject });
};

/** The run to be seen: one that was just started, else the chosen one while it is there, else the newest. */
export function runToSee(before: readonly RunRow[] | null, now: readonly RunRow[], run: string | null): string | null {
  const started = before && now.find((one) => isGoing(one) && !before.some((old) => old.id === one.id));
  if (started) return started.id;
  return run && (!before || now.some((one) => one.id === run)) ? run : (now[0]?.id ?? null);
}

export const chooseMeasure = (measure: Measure): void => useInsight.setState({ measure });
export const nextMeasure = (): void =>
  chooseMeasure(MEASURES[(MEASURES.indexOf(now().measure) + 1) % MEASURES.length] ?? "delta");

/** Open what lies below the canvas; asked for again it closes. */
export const toggleSheet = (sheet: Sheet): void =>
  useInsight.setState((before) => ({ on: true, sheet: before.on && before.sheet === sheet ? null : sheet }));

/** The place of the looked-at epoch among those that were measured. */
export function indexOf({ signals, epoch }: Pick<InsightState, "signals" | "epoch">): number {
  if (!signals) return -1;
  const at = epoch === null ? -1 : signals.epochs.indexOf(epoch);
  return at < 0 ? signals.epochs.length - 1 : at;
}

/** The epoch whose weights were kept: the looked-at one, or the last before it. */
export function frameOf({ signals, epoch }: Pick<InsightState, "signals" | "epoch">): number | null {
  const frames = signals?.frames ?? [];
  if (epoch === null) return frames.at(-1) ?? null;
  return frames.findLast((frame) => frame <= epoch) ?? frames[0] ?? null;
}

/** Look at the epoch with some place; the last place follows what comes. */
export function seekEpoch(index: number): void {
  const { signals } = now();
  const last = (signals?.epochs.length ?? 0) - 1;
  const to = Math.max(0, Math.min(index, last));
  useInsight.setState({ epoch: to >= last ? null : (signals?.epochs[to] ?? null) });
}

export function stepEpoch(by: number): void {
  useInsight.setState({ playing: false });
  seekEpoch(indexOf(now()) + by);
}

/** Play from the looked-at epoch to the newest; from there, from the first. */
export function togglePlay(): void {
  const { playing, signals } = now();
  const last = (signals?.epochs.length ?? 0) - 1;
  if (!playing && indexOf(now()) >= last) seekEpoch(0);
  useInsight.setState({ playing: !playing && last > 0 });
}

/** Ask the network about something; nothing takes the pictures from the canvas. */
export const ask = (subject: Subject | null): void =>
  useInsight.setState(subject ? { subject } : { subject: null, answer: null, asking: false, refused: "" });

export const isExample = (subject: Subject | null, part: Part, number: number): boolean =>
  Boolean(subject && "example" in subject && subject.example.part === part && subject.example.number === number);
