import { describe, expect, it } from "vitest";
import type { Capsule, Edit, FromServer, ToServer } from "../api/types";
import { bring } from "./courier";
import { applyEdit, type Drawing, EMPTY, fromFile, inverse } from "./drawing";
import { type Listener, Live, type Socket } from "./live";
import { Mirror, type Pending } from "./mirror";

const capsule = (id: string, dimension = 2): Capsule => ({ id, symbol: "relu", rank: 1, attributes: { dimension } });
const put = (id: string, dimension = 2): Edit => ({
  label: `add ${id}`,
  patches: [{ put: "capsule", id, record: capsule(id, dimension) }],
});
const remove = (id: string): Edit => ({ label: `remove ${id}`, patches: [{ remove: "capsule", id }] });
const ids = (drawing: Drawing) => [...drawing.capsule.keys()];
const file = (...names: string[]) => ({ name: "d", capsules: names.map((id) => capsule(id)) });

describe("edits", () => {
  it("leave the drawing before them as it was", () => {
    const before = applyEdit(EMPTY, put("a"));
    const after = applyEdit(before, put("b"));
    expect(ids(before)).toEqual(["a"]);
    expect(ids(after)).toEqual(["a", "b"]);
  });

  it("come back in their old place when taken back", () => {
    const before = fromFile(file("a", "b", "c"));
    const edit = { label: "two", patches: [...remove("b").patches, ...put("a", 9).patches] };
    const back = applyEdit(applyEdit(before, edit), inverse(before, edit));
    expect(back.capsule).toEqual(before.capsule);
    expect(ids(back)).toEqual(["a", "b", "c"]);
  });
});

describe("an edit of many patches", () => {
  it("brings everything to its place, one at a time or all at once", () => {
    const before = fromFile(file("a", "b", "c", "d"));
    const patches = [
      { put: "capsule", id: "x", record: capsule("x"), index: 1 },
      { put: "capsule", id: "y", record: capsule("y") },
      { remove: "capsule", id: "b" },
      { put: "capsule", id: "b", record: capsule("b", 5), index: 0 },
      { put: "capsule", id: "c", record: capsule("c", 7), index: 0 },
      { put: "capsule", id: "z", record: capsule("z"), index: 99 },
    ] satisfies Edit["patches"];
    const one = patches.reduce((now, patch) => applyEdit(now, { label: "", patches: [patch] }), before);
    const all = applyEdit(before, { label: "", patches });
    expect(ids(all)).toEqual(["b", "a", "x", "c", "d", "y", "z"]);
    expect([...all.capsule]).toEqual([...one.capsule]);
  });

  it("brings thousands back in no time", () => {
    const names = Array.from({ length: 12000 }, (_, i) => `n${i}`);
    const before = fromFile(file(...names));
    const gone = names.filter((_, i) => i % 2 === 0);
    const removed = applyEdit(before, { label: "", patches: gone.map((id) => ({ remove: "capsule", id })) });
    const start = performance.now();
    const back = applyEdit(removed, {
      label: "",
      patches: gone.map((id, i) => ({ put: "capsule", id, record: capsule(id), index: 2 * i })),
    });
    expect(performance.now() - start).toBeLessThan(2000);
    expect(ids(back)).toEqual(names);
  });
});

describe("the mirror", () => {
  it("shows an edit before the server has it, and once only after", () => {
    const mirror = new Mirror("me");
    mirror.reset(0, file());
    const { number, base } = mirror.edit(put("a"));
    expect(base).toBe(0);
    expect(ids(mirror.drawing)).toEqual(["a"]);
    expect(mirror.applied(1, "me", number, put("a"))).toBe(true);
    expect(ids(mirror.drawing)).toEqual(["a"]);
    expect(mirror.pending).toEqual([]);
  });

  it("keeps its own pending edit on top of another tab's", () => {
    const mirror = new Mirror("me");
    mirror.reset(0, file("a"));
    mirror.edit(put("a", 7));
    mirror.applied(1, "other", 1, put("a", 3));
    expect(mirror.drawing.capsule.get("a")?.attributes).toEqual({ dimension: 7 });
  });

  it("forgets what was rejected, and keeps what came after", () => {
    const mirror = new Mirror("me");
    mirror.reset(0, file());
    const first = mirror.edit(put("a"));
    mirror.edit(put("b"));
    expect(mirror.rejected(first.number)).toBe(first);
    expect(ids(mirror.drawing)).toEqual(["b"]);
  });

  it("shows after a reconnect no second time what the state has, and keeps it until it is told what became of it", () => {
    const mirror = new Mirror("me");
    mirror.reset(0, file());
    mirror.edit(put("a"));
    mirror.edit(put("b", 3));
    mirror.edit(put("c"));
    // The second was refused, and the line broke before this was told: the state has the first alone.
    mirror.reset(1, file("a"), 2);
    expect(ids(mirror.drawing)).toEqual(["a", "c"]);
    expect(mirror.pending.map((one) => one.number)).toEqual([1, 2, 3]);
    expect(mirror.applied(1, "me", 1, put("a"))).toBe(true);
    expect(mirror.rejected(2)?.number).toBe(2);
    expect(mirror.pending.map((one) => one.number)).toEqual([3]);
    expect(ids(mirror.drawing)).toEqual(["a", "c"]);
  });

  it("applies a repeated acknowledgement no second time", () => {
    const mirror = new Mirror("me");
    mirror.reset(4, file("a"));
    mirror.applied(4, "me", 1, remove("a"));
    expect(ids(mirror.drawing)).toEqual(["a"]);
  });

  it("goes on counting where the outbox left off", () => {
    const left: Pending[] = [{ number: 7, base: 0, edit: put("a") }];
    const mirror = new Mirror("me", left);
    expect(ids(mirror.drawing)).toEqual(["a"]);
    expect(mirror.edit(put("b")).number).toBe(8);
  });

  it("undoes what the server's edit says, and nothing before it comes", () => {
    const mirror = new Mirror("me");
    mirror.reset(1, file("a"));
    const { number } = mirror.command("undo", {});
    expect(ids(mirror.drawing)).toEqual(["a"]);
    mirror.applied(2, "me", number, remove("a"));
    expect(ids(mirror.drawing)).toEqual([]);
  });
});

