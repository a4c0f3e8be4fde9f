/** A crowd: more vertices and lines than the DOM bears, as columns of numbers that are painted and searched. */

import type { Rect } from "@xyflow/react";
import type { Catalogue, Glyph, Neurons, Point } from "../api/types";
import { FORMS, type Form, shapeOf } from "../glyphs/forms";
import { capsuleSymbol } from "../model/compose";
import { type Drawing, isUse, vertices } from "../model/drawing";

export interface Look {
  glyph: Pick<Glyph, "ink" | "wash" | "path" | "filled" | "broken"> | null;
  form: Form;
  round: boolean;
}

export interface Crowd {
  count: number;
  x: Float32Array;
  y: Float32Array;
  /** The look of each vertex, by its number. */
  look: Uint8Array;
  looks: Look[];
  back: Uint32Array;
  front: Uint32Array;
  name: (vertex: number) => string;
  /** Colours that tell a number instead of the function, where there is one. */
  tint?: ((vertex: number) => string | null | undefined) | undefined;
}

export function crowdOfScene(
  scene: Drawing,
  places: ReadonlyMap<string, Point>,
  catalogue: Catalogue | null,
): Crowd & { numbers: ReadonlyMap<string, number> } {
  const all = vertices(scene);
  const numbers = new Map<string, number>();
  const [x, y, look] = [new Float32Array(all.length), new Float32Array(all.length), new Uint8Array(all.length)];
  const looks = new Map<string, number>();
  const found: Look[] = [];
  all.forEach((vertex, i) => {
    numbers.set(vertex.id, i);
    const [px, py] = places.get(vertex.id) ?? [0, 0];
    x[i] = px;
    y[i] = py;
    const key = isUse(vertex) ? "group" : `${vertex.rank} ${vertex.symbol}`;
    let number = looks.get(key);
    if (number === undefined) {
      number = Math.min(found.length, 255);
      looks.set(key, number);
      const glyph = isUse(vertex) || !catalogue ? null : (capsuleSymbol(catalogue, vertex.symbol)?.glyph ?? null);
      const shape = isUse(vertex) ? "group" : shapeOf(vertex.rank);
      found[number] = { glyph, form: FORMS[shape], round: shape === "circle" };
    }
    look[i] = number;
  });
  const [back, front] = [new Uint32Array(scene.connection.size), new Uint32Array(scene.connection.size)];
  let lines = 0;
  for (const line of scene.connection.values()) {
    const [a, b] = [numbers.get(line.back), numbers.get(line.front)];
    if (a === undefined || b === undefined) continue;
    back[lines] = a;
    front[lines++] = b;
  }
  return {
    count: all.length,
    x,
    y,
    look,
    looks: found,
    back: back.subarray(0, lines),
    front: front.subarray(0, lines),
    name: (vertex) => all[vertex]?.id ?? "",
    numbers,
  };
}

function bytes(text: string): ArrayBuffer {
  const raw = atob(text);
  const made = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) made[i] = raw.charCodeAt(i);
  return made.buffer;
}

/** Neurons in columns, as the server sends them. */
export function crowdOfNeurons(neurons: Neurons, catalogue: Catalogue | null): Crowd {
  const places = new Float32Array(bytes(neurons.places));
  const count = places.length / 2;
  const [x, y] = [new Float32Array(count), new Float32Array(count)];
  for (let i = 0; i < count; i++) {
    x[i] = places[2 * i] ?? 0;
    y[i] = places[2 * i + 1] ?? 0;
  }
  const looks = neurons.symbols.map((symbol) => ({
    glyph: (catalogue && capsuleSymbol(catalogue, symbol)?.glyph) ?? null,
    form: FORMS.circle,
    round: true,
  }));
  return {
    count,
    x,
    y,
    look: new Uint8Array(bytes(neurons.symbol)),
    looks,
    back: new Uint32Array(bytes(neurons.back)),
    front: new Uint32Array(bytes(neurons.front)),
    name: (vertex) => `n${vertex * neurons.stride}`,
  };
}

/** The vertex under a point, the nearest where several are; ``reach`` lets small ones be caught. */
export function vertexAt(crowd: Crowd, [px, py]: Point, reach: number): number | null {
  let [best, least] = [-1, Number.POSITIVE_INFINITY];
  for (let i = 0; i < crowd.count; i++) {
    const form = crowd.looks[crowd.look[i] ?? 0]?.form ?? FORMS.circle;
    const [dx, dy] = [Math.abs((crowd.x[i] ?? 0) - px), Math.abs((crowd.y[i] ?? 0) - py)];
    if (dx > form.halfWidth + reach || dy > form.halfHeight + reach) continue;
    const far = dx * dx + dy * dy;
    if (far < least) [best, least] = [i, far];
  }
  return best < 0 ? null : best;
}

export function verticesIn(crowd: Crowd, room: Rect): number[] {
  const found: number[] = [];
  for (let i = 0; i < crowd.count; i++) {
    const [x, y] = [crowd.x[i] ?? 0, crowd.y[i] ?? 0];
    if (x > room.x && x < room.x + room.width && y > room.y && y < room.y + room.height) found.push(i);
  }
  return found;
}

/** The vertex that an arrow key goes to: the nearest that way. */
export function towards(crowd: Crowd, from: number, [wx, wy]: Point): number | null {
  const [hx, hy] = [crowd.x[from] ?? 0, crowd.y[from] ?? 0];
  let [best, least] = [-1, Number.POSITIVE_INFINITY];
  for (let i = 0; i < crowd.count; i++) {
    const [dx, dy] = [(crowd.x[i] ?? 0) - hx, (crowd.y[i] ?? 0) - hy];
    const ahead = dx * wx + dy * wy;
    const aside = Math.abs(dx * wy) + Math.abs(dy * wx);
    const far = ahead + 2 * aside;
    if (ahead > 1 && aside <= ahead * 2 && far < least) [best, least] = [i, far];
  }
  return best < 0 ? null : best;
}

/** The room that a crowd takes. */
export function pointsOf(crowd: Crowd): Point[] {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i < crowd.count; i++) {
    const [x, y] = [crowd.x[i] ?? 0, crowd.y[i] ?? 0];
    if (x < left) left = x;
    if (x > right) right = x;
    if (y < top) top = y;
    if (y > bottom) bottom = y;
  }
  return crowd.count
    ? [
        [left, top],
        [right, bottom],
      ]
    : [];
}
