import { describe, expect, it } from "vitest";
import type { Report } from "../api/types";
import { nearestLine } from "../canvas/geometry";
import { foldIntoGroup, fromFile, inside, titleOf } from "./drawing";
import { findingsOf } from "./findings";
import { checkedUse, faultyCopies, isDoor, levelsOf, lineAt, outputAt } from "./within";

const drawing = fromFile({
  name: "d",
  groups: [
    {
      id: "block",
      capsules: [
        { id: "x", symbol: "identical", rank: 1 },
        { id: "y", symbol: "relu", rank: 1 },
      ],
      connections: [{ id: "x-y", symbol: "full", back: "x", front: "y" }],
      inputs: { in: "x" },
      outputs: { out: "y" },
    },
    {
      id: "stage",
      capsules: [{ id: "d", symbol: "identical", rank: 1 }],
      uses: [{ id: "blocks", group: "block", repeat: 3 }],
      connections: [{ id: "d-blocks", symbol: "transfer", back: "d", front: "blocks" }],
      inputs: { in: "d" },
      outputs: { out: "blocks" },
    },
  ],
  uses: [{ id: "one", group: "stage" }],
});
const vector = (n: number) => ({ shape: [n], dtype: "float32", text: `${n}` });
const line = (n: number) => ({
  back_end: vector(n),
  front_end: vector(n + 1),
  weights: {},
  parameters: 10,
  multiply_adds: 5,
});
const report = {
  structures: {
    capsules: Object.fromEntries(
      [0, 1, 2].map((i) => [
        `one.blocks.${i}.y`,
        { output: vector(i + 1), total_input: null, bias: null, parameter_count: 1 },
      ]),
    ),
    connections: Object.fromEntries([0, 1, 2].map((i) => [`one.blocks.${i}.x-y`, line(i)])),
    uses: {},
  },
  diagnostics: [{ rule: "r", severity: "error", where: ["one.blocks.2.y"], message: "m", fix: null }],
} as unknown as Report;

describe("inside of groups", () => {
  const levels = levelsOf(drawing, [
    { use: "one", copy: 0 },
    { use: "blocks", copy: 7 },
  ]);

  it("knows the path of an opened copy, and stops where a use is gone", () => {
    expect(levels.map((one) => one.path)).toEqual(["one.", "one.blocks.2."]);
    expect(levelsOf(drawing, [{ use: "two", copy: 0 }])).toEqual([]);
    expect(levels[1] && faultyCopies(report, levels[1])).toEqual([2]);
  });

  it("tells structures by path, also of inputs that are no capsules and of uses inside", () => {
    const [stage, block] = levels.map(({ group, path }) => ({ report, scene: inside(drawing, group), path }));
    if (!stage || !block) throw new Error("the levels are gone");
    expect(outputAt(block, "y")?.text).toBe("3");
    expect([isDoor(block, "x"), outputAt(block, "x")?.text]).toEqual([true, "2"]);
    expect(outputAt(stage, "d")?.text).toBe("0");
    expect(lineAt(stage, "d-blocks")?.front_end?.text).toBe("0");
    const [use] = stage.scene.use.values();
    expect(use && checkedUse(stage, use)).toEqual({ parameters: 33, multiply_adds: 15, output: vector(3) });
  });

  it("marks an error on every use around it", () => {
    for (const id of ["one", "one.blocks", "one.blocks.2", "one.blocks.2.y"])
      expect(findingsOf(report, id)).toHaveLength(1);
    expect(findingsOf(report, "one.blocks.1")).toHaveLength(0);
  });

  it("keeps places in the group, and drops ports whose capsule is gone", () => {
    const block = drawing.group.get("block");
    if (!block) throw new Error("the group is gone");
    const edit = {
      label: "x",
      patches: [
        { put: "position" as const, id: "x", record: [1, 2] as [number, number] },
        { remove: "connection" as const, id: "x-y" },
        { remove: "capsule" as const, id: "y" },
      ],
    };
    const [patch] = foldIntoGroup(drawing, block, edit).patches;
    expect(patch).toMatchObject({ record: { positions: { x: [1, 2] }, outputs: {}, inputs: { in: "x" } } });
  });
});

describe("small things", () => {
  it("snaps to the nearest line within reach", () => {
    expect(nearestLine(10, [3, 12, 9], 4)).toBe(9);
    expect(nearestLine(10, [3, 20], 4)).toBeNull();
  });

  it("calls a dropped drawing by its own name, or by its file's", () => {
    expect(titleOf("a.inkcap.json", '{"name": "LeNet"}')).toBe("LeNet");
    expect(titleOf("a.inkcap.json", "{")).toBe("a");
    expect(titleOf("my.model.onnx", "")).toBe("my.model");
  });
});
