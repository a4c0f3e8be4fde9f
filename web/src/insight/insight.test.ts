import { describe, expect, it } from "vitest";
import type { DrawingFile, Report, RunRow } from "../api/types";
import { fromFile, inside } from "../model/drawing";
import type { CapsuleSignals, ConnectionSignals, Signals } from "./api";
import { contrast, css, diverging, inkOn, lightnessOf, sequential } from "./colour";
import { brief, domainOf, groupSeries, reading, seriesOf, shareOf, ticksOf, together } from "./measures";
import { frameOf, indexOf, runToSee } from "./mode";
import { newestOnly } from "./newest";
import { apart, paintsAt, sceneSeries, shownAs } from "./painting";
import { readNumbers } from "./reading";
import { inkRows } from "./strokes";
import { hasSurface } from "./twofold";
import { warningsOf } from "./warnings";

const nothing = [null, null];
const capsule = (given: Partial<CapsuleSignals>): CapsuleSignals => ({
  output: [1, 1],
  delta: nothing,
  dead: nothing,
  milliseconds: [1, 1],
  megabytes: [1, 1],
  weight: nothing,
  update: nothing,
  gradient: nothing,
  ...given,
});
const line = (given: Partial<ConnectionSignals>): ConnectionSignals => ({
  weight: nothing,
  update: nothing,
  gradient: nothing,
  ...given,
});

/** A network x → stage (two copies of a group with a → b) → y, after two epochs. */
const SIGNALS: Signals = {
  epochs: [0, 1],
  frames: [0, 1],
  batch: 8,
  capsules: {
    x: capsule({ output: [2, 2] }),
    "stage.0.b": capsule({ delta: [0.1, 0.3], milliseconds: [1, 3], output: [5, 6] }),
    "stage.1.b": capsule({ delta: [0.2, 0.1], milliseconds: [2, 4], output: [7, 8] }),
    y: capsule({ delta: [0.4, 0.2] }),
  },
  connections: { "stage.0.ab": line({ weight: [3, 6] }), "stage.1.ab": line({ weight: [4, 8] }) },
  why: null,
  note: "",
};

const FILE: DrawingFile = {
  name: "two copies",
  capsules: [
    { id: "x", symbol: "data", rank: 1 },
    { id: "y", symbol: "softmax", rank: 1 },
    { id: "new", symbol: "relu", rank: 1 },
  ],
  groups: [
    {
      id: "block",
      inputs: { in: "a" },
      outputs: { out: "b" },
      capsules: [
        { id: "a", symbol: "data", rank: 1 },
        { id: "b", symbol: "relu", rank: 1 },
      ],
      connections: [{ id: "ab", symbol: "full", back: "a", front: "b" }],
    },
  ],
  uses: [{ id: "stage", group: "block", repeat: 2 }],
  connections: [
    { id: "xs", symbol: "transfer", back: "x", front: "stage" },
    { id: "sy", symbol: "transfer", back: "stage", front: "y" },
  ],
};
const DRAWING = fromFile(FILE);

describe("colours of numbers", () => {
  it.each(["light", "dark"] as const)("of more is farther from the paper, in even steps (%s)", (theme) => {
    const lights = Array.from({ length: 21 }, (_, i) => lightnessOf(sequential(i / 20, theme)));
    const steps = lights.slice(1).map((one, i) => (one - (lights[i] ?? 0)) * (theme === "light" ? -1 : 1));
    for (const step of steps) expect(step).toBeGreaterThan(0.02);
    expect(Math.max(...steps) / Math.min(...steps)).toBeLessThan(1.6);
  });
  it.each(["light", "dark"] as const)("below and above nought go different ways from the same middle (%s)", (theme) => {
    const middle = lightnessOf(diverging(0, theme));
    for (const far of [0.3, 0.6, 1]) {
      expect(Math.abs(lightnessOf(diverging(far, theme)) - middle)).toBeGreaterThan(0.1 * far);
      expect(css(diverging(far, theme))).not.toBe(css(diverging(-far, theme)));
    }
  });
  it("carry ink that can be read", () => {
    for (const theme of ["light", "dark"] as const)
      for (let i = 0; i <= 50; i++) {
        const colour = sequential(i / 50, theme);
        expect(contrast(colour, inkOn(colour))).toBeGreaterThan(4.5);
      }
  });
  it("beyond the ends are those of the ends", () => {
    expect(sequential(-3, "light")).toEqual(sequential(0, "light"));
    expect(sequential(7, "light")).toEqual(sequential(1, "light"));
  });
});

