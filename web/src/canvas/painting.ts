/** Painting a crowd: as much of each vertex as its size on the screen can show, and lines as many as time allows. */

import type { Viewport } from "@xyflow/react";
import { colours, type Theme } from "../glyphs/forms";
import type { Crowd, Look } from "./crowd";

export interface Sheet {
  pen: CanvasRenderingContext2D;
  view: Viewport;
  width: number;
  height: number;
  /** Pixels of the screen for one of the page. */
  ratio: number;
  theme: Theme;
}

/** A line that belongs to no crowd: between a capsule and the neurons that stand for it. */
export type Link = [number, number, number, number];

const INK = { light: "29,33,48", dark: "233,231,223" } as const;
export const ACCENT = { light: "#5a3fd0", dark: "#8d78ea" } as const;
/** More lines than these are a wash on any screen: a sample of them looks the same. */
const MOST_LINES = 20_000;
/** How strong the wash is where lines cover the paper once, on average. */
const WASH = 0.25;
const PALEST = 0.045;

/** The lines to be painted, spread so that the first of them are a fair sample of all, and how dark each is. */
export interface Lines {
  numbers: Uint32Array;
  shade: number;
}

export function clear({ pen, view, width, height, ratio }: Sheet): void {
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  const scale = view.zoom * ratio;
  pen.setTransform(scale, 0, 0, scale, view.x * ratio, view.y * ratio);
}

/** Which vertices are in view, as a byte for each, and how many. */
export function inView(crowd: Crowd, { view, width, height }: Sheet): { seen: Uint8Array; count: number } {
  const margin = 40 / view.zoom;
  const [left, top] = [-view.x / view.zoom - margin, -view.y / view.zoom - margin];
  const [right, bottom] = [left + width / view.zoom + 2 * margin, top + height / view.zoom + 2 * margin];
  const seen = new Uint8Array(crowd.count);
  let count = 0;
  for (let i = 0; i < crowd.count; i++) {
    const [x, y] = [crowd.x[i] as number, crowd.y[i] as number];
    if (x > left && x < right && y > top && y < bottom) {
      seen[i] = 1;
      count++;
    }
  }
  return { seen, count };
}

const common = (a: number, b: number): number => (b ? common(b, a % b) : a);

/** The lines that touch what is in view. */
export function linesInView(crowd: Crowd, seen: Uint8Array, { view, width, height }: Sheet): Lines {
  const all = crowd.back.length;
  const found = new Uint32Array(Math.min(all, MOST_LINES));
  let length = 0;
  let step = Math.max(1, Math.round(all * 0.618));
  while (all > 1 && common(step, all) !== 1) step++;
  let count = 0;
  for (let i = 0, line = 0; i < all && count < MOST_LINES; i++, line = (line + step) % all) {
    const [a, b] = [crowd.back[line] as number, crowd.front[line] as number];
    if (!seen[a] && !seen[b]) continue;
    found[count++] = line;
    length += Math.hypot(
      (crowd.x[a] as number) - (crowd.x[b] as number),
      (crowd.y[a] as number) - (crowd.y[b] as number),
    );
  }
  const layers = Math.max(1, (length * view.zoom) / (width * height));
  const shade = 1 - (1 - WASH) ** (1 / layers);
  // Paler than this is rounded away; fewer lines that are darker are the same wash.
  const shown = shade < PALEST ? Math.round((count * shade) / PALEST) : count;
  return { numbers: found.subarray(0, shown), shade: Math.min(0.42, Math.max(shade, PALEST)) };
}

/** Paint some of the lines; many are thin and pale, so that their density is what one sees. */
export function paintLines(sheet: Sheet, crowd: Crowd, { numbers, shade }: Lines, from: number, to: number): void {
  const { pen, view, theme } = sheet;
  // Pure black and white: other inks change their colour where they are laid on thinly many times.
  pen.strokeStyle = `rgba(${theme === "dark" ? "255,255,255" : "0,0,0"},${shade.toFixed(3)})`;
  pen.lineWidth = Math.max(1.2, 0.7 / view.zoom);
  pen.beginPath();
  for (let i = from; i < Math.min(to, numbers.length); i++) {
    const line = numbers[i] as number;
    const [a, b] = [crowd.back[line] as number, crowd.front[line] as number];
    pen.moveTo(crowd.x[a] as number, crowd.y[a] as number);
    pen.lineTo(crowd.x[b] as number, crowd.y[b] as number);
  }
  pen.stroke();
}

