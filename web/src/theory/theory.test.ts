import { describe, expect, it } from "vitest";
import type { DrawingFile, Point, Value } from "../api/types";
import { words } from "../app/words";
import { fromFile } from "../model/drawing";
import type { Comparison, Derivation, Tensor, Walk } from "./api";
import { census, replayMarks, ruleNumber, sentenceOf } from "./derivation";
import { fieldsOf, overlay } from "./difference";
import { enter, leave, pick, seek, step, toggle, useTheory } from "./mode";
import { fileOf, placeOfGrown } from "./neurons";
import { cellsOf, drawnAs, editable, momentsOf, nested, short, walkMarks } from "./walking";
import { fill } from "./words";

const neuron = (id: string, symbol = "relu") => ({ id, symbol, rank: 0 as const });
const line = (back: string, front: string) => ({ id: `${back}-${front}`, symbol: "amplifying", back, front });
const FIGURE_10: DrawingFile = {
  name: "figure 10",
  capsules: [neuron("x1", "data"), neuron("x2", "data"), neuron("h1"), neuron("h2"), neuron("h3")],
  connections: [line("x1", "h1"), line("x2", "h2"), line("h1", "h3"), line("h2", "h3")],
};
const DERIVED: Derivation = {
  refused: "",
  counts: {},
  steps: [
    { rule: "variable", vertices: ["x1"], edges: [], parts: [], text: "" },
    { rule: "neuron", vertices: ["h1"], edges: [["x1", "h1"]], parts: [["x1"]], text: "" },
    { rule: "variable", vertices: ["x2"], edges: [], parts: [], text: "" },
    { rule: "neuron", vertices: ["h2"], edges: [["x2", "h2"]], parts: [["x2"]], text: "" },
    {
      rule: "convergence",
      vertices: ["h3"],
      edges: [
        ["h1", "h3"],
        ["h2", "h3"],
      ],
      parts: [["h1"], ["h2"]],
      text: "",
    },
  ],
};

describe("a derivation that is replayed", () => {
  it("marks what is not generated faint and the newest lit, with its lines", () => {
    const marks = replayMarks(DERIVED, 2, fromFile(FIGURE_10));
    expect(marks.get("h1")).toEqual({ tone: "lit", badge: "r2" });
    expect(marks.get("x1-h1")?.tone).toBe("lit");
    expect(marks.get("x1")?.tone).toBe("done");
    expect(marks.get("h3")?.tone).toBe("faint");
    expect(marks.get("h1-h3")?.tone).toBe("faint");
  });
  it("counts inputs, neurons, connections and networks that are not joined yet", () => {
    expect(census(DERIVED.steps, 4)).toEqual({ inputs: 2, neurons: 2, connections: 2, networks: 2 });
    expect(census(DERIVED.steps, 5).networks).toBe(1);
    expect(census(DERIVED.steps, 0).networks).toBe(0);
  });
  it("says every rule in both languages without a gap", () => {
    for (const language of ["en", "zh"] as const)
      for (const one of DERIVED.steps)
        expect(sentenceOf(one, words(language))).not.toMatch(/[{](h|k|parts)[}]|undefined/);
    expect(sentenceOf(DERIVED.steps[4] as (typeof DERIVED.steps)[0], words("en"))).toBe(
      "h3 joins K = 2 networks that share nothing: {h1} ∪ {h2}.",
    );
    expect(ruleNumber("convergence")).toBe("r4");
  });
});

describe("the player", () => {
  it("stays within its steps, stops at the end and plays again from there", () => {
    enter("replay");
    useTheory.setState({ last: 3 });
    toggle();
    seek(2);
    expect(useTheory.getState()).toMatchObject({ at: 2, playing: true });
    seek(3);
    expect(useTheory.getState().playing).toBe(false);
    step(5);
    expect(useTheory.getState().at).toBe(3);
    toggle();
    expect(useTheory.getState()).toMatchObject({ at: 0, playing: true });
    step(-1);
    expect(useTheory.getState()).toMatchObject({ at: 0, playing: false });
    leave();
    expect(useTheory.getState()).toMatchObject({ mode: null, last: 0, at: 0 });
  });
  it("chooses a vertex and lets it go again", () => {
    pick("a");
    pick("b");
    pick("a");
    expect(useTheory.getState().picked).toEqual(["b"]);
    leave();
  });
});

