/** What is in view: whether it is more than elements can show, and of a large drawing which part needs elements at all. */

import { type Rect, useOnViewportChange, useStoreApi, type Viewport } from "@xyflow/react";
import { useCallback, useEffect, useMemo, useState } from "react";
import type { Point } from "../api/types";
import { useStudio } from "../app/store";
import type { Drawing } from "../model/drawing";

/** Beyond so many vertices in view the DOM is too slow, and they are painted. */
const MOST_ELEMENTS = 400;

const roomOf = ({ x, y, zoom }: Viewport, width: number, height: number, margin: number): Rect => ({
  x: (-x - margin * width) / zoom,
  y: (-y - margin * height) / zoom,
  width: (width * (1 + 2 * margin)) / zoom,
  height: (height * (1 + 2 * margin)) / zoom,
});

const holds = (room: Rect, [x, y]: Point) =>
  x >= room.x && y >= room.y && x <= room.x + room.width && y <= room.y + room.height;

const covers = (outer: Rect, inner: Rect) =>
  holds(outer, [inner.x, inner.y]) && holds(outer, [inner.x + inner.width, inner.y + inner.height]);

function countIn(places: ReadonlyMap<string, Point>, room: Rect): number {
  let count = 0;
  for (const at of places.values()) if (holds(room, at)) count++;
  return count;
}

/** The part of a large drawing that lies near the view, with the other ends of its lines. */
function nearby(scene: Drawing, places: ReadonlyMap<string, Point>, room: Rect): ReadonlySet<string> {
  const near = new Set<string>();
  for (const [id, at] of places) if (holds(room, at)) near.add(id);
  const ends: string[] = [];
  for (const { back, front } of scene.connection.values())
    if (near.has(back) || near.has(front)) ends.push(back, front);
  for (const id of ends) near.add(id);
  return near;
}

export function useInView(): { crowded: boolean; near: ReadonlySet<string> | null } {
  const places = useStudio((s) => s.places);
  const scene = useStudio((s) => s.scene);
  const store = useStoreApi();
  const large = places.size > MOST_ELEMENTS;
  // Before the view is known, a large drawing counts as crowded: thousands of elements would be made for one moment.
  const [seen, setSeen] = useState<{ crowded: boolean; room: Rect | null } | null>(null);
  const judge = useCallback(
    (view: Viewport) => {
      if (!large) return;
      const { width, height } = store.getState();
      const now = roomOf(view, width, height, 0);
      const crowded = countIn(places, now) > MOST_ELEMENTS;
      setSeen((before) => {
        if (crowded) return before?.crowded ? before : { crowded, room: null };
        if (before?.room && covers(before.room, now) && before.room.width < now.width * 6) return before;
        return { crowded, room: roomOf(view, width, height, 0.6) };
      });
    },
    [large, places, store],
  );
  useOnViewportChange({ onChange: judge });
  useEffect(() => {
    const [x, y, zoom] = store.getState().transform;
    judge({ x, y, zoom });
  }, [judge, store]);
  const crowded = large && (seen?.crowded ?? true);
  const room = large && !crowded ? (seen?.room ?? null) : null;
  const near = useMemo(() => (room ? nearby(scene, places, room) : null), [room, scene, places]);
  return { crowded, near };
}
