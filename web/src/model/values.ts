/** What a value of an attribute may be, told in words while it is typed: the server has the last word. */

import type { Attribute, Attributes, Value } from "../api/types";

type Language = "en" | "zh";

export const isExpression = (value: unknown): boolean => typeof value === "string" && value.startsWith("=");

const SAID = {
  en: {
    whole: (least: number) => `a whole number from ${least}`,
    number: "a number",
    numbers: "whole numbers, such as 5 or 5×5",
    oneOf: (choices: string[]) => `one of ${choices.join(", ")}`,
    wants: (name: string, what: string, given: string) => `${name}: ${what}, not ${given}`,
    unknown: (name: string, known: string[]) => `there is no ${name} here; there are ${known.join(", ")}`,
  },
  zh: {
    whole: (least: number) => `不小于 ${least} 的整数`,
    number: "一个数",
    numbers: "整数，如 5 或 5×5",
    oneOf: (choices: string[]) => `${choices.join("、")} 之一`,
    wants: (name: string, what: string, given: string) => `${name}：应为${what}，而不是 ${given}`,
    unknown: (name: string, known: string[]) => `这里没有 ${name}；可用的有 ${known.join("、")}`,
  },
} as const;

const isWhole = (value: unknown, least: number) => Number.isSafeInteger(value) && (value as number) >= least;

/** What is wanted instead of this value; empty where it is of the right kind. */
function wanted(attribute: Attribute, value: Value, language: Language): string {
  const said = SAID[language];
  const least = attribute.minimum ?? 1;
  const list = Array.isArray(value) ? value : [value];
  switch (attribute.kind) {
    case "size":
      return isWhole(value, least) ? "" : said.whole(least);
    case "number":
      return typeof value === "number" && Number.isFinite(value) ? "" : said.number;
    case "axes":
      return list.every((one) => isWhole(one, attribute.minimum ?? 0)) ? "" : said.numbers;
    case "choice":
      return attribute.choices.includes(String(value)) ? "" : said.oneOf(attribute.choices);
    default:
      return "";
  }
}

/** Say in one sentence what is wrong with a value; empty where nothing is. */
export function wrongValue(attribute: Attribute, value: Value, language: Language): string {
  if (value === null || isExpression(value)) return "";
  const what = wanted(attribute, value, language);
  const given = Array.isArray(value) ? value.join("×") : String(value);
  return what && SAID[language].wants(attribute.name, what, given);
}

/** Say what is wrong with the first of several stated values, among the attributes that there are. */
export function wrongAmong(declared: Attribute[], stated: Attributes, language: Language): string {
  for (const [name, value] of Object.entries(stated)) {
    const attribute = declared.find((one) => one.name === name);
    if (!attribute)
      return SAID[language].unknown(
        name,
        declared.map((one) => one.name),
      );
    const wrong = wrongValue(attribute, value as Value, language);
    if (wrong) return wrong;
  }
  return "";
}