describe("a closed group", () => {
  it("adds costs, takes the norm of weights, and the largest of errors", () => {
    expect(groupSeries(SIGNALS, "stage", "milliseconds")).toEqual([3, 7]);
    expect(groupSeries(SIGNALS, "stage", "weight")).toEqual([5, 10]);
    expect(groupSeries(SIGNALS, "stage", "delta")).toEqual([0.2, 0.3]);
    expect(groupSeries(SIGNALS, "stage.1", "delta")).toEqual([0.2, 0.1]);
    expect(groupSeries(SIGNALS, "stag", "delta")).toBeUndefined();
  });
  it("has no number where nothing in it has one", () => {
    expect(together([null, undefined], "sum")).toBeNull();
    expect(together([null, -2], "most")).toBe(-2);
    expect(groupSeries(SIGNALS, "stage", "dead")).toBeUndefined();
  });
});

describe("scales", () => {
  it("are logarithmic where the range asks for it, and start at nought for costs", () => {
    expect(domainOf([[1e-6, 1]], "delta")).toEqual({ low: 1e-6, high: 1, logarithmic: true });
    expect(domainOf([[2, 3, null]], "delta")).toEqual({ low: 2, high: 3, logarithmic: false });
    expect(domainOf([[2, 3]], "milliseconds")).toEqual({ low: 0, high: 3, logarithmic: false });
    expect(domainOf([[0.2]], "dead")).toEqual({ low: 0, high: 1, logarithmic: false });
    expect(domainOf([[null], []], "delta")).toBeNull();
  });
  it("put nought at the end of a logarithm, and the middle where it is", () => {
    const domain = { low: 1e-4, high: 1, logarithmic: true };
    expect(shareOf(0, domain)).toBe(0);
    expect(shareOf(1e-2, domain)).toBeCloseTo(0.5);
    expect(shareOf(50, domain)).toBe(1);
    expect(shareOf(3, { low: 3, high: 3, logarithmic: false })).toBe(0.5);
  });
  it("are labelled at their ends and with powers of ten, never with more than fit", () => {
    const ticks = ticksOf({ low: 3e-5, high: 0.5, logarithmic: true });
    expect(ticks).toEqual([3e-5, expect.closeTo(1e-2, 9), 0.5]);
    for (const low of [1e-12, 1e-6, 0.02]) {
      const domain = { low, high: 1, logarithmic: true };
      const shares = ticksOf(domain).map((tick) => shareOf(tick, domain));
      for (const [i, share] of shares.slice(1).entries()) expect(share - (shares[i] ?? 0)).toBeGreaterThan(0.2);
    }
    expect(ticksOf({ low: 0, high: 4, logarithmic: false })).toEqual([0, 2, 4]);
  });
  it("are read in short, with their units", () => {
    expect([0, 1.23456, 0.00012, 123456, 1e-6].map(brief)).toEqual(["0", "1.23", "1.2e-4", "1.2e5", "1e-6"]);
    expect(reading(0.034, "dead")).toBe("3.4 %");
    expect(reading(1, "dead")).toBe("100 %");
    expect(reading(2.5, "milliseconds")).toBe("2.5 ms");
    expect(reading(null, "delta")).toBe("–");
  });
});

