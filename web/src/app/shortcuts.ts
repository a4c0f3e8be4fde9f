/** Keys: everything that a mouse can do. */

import { INSIGHT_HELP, INSIGHT_KEYS } from "../insight/keys";
import { isUse, vertexOf, vertices } from "../model/drawing";
import type { Way } from "../model/sorting";
import { neighbour } from "../model/sorting";
import { THEORY_HELP, THEORY_KEYS, theoryKey } from "../theory/keys";
import {
  align,
  arrange,
  copy,
  cycleConnection,
  dissolve,
  duplicate,
  fitView,
  focusCanvas,
  leaveTo,
  makeGroup,
  nudge,
  openGroup,
  paste,
  redo,
  removeSelected,
  select,
  undo,
} from "./actions";
import { chooseNeuron, useNeurons, walkNeurons } from "./neurons";
import { toggleDock } from "./preferences";
import { type QuickAdd, useStudio } from "./store";

export const KEYS = [
  { keys: "/", en: "add a capsule, after the selected one", zh: "添加胶囊（接在所选胶囊之后）" },
  { keys: "C", en: "connect the selected capsule to another", zh: "把所选胶囊连接到另一个" },
  { keys: "T", en: "change the selected connection to the next that fits", zh: "把所选连接换成下一种合适的连接" },
  { keys: "← → ↑ ↓", en: "go to the next capsule", zh: "移到相邻的胶囊" },
  { keys: "L", en: "go to the line that enters the selected capsule", zh: "移到进入所选胶囊的连接" },
  { keys: "Enter", en: "edit the attributes of what is selected, or open a group", zh: "编辑所选对象的属性，或打开组" },
  {
    keys: "Esc",
    en: "back to the canvas, then select nothing, then leave the group",
    zh: "回到画布；取消选择；离开组",
  },
  { keys: "Alt + arrows", en: "move what is selected", zh: "移动所选对象" },
  { keys: "Shift + arrows", en: "select more", zh: "扩大选择" },
  { keys: "Shift + drag", en: "select what a rubber band surrounds", zh: "框选" },
  { keys: "Delete", en: "delete", zh: "删除" },
  { keys: "Ctrl Z / Ctrl Shift Z", en: "undo / redo", zh: "撤销 / 重做" },
  { keys: "Ctrl C / X / V / D", en: "copy / cut / paste / duplicate", zh: "复制 / 剪切 / 粘贴 / 再制" },
  { keys: "Ctrl A", en: "select everything", zh: "全选" },
  { keys: "Ctrl G / Ctrl Shift G", en: "make a group / dissolve it", zh: "成组 / 解散组" },
  { keys: "H / V", en: "align in a row / in a column", zh: "横向 / 纵向对齐" },
  { keys: "A", en: "arrange the drawing, or the selection", zh: "自动整理全部或所选" },
  {
    keys: "F",
    en: "mend: press the first fix of what is selected, or of the drawing",
    zh: "修复所选对象或绘图的第一个错误",
  },
  { keys: "Ctrl F", en: "find in the drawing", zh: "在绘图中查找" },
  { keys: "+ / − / 0 / 1", en: "zoom in / out / 100 % / fit", zh: "放大 / 缩小 / 100 % / 适合窗口" },
  { keys: "R", en: "open the training dock", zh: "打开训练面板" },
  ...INSIGHT_HELP,
  ...THEORY_HELP,
  { keys: "?", en: "these keys", zh: "显示这些按键" },
] as const;

const state = () => useStudio.getState();
const quick = (mode: QuickAdd["mode"], after: string | null) =>
  useStudio.setState({ quickAdd: { at: null, screen: null, after, mode } });

function lastVertex(): string | null {
  const { selection, scene } = state();
  return [...selection].reverse().find((id) => vertexOf(scene, id)) ?? null;
}

const WAYS: Record<string, Way> = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" };

