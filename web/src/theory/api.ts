/** What the server says of derivations, rules, walks, enumerations and comparisons. */

import { request } from "../api/client";
import type { DrawingFile, Layout, Value } from "../api/types";

export type Rule = "variable" | "neuron" | "growth" | "convergence";

export interface DerivationStep {
  rule: Rule;
  vertices: string[];
  edges: [string, string][];
  parts: string[][];
  text: string;
}

export interface Derivation {
  steps: DerivationStep[];
  counts: Partial<Record<Rule, number>>;
  refused: string;
}

export interface Offer {
  rule: Rule;
  parts: string[][];
  /** What forbids the rule; empty where nothing does. */
  why: string;
}

export interface Offers {
  offers: Offer[];
  refused: string;
  functions: string[];
}

/** A tensor: all its numbers where they are few, else a strip of its extremes. */
export interface Tensor {
  shape: number[];
  norm: number;
  least: number;
  greatest: number;
  values: number[] | null;
  strip?: number[];
}

export interface Walk {
  refused?: string;
  rate: number;
  forward: { capsule: string; U: Tensor; Y: Tensor }[];
  loss: { before: number; after: number; outputs: Record<string, number> };
  backward: { capsule: string; delta: Tensor }[];
  updates: {
    weight: string;
    owners: string[];
    letter: "W" | "B";
    update: Tensor;
    before: Tensor;
    after: Tensor;
  }[];
  inputs: string[];
  outputs: string[];
  targets: Record<string, Tensor>;
}

export interface ListedNetwork {
  inputs: string[];
  neurons: string[];
  edges: [string, string][];
  svg: string;
}

export interface Enumeration {
  count: number;
  start: number;
  networks: ListedNetwork[];
  refused: string;
}

export interface Thing {
  id: string;
  kind: string;
  record: Record<string, Value>;
}

export interface Changed {
  id: string;
  kind: string;
  before: Record<string, Value>;
  after: Record<string, Value>;
}

export interface Comparison {
  added: Thing[];
  removed: Thing[];
  changed: Changed[];
  parameters: [number, number];
  multiply_adds: [number, number];
  before: DrawingFile;
  after: DrawingFile;
  layout: Layout;
  structures: Record<string, [string, string]>;
}

export type Numbers = Record<string, Value>;

const of = (id: string) => `/drawings/${encodeURIComponent(id)}`;

export const theoryApi = {
  derivation: (id: string) => request<Derivation>(`${of(id)}/derivation`),
  rules: (id: string, chosen: string[]) => request<Offers>(`${of(id)}/rules`, { chosen }),
  walk: (id: string, body: { seed: number; rate: number; inputs: Numbers; targets: Numbers; most: number }) =>
    request<Walk>(`${of(id)}/step`, body),
  enumeration: (n: number, m: number, rules: string, upTo: string, start: number, dark: boolean) =>
    request<Enumeration>(`/enumeration?n=${n}&m=${m}&rules=${rules}&up_to=${upTo}&start=${start}&dark=${dark ? 1 : 0}`),
  compare: (id: string, a: number, b: number) => request<Comparison>(`${of(id)}/compare?a=${a}&b=${b}`),
};
