/** Two states of a drawing laid over each other: what came, what went, what is different, and what follows from it. */

import type { Connection, Point, Value } from "../api/types";
import { type Drawing, fromFile, isUse, type Vertex, vertices } from "../model/drawing";
import type { Comparison, Thing } from "./api";

export type Kind = "added" | "removed" | "changed" | "follows" | "same";
export type View = "before" | "both" | "after";
export const KINDS: readonly Exclude<Kind, "same">[] = ["added", "removed", "changed", "follows"];

export interface Field {
  name: string;
  before: string;
  after: string;
}

export interface Difference {
  id: string;
  /** The kind of record: capsule, connection, use, group, note, meta. */
  of: string;
  kind: Kind;
  fields: Field[];
  /** The vertex or line that shows it; nothing where it is not drawn. */
  shown: string | null;
}

export interface Overlaid {
  vertices: { vertex: Vertex; kind: Kind; at: Point }[];
  lines: { line: Connection; kind: Kind; key: string }[];
  differences: Difference[];
}

const said = (value: Value | undefined): string =>
  value === undefined || value === null ? "–" : typeof value === "string" ? value : JSON.stringify(value);

const isRecord = (value: Value | undefined): value is Record<string, Value> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Lists of records with ids are compared by id, so that a group tells which of its capsules is another. */
function keyed(value: Value | undefined): Value | undefined {
  if (
    !Array.isArray(value) ||
    !value.length ||
    !value.every((one) => isRecord(one as Value) && typeof (one as Record<string, Value>).id === "string")
  )
    return value;
  return Object.fromEntries(value.map((one) => [String((one as Record<string, Value>).id), one]));
}

/** What is different in two records, by the names of their fields. */
export function fieldsOf(before: Value | undefined, after: Value | undefined, path = ""): Field[] {
  const [old, fresh] = [keyed(before), keyed(after)];
  if (JSON.stringify(old) === JSON.stringify(fresh)) return [];
  if (!isRecord(old) || !isRecord(fresh)) return [{ name: path, before: brief(old), after: brief(fresh) }];
  return [...new Set([...Object.keys(old), ...Object.keys(fresh)])].flatMap((name) => {
    const inner = name === "attributes" || name === "arguments" ? path : path ? `${path}.${name}` : name;
    const [a, b] = [old[name], fresh[name]];
    // A missing attribute list is an empty one: its entries are told, not the list.
    const empty = name === "attributes" || name === "arguments" ? {} : undefined;
    return fieldsOf(a ?? empty, b ?? empty, inner);
  });
}

function brief(value: Value | undefined): string {
  if (isRecord(value) && typeof value.symbol === "string")
    return typeof value.rank === "number" ? `${value.rank}D-${value.symbol}` : value.symbol;
  const text = said(value);
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
}

function kindsOf(comparison: Comparison, before: Drawing, after: Drawing): Map<string, Kind> {
  const kinds = new Map<string, Kind>();
  for (const id of Object.keys(comparison.structures)) kinds.set(id, "follows");
  const groups = new Set(comparison.changed.filter((one) => one.kind === "group").map((one) => one.id));
  for (const drawing of [before, after])
    for (const use of drawing.use.values()) if (groups.has(use.group)) kinds.set(use.id, "changed");
  for (const { id } of comparison.changed) kinds.set(id, "changed");
  for (const { id } of comparison.added) kinds.set(id, "added");
  for (const { id } of comparison.removed) kinds.set(id, kinds.get(id) === "added" ? "changed" : "removed");
  return kinds;
}