describe("neurons that are grown or listed", () => {
  it("lie right of what enters them, and never on one another", () => {
    const places = new Map<string, Point>([
      ["x1", [0, 0]],
      ["x2", [0, 90]],
    ]);
    expect(placeOfGrown("variable", [], new Map())).toEqual([0, 0]);
    expect(placeOfGrown("variable", [], places)).toEqual([0, 180]);
    expect(placeOfGrown("neuron", ["x1", "x2"], places)).toEqual([110, 45]);
    expect(placeOfGrown("growth", ["x1", "x2"], new Map([...places, ["h1", [110, 45] as Point]]))).toEqual([110, 135]);
  });
  it("become a drawing of data neurons, ReLU neurons and amplifying connections", () => {
    const file = fileOf({ inputs: ["x1"], neurons: ["h1"], edges: [["x1", "h1"]], svg: "" }, "1-1 network 1");
    expect(file.capsules).toEqual([neuron("x1", "data"), neuron("h1")]);
    expect(file.connections).toEqual([line("x1", "h1")]);
  });
});

const tensor = (...values: number[]): Tensor => ({
  shape: [values.length],
  norm: Math.hypot(...values),
  least: Math.min(...values),
  greatest: Math.max(...values),
  values,
});
const WALK: Walk = {
  rate: 0.1,
  forward: [
    { capsule: "x1", U: tensor(2), Y: tensor(2) },
    { capsule: "h1", U: tensor(-1), Y: tensor(0) },
  ],
  loss: { before: 0.5, after: 0.4, outputs: { h1: 0.5 } },
  backward: [{ capsule: "h1", delta: tensor(0.5) }],
  updates: [
    {
      weight: "x1-h1.weight",
      owners: ["x1-h1"],
      letter: "W",
      update: tensor(1),
      before: tensor(1),
      after: tensor(0.9),
    },
  ],
  inputs: ["x1"],
  outputs: ["h1"],
  targets: { h1: tensor(1) },
};

describe("a walk through Algorithm 1", () => {
  const drawing = fromFile(FIGURE_10);
  it("goes forwards, to the loss, backwards and to the updates; data have no total input", () => {
    expect(momentsOf(WALK).map(({ letter, item }) => `${letter} ${item}`)).toEqual([
      "Y x1",
      "U h1",
      "Y h1",
      "L h1",
      "δ h1",
      "ΔW x1-h1",
    ]);
  });
  it("shows numbers on what is computed, and the update on its line", () => {
    const moments = momentsOf(WALK);
    const halfway = walkMarks(moments, 2, drawing);
    expect(halfway.get("h1")).toEqual({ tone: "lit", rows: [{ letter: "U", cells: [], text: "−1" }] });
    expect(halfway.get("h2")?.tone).toBe("faint");
    const end = walkMarks(moments, 6, drawing);
    expect(end.get("x1-h1")).toMatchObject({ tone: "lit", rows: [{ letter: "ΔW", text: "1" }] });
    expect(end.get("h1")?.rows?.map((row) => row.letter)).toEqual(["δ"]);
  });
  it("marks what is inside a group on its use", () => {
    const file = { name: "g", uses: [{ id: "stage", group: "block" }] };
    expect(drawnAs("stage.0.conv", fromFile(file))).toBe("stage");
  });
  it("makes cells of the extremes, by the largest number", () => {
    expect(cellsOf(tensor(1, -4, 2, 0), 2)).toEqual([-1, 0.5]);
    expect(cellsOf({ ...tensor(0), values: null, strip: [0, 0] }, 8)).toEqual([0, 0]);
  });
  it("folds numbers by their shape and lets few of them be written", () => {
    expect(nested([1, 2, 3, 4], [2, 2])).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(nested([7], [])).toBe(7);
    expect([...(editable(WALK, 2)?.inputs.keys() ?? [])]).toEqual(["x1"]);
    expect(editable(WALK, 1)).toBeNull();
    expect(short(-0.00001234)).toBe("−1.2e−5".replace("e−", "e-"));
  });
});

