import "fake-indexeddb/auto";
import { describe, expect, it } from "vitest";
import type { Catalogue } from "../api/types";
import {
  addCapsule,
  changeAttribute,
  changeConnection,
  freshId,
  newConnection,
  proposals,
  removeThings,
} from "./compose";
import { applyEdit, type Drawing, EMPTY, excerpt, foldIntoGroup, fromFile, inside } from "./drawing";
import { mergeReport, structureText } from "./findings";
import { Outbox } from "./outbox";
import { aligned, neighbour, simpleLayout } from "./sorting";

const size = { kind: "size", help: "", inferred: true, required: false, letter: "" };
const faces = (...ranks: number[]) => Object.fromEntries(ranks.map((r) => [r, { title: `${r}D`, attributes: [size] }]));
const main = [{ name: "in", kind: "sums", help: "", ranks: {} }];
const catalogue = {
  capsules: [
    { id: "data", family: "data", data: true, ranks: [1, 2], faces: faces(1, 2), ports: main },
    { id: "relu", family: "activation", data: false, ranks: [0, 1, 2], faces: faces(0, 1, 2), ports: main },
    { id: "downsampling", family: "downsampling", data: false, ranks: [2], faces: faces(2), ports: main },
    { id: "length", family: "vectors", ranks: [2], faces: faces(2), ports: main, output_ranks: { 2: 1 } },
    { id: "product", family: "ports", ranks: [1], faces: faces(1), ports: [...main, { ...main[0], name: "by" }] },
  ],
  connections: [
    {
      id: "convolution",
      ranks: [
        [2, 2],
        [2, 1],
      ],
      attributes: [
        { name: "kernels", required: true, suggested: 16 },
        { name: "kernel", required: true, suggested: 3 },
        { name: "stride" },
      ],
    },
    {
      id: "transfer",
      ranks: [
        [0, 0],
        [1, 1],
        [2, 2],
      ],
      attributes: [],
    },
    {
      id: "reshaping",
      ranks: [
        [1, 2],
        [2, 1],
      ],
      attributes: [],
    },
    { id: "full", ranks: [[1, 1]], attributes: [] },
    { id: "amplifying", ranks: [[0, 0]], attributes: [] },
  ],
} as unknown as Catalogue;

const symbol = (id: string) => catalogue.capsules.find((one) => one.id === id) as Catalogue["capsules"][number];

function draw(...faces: [string, 0 | 1 | 2][]): Drawing {
  let drawing = EMPTY;
  let after: string | undefined;
  for (const [name, rank] of faces) {
    const made = addCapsule(catalogue, drawing, { symbol: symbol(name), rank }, [0, 0], { after });
    drawing = applyEdit(drawing, made.edit);
    after = made.id;
  }
  return drawing;
}

describe("drawing by gestures", () => {
  it("proposes the connection of the two structures", () => {
    const drawing = draw(["data", 2], ["relu", 2], ["downsampling", 2], ["relu", 1], ["relu", 1], ["product", 1]);
    const symbols = [...drawing.connection.values()].map((c) => c.symbol);
    expect(symbols).toEqual(["convolution", "transfer", "reshaping", "full", "transfer"]);
    expect([...drawing.capsule.keys()]).toEqual(["a", "b", "c", "d", "e", "f"]);
  });

  it("reckons with capsules whose output has another rank", () => {
    const drawing = draw(["data", 2], ["length", 2], ["relu", 1]);
    expect(drawing.connection.get("b-c")?.symbol).toBe("full");
  });

  it("gives a new convolution its usual kernels, but none into a vector", () => {
    const drawing = draw(["data", 2], ["relu", 2], ["relu", 1]);
    expect(drawing.connection.get("a-b")?.attributes).toEqual({ kernels: 16, kernel: 3 });
    const vector = drawing.capsule.get("c");
    expect(vector && proposals(catalogue, drawing, "b", vector)).toEqual(["reshaping", "convolution"]);
  });

  it("enters the port that is still free", () => {
    const drawing = draw(["data", 1], ["product", 1]);
    expect(drawing.connection.get("a-b")?.port).toBeUndefined();
    const product = drawing.capsule.get("b");
    expect(product && newConnection(catalogue, drawing, "a", product)).toMatchObject({ id: "a-b-2", port: "by" });
  });

  it("removes a capsule with its lines and its place", () => {
    const drawing = draw(["data", 2], ["relu", 2], ["downsampling", 2]);
    const after = applyEdit(drawing, removeThings(drawing, new Set(["b"])));
    expect([...after.capsule.keys()]).toEqual(["a", "c"]);
    expect(after.connection.size).toBe(0);
    expect(after.position.has("b")).toBe(false);
    expect(freshId(after)).toBe("b");
  });

  it("empties an attribute without leaving a hole in the record", () => {
    const drawing = fromFile({
      name: "d",
      capsules: [{ id: "a", symbol: "relu", rank: 1, attributes: { dimension: 4 } }],
    });
    const edit = changeAttribute(drawing, "a", "dimension", null);
    expect(edit?.patches).toEqual([{ put: "capsule", id: "a", record: { id: "a", symbol: "relu", rank: 1 } }]);
  });

  it("keeps what both connections state when one becomes the other", () => {
    const line = { id: "a-b", symbol: "convolution", back: "a", front: "b", attributes: { kernels: 8, stride: 2 } };
    const [patch] = changeConnection(catalogue, line, "transfer").patches;
    expect(patch).toMatchObject({ record: { symbol: "transfer" } });
    expect(patch && "put" in patch && patch.record).not.toHaveProperty("attributes");
  });
});

