import { describe, expect, test } from "vitest";
import type { Attribute } from "../api/types";
import { wrongAmong, wrongValue } from "./values";

const attribute = (name: string, kind: Attribute["kind"], more: Partial<Attribute> = {}): Attribute => ({
  ...{ name, kind, help: "", default: null, inferred: false, required: false, letter: "" },
  ...{ minimum: null, maximum: null, choices: [], axes: 0, unit: "" },
  ...more,
});
const kernels = attribute("kernels", "size", { minimum: 1 });
const kernel = attribute("kernel", "axes", { minimum: 1 });
const edge = attribute("edge", "choice", { choices: ["exact", "floor"] });

describe("values", () => {
  test.each([
    [kernels, 32],
    [kernels, null],
    [kernels, "=2*width"],
    [kernel, 5],
    [kernel, [3, 5]],
    [edge, "floor"],
  ])("of the right kind say nothing", (one, value) => {
    expect(wrongValue(one, value, "en")).toBe("");
  });
  test.each([
    [kernels, "abc", "kernels: a whole number from 1, not abc"],
    [kernels, -3, "kernels: a whole number from 1, not -3"],
    [kernels, 1.5, "kernels: a whole number from 1, not 1.5"],
    [kernel, "5x", "kernel: whole numbers, such as 5 or 5×5, not 5x"],
    [kernel, [3, 0], "kernel: whole numbers, such as 5 or 5×5, not 3×0"],
    [edge, "ceiling", "edge: one of exact, floor, not ceiling"],
  ])("of another kind say what is wanted", (one, value, said) => {
    expect(wrongValue(one, value, "en")).toBe(said);
  });
  test("an attribute that is not there is told with those that are", () => {
    expect(wrongAmong([kernels, kernel], { size: 3 }, "en")).toBe("there is no size here; there are kernels, kernel");
    expect(wrongAmong([kernels, kernel], { kernels: 3, kernel: "x" }, "zh")).toContain("kernel：应为整数");
    expect(wrongAmong([kernels, kernel], { kernels: 3, kernel: 5 }, "en")).toBe("");
  });
});
