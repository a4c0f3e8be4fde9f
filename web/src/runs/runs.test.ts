import { describe, expect, it } from "vitest";
import type { Drawn, RunRow } from "../api/types";
import { words } from "../app/words";
import { linesOf, measuresOf, smoothed, tableOf } from "./curves";
import { duration, figure, fitting, lostWords, merged, sorted, withGoing } from "./listing";
import { compared } from "./recipes";

const run = (name: string, more: Partial<RunRow> = {}): RunRow => ({
  ...{ id: name, name, drawing: null, drawn: "net", data: "digits", state: "finished", reason: "" },
  ...{ created: "2026-01-01T00:00:00Z", finished: "", seconds: 1, epoch: 1, epochs: 1, step: 10, share: 1 },
  ...{ values: {}, monitor: "val_loss", best_epoch: 1, best_value: 1, throughput: null, data_wait: null, left: null },
  ...{ note: "", tags: [], rate: null, resumed: 0, inexact: "", hint: "", checkpoint: null, sweep: "" },
  ...more,
});
const ANY = { search: "", state: "", drawn: "", data: "" };
const drawn = (id: string, series: Drawn["series"]): Drawn => ({ id, whole: true, recipe: {}, series });

describe("the list of runs", () => {
  it("is sorted by any column, and what has no value stands last either way", () => {
    const runs = [run("a", { best_value: 2 }), run("b", { best_value: null }), run("c", { best_value: 1 })];
    const names = (down: boolean) => sorted(runs, { column: "best", down }).map((one) => one.name);
    expect(names(false)).toEqual(["c", "a", "b"]);
    expect(names(true)).toEqual(["a", "c", "b"]);
    const numbered = [run("net-10"), run("net-9")];
    expect(sorted(numbered, { column: "name", down: false })[0]?.name).toBe("net-9");
  });

  it("is searched in names, tags and notes, by every word", () => {
    const runs = [run("a", { tags: ["baseline"], note: "No bias" }), run("b", { state: "failed" })];
    expect(fitting(runs, { ...ANY, search: "bias base" })).toEqual([runs[0]]);
    expect(fitting(runs, { ...ANY, state: "failed" })).toEqual([runs[1]]);
    expect(fitting(runs, { ...ANY, search: "nothing" })).toEqual([]);
  });

  it("keeps rows that say the same, and asks for all when another run runs", () => {
    const [a, b] = [run("a"), run("b", { state: "running" })];
    expect(merged([a, b], [run("a"), run("b", { state: "running", step: 11 })])[0]).toBe(a);
    const told = withGoing([a, b], [run("b", { state: "running", step: 11 })]);
    expect(told?.[1]?.step).toBe(11);
    expect(withGoing([a, b], [])).toBeNull();
    expect(withGoing([a, b], [run("c", { state: "running" })])).toBeNull();
  });

  it("tells times and numbers for people", () => {
    expect([8.04, 65, 7_800, null].map(duration)).toEqual(["8.0 s", "1 min 05 s", "2 h 10 min", "–"]);
    expect([0.12345, 12.3456, 1e-7, null].map(figure)).toEqual(["0.1235", "12.346", "1.00e-7", "–"]);
  });
});

describe("curves over each other", () => {
  const one = drawn("a", {
    loss: [
      [1, 4],
      [2, 2],
      [3, 0],
    ],
    val_loss: [[3, 1]],
    val_mae: [[3, 1]],
  });
  const other = drawn("b", { loss: [[2, 1]], rate: [[2, 0.1]] });

  it("share their steps, and the logarithm has no nought", () => {
    const measures = measuresOf([one, other]);
    expect(measures.map(({ key }) => key)).toEqual(["loss", "mae", "rate"]);
    const lines = linesOf([one, other], { key: "loss", solid: "loss", dashed: "val_loss" }, 0);
    expect(lines.map(({ run: id, dashed }) => [id, dashed])).toEqual([
      ["a", false],
      ["a", true],
      ["b", false],
    ]);
    expect(tableOf(lines, true)).toEqual([
      [1, 2, 3],
      [4, 2, null],
      [undefined, undefined, 1],
      [undefined, 1, undefined],
    ]);
  });

  it("are smoothed without being drawn towards nought, over what was measured", () => {
    const flat: [number, number][] = [
      [1, 5],
      [2, 5],
      [3, 5],
    ];
    for (const [, value] of smoothed(flat, 0.9)) expect(value).toBeCloseTo(5);
    expect(
      smoothed(
        [
          [1, 0],
          [2, 1],
        ],
        0.5,
      )[1]?.[1],
    ).toBeCloseTo(2 / 3);
    expect(linesOf([other], { key: "loss", solid: "loss" }, 0.5).map(({ faint }) => faint)).toEqual([true, false]);
  });
});

it("recipes are compared by what is different alone", () => {
  const recipe = (rate: number) => ({ format: "x", version: 1, batch: 64, optimiser: { kind: "adam", rate } });
  expect(compared([recipe(0.1), recipe(0.2)])).toEqual([{ name: "optimiser.rate", values: ["0.1", "0.2"] }]);
  expect(compared([recipe(0.1), recipe(0.1)])).toEqual([]);
  expect(compared([recipe(0.1)]).map(({ name }) => name)).toEqual(["batch", "optimiser.kind", "optimiser.rate"]);
});

it("a killed run says from where it goes on, and what is trained again", () => {
  const word = words("en");
  const told = (more: Partial<RunRow>) => lostWords(run("a", { state: "interrupted", step: 30, ...more }), word);
  expect(told({ checkpoint: 20 })).toContain("step 20; the 10 steps since then");
  expect(told({ checkpoint: 30 })).toContain("nothing is lost");
  expect(told({ checkpoint: 0 })).toContain("from the start");
  expect([told({ checkpoint: null }), told({ checkpoint: 20, state: "running" })]).toEqual(["", ""]);
});
