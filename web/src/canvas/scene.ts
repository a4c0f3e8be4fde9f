/** The scene as React Flow wants it: nodes and edges that hold ids only; what they show is read from the store. */

import type { Edge, Node, Rect } from "@xyflow/react";
import type { Catalogue, Connection, Point, Report } from "../api/types";
import { extent, FORMS, type Form, shapeOf } from "../glyphs/forms";
import { connectionSymbol, MAIN_PORT } from "../model/compose";
import { type Drawing, isUse, type Vertex, vertices } from "../model/drawing";
import { structureText } from "../model/findings";
import { endOf } from "../model/ports";
import { findingsAt, outputAt, type Sight } from "../model/within";
import { capsuleTitle } from "./VertexNode";

export const formOf = (vertex: Vertex): Form => FORMS[isUse(vertex) ? "group" : shapeOf(vertex.rank)];

/** The upper left corner of a vertex by its anchor, the middle of its front sheet. */
export const corner = (form: Form, [x, y]: Point) => ({ x: x - form.halfWidth, y: y - form.halfHeight - form.sheets });

export const anchor = (form: Form, at: { x: number; y: number }): Point => [
  at.x + form.halfWidth,
  at.y + form.halfHeight + form.sheets,
];

/** The room that all vertices take, with their captions. */
export function boundsOf(places: Iterable<Point>): Rect | null {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [x, y] of places) {
    [left, right] = [Math.min(left, x), Math.max(right, x)];
    [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
  }
  if (left > right) return null;
  return { x: left - 50, y: top - 60, width: right - left + 110, height: bottom - top + 150 };
}

export function nodesOf(
  drawing: Drawing,
  places: ReadonlyMap<string, Point>,
  selection: ReadonlySet<string>,
  catalogue: Catalogue | null,
  report: Report | null,
  path = "",
  near: ReadonlySet<string> | null = null,
): Node[] {
  const entering = new Map<string, Connection[]>();
  for (const connection of drawing.connection.values()) {
    if (near && !near.has(connection.front)) continue;
    const there = entering.get(connection.front);
    if (there) there.push(connection);
    else entering.set(connection.front, [connection]);
  }
  const shown = near ? vertices(drawing).filter((vertex) => near.has(vertex.id)) : vertices(drawing);
  const nodes: Node[] = shown.map((vertex) => {
    const form = formOf(vertex);
    const { width, height } = extent(form);
    return {
      id: vertex.id,
      type: isUse(vertex) ? "use" : "capsule",
      position: corner(form, places.get(vertex.id) ?? [0, 0]),
      data: {},
      width,
      height,
      selected: selection.has(vertex.id),
      ariaLabel: spoken(vertex, entering.get(vertex.id) ?? [], catalogue, { report, scene: drawing, path }),
    };
  });
  for (const note of drawing.note.values()) {
    const [x, y] = places.get(note.id) ?? [0, 0];
    nodes.push({
      id: note.id,
      type: "note",
      position: { x: x - 90, y: y - 20 },
      data: {},
      selected: selection.has(note.id),
      ariaLabel: note.text,
      connectable: false,
    });
  }
  return nodes;
}

/** What a screen reader says of a vertex. */
function spoken(vertex: Vertex, enters: Connection[], catalogue: Catalogue | null, sight: Sight): string {
  const by = enters.map(
    (c) =>
      `${(catalogue && connectionSymbol(catalogue, c.symbol)?.title) ?? c.symbol} from ${c.back}${c.port ? ` at ${c.port}` : ""}`,
  );
  const title = isUse(vertex) ? `group ${vertex.group}` : capsuleTitle(catalogue, vertex);
  const output = outputAt(sight, vertex.id);
  const flaws = findingsAt(sight, vertex.id).map((one) => one.message);
  return [vertex.label || vertex.id, title, structureText(output), output?.listed, ...by, ...flaws]
    .filter(Boolean)
    .join(", ");
}

export function edgesOf(
  drawing: Drawing,
  selection: ReadonlySet<string>,
  catalogue: Catalogue | null,
  near: ReadonlySet<string> | null = null,
): Edge[] {
  const all = [...drawing.connection.values()];
  const shown = near ? all.filter((c) => near.has(c.back) && near.has(c.front)) : all;
  return shown.map((c) => ({
    id: c.id,
    type: "wire",
    source: c.back,
    target: c.front,
    ...(catalogue && endOf(catalogue, drawing, c) ? { targetHandle: c.port ?? MAIN_PORT } : {}),
    selected: selection.has(c.id),
    zIndex: selection.has(c.id) ? 1 : 0,
    ariaLabel: `${(catalogue && connectionSymbol(catalogue, c.symbol)?.title) ?? c.symbol} connection from ${c.back} to ${c.front}${c.port ? `, port ${c.port}` : ""}`,
  }));
}
