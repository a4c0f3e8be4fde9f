/**
 * Hands for the campaign of many tabs: the page's own model of a drawing, without the page.
 *
 * Run by Node from tests/support/many_hands.py. Every line that comes in is one order, every line that goes out its
 * answer; time stands still between them, so that a seed always plays the same game.
 */

import { createInterface } from "node:readline";
import type { Attributes, Catalogue, Edit, Point, Value } from "../api/types";
import {
  addCapsule,
  changeAttribute,
  changeCapsule,
  changeConnection,
  type FaceChoice,
  freshName,
  moveThings,
  newConnection,
  putConnection,
  removeThings,
} from "../model/compose";
import { type Drawing, excerpt, vertexOf, vertices } from "../model/drawing";
import { type Keeper, type Listener, Live, type Socket } from "../model/live";
import { Mirror, type Pending } from "../model/mirror";

const SYMBOLS = ["data", "relu", "identical", "tanh"];
const FEWEST = 3;
const MOST = 40;

/** A small, fast source of chance (mulberry32). */
function chance(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What a tab waits for; it comes when the campaign says so. */
let timers: { number: number; run: () => void }[] = [];
let timer = 0;
const wait = (run: () => void) => {
  timers.push({ number: ++timer, run });
  return timer;
};
const forget = (number: number) => {
  timers = timers.filter((one) => one.number !== number);
};
Object.assign(globalThis, { setTimeout: wait, clearTimeout: forget });

/** The last frames of a socket are in the answer to the order that made the tab send them. */
class Line implements Socket {
  onopen: Socket["onopen"] = null;
  onmessage: Socket["onmessage"] = null;
  onclose: Socket["onclose"] = null;
  closed = false;

  constructor(private readonly sent: string[]) {}

  send(text: string): void {
    if (!this.closed) this.sent.push(text);
  }

  close(): void {
    this.closed = true;
  }
}

class Hand {
  private live: Live;
  private line: Line | null = null;
  private wakes: (() => void)[] = [];
  /** The outbox outlives the tab, as the browser's does. */
  private readonly outbox = new Map<number, Pending>();
  private readonly done: number[] = [];
  private readonly refused: number[] = [];
  private sent: string[] = [];

  constructor(
    private readonly client: string,
    private readonly catalogue: Catalogue,
    private readonly luck: () => number,
  ) {
    this.live = this.tab([], 1);
  }

  private tab(pending: Pending[], next: number): Live {
    const nothing = () => undefined;
    const listener: Listener = {
      ...{ drawing: nothing, report: nothing, layout: nothing, status: nothing, clients: nothing },
      ...{ outside: nothing, trouble: nothing, steps: nothing },
      refused: (_, pending) => pending && this.refused.push(pending.number),
      done: (number) => this.done.push(number),
    };
    const keeper: Keeper = {
      keep: (pending) => this.outbox.set(pending.number, structuredClone(pending)),
      forget: (number) => this.outbox.delete(number),
    };
    const connect = () => {
      this.line = new Line(this.sent);
      return this.line;
    };
    return new Live(new Mirror(this.client, pending, next), connect, listener, keeper);
  }

  start(): void {
    this.live.start();
  }

  /** Die and come back with what the outbox has kept. */
  reload(): void {
    const next = this.live.mirror.nextNumber;
    this.live.stop();
    this.wakes = [];
    this.live = this.tab([...this.outbox.values()], next);
    this.live.start();
  }

  open(): void {
    this.line?.onopen?.(undefined as never);
  }

  hear(frames: string[]): void {
    const line = this.line;
    for (const data of frames) line?.onmessage?.({ data } as never);
  }

  lose(): void {
    const line = this.line;
    if (!line) return;
    this.line = null;
    line.close();
    const before = timers.length;
    line.onclose?.(undefined as never);
    this.wakes = timers.splice(before).map((one) => one.run);
  }

  wake(): void {
    for (const run of this.wakes.splice(0)) run();
  }

  take(): string[] {
    return this.sent.splice(0);
  }

  told(): object {
    const { mirror } = this.live;
    const drawing = Object.fromEntries(Object.entries(mirror.drawing).map(([kind, records]) => [kind, [...records]]));
    const pending = mirror.pending.map((one) => one.number);
    const outbox = [...this.outbox.keys()];
    return {
      seq: mirror.seq,
      next: mirror.nextNumber,
      drawing,
      pending,
      outbox,
      done: this.done,
      refused: this.refused,
    };
  }

  // What people do -----------------------------------------------------------------------------------------------

  act(): void {
    const drawing = this.live.mirror.drawing;
    const made = this.gesture(drawing);
    if (!made) return;
    if ("patches" in made) {
      if (made.patches.length) this.live.edit(made);
    } else this.live.command(made.command, made.given);
  }

  private gesture(drawing: Drawing): Edit | { command: string; given: Attributes } | undefined {
    const here = vertices(drawing).map((one) => one.id);
    const many = drawing.capsule.size + drawing.use.size;
    const dice = this.luck();
    if (many < FEWEST || (dice < 0.26 && many < MOST)) {
      const after = this.luck() < 0.6 ? this.one(here) : undefined;
      return addCapsule(this.catalogue, drawing, this.face(), this.point(), { after }).edit;
    }
    if (dice < 0.36) return this.connection(drawing, here);
    if (dice < 0.5) return moveThings(new Map(this.some(here).map((id) => [id, this.point()])));
    if (dice < 0.6) {
      const id = this.one([...here, ...drawing.connection.keys()]) ?? "";
      return changeAttribute(drawing, id, this.one(["dimension", "kernels"]) ?? "", this.value());
    }
    if (dice < 0.67) {
      const capsule = drawing.capsule.get(this.one([...drawing.capsule.keys()]) ?? "");
      return capsule && changeCapsule(this.catalogue, capsule, { ...this.face(), rank: capsule.rank });
    }
    if (dice < 0.75) return removeThings(drawing, new Set(this.some([...here, ...drawing.connection.keys()])));
    return this.command(drawing, here);
  }

  private connection(drawing: Drawing, here: string[]): Edit | undefined {
    const line = drawing.connection.get(this.one([...drawing.connection.keys()]) ?? "");
    if (line && this.luck() < 0.3)
      return changeConnection(this.catalogue, line, this.one(["full", "transfer"]) ?? "full");
    const back = this.one(here);
    const front = vertexOf(drawing, this.one(here) ?? "");
    if (!back || !front) return undefined;
    const link = newConnection(this.catalogue, drawing, back, front);
    return { label: `connect ${back}`, patches: [putConnection(link)] };
  }

  private command(drawing: Drawing, here: string[]): { command: string; given: Attributes } {
    const dice = this.luck();
    if (dice < 0.45) return { command: "undo", given: {} };
    if (dice < 0.6) return { command: "redo", given: {} };
    if (dice < 0.7)
      return { command: "group", given: { ids: this.some(here), name: freshName("block", drawing.group) } };
    if (dice < 0.78) return { command: "dissolve", given: { use: this.one([...drawing.use.keys()]) ?? "none" } };
    if (dice < 0.86) {
      const text = JSON.stringify(excerpt(drawing, new Set(this.some(here)), drawing.position));
      return { command: "paste", given: { text, at: this.point() as Value } };
    }
    if (dice < 0.94) return { command: "rename", given: { id: this.one(here) ?? "a", to: `r${this.whole(30)}` } };
    return { command: "arrange", given: {} };
  }

  private whole(end: number): number {
    return Math.floor(this.luck() * end);
  }

  private one<T>(list: T[]): T | undefined {
    return list[this.whole(list.length)];
  }

  private some(list: string[]): string[] {
    const count = 1 + this.whole(3);
    return [...new Set(Array.from({ length: count }, () => this.one(list) ?? "a"))];
  }

  private point(): Point {
    return [this.whole(600), this.whole(400)];
  }

  private value(): Value {
    return this.one<Value>([null, 2, 3, 8]) ?? null;
  }

  private face(): FaceChoice {
    const symbol = this.catalogue.capsules.find((one) => one.id === this.one(SYMBOLS)) ?? this.catalogue.capsules[0];
    if (!symbol) throw new Error("the catalogue has no capsules");
    return { symbol, rank: 1 };
  }
}

interface Order {
  do: "begin" | "act" | "open" | "hear" | "lose" | "wake" | "reload" | "tell";
  hand: number;
  clients?: string[];
  seed?: number;
  catalogue?: Catalogue;
  frames?: string[];
}

let hands: Hand[] = [];
let known: Catalogue | undefined;

function obey(order: Order): object {
  if (order.do === "begin") {
    known = order.catalogue ?? known;
    timers = [];
    const catalogue = known;
    if (!catalogue) throw new Error("the first order brings the catalogue");
    hands = (order.clients ?? []).map((client, n) => new Hand(client, catalogue, chance((order.seed ?? 0) * 64 + n)));
    for (const hand of hands) hand.start();
    return {};
  }
  const hand = hands[order.hand];
  if (!hand) throw new Error(`there is no hand ${order.hand}`);
  if (order.do === "tell") return hand.told();
  if (order.do === "hear") hand.hear(order.frames ?? []);
  else hand[order.do]();
  return { sent: hand.take() };
}

createInterface({ input: process.stdin }).on("line", (text) => {
  process.stdout.write(`${JSON.stringify(obey(JSON.parse(text) as Order))}\n`);
});
