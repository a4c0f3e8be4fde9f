/** Where vertices lie that have no place yet, and the way between neighbours that keys go. */

import type { Point } from "../api/types";
import { type Drawing, vertices } from "./drawing";

const STEP: Point = [130, 110];

/** Lay vertices in layers along the flow; for the inside of groups, and until the server's layout is there. */
export function simpleLayout(drawing: Drawing): Map<string, Point> {
  const ids = vertices(drawing).map((v) => v.id);
  const depth = new Map(ids.map((id) => [id, 0]));
  const lines = [...drawing.connection.values()].filter((c) => depth.has(c.back) && depth.has(c.front));
  // At most as many rounds as there are layers; a cycle is cut off by the bound.
  for (let round = 0, moved = true; moved && round < Math.min(ids.length, 500); round++) {
    moved = false;
    for (const { back, front } of lines) {
      const wanted = (depth.get(back) ?? 0) + 1;
      if (wanted > (depth.get(front) ?? 0) && wanted <= ids.length) {
        depth.set(front, wanted);
        moved = true;
      }
    }
  }
  const rows = new Map<number, string[]>();
  for (const id of ids) {
    const row = rows.get(depth.get(id) ?? 0);
    if (row) row.push(id);
    else rows.set(depth.get(id) ?? 0, [id]);
  }
  const places = new Map<string, Point>();
  for (const [layer, members] of rows)
    members.forEach((id, i) => {
      places.set(id, [layer * STEP[0], (i - (members.length - 1) / 2) * STEP[1]]);
    });
  return places;
}

export type Way = "left" | "right" | "up" | "down";

/** The vertex that an arrow key goes to: along a connection where there is one, else the nearest that way. */
export function neighbour(
  drawing: Drawing,
  places: ReadonlyMap<string, Point>,
  from: string,
  way: Way,
): string | undefined {
  const here = places.get(from);
  if (!here) return undefined;
  const lines = [...drawing.connection.values()];
  const linked =
    way === "right"
      ? lines.filter((c) => c.back === from).map((c) => c.front)
      : way === "left"
        ? lines.filter((c) => c.front === from).map((c) => c.back)
        : [];
  return (
    nearest(places, here, linked, () => true) ??
    nearest(
      places,
      here,
      [...places.keys()].filter((id) => id !== from),
      (dx, dy) => ahead(way, dx, dy),
    )
  );
}

function ahead(way: Way, dx: number, dy: number): boolean {
  if (way === "left" || way === "right") return (way === "left" ? -dx : dx) > Math.abs(dy) * 0.5;
  return (way === "up" ? -dy : dy) > Math.abs(dx) * 0.5;
}

function nearest(
  places: ReadonlyMap<string, Point>,
  here: Point,
  ids: string[],
  fits: (dx: number, dy: number) => boolean,
): string | undefined {
  let best: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const id of ids) {
    const there = places.get(id);
    if (!there) continue;
    const [dx, dy] = [there[0] - here[0], there[1] - here[1]];
    const far = Math.hypot(dx, dy);
    if (far < least && fits(dx, dy)) [best, least] = [id, far];
  }
  return best;
}

/** Line things up on their common middle, along the flow or across it. */
export function aligned(places: ReadonlyMap<string, Point>, ids: string[], axis: "row" | "column"): Map<string, Point> {
  const known = ids.flatMap((id) => (places.has(id) ? [[id, places.get(id) as Point] as const] : []));
  const index = axis === "row" ? 1 : 0;
  const middle = known.reduce((sum, [, at]) => sum + at[index], 0) / Math.max(known.length, 1);
  return new Map(known.map(([id, at]) => [id, axis === "row" ? [at[0], middle] : [middle, at[1]]]));
}
