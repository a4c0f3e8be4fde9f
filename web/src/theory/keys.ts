/** Keys of the mathematics: those that open it, and those that it takes while it is open. */

import { useStudio } from "../app/store";
import { RULES } from "./derivation";
import { growBy } from "./growing";
import { enter, leave, pick, seek, step, toggle, useTheory } from "./mode";

export const THEORY_HELP = [
  { keys: "D", en: "replay the derivation of the drawing, rule by rule", zh: "逐条规则重放绘图的推导" },
  { keys: "G", en: "grow a network of neurons by the four rules", zh: "用四条规则生成神经元网络" },
  { keys: "S", en: "step through Algorithm 1: U, Y, δ and Δ", zh: "逐步执行算法 1：U、Y、δ、Δ" },
  { keys: "E", en: "all n-m networks", zh: "所有 n-m 网络" },
  { keys: "B", en: "look back: history, and compare two states", zh: "回顾历史，比较两个状态" },
] as const;

export const showHistory = (): void => useStudio.setState({ dialog: "history" });
export const showGallery = (): void => useTheory.setState({ gallery: true });

export const THEORY_KEYS: Record<string, () => void> = {
  d: () => enter("replay"),
  g: () => enter("grow"),
  s: () => enter("walk"),
  e: showGallery,
  b: showHistory,
};

const PLAYER: Record<string, () => void> = {
  " ": toggle,
  ArrowRight: () => step(1),
  ArrowLeft: () => step(-1),
  Home: () => seek(0),
  End: () => seek(Number.MAX_SAFE_INTEGER),
};

/** Keys that mean the view or the whole studio in every mode. */
const FREE = new Set(["+", "=", "-", "0", "?", "Tab", "F5"]);
const ARROWS = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]);

function growKey(key: string): boolean {
  const rule = RULES[Number(key) - 1];
  if (rule) growBy(rule);
  else if (key === " " || key === "Enter") {
    for (const id of useStudio.getState().selection) if (useStudio.getState().scene.capsule.has(id)) pick(id);
  } else return !ARROWS.has(key);
  return true;
}

/** Take a key while mathematics is shown; what is not taken means what it always means. */
export function theoryKey(event: KeyboardEvent): boolean {
  const { mode, gallery, picked } = useTheory.getState();
  if (gallery) return true;
  if (!mode) return false;
  const target = event.target as HTMLElement;
  const slider = target.matches("input[type=range]");
  if (target.matches("input, textarea, select") && !(slider && event.key === "Escape")) return false;
  if (target.matches("button, a, summary") && (event.key === "Enter" || event.key === " ")) return true;
  if (event.key === "Escape") {
    event.preventDefault();
    if (mode === "grow" && picked.length) useTheory.setState({ picked: [] });
    else leave();
    return true;
  }
  // Taking back is part of growing; elsewhere nothing is edited while mathematics is shown.
  if (event.ctrlKey || event.metaKey || event.altKey) return !(mode === "grow" && /^[zy]$/i.test(event.key));
  if (FREE.has(event.key) || (event.key === "1" && mode !== "grow")) return false;
  if (mode === "grow") {
    const taken = growKey(event.key);
    if (taken) event.preventDefault();
    return taken;
  }
  if (mode === "compare") return true;
  const act = PLAYER[event.key];
  if (act) {
    event.preventDefault();
    act();
  }
  return true;
}
