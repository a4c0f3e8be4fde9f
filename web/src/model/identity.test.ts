// @vitest-environment jsdom
import "fake-indexeddb/auto";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Live } from "./live";
import { type Known, Names } from "./names";
import type { Orphan } from "./outbox";

/** Tabs share the locks of their browser, and each has its own memory of the names that it holds. */
async function openTab(held: Set<string>) {
  const request = async (name: string, _: unknown, then: (lock: object | null) => unknown) => {
    const free = !held.has(name);
    held.add(name);
    void then(free ? {} : null);
  };
  const query = async () => ({ held: [...held].map((name) => ({ name })) });
  vi.stubGlobal("navigator", { locks: { request, query } });
  vi.resetModules();
  sessionStorage.clear();
  return { ...(await import("./identity")), ...(await import("./courier")) };
}

const memory = (left: Orphan[], known: Known[] = []) => ({ left: async () => left, known: async () => known });

afterEach(() => vi.unstubAllGlobals());

describe("who a tab is", () => {
  const pending = [{ number: 9, base: 0, edit: { label: "x", patches: [] } }];
  const left = [{ client: "older", pending }];

  it("remembers the names of a drawing, the newest first", async () => {
    const names = await Names.open();
    await names.remember("d1", "older", 4);
    await new Promise((resolve) => setTimeout(resolve, 5));
    await names.remember("d1", "newer", 6);
    await names.remember("d1", "newer", 7);
    await names.remember("d2", "other", 9);
    expect((await names.of("d1")).map((one) => [one.client, one.next])).toEqual([
      ["newer", 7],
      ["older", 4],
    ]);
  });

  it("goes on for the tab that was there last, unless it lives", async () => {
    const held = new Set<string>();
    const known = await (await Names.open()).of("d1");
    const first = await openTab(held);
    expect(await first.identify("d1", memory(left, known))).toEqual({ client: "newer", pending: [], next: 7 });
    const second = await openTab(held);
    expect(await second.identify("d1", memory(left, known))).toEqual({ client: "older", pending, next: 10 });
    const third = await openTab(held);
    expect((await third.identify("d1", memory(left, known))).client).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("keeps its name when it leaves a drawing and comes back", async () => {
    const tab = await openTab(new Set());
    const { client } = await tab.identify("d1", memory([]));
    tab.remember("d1", client, 3);
    expect(await tab.identify("d1", memory([]))).toEqual({ client, pending: [], next: 3 });
  });

  it("takes over all that a tab wrote which died while it was looked for", async () => {
    const more = [...pending, { ...pending[0], number: 10 }] as Orphan["pending"];
    const reads = [left, [{ client: "older", pending: more }]];
    const names = [[], [{ drawing: "d1", client: "older", next: 12, time: 0 }]];
    const tab = await openTab(new Set());
    const found = await tab.identify("d1", {
      left: async () => reads.shift() ?? [],
      known: async () => names.shift() ?? [],
    });
    expect(found).toEqual({ client: "older", pending: more, next: 12 });
  });
});

describe("what other tabs have left", () => {
  const orphan = (client: string, ...numbers: number[]): Orphan => ({
    client,
    pending: numbers.map((number) => ({ number, base: 0, edit: { label: "x", patches: [] } })),
  });

  /** A tab, the outbox of its browser, what was sent, and a way to let an answer come. */
  async function lookingTab(held: Set<string>, outbox: Orphan[]) {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const tab = await openTab(held);
    const sent: string[] = [];
    const couriers = new tab.Couriers(
      "me",
      async () => [...outbox],
      (one) => {
        sent.push(`${one.client} ${one.pending.map((p) => p.number)}`);
        return { mirror: { pending: one.pending }, stop: () => sent.push(`${one.client} stopped`) } as unknown as Live;
      },
    );
    await couriers.look();
    const later = () => vi.advanceTimersByTimeAsync(3000);
    return { couriers, sent, later };
  }

  afterEach(() => vi.useRealTimers());

  it("is brought when the drawing is opened, and not what a living tab is about to send", async () => {
    const { sent } = await lookingTab(new Set(["inkcap-client-alive"]), [orphan("alive", 1), orphan("dead", 4, 5)]);
    expect(sent).toEqual(["dead 4,5"]);
  });

  it("is brought when a tab dies later, but not while one is loaded anew", async () => {
    const held = new Set(["inkcap-client-other"]);
    const outbox = [orphan("other", 1)];
    const { sent, later, couriers } = await lookingTab(held, outbox);
    held.delete("inkcap-client-other");
    await later();
    held.add("inkcap-client-other");
    await later();
    expect(sent).toEqual([]);
    held.delete("inkcap-client-other");
    await later();
    expect(sent).toEqual([]);
    outbox[0] = orphan("other", 1, 2);
    await later();
    expect(sent).toEqual(["other 1,2"]);
    await later();
    expect(sent).toEqual(["other 1,2"]);
    couriers.stop();
    await later();
    expect(sent).toEqual(["other 1,2", "other stopped"]);
  });

  it("is what is there still when everything before was answered", async () => {
    const outbox = [orphan("dead", 1)];
    const { sent, later } = await lookingTab(new Set(), outbox);
    (outbox[0] as Orphan).pending.length = 0;
    outbox[0] = orphan("dead", 2);
    await later();
    await later();
    expect(sent).toEqual(["dead 1", "dead 2"]);
  });
});
