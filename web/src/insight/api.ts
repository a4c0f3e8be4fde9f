/** What the server says of a run's inside: signals, values, examples, answers, confusion, decision surface. */

import { request } from "../api/client";

type Numbers = (number | null)[];

export interface ConnectionSignals {
  weight: Numbers;
  update: Numbers;
  gradient: Numbers;
}

export interface CapsuleSignals extends ConnectionSignals {
  output: Numbers;
  delta: Numbers;
  dead: Numbers;
  milliseconds: Numbers;
  megabytes: Numbers;
}

export interface Signals {
  epochs: number[];
  frames: number[];
  batch: number;
  capsules: Record<string, CapsuleSignals>;
  connections: Record<string, ConnectionSignals>;
  why: string | null;
}

/** A picture as rows of numbers; of colour pictures each cell has three of them in turn. */
export interface Picture {
  rows: Numbers[];
  channels: 1 | 3;
}

export interface Histogram {
  edges: number[];
  counts: number[];
}

export interface WeightValues {
  name: string;
  shape: number[];
  norm: number | null;
  mean: number | null;
  deviation: number | null;
  minimum: number | null;
  maximum: number | null;
  histogram: Histogram | null;
  kernels: Picture[] | null;
  matrix: { rows: (number | null)[][]; whole: boolean } | null;
}

export interface Values {
  id: string;
  kind: "capsule" | "connection";
  title: string;
  epoch: number;
  samples: number;
  weights: WeightValues[];
  output: {
    histogram: Histogram | null;
    mean: number | null;
    deviation: number | null;
    norm: number | null;
    dead: number | null;
  } | null;
  delta: { histogram: Histogram | null; norm: number | null } | null;
  gradient: { histogram: Histogram | null; norm: number | null } | null;
}

export type Part = "training" | "validation" | "test";

export interface Example {
  number: number;
  label: string | null;
  thumbnail: Picture | null;
  text: string;
}

export interface Examples {
  part: Part;
  count: number;
  examples: Example[];
}

/** What the network is asked about. */
export type Subject =
  | { example: { part: Part; number: number } }
  | { picture: { rows: number[][] } }
  | { image: string }
  | { values: number[] };

export interface OutputAnswer {
  output: string;
  meaning: "probabilities" | "scores" | "numbers";
  classes: { name: string; share: number | null }[] | null;
  values: Numbers | null;
  truth: string | null;
  loss: number | null;
}

export interface Activation {
  shape: number[];
  maps: Picture[] | null;
  row: Numbers | null;
  minimum: number | null;
  maximum: number | null;
  units: number;
}

export interface Coupling {
  rows: (number | null)[][];
  from: string[];
  to: string[];
  iterations: number;
}

export interface Answer {
  epoch: number;
  fed: Picture | null;
  text: string;
  answers: OutputAnswer[];
  activations: Record<string, Activation>;
  couplings: Record<string, Coupling>;
  why: string | null;
}

export interface Worst extends Omit<Example, "label"> {
  truth: string | null;
  answer: string | null;
  share: number | null;
  loss: number | null;
}

export interface Confusion {
  part: Part;
  epoch: number;
  output: string;
  samples: number;
  classes: string[];
  counts: number[][];
  accuracy: number | null;
  worst: Worst[];
}

export interface Surface {
  epoch: number;
  x: [number, number];
  y: [number, number];
  names: string[];
  classes: string[];
  winner: number[][] | null;
  share: Numbers[] | null;
  value: Numbers[] | null;
  points: { x: number; y: number; class: number | null; value: number | null }[];
}

const of = (run: string) => `/runs/${encodeURIComponent(run)}`;
const at = (epoch: number | null) => (epoch === null ? "" : `&epoch=${epoch}`);

export const insightApi = {
  signals: (run: string) => request<Signals>(`${of(run)}/signals`),
  values: (run: string, item: string, epoch: number | null) =>
    request<Values>(`${of(run)}/values?item=${encodeURIComponent(item)}${at(epoch)}`),
  examples: (run: string, part: Part, first: number, count: number, wrong: boolean, epoch: number | null) =>
    request<Examples>(
      `${of(run)}/examples?part=${part}&first=${first}&count=${count}${wrong ? `&only=wrong${at(epoch)}` : ""}`,
    ),
  answer: (run: string, subject: Subject, epoch: number | null) =>
    request<Answer>(`${of(run)}/answer`, { epoch, ...subject }),
  confusion: (run: string, part: Part, epoch: number | null, worst: number) =>
    request<Confusion>(`${of(run)}/confusion?part=${part}&worst=${worst}${at(epoch)}`),
  surface: (run: string, epoch: number | null, cells: number) =>
    request<Surface>(`${of(run)}/surface?cells=${cells}${at(epoch)}`),
};
