/** What the server says of sweeps, and is told about them. */

import { request } from "../api/client";
import type { Attributes, Edit, Schemas, Value } from "../api/types";
import type { Chosen } from "../panels/OwnData";

export type PlaceRow = Schemas["PlaceRow"];
export type SweepRow = Schemas["SweepRow"];
export type SweepDetail = Schemas["SweepDetail"];
export type TrialRow = Schemas["TrialRow"];
export type Method = Schemas["SweepRequest"]["method"];

export interface Asked {
  data: Chosen;
  recipe: Attributes;
  space: Record<string, Value>;
  method: Method;
  trials: number | null;
  at_once: number | null;
  factor: number;
}

const of = (name: string) => `/sweeps/${encodeURIComponent(name)}`;
const drawing = (id: string) => `/drawings/${encodeURIComponent(id)}`;

export const sweepsApi = {
  all: () => request<SweepRow[]>("/sweeps"),
  detail: (name: string) => request<SweepDetail>(of(name)),
  places: (id: string, data: Chosen, recipe: Attributes) =>
    request<PlaceRow[]>(`${drawing(id)}/places`, { data, recipe }),
  start: (id: string, asked: Asked) => request<{ sweep: string }>(`${drawing(id)}/sweep`, asked),
  stop: (name: string) => request<unknown>(`${of(name)}/stop`, {}),
  resume: (name: string) => request<unknown>(`${of(name)}/resume`, {}),
  take: (name: string, trial: number) =>
    request<{ drawing: string; edit: Edit; recipe: Attributes }>(`${of(name)}/take`, { trial }),
  remove: (name: string) => request<{ undo: string }>(`${of(name)}/delete`, {}),
  undelete: (name: string, undo: string) => request<unknown>(`${of(name)}/undelete`, { undo }),
};
