/** Faces: what the palette and the quick box offer, from the catalogue alone. */

import type { Attributes, Catalogue, Value } from "../api/types";
import type { FaceChoice } from "../model/compose";

export const FACE_TYPE = "application/x-inkcap-face";

export interface FaceItem extends FaceChoice {
  key: string;
  title: string;
}

const kept = new WeakMap<Catalogue, FaceItem[]>();

export function facesOf(catalogue: Catalogue): FaceItem[] {
  const there = kept.get(catalogue);
  if (there) return there;
  const faces = catalogue.capsules.flatMap((symbol) =>
    symbol.ranks.map((rank) => ({
      symbol,
      rank,
      key: `${symbol.id}/${rank}`,
      title: symbol.faces[String(rank)]?.title ?? symbol.title,
    })),
  );
  kept.set(catalogue, faces);
  return faces;
}

export const readFace = (catalogue: Catalogue, key: string): FaceItem | undefined =>
  facesOf(catalogue).find((face) => face.key === key);

/** How well a face answers a search: 0 not at all; the title's beginning counts most. */
export function score(face: FaceItem, query: string): number {
  const wanted = query.toLowerCase().trim();
  if (!wanted) return 1;
  const title = face.title.toLowerCase();
  const id = face.symbol.id.toLowerCase();
  if (title === wanted || `${face.rank}d-${id}` === wanted) return 9;
  if (/^\dd/.test(wanted) && title.startsWith(wanted)) return 6;
  const plain = title.replace(/^\dd-/, "");
  if (plain.startsWith(wanted) || id.startsWith(wanted)) return 5 - face.rank * 0.01;
  const parts = wanted.split(/[\s-]+/);
  const text = `${title} ${id} ${face.symbol.family} ${face.symbol.tooltip.toLowerCase()}`;
  if (parts.every((part) => `${title} ${id}`.includes(part))) return 3;
  return parts.every((part) => text.includes(part)) ? 1 : 0;
}

export interface Typed {
  query: string;
  stated: Attributes;
  sizes: number[];
}

/** Read what is typed into the quick box: ``2D-ReLU kernels=32 kernel=5`` or ``2D-data 28x28x1``. */
export function readTyped(text: string): Typed {
  const stated: Attributes = {};
  const sizes: number[] = [];
  const query: string[] = [];
  for (const token of text.trim().split(/\s+/)) {
    const pair = /^([a-z_]+)=(.+)$/i.exec(token);
    if (pair?.[1] && pair[2]) stated[pair[1]] = readValue(pair[2]);
    else if (/^\d+([x×]\d+)*$/.test(token) && query.length) sizes.push(...token.split(/[x×]/).map(Number));
    else query.push(token);
  }
  return { query: query.join(" "), stated, sizes };
}

function readValue(text: string): Value {
  if (text === "true" || text === "false") return text === "true";
  if (/^\d+([x×,]\d+)+$/.test(text)) return text.split(/[x×,]/).map(Number);
  const number = Number(text);
  return Number.isNaN(number) ? text : number;
}

/** Bare numbers are the face's sizes: height, width, channels; or the dimension. */
export function withSizes(face: FaceItem, typed: Typed): Attributes {
  const names = (face.symbol.faces[String(face.rank)]?.attributes ?? [])
    .filter((one) => one.kind === "size")
    .map((one) => one.name);
  const sizes = Object.fromEntries(typed.sizes.slice(0, names.length).map((size, i) => [names[i] ?? "", size]));
  return { ...sizes, ...typed.stated };
}