export function overlay(comparison: Comparison, view: View): Overlaid {
  const [before, after] = [fromFile(comparison.before), fromFile(comparison.after)];
  const kinds = kindsOf(comparison, before, after);
  const of = (id: string) => kinds.get(id) ?? "same";
  const shown = new Map<string, Vertex>();
  const lines = new Map<string, Connection>();
  if (view !== "after") {
    for (const vertex of vertices(before)) shown.set(vertex.id, vertex);
    for (const line of before.connection.values()) lines.set(line.id, line);
  }
  if (view !== "before") {
    for (const vertex of vertices(after)) shown.set(vertex.id, vertex);
    for (const line of after.connection.values()) lines.set(line.id, line);
  }
  const places = spread([...shown.keys()], comparison.layout.positions, of);
  const overlaid = [...lines.values()].map((line) => ({ line, kind: of(line.id), key: line.id }));
  if (view === "both")
    for (const old of before.connection.values()) {
      const fresh = after.connection.get(old.id);
      // A line that was led elsewhere leaves a ghost where it ran.
      if (fresh && (fresh.back !== old.back || fresh.front !== old.front))
        overlaid.push({ line: old, kind: "removed", key: `${old.id} (before)` });
    }
  return {
    vertices: [...shown.values()].map((vertex) => ({
      vertex,
      kind: of(vertex.id),
      at: places.get(vertex.id) ?? [0, 0],
    })),
    lines: overlaid.filter(({ line }) => shown.has(line.back) && shown.has(line.front)),
    differences: listed(comparison, before, after),
  };
}

/** Ghosts give way to what is there now. */
function spread(ids: string[], positions: Record<string, Point>, of: (id: string) => Kind): Map<string, Point> {
  const places = new Map<string, Point>();
  for (const id of ids) if (of(id) !== "removed") places.set(id, positions[id] ?? [0, 0]);
  for (const id of ids) {
    if (places.has(id)) continue;
    const spot: Point = [...(positions[id] ?? [0, 0])];
    const taken = ([x, y]: Point) => Math.abs(x - spot[0]) < 60 && Math.abs(y - spot[1]) < 80;
    while ([...places.values()].some(taken)) spot[1] += 120;
    places.set(id, spot);
  }
  return places;
}

function listed(comparison: Comparison, before: Drawing, after: Drawing): Difference[] {
  const drawn = (id: string) =>
    [before, after].some((one) => one.capsule.has(id) || one.use.has(id) || one.connection.has(id)) ? id : null;
  const shownFor = (group: string) =>
    [...vertices(after), ...vertices(before)].find((one) => isUse(one) && one.group === group)?.id ?? null;
  const place = (id: string, kind: string) => (kind === "group" ? shownFor(id) : drawn(id));
  const structure = (id: string): Field[] => {
    const told = comparison.structures[id];
    return told ? [{ name: "structure", before: told[0], after: told[1] }] : [];
  };
  const known = new Set([...comparison.added, ...comparison.removed, ...comparison.changed].map((one) => one.id));
  const single = (kind: Kind, things: Comparison["added"]): Difference[] =>
    things.map(({ id, kind: of, record }) => ({
      id,
      of,
      kind,
      fields: kind === "added" ? fieldsOf({}, bare(record)) : fieldsOf(bare(record), {}),
      shown: place(id, of),
    }));
  return [
    ...single("added", comparison.added),
    ...single("removed", comparison.removed),
    ...comparison.changed.map(
      ({ id, kind, before: old, after: fresh }): Difference => ({
        id,
        of: kind,
        kind: "changed",
        fields: [...fieldsOf(old, fresh), ...structure(id)],
        shown: place(id, kind),
      }),
    ),
    ...Object.keys(comparison.structures)
      .filter((id) => !known.has(id) && drawn(id))
      .map(
        (id): Difference => ({
          id,
          of: after.connection.has(id) ? "connection" : after.use.has(id) ? "use" : "capsule",
          kind: "follows",
          fields: structure(id),
          shown: id,
        }),
      ),
  ];
}

/** The record without what its place in the list tells already. */
function bare({ id: _, ...rest }: Thing["record"]): Record<string, Value> {
  return Object.fromEntries(
    Object.entries(rest).filter(([name]) => !["capsules", "connections", "uses"].includes(name)),
  ) as Record<string, Value>;
}
