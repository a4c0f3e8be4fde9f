/** The painter: keeps its sheets in step with the view. While the view moves, what is painted moves with it and is
 * painted anew as time allows; at rest all lines come, some in every frame. */

import type { Viewport } from "@xyflow/react";
import type { Theme } from "../glyphs/forms";
import type { Crowd } from "./crowd";
import {
  clear,
  inView,
  type Link,
  linesInView,
  paintChosen,
  paintLines,
  paintLinks,
  paintVertices,
  type Sheet,
} from "./painting";

/** Milliseconds: what may be painted in every frame, how long a view that rests must rest, how often a moving one is. */
const QUICK = 12;
const REST = 160;
const MOVING = 250;
/** A moving view is painted anew once so much of it would be bare paper. */
const BARE = 0.3;
/** How many lines go into one frame: as many as it turns out to bear. */
const FEWEST = 300;
const MOST = 6000;
const FRAME = 24;

export interface Chosen {
  crowd: Crowd;
  vertices: ReadonlySet<number>;
  shift: [number, number];
}

export class Painter {
  private crowds: Crowd[] = [];
  private links: readonly Link[] = [];
  private theme: Theme = "light";
  private chosen: Chosen[] = [];
  private view: Viewport = { x: 0, y: 0, zoom: 1 };
  private painted: Viewport = this.view;
  private size: [number, number] = [0, 0];
  /** How long the last painting kept the screen, its lines on the way to it too. */
  private cost = 100;
  private last = 0;
  private share = 1500;
  private frame = 0;
  private more = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly sheetBelow: HTMLCanvasElement,
    private readonly sheetAbove: HTMLCanvasElement,
  ) {}

  show(crowds: Crowd[], links: readonly Link[], theme: Theme): void {
    [this.crowds, this.links, this.theme] = [crowds, links, theme];
    this.soon();
  }

  choose(chosen: Chosen[]): void {
    this.chosen = chosen;
    this.ring();
  }

  /** Follow the view. */
  move(view: Viewport, width: number, height: number): void {
    const resized = width !== this.size[0] || height !== this.size[1];
    this.view = view;
    this.size = [width, height];
    if (resized) return this.soon();
    const scale = view.zoom / this.painted.zoom;
    const [dx, dy] = [view.x - this.painted.x * scale, view.y - this.painted.y * scale];
    this.sheetBelow.style.transform = `translate(${dx}px, ${dy}px) scale(${scale})`;
    this.ring();
    clearTimeout(this.timer);
    const wait = this.cost < QUICK ? 0 : Math.max(MOVING, 7 * this.cost);
    const bare = Math.abs(dx) > width * BARE || Math.abs(dy) > height * BARE || scale < 1 - BARE || scale > 2;
    if ((bare || !wait) && performance.now() - this.last > wait) this.soon();
    else this.timer = setTimeout(() => this.soon(), REST);
  }

  stop(): void {
    clearTimeout(this.timer);
    cancelAnimationFrame(this.frame);
    cancelAnimationFrame(this.more);
  }

  private soon(): void {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.paint());
  }

  private sheet(canvas: HTMLCanvasElement): Sheet | null {
    const pen = canvas.getContext("2d");
    const [width, height] = this.size;
    if (!pen || !width) return null;
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== wide || canvas.height !== high) {
      [canvas.width, canvas.height] = [wide, high];
      [canvas.style.width, canvas.style.height] = [`${width}px`, `${height}px`];
    }
    const sheet = { pen, view: this.view, width, height, ratio, theme: this.theme };
    clear(sheet);
    return sheet;
  }

  private paint(): void {
    this.frame = 0;
    cancelAnimationFrame(this.more);
    const start = performance.now();
    const sheet = this.sheet(this.sheetBelow);
    if (!sheet) return;
    const rest: (() => boolean)[] = [];
    const seen = this.crowds.map((crowd) => inView(crowd, sheet).seen);
    this.crowds.forEach((crowd, i) => {
      paintVertices(sheet, crowd, seen[i] as Uint8Array);
    });
    // Lines come after the vertices and go below them, so that more can follow in later frames.
    sheet.pen.globalCompositeOperation = "destination-over";
    this.crowds.forEach((crowd, i) => {
      const lines = linesInView(crowd, seen[i] as Uint8Array, sheet);
      let done = this.share;
      paintLines(sheet, crowd, lines, 0, done);
      if (done < lines.numbers.length)
        rest.push(() => {
          paintLines(sheet, crowd, lines, done, done + this.share);
          done += this.share;
          return done < lines.numbers.length;
        });
    });
    paintLinks(sheet, this.links);
    if (!rest.length) sheet.pen.globalCompositeOperation = "source-over";
    this.painted = this.view;
    this.sheetBelow.style.transform = "none";
    this.sheetBelow.dataset.painted = String(this.crowds.reduce((sum, crowd) => sum + crowd.count, 0));
    this.ring();
    this.last = performance.now();
    // Drawing is done later than it is asked for: the next frame tells how long it took.
    this.more = requestAnimationFrame(() => {
      this.last = performance.now();
      this.cost = this.last - start;
      this.paintMore(sheet, rest, this.last);
    });
  }

  private paintMore(sheet: Sheet, rest: (() => boolean)[], before: number): void {
    const now = performance.now();
    if (now > before) this.share = Math.min(MOST, Math.max(FEWEST, this.share * (now - before > FRAME ? 0.6 : 1.4)));
    this.share = Math.round(this.share);
    // Once the view has moved on, what is missing is painted for the next one.
    const done = !rest.length || this.painted !== this.view || this.frame !== 0;
    const left = done ? [] : rest.filter((work, i) => (i === 0 ? work() : true));
    if (left.length) this.more = requestAnimationFrame(() => this.paintMore(sheet, left, now));
    else sheet.pen.globalCompositeOperation = "source-over";
  }

  private ring(): void {
    const hidden = !this.chosen.length;
    // A sheet with nothing on it would still be laid over the others in every frame.
    if (this.sheetAbove.hidden !== hidden) this.sheetAbove.hidden = hidden;
    const sheet = hidden ? null : this.sheet(this.sheetAbove);
    if (sheet) for (const { crowd, vertices, shift } of this.chosen) paintChosen(sheet, crowd, vertices, shift);
  }
}
