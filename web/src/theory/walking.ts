/** One step of Algorithm 1, moment by moment: the order of computing, what is marked, and numbers as people read them. */

import type { Value } from "../api/types";
import type { Drawing } from "../model/drawing";
import type { Tensor, Walk } from "./api";
import type { Mark, Row } from "./mode";

export type Phase = "forward" | "loss" | "backward" | "update";
export const PHASES: readonly Phase[] = ["forward", "loss", "backward", "update"];

export interface Moment {
  phase: Phase;
  /** U, Y, L, δ, ΔW or ΔB. */
  letter: string;
  /** The capsule or connection, by its path. */
  item: string;
  value: Tensor | null;
  /** The weight after the update. */
  becomes?: Tensor;
}

export function momentsOf(walk: Walk): Moment[] {
  const data = new Set(walk.inputs);
  const forward = walk.forward.flatMap(({ capsule, U, Y }): Moment[] => [
    ...(data.has(capsule) ? [] : [{ phase: "forward" as const, letter: "U", item: capsule, value: U }]),
    { phase: "forward", letter: "Y", item: capsule, value: Y },
  ]);
  const loss: Moment = { phase: "loss", letter: "L", item: walk.outputs[0] ?? "", value: null };
  const backward = walk.backward.map(
    ({ capsule, delta }): Moment => ({ phase: "backward", letter: "δ", item: capsule, value: delta }),
  );
  const updates = walk.updates.map(
    ({ owners, weight, letter, update, after }): Moment => ({
      phase: "update",
      letter: `Δ${letter}`,
      item: owners[0] ?? weight,
      value: update,
      becomes: after,
    }),
  );
  return [...forward, loss, ...backward, ...updates];
}

/** The drawn thing that shows a path: itself, or the use of a group that it lies in. */
export function drawnAs(item: string, drawing: Drawing): string {
  const there = drawing.capsule.has(item) || drawing.connection.has(item) || drawing.use.has(item);
  return there ? item : (item.split(/[/.:]/, 1)[0] ?? item);
}

export function short(n: number): string {
  if (n === 0) return "0";
  const size = Math.abs(n);
  const text = size >= 1e4 || size < 1e-3 ? n.toExponential(1) : String(Number(n.toPrecision(3)));
  return text.replace("-", "−");
}

export const shapeText = (shape: readonly number[]): string => shape.join("×") || "1";

/** Numbers as at most so many cells from −1 to 1: the farthest from zero of each piece, by the largest of all. */
export function cellsOf({ values, strip, least, greatest }: Tensor, most: number): number[] {
  const numbers = values ?? strip ?? [];
  const largest = Math.max(Math.abs(least), Math.abs(greatest)) || 1;
  const count = Math.min(most, numbers.length);
  return Array.from({ length: count }, (_, i) => {
    const piece = numbers.slice(
      Math.floor((i * numbers.length) / count),
      Math.floor(((i + 1) * numbers.length) / count),
    );
    return piece.reduce((far, n) => (Math.abs(n) > Math.abs(far) ? n : far), 0) / largest;
  });
}

const CELLS = 12;
const KEPT: Record<string, string[]> = {
  forward: ["U", "Y"],
  loss: ["Y"],
  backward: ["Y", "δ"],
  update: ["δ", "ΔB", "ΔW"],
};

function rowOf({ letter, value }: Moment): Row | null {
  if (!value) return null;
  const [only] = value.values ?? [];
  const single = value.values?.length === 1;
  return { letter, cells: single ? [] : cellsOf(value, CELLS), text: single ? short(only ?? 0) : "" };
}

/** Mark what is computed so far: the newest is lit, what has no number yet is faint. */
export function walkMarks(moments: readonly Moment[], at: number, drawing: Drawing): Map<string, Mark> {
  const rows = new Map<string, Map<string, Row>>();
  const now = moments[at - 1];
  const kept = KEPT[now?.phase ?? "forward"] ?? [];
  for (const moment of moments.slice(0, at)) {
    const row = rowOf(moment);
    const id = drawnAs(moment.item, drawing);
    if (!row || !kept.includes(moment.letter)) continue;
    const there = rows.get(id) ?? new Map<string, Row>();
    rows.set(id, there.set(moment.letter, row));
  }
  const newest = now && now.phase !== "loss" ? drawnAs(now.item, drawing) : "";
  const marks = new Map<string, Mark>();
  const touched = new Set(moments.slice(0, at).map(({ item }) => drawnAs(item, drawing)));
  for (const id of [...drawing.capsule.keys(), ...drawing.use.keys()]) {
    const own = [...(rows.get(id)?.values() ?? [])].slice(-2);
    marks.set(id, { tone: id === newest ? "lit" : touched.has(id) ? "done" : "faint", rows: own });
  }
  for (const { id } of drawing.connection.values()) {
    const own = [...(rows.get(id)?.values() ?? [])];
    if (own.length || id === newest) marks.set(id, { tone: id === newest ? "lit" : "done", rows: own });
  }
  return marks;
}

/** Fold flat numbers into lists by their shape. */
export function nested(values: readonly number[], shape: readonly number[]): Value {
  const [first, ...rest] = shape;
  if (first === undefined) return values[0] ?? 0;
  const size = values.length / (first || 1);
  return Array.from({ length: first }, (_, i) => nested(values.slice(i * size, (i + 1) * size), rest));
}

/** The tensors that a person may write: all inputs and targets, while they are few numbers. */
export function editable(
  walk: Walk,
  most: number,
): { inputs: Map<string, Tensor>; targets: Map<string, Tensor> } | null {
  const inputs = new Map<string, Tensor>();
  for (const { capsule, Y } of walk.forward) if (walk.inputs.includes(capsule)) inputs.set(capsule, Y);
  const targets = new Map(Object.entries(walk.targets));
  const all = [...inputs.values(), ...targets.values()];
  const count = all.reduce((sum, one) => sum + (one.values?.length ?? Infinity), 0);
  return count <= most ? { inputs, targets } : null;
}
