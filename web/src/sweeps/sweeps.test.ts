import { describe, expect, it } from "vitest";
import type { PlaceRow, SweepDetail, TrialRow } from "./api";
import { axesOf, goodness, overOf, passes, pointsOf, proposal, RESULT, sortedTrials, ticksOf } from "./axes";

const trial = (number: number, values: TrialRow["values"], value: number | null): TrialRow => ({
  ...{ number, values, value, state: value === null ? "impossible" : "done", reason: "", run: "", run_name: "" },
  ...{ rung: 0, epochs: 1, wanted: 1, share: 1, best_epoch: 1, scores: {} },
});
const sweep: SweepDetail = {
  ...{ name: "s", drawing: null, drawn: "net", data: "iris", method: "grid", state: "finished", reason: "" },
  ...{ created: "", trials: 3, ended: 3, running: 0, best: 2, value: 0.1, monitor: "val_loss" },
  ...{ at_once: 1, threads: 1, factor: 3, highest: false },
  space: {
    "recipe.optimiser.rate": { from: 0.001, to: 0.1, scale: "log", points: 3 },
    "drawing.b.symbol": ["relu", "tanh"],
  },
  rows: [
    trial(1, { "recipe.optimiser.rate": 0.001, "drawing.b.symbol": "relu" }, 0.4),
    trial(2, { "recipe.optimiser.rate": 0.01, "drawing.b.symbol": "tanh" }, 0.1),
    trial(3, { "recipe.optimiser.rate": 0.1, "drawing.b.symbol": "tanh" }, null),
  ],
};
const place = (more: Partial<PlaceRow>): PlaceRow => ({
  ...{ path: "drawing.b.kernels", kind: "whole", help: "", now: 8, choices: [], minimum: 1, maximum: null },
  ...more,
});

describe("the axes of a sweep", () => {
  const axes = axesOf(sweep, "loss");
  it("are one for each varied place, and one for what decides", () => {
    expect(axes.map((axis) => axis.key)).toEqual(["recipe.optimiser.rate", "drawing.b.symbol", RESULT]);
    expect(sweep.rows.map((row) => axes[0]?.at(row)?.toFixed(3))).toEqual(["0.000", "0.500", "1.000"]);
    expect(sweep.rows.map((row) => axes[1]?.at(row))).toEqual([0, 1, 1]);
    expect(sweep.rows.map((row) => axes[2]?.at(row))).toEqual([1, 0, null]);
  });

  it("keep the trials that pass every marked interval", () => {
    const kept = (brushes: Record<string, [number, number]>) =>
      sweep.rows.filter((row) => passes(row, axes, brushes)).map((row) => row.number);
    expect(kept({})).toEqual([1, 2, 3]);
    expect(kept({ "recipe.optimiser.rate": [0.4, 1] })).toEqual([2, 3]);
    expect(kept({ "recipe.optimiser.rate": [0.4, 1], [RESULT]: [0, 1] })).toEqual([2]);
  });

  it("have ticks that a person would choose", () => {
    expect(ticksOf(0.001, 0.1, true)).toEqual([0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1]);
    expect(ticksOf(1e-6, 1, true)).toEqual([1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.1, 1]);
    expect(ticksOf(0, 1, false)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
    expect(ticksOf(2, 2, false)).toEqual([2]);
  });

  it("colour by rank, the best fully", () => {
    expect([...goodness(sweep)]).toEqual([
      [1, 0],
      [2, 1],
    ]);
  });
});

describe("the table of trials", () => {
  it("is sorted by any column, and what has no value stands last either way", () => {
    const order = (down: boolean) => sortedTrials(sweep.rows, "value", down).map((row) => row.number);
    expect(order(false)).toEqual([2, 1, 3]);
    expect(order(true)).toEqual([1, 2, 3]);
    expect(sortedTrials(sweep.rows, "drawing.b.symbol", true)[2]?.number).toBe(1);
  });
});

describe("what is typed", () => {
  it("is a list, a range, or JSON", () => {
    expect(overOf("4, 8,16", "whole")).toEqual([4, 8, 16]);
    expect(overOf("0.001..0.1 log 3", "number")).toEqual({ from: 0.001, to: 0.1, scale: "log", points: 3 });
    expect(overOf("1..9", "whole")).toEqual({ from: 1, to: 9, scale: "linear" });
    expect(overOf("true, false", "flag")).toEqual([true, false]);
    expect(overOf("relu, 1", "text")).toEqual(["relu", "1"]);
    expect(overOf("[[3, 3], [5, 5]]", "whole")).toEqual([
      [3, 3],
      [5, 5],
    ]);
    expect(overOf("x", "whole")).toEqual(["x"]);
    expect([overOf("1..9 log 7", "number"), overOf("1..9", "number"), [1, 2]].map(pointsOf)).toEqual([7, 5, 2]);
  });

  it("is proposed around what a place holds", () => {
    expect(proposal(place({}))).toBe("4, 8, 16");
    expect(proposal(place({ kind: "flag", now: false }))).toBe("true, false");
    expect(proposal(place({ kind: "text", now: "relu", choices: ["auto", "relu", "tanh", "elu", "gelu"] }))).toBe(
      "relu, tanh, elu",
    );
    expect(proposal(place({ kind: "number", now: 0.5, maximum: 1 }))).toBe("0.25, 0.5, 0.75");
    expect(proposal(place({ now: null }))).toBe("");
  });
});
