/** What the server says of runs, and is told about them. */

import { request } from "../api/client";
import type { Carried, Drawn, RunDetail, RunRow } from "../api/types";
import type { Comparison } from "../theory/api";

const of = (id: string) => `/runs/${encodeURIComponent(id)}`;

export const runsApi = {
  all: () => request<RunRow[]>("/runs"),
  going: () => request<RunRow[]>("/runs?going=true"),
  detail: (id: string) => request<RunDetail>(`${of(id)}?points=10`),
  curves: (ids: readonly string[], points: number) =>
    request<Drawn[]>(`/curves?runs=${ids.map(encodeURIComponent).join(",")}&points=${points}`),
  compare: (id: string, other: string) => request<Comparison>(`${of(id)}/compare?other=${encodeURIComponent(other)}`),
  carried: (id: string) => request<Carried>(`${of(id)}/carried`),
  note: (id: string, note: string, tags: string[]) => request<unknown>(`${of(id)}/notes`, { note, tags }),
  remove: (id: string) => request<{ undo: string }>(`${of(id)}/delete`, {}),
  undelete: (id: string, undo: string) => request<{ run: string }>(`${of(id)}/undelete`, { undo }),
  again: (id: string) => request<{ id: string }>(`${of(id)}/again`, {}),
  pause: (id: string) => request<unknown>(`${of(id)}/pause`, {}),
  resume: (id: string, epochs?: number) => request<unknown>(`${of(id)}/resume`, epochs === undefined ? {} : { epochs }),
  stop: (id: string) => request<unknown>(`${of(id)}/stop`, {}),
};