class FakeSocket implements Socket {
  sent: ToServer[] = [];
  onopen: Socket["onopen"] = null;
  onmessage: Socket["onmessage"] = null;
  onclose: Socket["onclose"] = null;
  send(text: string): void {
    this.sent.push(JSON.parse(text) as ToServer);
  }
  close(): void {
    this.onclose?.(undefined as never);
  }
  hear(message: Partial<FromServer>): void {
    this.onmessage?.({ data: JSON.stringify(message) } as never);
  }
}

function live(kept: number[] = []) {
  const sockets: FakeSocket[] = [];
  const refused: string[] = [];
  const quiet = () => undefined;
  const listener: Listener = {
    ...{
      drawing: quiet,
      report: quiet,
      layout: quiet,
      status: quiet,
      clients: quiet,
      outside: quiet,
      trouble: quiet,
      steps: quiet,
    },
    done: quiet,
    refused: (message) => refused.push(message),
  };
  const keeper = {
    keep: (pending: Pending) => kept.push(pending.number),
    forget: (number: number) => kept.splice(0, kept.length, ...kept.filter((one) => one !== number)),
  };
  const made = new Live(
    new Mirror("me"),
    () => {
      const socket = new FakeSocket();
      sockets.push(socket);
      return socket;
    },
    listener,
    { keep: (pending) => void keeper.keep(pending), forget: (number) => void keeper.forget(number) },
  );
  made.start();
  return { live: made, sockets, refused, kept };
}

const state = (seq: number, acknowledged: number, ...names: string[]) =>
  ({ type: "state", seq, acknowledged, document: file(...names), clients: 1, layout: null }) as Partial<FromServer>;

describe("the live connection", () => {
  it("says hello first and sends what was drawn meanwhile only after the state", () => {
    const { live: mine, sockets } = live();
    mine.edit(put("a"));
    sockets[0]?.onopen?.(undefined as never);
    expect(sockets[0]?.sent.map((one) => one.type)).toEqual(["hello"]);
    sockets[0]?.hear(state(0, 0));
    expect(sockets[0]?.sent.map((one) => one.type)).toEqual(["hello", "edit"]);
  });

  it("sends again under the old numbers what was not acknowledged when the line broke", async () => {
    const { live: mine, sockets, kept } = live();
    sockets[0]?.hear(state(0, 0));
    mine.edit(put("a"));
    mine.edit(put("b"));
    sockets[0]?.hear({ type: "applied", seq: 1, client: "me", number: 1, edit: put("a"), label: "" });
    expect(kept).toEqual([2]);
    sockets[0]?.close();
    await new Promise((resolve) => setTimeout(resolve, 220));
    sockets[1]?.hear(state(1, 1, "a"));
    expect(sockets[1]?.sent).toEqual([{ type: "edit", number: 2, base: 0, edit: put("b") }]);
    mine.stop();
  });

  it("tells why something was rejected, and takes it off the drawing and out of the outbox", () => {
    const { live: mine, sockets, refused, kept } = live();
    sockets[0]?.hear(state(0, 0));
    mine.edit(put("a"));
    sockets[0]?.hear({ type: "rejected", number: 1, message: "the id is taken" });
    expect(refused).toEqual(["the id is taken"]);
    expect(kept).toEqual([]);
    expect(ids(mine.mirror.drawing)).toEqual([]);
  });

  it("brings what a dead tab left under that tab's name, once, and goes", () => {
    const sockets: FakeSocket[] = [];
    const gone: number[] = [];
    const left = [1, 2, 3].map((number) => ({ number, base: 0, edit: put(`x${number}`) }));
    const connect = () => {
      sockets.push(new FakeSocket());
      return sockets.at(-1) as FakeSocket;
    };
    const keeper = { keep: () => undefined, forget: (number: number) => void gone.push(number) };
    bring({ client: "dead-tab", pending: left }, connect, keeper, () => undefined);
    const [socket] = sockets;
    socket?.onopen?.(undefined as never);
    // The first had arrived before the tab died: the server says so, and is asked what became of it.
    socket?.hear(state(4, 1, "x1"));
    expect(
      socket?.sent.map((one) => [one.type, "number" in one ? one.number : one.type === "hello" && one.client]),
    ).toEqual([
      ["hello", "dead-tab"],
      ["edit", 1],
      ["edit", 2],
      ["edit", 3],
    ]);
    socket?.hear({ type: "applied", seq: 4, client: "dead-tab", number: 1, edit: put("x1"), label: "" });
    socket?.hear({ type: "applied", seq: 5, client: "dead-tab", number: 2, edit: put("x2"), label: "" });
    socket?.hear({ type: "rejected", number: 3, message: "no" });
    expect(gone).toEqual([1, 2, 3]);
    expect(sockets.length).toBe(1);
  });
});
