/** What the server says of a run's inside: signals, values, examples, answers, confusion, decision surface. */

import { request } from "../api/client";
import type { Schemas } from "../api/types";

export type CapsuleSignals = Schemas["CapsuleSignals"];
export type ConnectionSignals = Schemas["ConnectionSignals"];
export type Signals = Schemas["RunSignals"];
/** A picture as rows of numbers; of colour pictures each cell has three of them in turn. */
export type Picture = Schemas["Picture"];
export type Histogram = Schemas["Histogram"];
export type WeightValues = Schemas["WeightValues"];
export type Values = Schemas["Values"];
export type Example = Schemas["Example"];
export type Examples = Schemas["Examples"];
export type Part = Examples["part"];
export type OutputAnswer = Schemas["OutputAnswer"];
export type Activation = Schemas["Activation"];
export type Coupling = Schemas["Coupling"];
export type Answer = Schemas["RunAnswer"];
export type Confusion = Schemas["Confusion"];
export type Surface = Schemas["Surface"];

/** What the network is asked about. */
export type Subject =
  | { example: { part: Part; number: number } }
  | { picture: { rows: number[][] } }
  | { image: string }
  | { values: number[] };

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
  /** Samples with what the run finds on their pictures. */
  found: (run: string, part: Part, count: number, only: "all" | "worst", epoch: number | null) =>
    request<Examples>(`${of(run)}/examples?part=${part}&count=${count}&only=${only}&found=true${at(epoch)}`),
  answer: (run: string, subject: Subject, epoch: number | null) =>
    request<Answer>(`${of(run)}/answer`, { epoch, ...subject }),
  confusion: (run: string, part: Part, epoch: number | null, worst: number) =>
    request<Confusion>(`${of(run)}/confusion?part=${part}&worst=${worst}${at(epoch)}`),
  surface: (run: string, epoch: number | null, cells: number) =>
    request<Surface>(`${of(run)}/surface?cells=${cells}${at(epoch)}`),
};