function go(way: Way, more: boolean): void {
  if (walkNeurons(way)) return;
  const { scene, places, selection } = state();
  const line = [...selection].map((id) => scene.connection.get(id)).find(Boolean);
  const from = lastVertex();
  const to = line
    ? way === "left" || way === "up"
      ? line.back
      : line.front
    : from
      ? neighbour(scene, places, from, way)
      : vertices(scene)[0]?.id;
  if (!to) return;
  select(more ? [...selection, to] : [to]);
  focusCanvas(to);
}

function enter(): void {
  const { scene, selection } = state();
  const [id] = selection;
  const vertex = id ? vertexOf(scene, id) : undefined;
  if (vertex && isUse(vertex)) return openGroup(vertex.id);
  document.querySelector<HTMLElement>("#inspector .fields [data-attribute], #inspector textarea")?.focus();
}

function stepBack(): void {
  if (useNeurons.getState().chosen !== null) return chooseNeuron(null);
  const { selection, scope } = state();
  if (selection.size) select([]);
  else if (scope.length) leaveTo(scope.length - 1);
}

function enteringLine(): void {
  const { scene } = state();
  const id = lastVertex();
  const line = [...scene.connection.values()].findLast((c) => c.front === id);
  if (line) select([line.id]);
}

function mend(): void {
  const inspector = document.querySelector<HTMLElement>("#inspector .fix");
  (inspector ?? document.querySelector<HTMLElement>("#canvas .fix"))?.click();
}

const withControl: Record<string, (shift: boolean) => void> = {
  z: (shift) => (shift ? redo() : undo()),
  y: () => redo(),
  c: () => void copy(),
  x: () => void copy().then(removeSelected),
  v: () => void paste(),
  d: () => duplicate(),
  a: () => select([...vertices(state().scene).map((v) => v.id), ...state().scene.note.keys()]),
  g: (shift) => (shift ? dissolve() : makeGroup()),
  f: () => quick("find", null),
};

const zoom = (name: string) => document.dispatchEvent(new CustomEvent("inkcap-zoom", { detail: name }));

const plain: Record<string, () => void> = {
  ...THEORY_KEYS,
  ...INSIGHT_KEYS,
  "/": () => quick("add", lastVertex()),
  c: () => lastVertex() && quick("connect", lastVertex()),
  t: () => {
    for (const id of state().selection) if (state().scene.connection.has(id)) cycleConnection(id);
  },
  l: enteringLine,
  Enter: enter,
  Escape: stepBack,
  Delete: removeSelected,
  Backspace: removeSelected,
  h: () => align("row"),
  v: () => align("column"),
  a: arrange,
  f: mend,
  r: toggleDock,
  "+": () => zoom("in"),
  "=": () => zoom("in"),
  "-": () => zoom("out"),
  "0": () => zoom("whole"),
  "1": fitView,
  "?": () => useStudio.setState({ dialog: "keys" }),
};

const STEP = 20;

export function onKey(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  const { dialog, quickAdd, id } = state();
  // What is typed in a dialog is meant for it, and not for the drawing below.
  if (!id || dialog || quickAdd || event.isComposing || target.closest("dialog")) return;
  if (theoryKey(event)) return;
  const typing = target.matches("input, textarea, select, [contenteditable]");
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (typing) {
    if (event.key === "Escape") {
      target.blur();
      focusCanvas([...state().selection][0]);
    }
    return;
  }
  const way = WAYS[key];
  // A focused button is pressed by Enter and Space; all other keys mean the drawing.
  const pressing = target.matches("button, a, summary") && (key === "Enter" || key === " ");
  if (pressing) return;
  if (event.ctrlKey || event.metaKey) {
    const act = withControl[key];
    if (!act) return;
    event.preventDefault();
    act(event.shiftKey);
  } else if (way) {
    event.preventDefault();
    const [dx, dy] = { left: [-STEP, 0], right: [STEP, 0], up: [0, -STEP], down: [0, STEP] }[way] as [number, number];
    if (event.altKey) nudge(dx, dy);
    else go(way, event.shiftKey);
  } else if (!event.altKey && plain[key]) {
    event.preventDefault();
    plain[key]?.();
  }
}