describe("groups, copies and places", () => {
  const grouped = fromFile({
    name: "d",
    groups: [
      { id: "block", capsules: [{ id: "x", symbol: "relu", rank: 1 }], outputs: { out: "x" }, inputs: { in: "x" } },
    ],
    uses: [{ id: "u", group: "block" }],
    capsules: [{ id: "a", symbol: "data", rank: 1 }],
    connections: [{ id: "a-u", symbol: "transfer", back: "a", front: "u" }],
  });

  it("folds an edit inside a group into the group's record", () => {
    const block = grouped.group.get("block");
    if (!block) throw new Error("the group is gone");
    const edit = changeAttribute(inside(grouped, block), "x", "dimension", 5);
    const [patch] = edit ? foldIntoGroup(grouped, block, edit).patches : [];
    expect(patch).toMatchObject({
      put: "group",
      id: "block",
      record: { capsules: [{ id: "x", attributes: { dimension: 5 } }] },
    });
  });

  it("copies the selection with its inner lines and the groups that it needs", () => {
    const copy = excerpt(grouped, new Set(["u"]), new Map([["u", [3, 4]]]));
    expect(copy.connections).toEqual([]);
    expect(copy.groups?.map((one) => one.id)).toEqual(["block"]);
    expect(copy.positions).toEqual({ u: [3, 4] });
  });

  it("goes along lines by keys, and lays and aligns what it is told", () => {
    const drawing = draw(["data", 2], ["relu", 2], ["downsampling", 2]);
    const places = simpleLayout(drawing);
    expect(neighbour(drawing, places, "a", "right")).toBe("b");
    expect(neighbour(drawing, places, "c", "left")).toBe("b");
    const askew = new Map<string, [number, number]>([
      ["a", [0, 10]],
      ["b", [50, 30]],
    ]);
    expect([...aligned(askew, ["a", "b"], "row").values()]).toEqual([
      [0, 20],
      [50, 20],
    ]);
  });

  it("ends the layout of a cycle", () => {
    const line = (back: string, front: string) => ({ id: `${back}-${front}`, symbol: "full", back, front });
    const ring = {
      ...draw(["data", 1], ["relu", 1]),
      connection: new Map([
        ["1", line("a", "b")],
        ["2", line("b", "a")],
      ]),
    };
    expect(simpleLayout(ring as unknown as Drawing).size).toBe(2);
  });
});

describe("reports and the outbox", () => {
  it("reads structures as people do and merges what is different", () => {
    expect(structureText({ shape: [32, 24, 20], dtype: "float32" })).toBe("24×20×32");
    const one = { structures: { capsules: { a: 1, b: 2 }, connections: {} } };
    const two = { partial: true, structures: { capsules: { b: 3 }, connections: {} }, gone: { capsules: ["a"] } };
    expect(mergeReport(one as never, two as never).structures.capsules).toEqual({ b: 3 });
  });

  it("keeps pending edits by drawing and tab until they are forgotten", async () => {
    const outbox = await Outbox.open();
    const edit = { label: "x", patches: [] };
    await outbox.keep("d1", "me", { number: 2, base: 0, edit });
    await outbox.keep("d1", "me", { number: 1, base: 0, edit });
    await outbox.keep("d2", "me", { number: 1, base: 0, edit });
    await outbox.forget("d2", "me", 1);
    expect((await outbox.left("d1")).map((one) => one.pending.map((p) => p.number))).toEqual([[1, 2]]);
    expect(await outbox.left("d2")).toEqual([]);
  });
});
