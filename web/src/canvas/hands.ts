/** Hands on what is painted: the pointer finds, selects and moves vertices that have no element of their own. */

import { type ReactFlowInstance, useReactFlow, useStoreApi } from "@xyflow/react";
import { useEffect } from "react";
import type { Point } from "../api/types";
import { move, openGroup, select } from "../app/actions";
import { chooseNeuron } from "../app/neurons";
import { useStudio } from "../app/store";
import { type Crowd, vertexAt, verticesIn } from "./crowd";

export interface Hit {
  crowd: Crowd;
  vertex: number;
  /** The id of a vertex of the drawing; none for a neuron in columns. */
  id: string | null;
}

/** What is held by the pointer, and how far it was moved. */
export interface Hold {
  ids: string[];
  shift: [number, number];
}

type Found = ((screen: Point) => Hit | null) & { within?: (from: Point, to: Point) => string[] };
let find: Found | null = null;

/** Let the canvas know what is painted now. */
export function onHits(flow: ReactFlowInstance, scene: Crowd | null, block: Crowd | null): () => void {
  const place = ([x, y]: Point): Point => {
    const at = flow.screenToFlowPosition({ x, y }, { snapToGrid: false });
    return [at.x, at.y];
  };
  const mine: Found = (screen) => {
    const reach = 4 / flow.getZoom();
    for (const crowd of [scene, block]) {
      const vertex = crowd && vertexAt(crowd, place(screen), reach);
      if (crowd && vertex !== null) return { crowd, vertex, id: crowd === scene ? crowd.name(vertex) : null };
    }
    return null;
  };
  mine.within = (from, to) => {
    const [[ax, ay], [bx, by]] = [place(from), place(to)];
    const room = { x: Math.min(ax, bx), y: Math.min(ay, by), width: Math.abs(ax - bx), height: Math.abs(ay - by) };
    return scene ? verticesIn(scene, room).map(scene.name) : [];
  };
  find = mine;
  return () => {
    if (find === mine) find = null;
  };
}

type Click = { clientX: number; clientY: number; ctrlKey: boolean; metaKey: boolean };

/** Take a click on the paper: it may be on something painted. True when it was. */
export function clickPainted(event: Click): boolean {
  const hit = find?.([event.clientX, event.clientY]) ?? null;
  chooseNeuron(hit && !hit.id ? hit.vertex : null);
  if (hit?.id) pick(hit.id, event);
  return hit !== null;
}

let boxStart: Point | null = null;
/** A box drawn with Shift selects what is painted in it. */
export const startBox = (event: { clientX: number; clientY: number }): void => {
  boxStart = find ? [event.clientX, event.clientY] : null;
};
export const endBox = (event: { clientX: number; clientY: number }): void => {
  const inside = boxStart && find?.within?.(boxStart, [event.clientX, event.clientY]);
  if (inside?.length) select(inside);
  boxStart = null;
};

const SNAP = 5;
/** A vertex that is smaller on the screen is not moved by chance: the press moves the view, the click selects. */
const HANDY = 5;
const sizeOf = ({ crowd, vertex }: Hit) => crowd.looks[crowd.look[vertex] ?? 0]?.form.halfWidth ?? 0;

const snapped = (n: number) => Math.round(n / SNAP) * SNAP;

function drop({ ids, shift: [dx, dy] }: Hold): void {
  const { places } = useStudio.getState();
  const after = new Map<string, Point>();
  for (const id of ids) {
    const at = places.get(id);
    if (at) after.set(id, [snapped(at[0] + dx), snapped(at[1] + dy)]);
  }
  move(after);
}

function pick(id: string, event: Click): void {
  const { selection } = useStudio.getState();
  if (!event.ctrlKey && !event.metaKey) return select([id]);
  const next = new Set(selection);
  if (!next.delete(id)) next.add(id);
  select(next);
}

/** Listen on the paper before the view does: a press on something painted holds it instead of the view. */
export function useHands(onHover: (hit: (Hit & { at: Point }) | null) => void, onHold: (hold: Hold | null) => void) {
  const flow = useReactFlow();
  const store = useStoreApi();
  useEffect(() => {
    const paper = store.getState().domNode;
    if (!paper) return;
    let held: { hold: Hold; from: Point; pointer: number; moved: boolean } | null = null;
    let frame = 0;
    let swallow = false;
    const onPaper = (event: Event) => (event.target as Element).classList.contains("react-flow__pane");
    const press = (event: PointerEvent) => {
      swallow = false;
      if (event.button !== 0 || event.shiftKey || !onPaper(event)) return;
      const hit = find?.([event.clientX, event.clientY]);
      if (!hit?.id || sizeOf(hit) * flow.getZoom() < HANDY) return;
      event.stopPropagation();
      swallow = true;
      const { selection } = useStudio.getState();
      const ids = selection.has(hit.id) ? [...selection] : [hit.id];
      held = {
        hold: { ids, shift: [0, 0] },
        from: [event.clientX, event.clientY],
        pointer: event.pointerId,
        moved: false,
      };
      paper.setPointerCapture(event.pointerId);
    };
    const drag = (event: PointerEvent) => {
      if (!held) return hover(event);
      event.stopPropagation();
      const [dx, dy] = [event.clientX - held.from[0], event.clientY - held.from[1]];
      if (!held.moved && Math.hypot(dx, dy) < 4) return;
      if (!held.moved) {
        held.moved = true;
        select(held.hold.ids);
      }
      const zoom = flow.getZoom();
      held.hold = { ...held.hold, shift: [dx / zoom, dy / zoom] };
      onHold(held.hold);
    };
    const hover = (event: PointerEvent) => {
      cancelAnimationFrame(frame);
      if (event.buttons || !onPaper(event)) return onHover(null);
      const box = paper.getBoundingClientRect();
      frame = requestAnimationFrame(() => {
        const hit = find?.([event.clientX, event.clientY]);
        paper.classList.toggle("over-painted", Boolean(hit));
        onHover(hit ? { ...hit, at: [event.clientX - box.left, event.clientY - box.top] } : null);
      });
    };
    const release = (event: PointerEvent) => {
      if (!held || held.pointer !== event.pointerId) return;
      event.stopPropagation();
      const { hold, moved } = held;
      held = null;
      onHold(null);
      if (moved) drop(hold);
      else pick(find?.([event.clientX, event.clientY])?.id ?? hold.ids[0] ?? "", event);
    };
    // The view listens to the mouse, not to the pointer; a press that was taken must not reach it either.
    const mouse = (event: MouseEvent) => {
      if (!swallow) return;
      event.stopPropagation();
      if (event.type !== "click") return;
      const id = event.detail === 2 ? find?.([event.clientX, event.clientY])?.id : null;
      if (id && useStudio.getState().scene.use.has(id)) openGroup(id);
    };
    const leave = () => onHover(null);
    const heard = [
      ["pointerdown", press],
      ["pointermove", drag],
      ["pointerup", release],
      ["pointercancel", release],
      ["mousedown", mouse],
      ["click", mouse],
      ["dblclick", mouse],
    ] as [string, EventListener][];
    for (const [type, listener] of heard) paper.addEventListener(type, listener, true);
    paper.addEventListener("pointerleave", leave);
    return () => {
      cancelAnimationFrame(frame);
      paper.classList.remove("over-painted");
      for (const [type, listener] of heard) paper.removeEventListener(type, listener, true);
      paper.removeEventListener("pointerleave", leave);
    };
  }, [flow, store, onHover, onHold]);
}