describe("what is painted", () => {
  it("is the thing's own, or what the line carries", () => {
    const { series } = sceneSeries(SIGNALS, DRAWING, "", "output");
    expect(series.get("x")).toEqual([2, 2]);
    // Into the group goes what leaves x, and out of it what leaves its last copy.
    expect(series.get("xs")).toEqual([2, 2]);
    expect(series.get("sy")).toEqual([7, 8]);
    expect(sceneSeries(SIGNALS, DRAWING, "", "delta").series.get("sy")).toEqual([0.4, 0.2]);
    expect(sceneSeries(SIGNALS, DRAWING, "", "milliseconds").series.has("sy")).toBe(false);
  });
  it("is that of the copy inside of a group", () => {
    const block = DRAWING.group.get("block");
    if (!block) throw new Error("no group");
    const scene = inside(DRAWING, block);
    const { series, strange } = sceneSeries(SIGNALS, scene, "stage.1.", "weight");
    expect(series.get("ab")).toEqual([4, 8]);
    // The input is not a capsule of the network, and is not missed.
    expect([...strange]).toEqual([]);
    expect(shownAs(scene, "stage.1.", "stage.1.b")).toBe("b");
    expect(shownAs(scene, "stage.1.", "stage.0.b")).toBeNull();
  });
  it("stays plain where the run does not know it", () => {
    const shown = sceneSeries(SIGNALS, DRAWING, "", "delta");
    expect([...shown.strange]).toEqual(["new"]);
    const paints = paintsAt(shown, DRAWING, "delta", 1, "light");
    expect(paints.get("new")).toMatchObject({ fill: null, known: false });
    expect(paints.get("x")).toMatchObject({ fill: null, known: true });
    expect(paints.get("y")?.fill).toMatch(/^rgb/);
    expect(paints.get("stage")?.text).toBe("0.3");
  });
  it("means the same in every epoch", () => {
    const shown = sceneSeries(SIGNALS, DRAWING, "", "delta");
    expect(paintsAt(shown, DRAWING, "delta", 0, "light").get("y")?.share).toBe(1);
    expect(paintsAt(shown, DRAWING, "delta", 1, "light").get("y")?.share).toBeLessThan(1);
  });
  it("is found from the thing of the network", () => {
    expect(shownAs(DRAWING, "", "stage.0.b")).toBe("stage");
    expect(shownAs(DRAWING, "", "x")).toBe("x");
    expect(shownAs(DRAWING, "", "gone")).toBeNull();
  });
  it("counts what drawing and run do not have in common, lines only with weights", () => {
    const one = { parameters: 0, multiply_adds: 0 };
    const report = {
      structures: {
        capsules: { x: {}, "stage.0.b": {}, "stage.1.b": {}, new: {} },
        connections: { xs: { ...one, weights: {} }, "stage.0.ab": { ...one, weights: { W: "1" } } },
      },
    } as unknown as Report;
    expect(apart(SIGNALS, report)).toEqual({ strange: 1, gone: 2 });
  });
});

describe("warnings", () => {
  const of = (capsules: Signals["capsules"], connections: Signals["connections"] = {}) =>
    warningsOf({ ...SIGNALS, capsules, connections }, 1).map(({ kind, id }) => `${kind} ${id}`);
  it("point out what vanishes, explodes, breaks or is dead, the gravest first", () => {
    expect(
      of({
        data: capsule({ delta: [0, 0], dead: nothing }),
        first: capsule({ delta: [1e-3, 1e-9], dead: [0, 0] }),
        dying: capsule({ delta: [1, 1], dead: [0, 0.75] }),
        wild: capsule({ delta: [1e-3, 20], dead: [0, 0] }),
        nan: capsule({ delta: [1, null] }),
        choice: capsule({ delta: [0, 0], dead: [0, 0] }),
        starved: capsule({ delta: [1, 0], dead: [0, 0] }),
      }),
    ).toEqual(["broken nan", "exploding wild", "vanishing starved", "vanishing first", "dead dying"]);
  });
  it("point out steps that are too large or too small", () => {
    expect(
      of(
        {},
        { a: line({ update: [null, 0.5] }), b: line({ update: [null, 1e-9] }), c: line({ update: [null, 1e-3] }) },
      ),
    ).toEqual(["wild a", "still b"]);
    // At the end of a schedule all weights stand nearly still: that is meant.
    expect(of({}, { a: line({ update: [null, 1e-9] }), b: line({ update: [null, 1e-8] }) })).toEqual([]);
  });
  it("are silent where all is well", () => {
    expect(of({ a: capsule({ delta: [1, 0.1] }), b: capsule({ delta: [1, 0.2], dead: [0, 0.2] }) })).toEqual([]);
    expect(warningsOf(SIGNALS, -1)).toEqual([]);
  });
});