export function paintLinks({ pen, view, theme }: Sheet, links: readonly Link[]): void {
  pen.strokeStyle = `rgba(${INK[theme]},.4)`;
  pen.lineWidth = Math.max(1.2, 0.8 / view.zoom);
  pen.beginPath();
  for (const [x1, y1, x2, y2] of links) {
    pen.moveTo(x1, y1);
    pen.lineTo(x2, y2);
  }
  pen.stroke();
}

const paths = new Map<string, Path2D>();

function glyphPath(path: string): Path2D {
  const there = paths.get(path) ?? new Path2D(path);
  paths.set(path, there);
  return there;
}

export function paintVertices(sheet: Sheet, crowd: Crowd, seen: Uint8Array): void {
  crowd.looks.forEach((_, look) => {
    const those: number[] = [];
    for (let i = 0; i < crowd.count; i++) if (seen[i] && crowd.look[i] === look && !crowd.tint?.(i)) those.push(i);
    paintAlike(sheet, crowd, look, those);
  });
  if (crowd.tint) paintTints(sheet, crowd, seen, crowd.tint);
  if (16 * sheet.view.zoom >= 13) paintNames(sheet, crowd, seen);
}

/** Colours that tell numbers, over the vertices that have one. */
function paintTints(sheet: Sheet, crowd: Crowd, seen: Uint8Array, tint: NonNullable<Crowd["tint"]>): void {
  const { pen, view, theme } = sheet;
  pen.strokeStyle = `rgba(${INK[theme]},.55)`;
  pen.lineWidth = Math.min(1.6, 0.6 / view.zoom);
  for (let i = 0; i < crowd.count; i++) {
    const colour = seen[i] ? tint(i) : null;
    const form = crowd.looks[crowd.look[i] as number]?.form;
    if (!colour || !form) continue;
    const [x, y] = [crowd.x[i] as number, crowd.y[i] as number];
    // From afar a vertex is a dot: it must still be seen.
    const [w, h] = [Math.max(form.halfWidth, 1.5 / view.zoom), Math.max(form.halfHeight, 1.5 / view.zoom)];
    pen.fillStyle = colour;
    pen.beginPath();
    pen.roundRect(x - w, y - h, 2 * w, 2 * h, Math.min(w, 12));
    pen.fill();
    pen.stroke();
  }
}

/** Vertices of one look: dots where they are small, else copies of one picture of it. */
function paintAlike(sheet: Sheet, crowd: Crowd, number: number, those: number[]): void {
  const { pen, view, theme, ratio } = sheet;
  const look = crowd.looks[number];
  if (!look || !those.length) return;
  const [ink] = look.glyph ? colours(look.glyph, theme) : [`rgb(${INK[theme]})`];
  const scale = view.zoom * ratio;
  const small = Math.min(look.form.halfWidth, look.form.halfHeight) * scale < 1.6;
  const picture = small ? null : pictureOf(look, scale, theme);
  const [wide, high] = picture ? [picture.width, picture.height] : [2 * ratio, 2 * ratio];
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.fillStyle = ink;
  for (const i of those) {
    const x = Math.round((crowd.x[i] as number) * scale + view.x * ratio - wide / 2);
    const y = Math.round((crowd.y[i] as number) * scale + view.y * ratio - high / 2);
    if (picture) pen.drawImage(picture, x, y);
    else pen.fillRect(x, y, wide, high);
  }
  pen.setTransform(scale, 0, 0, scale, view.x * ratio, view.y * ratio);
}

