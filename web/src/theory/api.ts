/** What the server says of derivations, rules, walks, enumerations and comparisons. */

import { request } from "../api/client";
import type { Schemas, Value } from "../api/types";

export type Derivation = Schemas["Derivation"];
export type DerivationStep = Schemas["DerivationStep"];
export type Rule = DerivationStep["rule"];
/** What a rule could be applied to; ``why`` says what forbids it, and is empty where nothing does. */
export type Offer = Schemas["RuleOffer"];
export type Offers = Schemas["RuleOffers"];

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

export type ListedNetwork = Schemas["ListedNetwork"];
export type Enumeration = Schemas["Enumeration"];
export type Thing = Schemas["Thing"];
export type Changed = Schemas["Changed"];
export type Comparison = Schemas["Comparison"];

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
