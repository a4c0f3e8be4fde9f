// @vitest-environment jsdom
import "fake-indexeddb/auto";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Names } from "./names";

/** Tabs share the locks of their browser, and each has its own memory of the names that it holds. */
async function openTab(held: Set<string>) {
  const request = async (name: string, _: unknown, then: (lock: object | null) => unknown) => {
    const free = !held.has(name);
    held.add(name);
    void then(free ? {} : null);
  };
  vi.stubGlobal("navigator", { locks: { request } });
  vi.resetModules();
  sessionStorage.clear();
  return import("./identity");
}

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
    expect(await first.identify("d1", left, known)).toEqual({ client: "newer", pending: [], next: 7 });
    const second = await openTab(held);
    expect(await second.identify("d1", left, known)).toEqual({ client: "older", pending, next: 10 });
    const third = await openTab(held);
    expect((await third.identify("d1", left, known)).client).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("keeps its name when it leaves a drawing and comes back", async () => {
    const tab = await openTab(new Set());
    const { client } = await tab.identify("d1", [], []);
    tab.remember("d1", client, 3);
    expect(await tab.identify("d1", [], [])).toEqual({ client, pending: [], next: 3 });
  });
});