/** A vertex of a look at some scale: its shape and, where it is large enough, its mark. */
function pictureOf({ glyph, form, round }: Look, scale: number, theme: Theme): HTMLCanvasElement {
  const [ink, wash] = glyph ? colours(glyph, theme) : [`rgb(${INK[theme]})`, "rgba(128,128,140,.15)"];
  const { halfWidth, halfHeight, mark } = form;
  const picture = document.createElement("canvas");
  picture.width = Math.ceil(2 * halfWidth * scale) + 2;
  picture.height = Math.ceil(2 * halfHeight * scale) + 2;
  const pen = picture.getContext("2d");
  if (!pen) return picture;
  pen.setTransform(scale, 0, 0, scale, picture.width / 2, picture.height / 2);
  pen.beginPath();
  if (round) pen.arc(0, 0, halfWidth - 0.8, 0, Math.PI * 2);
  else pen.roundRect(-halfWidth, -halfHeight, halfWidth * 2, halfHeight * 2, Math.min(halfWidth - 0.8, 12));
  pen.fillStyle = wash;
  pen.fill();
  pen.strokeStyle = pen.fillStyle = ink;
  pen.lineWidth = Math.max(1.6, 1 / scale);
  if (glyph?.broken) pen.setLineDash([4.5, 3.2]);
  pen.stroke();
  pen.setLineDash([]);
  if (!glyph || Math.min(halfWidth, halfHeight) * scale < 5) return picture;
  pen.scale(mark, mark);
  pen.lineCap = pen.lineJoin = "round";
  pen.lineWidth = 2.1 / mark;
  if (glyph.filled) pen.fill(glyphPath(glyph.path));
  else pen.stroke(glyphPath(glyph.path));
  return picture;
}

function paintNames({ pen, theme }: Sheet, crowd: Crowd, seen: Uint8Array): void {
  pen.font = "600 7px Inter, system-ui, sans-serif";
  pen.textAlign = "center";
  pen.fillStyle = `rgba(${INK[theme]},.8)`;
  for (let i = 0; i < crowd.count; i++)
    if (seen[i]) pen.fillText(crowd.name(i), crowd.x[i] as number, (crowd.y[i] as number) + 25, 42);
}

/** Rings around vertices, with their lines when they are few. */
export function paintChosen(sheet: Sheet, crowd: Crowd, chosen: ReadonlySet<number>, shift: [number, number]): void {
  const { pen, view, theme } = sheet;
  const moved = (i: number): [number, number] => {
    const [dx, dy] = chosen.has(i) ? shift : [0, 0];
    return [(crowd.x[i] as number) + dx, (crowd.y[i] as number) + dy];
  };
  pen.strokeStyle = ACCENT[theme];
  if (chosen.size <= 200) {
    let count = 0;
    pen.lineWidth = 1.2 / view.zoom;
    pen.beginPath();
    for (let line = 0; line < crowd.back.length; line++) {
      const [a, b] = [crowd.back[line] as number, crowd.front[line] as number];
      if (!chosen.has(a) && !chosen.has(b)) continue;
      pen.moveTo(...moved(a));
      pen.lineTo(...moved(b));
      count++;
    }
    // Hundreds of lines of one neuron stay lines.
    pen.globalAlpha = Math.max(0.16, Math.min(0.75, 40 / Math.max(count, 1)));
    pen.stroke();
    pen.globalAlpha = 1;
  }
  pen.lineWidth = Math.max(2.4, 2.2 / view.zoom);
  pen.beginPath();
  for (const i of chosen) {
    const look = crowd.looks[crowd.look[i] as number];
    const [x, y] = moved(i);
    const room = 3 / view.zoom;
    const [wide, high] = [(look?.form.halfWidth ?? 16) + room, (look?.form.halfHeight ?? 16) + room];
    if (look?.round ?? true) {
      pen.moveTo(x + wide, y);
      pen.arc(x, y, wide, 0, Math.PI * 2);
    } else pen.roundRect(x - wide, y - high, wide * 2, high * 2, Math.min(wide, 12));
  }
  pen.stroke();
}
