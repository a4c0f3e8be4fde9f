/** Snapping: what is dragged lines up with what lies still, and a thin line shows with what. */

import { type NodeChange, useStore, ViewportPortal } from "@xyflow/react";
import { useCallback, useRef, useState } from "react";
import type { Point } from "../api/types";
import { useStudio } from "../app/store";
import { vertexOf } from "../model/drawing";
import { nearestLine } from "./geometry";
import { anchor, formOf } from "./scene";

/** So near, in points of the screen, a dragged thing is drawn to a line. */
const REACH = 6;
const MOST = 1500;

export interface Guides {
  x: number | null;
  y: number | null;
}

const NONE: Guides = { x: null, y: null };

export function useSnapping() {
  const [guides, setGuides] = useState<Guides>(NONE);
  const shift = useRef<Point>([0, 0]);

  /** Move what is dragged onto the nearest lines; several things keep their places to each other. */
  const snap = useCallback((changes: NodeChange[], zoom: number): NodeChange[] => {
    const dragged = changes.filter((one) => one.type === "position" && one.dragging && one.position);
    const [first] = dragged;
    const { places, scene } = useStudio.getState();
    if (first?.type !== "position" || !first.position || places.size > MOST) return changes;
    const vertex = vertexOf(scene, first.id);
    const at: Point = vertex ? anchor(formOf(vertex), first.position) : [first.position.x + 90, first.position.y + 20];
    const moving = new Set(dragged.map((one) => (one.type === "position" ? one.id : "")));
    // Its own old place is a line too: what is moved along one axis keeps the other.
    const still = [...places].filter(([id]) => id === first.id || !moving.has(id)).map(([, place]) => place);
    const x = nearestLine(
      at[0],
      still.map((one) => one[0]),
      REACH / zoom,
    );
    const y = nearestLine(
      at[1],
      still.map((one) => one[1]),
      REACH / zoom,
    );
    const [dx, dy] = [x === null ? 0 : x - at[0], y === null ? 0 : y - at[1]];
    shift.current = [dx, dy];
    setGuides((now) => (now.x === x && now.y === y ? now : { x, y }));
    return changes.map((one) =>
      one.type === "position" && one.dragging && one.position
        ? { ...one, position: { x: one.position.x + dx, y: one.position.y + dy } }
        : one,
    );
  }, []);

  /** End the drag, and tell how far the last place was moved. */
  const release = useCallback((): Point => {
    const [dx, dy] = shift.current;
    shift.current = [0, 0];
    setGuides(NONE);
    return [dx, dy];
  }, []);
  return { guides, snap, release };
}

/** The lines that a dragged thing has snapped to, across the whole view. */
export function GuideLines({ guides }: { guides: Guides }) {
  const transform = useStore((state) => state.transform);
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  const [x, y, zoom] = transform;
  if (guides.x === null && guides.y === null) return null;
  const view = { left: -x / zoom, top: -y / zoom, width: width / zoom, height: height / zoom };
  return (
    <ViewportPortal>
      {guides.x !== null && (
        <i className="guide-line upright" style={{ left: guides.x, top: view.top, height: view.height }} />
      )}
      {guides.y !== null && <i className="guide-line" style={{ top: guides.y, left: view.left, width: view.width }} />}
    </ViewportPortal>
  );
}
