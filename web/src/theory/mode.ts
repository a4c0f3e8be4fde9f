/** Which mathematics the studio shows, and what it marks on the canvas. */

import { create } from "zustand";

export type Mode = "replay" | "grow" | "walk" | "compare";
export type Tone = "faint" | "lit" | "picked" | "done";

export interface Row {
  letter: string;
  cells: number[];
  text: string;
}

/** What is marked on one drawn thing. */
export interface Mark {
  tone: Tone;
  badge?: string;
  rows?: Row[];
}

export interface TheoryState {
  mode: Mode | null;
  gallery: boolean;
  marks: ReadonlyMap<string, Mark>;
  /** The player: how many steps are done, of how many. */
  at: number;
  last: number;
  playing: boolean;
  /** Steps a second. */
  speed: number;
  picked: readonly string[];
  /** The two states that are compared; nothing stands for now. */
  pair: [number, number | null];
}

const NO_MARKS: ReadonlyMap<string, Mark> = new Map();
export const SPEEDS = [0.5, 1, 2, 4, 10];
const still = { marks: NO_MARKS, at: 0, last: 0, playing: false, picked: [] };

export const useTheory = create<TheoryState>(() => ({
  mode: null,
  gallery: false,
  ...still,
  speed: 1,
  pair: [0, null],
}));

export const enter = (mode: Mode): void => useTheory.setState({ ...still, mode, gallery: false });
export const leave = (): void => useTheory.setState({ ...still, mode: null, gallery: false });
export const compareStates = (before: number, after: number | null): void =>
  useTheory.setState({ ...still, mode: "compare", gallery: false, pair: [before, after] });

/** Go to a step; what plays goes on playing. */
export const seek = (at: number): void =>
  useTheory.setState((now) => {
    const to = Math.max(0, Math.min(at, now.last));
    return { at: to, playing: now.playing && to < now.last };
  });

export const step = (by: number): void => {
  useTheory.setState({ playing: false });
  seek(useTheory.getState().at + by);
};

/** Play or pause; from the end it plays again. */
export const toggle = (): void =>
  useTheory.setState(({ playing, at, last }) => ({
    playing: !playing && last > 0,
    at: !playing && at >= last ? 0 : at,
  }));

export const pick = (id: string): void =>
  useTheory.setState(({ picked }) => ({
    picked: picked.includes(id) ? picked.filter((one) => one !== id) : [...picked, id],
  }));