describe("epochs", () => {
  const signals = { ...SIGNALS, epochs: [0, 1, 2, 3], frames: [0, 2] };
  it("follow the newest, or stay where they are put", () => {
    expect(indexOf({ signals, epoch: null })).toBe(3);
    expect(indexOf({ signals, epoch: 1 })).toBe(1);
    expect(indexOf({ signals: null, epoch: 1 })).toBe(-1);
  });
  it("take the weights of the last epoch that kept them", () => {
    expect(frameOf({ signals, epoch: null })).toBe(2);
    expect(frameOf({ signals, epoch: 1 })).toBe(0);
    expect(frameOf({ signals, epoch: 3 })).toBe(2);
    expect(frameOf({ signals: { ...signals, frames: [] }, epoch: 3 })).toBeNull();
  });
});

describe("the run that is seen", () => {
  const row = (id: string, state = "finished") => ({ id, state }) as RunRow;
  it("is the chosen one while it is there, else the newest", () => {
    expect(runToSee(null, [row("b"), row("a")], null)).toBe("b");
    expect(runToSee([row("a")], [row("b"), row("a")], "a")).toBe("a");
    expect(runToSee([row("a")], [row("b")], "a")).toBe("b");
    expect(runToSee(null, [], "a")).toBe("a");
    expect(runToSee([], [], null)).toBeNull();
  });
  it("is the one that was just started", () => {
    expect(runToSee([row("a")], [row("b", "running"), row("a")], "a")).toBe("b");
    expect(runToSee([row("b", "running"), row("a")], [row("b", "running"), row("a")], "a")).toBe("a");
  });
});

describe("questions", () => {
  it("are asked one at a time, and only the newest of those that wait", async () => {
    const asked: number[] = [];
    const told: number[] = [];
    const waiting: (() => void)[] = [];
    const asker = newestOnly(
      (n: number) => {
        asked.push(n);
        return new Promise<number>((done) => waiting.push(() => done(10 * n)));
      },
      (answer) => told.push(answer),
      () => told.push(-1),
    );
    for (const n of [1, 2, 3, 4]) asker.ask(n);
    expect(asked).toEqual([1]);
    waiting.shift()?.();
    await new Promise((done) => setTimeout(done));
    expect(asked).toEqual([1, 4]);
    waiting.shift()?.();
    await new Promise((done) => setTimeout(done));
    expect(told).toEqual([10, 40]);
    asker.stop();
    asker.ask(5);
    expect(asked).toEqual([1, 4]);
  });
});

describe("what is fed", () => {
  it("is the ink of the pad, row by row", () => {
    const bytes = new Uint8ClampedArray(16);
    bytes[3] = 255;
    bytes[15] = 51;
    expect(inkRows(bytes, 2)).toEqual([
      [1, 0],
      [0, 0.2],
    ]);
  });
  it("is read from numbers parted by anything usual", () => {
    expect(readNumbers("5.1, 3.5;1e-2\n-4")).toEqual([5.1, 3.5, 0.01, -4]);
  });
  it("is a plane for two numbers, whether one capsule holds them or two", () => {
    const report = (capsules: Record<string, { output: { shape: number[] } }>) =>
      ({ structures: { capsules } }) as unknown as Report;
    const two = fromFile({ name: "", capsules: ["p", "q"].map((id) => ({ id, symbol: "data", rank: 0 as const })) });
    expect(hasSurface(two, report({ p: { output: { shape: [] } }, q: { output: { shape: [] } } }))).toBe(true);
    const one = fromFile({ name: "", capsules: [{ id: "p", symbol: "data", rank: 1 }] });
    expect(hasSurface(one, report({ p: { output: { shape: [2] } } }))).toBe(true);
    expect(hasSurface(one, report({ p: { output: { shape: [3] } } }))).toBe(false);
    expect(hasSurface(one, null)).toBe(false);
  });
});

it("a series without any number is none", () => {
  expect(seriesOf(SIGNALS, "x", "delta")).toBeUndefined();
  expect(seriesOf(SIGNALS, "nobody", "delta")).toBeUndefined();
});
