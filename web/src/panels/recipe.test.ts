import { describe, expect, it } from "vitest";
import type { RecipeField } from "../api/types";
import { asAttribute, isIdle, isShown, possible } from "./recipe";

const field = (name: string, kind: string, more: Partial<RecipeField> = {}): RecipeField => ({
  ...{ name, kind, default: null, help: "", minimum: null, maximum: null, above: null, below: null },
  ...{ choices: [], optional: false, missing: "", ...more },
});

const FIELDS = [
  field("workers", "whole"),
  field("sharded", "flag"),
  field("joint_norm", "flag"),
  field("clip", "number"),
];
const WITHOUT = FIELDS.map((one) => (one.name === "clip" ? one : { ...one, missing: "pip install it" }));

describe("what a recipe can say here", () => {
  it("keeps what several workers do together", () => {
    const recipe = { workers: 2, sharded: true, joint_norm: true, clip: 1 };
    expect(possible(recipe, FIELDS)).toEqual(recipe);
  });
  it("leaves out what one worker alone has no use for", () => {
    expect(possible({ workers: 1, sharded: true, clip: 1 }, FIELDS)).toEqual({ workers: 1, clip: 1 });
    expect(possible({ joint_norm: true }, FIELDS)).toEqual({});
  });
  it("lets parted weights give no signals", () => {
    expect(possible({ workers: 2, sharded: true, signals: true }, FIELDS)).toEqual({ workers: 2, sharded: true });
    expect(possible({ workers: 1, sharded: true, signals: true }, FIELDS)).toEqual({ workers: 1, signals: true });
    expect(isIdle("signals", { workers: 2, sharded: true })).toBe(true);
    expect(isIdle("signals", { workers: 2 })).toBe(false);
  });
  it("leaves out what is not installed, also of a run that is trained again", () => {
    expect(possible({ workers: 4, sharded: true, clip: 1 }, WITHOUT)).toEqual({ clip: 1 });
  });
  it("shows single values and the groups that are computed again, but no other lists", () => {
    expect([field("recompute", "texts"), field("freeze", "texts"), ...FIELDS].map(isShown)).toEqual([
      ...[true, false, true, true, true, true],
    ]);
    expect(asAttribute(field("threads", "whole", { default: 0, help: "threads; 0 = choose" }))?.default).toBe("auto");
  });
});