describe("two states laid over each other", () => {
  const before: DrawingFile = {
    name: "small",
    capsules: [neuron("a", "data"), neuron("b"), neuron("c")],
    connections: [line("a", "b"), line("b", "c")],
  };
  const after: DrawingFile = {
    name: "small",
    capsules: [neuron("a", "data"), neuron("b", "tanh"), neuron("d")],
    connections: [{ ...line("a", "b"), back: "b", front: "d" }],
  };
  const told: Comparison = {
    added: [{ id: "d", kind: "capsule", record: { id: "d", symbol: "relu", rank: 0 } }],
    removed: [
      { id: "c", kind: "capsule", record: { id: "c", symbol: "relu", rank: 0 } },
      { id: "b-c", kind: "connection", record: { id: "b-c", symbol: "amplifying", back: "b", front: "c" } },
    ],
    changed: [
      { id: "b", kind: "capsule", before: { symbol: "relu" }, after: { symbol: "tanh" } },
      { id: "a-b", kind: "connection", before: { back: "a", front: "b" }, after: { back: "b", front: "d" } },
    ],
    parameters: [4, 2],
    multiply_adds: [2, 1],
    before,
    after,
    layout: { positions: { a: [0, 0], b: [100, 0], c: [200, 0], d: [200, 0] } },
    structures: { a: ["1", "2"] },
  };
  it("shows both, with ghosts that give way and a ghost of a line that was led elsewhere", () => {
    const both = overlay(told, "both");
    expect(both.vertices.map(({ vertex, kind, at }) => [vertex.id, kind, at[1]])).toEqual([
      ["a", "follows", 0],
      ["b", "changed", 0],
      ["c", "removed", 120],
      ["d", "added", 0],
    ]);
    expect(both.lines.map(({ key, kind }) => [key, kind])).toEqual([
      ["a-b", "changed"],
      ["b-c", "removed"],
      ["a-b (before)", "removed"],
    ]);
  });
  it("shows one alone", () => {
    expect(overlay(told, "before").vertices.map(({ vertex }) => vertex.id)).toEqual(["a", "b", "c"]);
    expect(overlay(told, "after").lines.map(({ key }) => key)).toEqual(["a-b"]);
  });
  it("lists every difference once, with what follows at the end", () => {
    expect(overlay(told, "both").differences.map(({ id, kind }) => `${kind} ${id}`)).toEqual([
      "added d",
      "removed c",
      "removed b-c",
      "changed b",
      "changed a-b",
      "follows a",
    ]);
  });
  it("tells fields by name, attributes without their list, members of groups by id", () => {
    expect(fieldsOf({ symbol: "relu" }, { symbol: "relu", attributes: { size: 3 } })).toEqual([
      { name: "size", before: "–", after: "3" },
    ]);
    const group = (size: number, more: Value[] = []) => ({
      capsules: [{ id: "c", symbol: "relu", rank: 1, attributes: { size } }, ...more],
    });
    expect(fieldsOf(group(3), group(4, [{ id: "d", symbol: "tanh", rank: 1 }]))).toEqual([
      { name: "capsules.c.size", before: "3", after: "4" },
      { name: "capsules.d", before: "–", after: "1D-tanh" },
    ]);
  });
});

it("sentences are filled by name", () => {
  expect(fill("{a} and {b} and {c}", { a: 1, b: "x" })).toBe("1 and x and {c}");
});
