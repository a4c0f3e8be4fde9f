import { describe, expect, it } from "vitest";
import { counted, words } from "./words";

describe("numbers of things", () => {
  it("says one of a thing by its own word, and any other number by that of many", () => {
    const say = (n: number) => counted(words("en"), n, "capsules");
    expect([0, 1, 2, 1234].map(say)).toEqual(["0 capsules", "1 capsule", "2 capsules", "1\u202f234 capsules"]);
    expect(counted(words("en"), 1e9, "multiplyAdds", (n) => `${n / 1e9} G`)).toBe("1 G multiply-adds");
  });

  it("has one word for any number where a language has but one", () => {
    expect([1, 2].map((n) => counted(words("zh"), n, "capsules"))).toEqual(["1 个胶囊", "2 个胶囊"]);
  });
});
