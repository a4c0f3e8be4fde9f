/** A derivation as it is replayed: what is generated after so many steps, in marks, numbers and words. */

import type { Drawing } from "../model/drawing";
import type { Derivation, DerivationStep, Rule } from "./api";
import type { Mark } from "./mode";
import { fill, type theoryEnglish } from "./words";

export const RULES: readonly Rule[] = ["variable", "neuron", "growth", "convergence"];
export const ruleNumber = (rule: Rule): string => `r${RULES.indexOf(rule) + 1}`;

/** The rules as formulas: what enters, and what the new vertex computes. */
export const STATEMENTS: Record<Rule, string> = {
  variable: "z \\in X:\\quad S = \\{z\\},\\; H = \\emptyset,\\; W = \\emptyset,\\; y_z = z",
  neuron:
    "\\emptyset \\neq S \\subseteq X,\\; h \\notin X:\\quad y_h = f\\Big(\\sum_{x \\in S} w_{x \\to h}\\, x + b\\Big)",
  growth:
    "\\emptyset \\neq N \\subseteq S \\cup H:\\quad H' = H \\cup \\{h\\},\\; y_h = f\\Big(\\sum_{z \\in N} w_{z \\to h}\\, y_z + b\\Big)",
  convergence:
    "N = \\bigcup_{k=1}^{K} A_k,\\; \\emptyset \\neq A_k \\subseteq S_k \\cup H_k:\\quad y_h = f\\Big(\\sum_{z \\in N} w_{z \\to h}\\, y_z + b\\Big)",
};

const FAINT: Mark = { tone: "faint" };
const DONE: Mark = { tone: "done" };

/** Mark what is not generated yet, and what the last step made. */
export function replayMarks(derivation: Derivation, at: number, drawing: Drawing): Map<string, Mark> {
  const marks = new Map<string, Mark>();
  const made = new Set<string>();
  derivation.steps.forEach(({ vertices: [id = ""], rule }, i) => {
    const lit = i === at - 1;
    if (i < at) made.add(id);
    marks.set(id, lit ? { tone: "lit", badge: ruleNumber(rule) } : i < at ? DONE : FAINT);
  });
  const newest = derivation.steps[at - 1]?.vertices[0];
  for (const { id, front } of drawing.connection.values())
    marks.set(id, !made.has(front) ? FAINT : front === newest ? { tone: "lit" } : DONE);
  for (const id of drawing.note.keys()) marks.set(id, FAINT);
  return marks;
}

export interface Census {
  inputs: number;
  neurons: number;
  connections: number;
  networks: number;
}

/** Count S, H and W after so many steps, and the networks that are not joined yet. */
export function census(steps: readonly DerivationStep[], at: number): Census {
  const found = { inputs: 0, neurons: 0, connections: 0, networks: 0 };
  for (const step of steps.slice(0, at)) {
    if (step.rule === "variable") found.inputs++;
    else found.neurons++;
    found.connections += step.edges.length;
    found.networks += 1 - step.parts.length;
  }
  return found;
}

const MOST_NAMES = 12;

function names(part: readonly string[]): string {
  const shown = part.slice(0, MOST_NAMES).join(", ");
  return `{${shown}${part.length > MOST_NAMES ? `, … ${part.length - MOST_NAMES}` : ""}}`;
}

/** Say a step in words. */
export function sentenceOf(step: DerivationStep, word: Record<keyof typeof theoryEnglish, string>): string {
  const sentence = {
    variable: word.saysVariable,
    neuron: word.saysNeuron,
    growth: word.saysGrowth,
    convergence: word.saysConvergence,
  }[step.rule];
  const parts = step.rule === "convergence" ? step.parts.slice(0, 6) : [step.parts.flat()];
  const rest = step.rule === "convergence" && step.parts.length > 6 ? ` ∪ … ${step.parts.length - 6}` : "";
  return fill(sentence, {
    h: step.vertices[0] ?? "",
    k: `K = ${step.parts.length}`,
    parts: parts.map(names).join(" ∪ ") + rest,
  });
}
