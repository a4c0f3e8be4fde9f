/** What a person can do to the drawing, whichever way: mouse, keys, menus and panels all come here. */

import { api } from "../api/client";
import type { Attributes, Edit, Patch, Point } from "../api/types";
import {
  addCapsule,
  changeConnection,
  type FaceChoice,
  freshName,
  moveThings,
  newConnection,
  proposals,
  putConnection,
  putPosition,
  removeThings,
} from "../model/compose";
import { excerpt, vertexOf } from "../model/drawing";
import { aligned } from "../model/sorting";
import { attempt, command, perform, say } from "./session";
import { refresh, useStudio } from "./store";
import { words } from "./words";

const state = () => useStudio.getState();
const word = () => words(state().language);

export function select(ids: Iterable<string>): void {
  const next = new Set(ids);
  const now = state().selection;
  if (next.size === now.size && [...next].every((id) => now.has(id))) return;
  useStudio.setState({ selection: next });
}

/** Places of what has none yet go into the same edit, so that nothing jumps when one thing is placed by hand. */
function pinned(edit: Edit): Edit {
  const { scene, places } = state();
  const placing = new Set(edit.patches.flatMap((p) => ("put" in p && p.put === "position" ? [p.id] : [])));
  const going = new Set(edit.patches.flatMap((p) => ("remove" in p ? [p.id] : [])));
  const pins: Patch[] = [];
  for (const [id, at] of places)
    if (!scene.position.has(id) && !placing.has(id) && !going.has(id)) pins.push(putPosition(id, at));
  return { ...edit, patches: [...edit.patches, ...pins] };
}

/** Where a new capsule goes: after another one, clear of what lies there, or at the end of the row. */
export function placeAfter(after: string | null): Point {
  const { places } = state();
  const all = [...places.values()];
  const from = after ? places.get(after) : undefined;
  if (!from) return all.length ? [Math.max(...all.map(([x]) => x)) + 130, all[0]?.[1] ?? 0] : [0, 0];
  const spot: Point = [from[0] + 130, from[1]];
  while (all.some(([x, y]) => Math.abs(x - spot[0]) < 70 && Math.abs(y - spot[1]) < 90)) spot[1] += 120;
  return spot;
}

export function add(face: FaceChoice, at: Point | null, after: string | null, stated: Attributes = {}): void {
  const { catalogue, scene } = state();
  if (!catalogue) return;
  const declared = new Set((face.symbol.faces[String(face.rank)]?.attributes ?? []).map((one) => one.name));
  const own: Attributes = {};
  const weighing: Attributes = {};
  for (const [name, value] of Object.entries(stated)) (declared.has(name) ? own : weighing)[name] = value;
  const made = addCapsule(catalogue, scene, face, at ?? placeAfter(after), {
    after: after ?? undefined,
    stated: own,
    weighing,
  });
  perform(pinned(made.edit));
  select([made.id]);
  focusCanvas(made.id);
}

export function addUse(group: string, at: Point | null, after: string | null): void {
  const { scene } = state();
  const id = freshName(group, new Map([...scene.capsule, ...scene.use] as [string, unknown][]));
  const patches: Patch[] = [{ put: "use", id, record: { id, group } }, putPosition(id, at ?? placeAfter(after))];
  if (after) {
    const line = freshName(`${after}-${id}`, scene.connection);
    const port = Object.keys(scene.group.get(group)?.inputs ?? {})[0] ?? "in";
    const record = { id: line, symbol: "transfer", back: after, front: id };
    patches.push(putConnection(port === "in" ? record : { ...record, port }));
  }
  perform(pinned({ label: `add ${id}`, patches }));
  select([id]);
  focusCanvas(id);
}

export function addNote(at: Point | null): void {
  const { scene } = state();
  const id = freshName("note", scene.note);
  const spot = at ?? placeAfter(null);
  perform(
    pinned({
      label: "add a note",
      patches: [{ put: "note", id, record: { id, text: word().note } }, putPosition(id, spot)],
    }),
  );
  select([id]);
  // It is there to be written.
  setTimeout(() => document.querySelector<HTMLTextAreaElement>("#inspector textarea")?.select(), 40);
}

export function connect(
  back: string,
  front: string,
  how: { symbol?: string | undefined; port?: string | undefined } = {},
): void {
  const { catalogue, scene } = state();
  const target = vertexOf(scene, front);
  if (!catalogue || !target || back === front) return;
  const record = newConnection(catalogue, scene, back, target, how);
  perform({ label: `connect ${back} to ${front}`, patches: [putConnection(record)] });
  select([record.id]);
}

/** Go to the next connection that fits the two ends. */
export function cycleConnection(id: string): void {
  const { catalogue, scene } = state();
  const line = scene.connection.get(id);
  const front = line && vertexOf(scene, line.front);
  if (!catalogue || !line || !front) return;
  const fitting = proposals(catalogue, scene, line.back, front, line.port);
  const next = fitting[(fitting.indexOf(line.symbol) + 1) % fitting.length];
  if (next && next !== line.symbol) perform(changeConnection(catalogue, line, next));
}

export function removeSelected(): void {
  const { scene, selection } = state();
  if (!selection.size) return;
  perform(removeThings(scene, selection));
  select([]);
}

export function move(places: ReadonlyMap<string, Point>): void {
  if (places.size) perform(pinned(moveThings(places)));
}

export function nudge(dx: number, dy: number): void {
  const { selection, places } = state();
  const moved = new Map<string, Point>();
  for (const id of selection) {
    const at = places.get(id);
    if (at) moved.set(id, [at[0] + dx, at[1] + dy]);
  }
  move(moved);
}

export function align(axis: "row" | "column"): void {
  const { places, selection } = state();
  move(aligned(places, [...selection], axis));
}

export function arrange(): void {
  const { selection, scene } = state();
  const ids = [...selection].filter((id) => vertexOf(scene, id));
  command("arrange", ids.length > 1 ? { ids } : {}, () => setTimeout(() => showAll?.(), 60));
}

let showAll: (() => void) | null = null;
/** The canvas tells how to bring everything into view. */
export function onFit(how: (() => void) | null): void {
  showAll = how;
}
export const fitView = (): void => showAll?.();

export const undo = (): void => command("undo");
export const redo = (): void => command("redo");

export async function copy(): Promise<void> {
  const { scene, selection, places } = state();
  if (!selection.size) return;
  const text = JSON.stringify(excerpt(scene, selection, places), null, 1);
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without leave to write the clipboard a copy still serves this browser's own tabs.
  }
  localStorage.setItem("inkcap-clipboard", text);
  say(`${selection.size} ${word().copied}`);
}

export async function paste(given?: string): Promise<void> {
  let text = given ?? "";
  if (!text)
    text = (await navigator.clipboard?.readText?.().catch(() => "")) || localStorage.getItem("inkcap-clipboard") || "";
  if (!text.trimStart().startsWith("{")) return say("The clipboard holds no drawing: copy capsules first.", true);
  const { places, selection } = state();
  const anchor = [...selection].map((id) => places.get(id)).find(Boolean) ?? placeAfter(null);
  command("paste", { text, at: [anchor[0] + 40, anchor[1] + 110] }, (_, made) => select(made));
}

export function duplicate(): void {
  const { scene, selection, places } = state();
  if (selection.size) void paste(JSON.stringify(excerpt(scene, selection, places)));
}

export function makeGroup(): void {
  const { selection, scene } = state();
  const ids = [...selection].filter((id) => vertexOf(scene, id));
  if (ids.length) command("group", { ids, name: freshName("group", scene.group) }, (_, made) => select(made));
}

export function dissolve(): void {
  const { selection, scene } = state();
  for (const id of selection) if (scene.use.has(id)) command("dissolve", { use: id });
}

/** Open a use of a group: its first copy, which others can be chosen instead of. */
export function openGroup(use: string): void {
  const { id, scene, scope, drawing } = state();
  const group = drawing.group.get(scene.use.get(use)?.group ?? "");
  if (!group || !id) return;
  useStudio.setState({ selection: new Set() });
  refresh({ scope: [...scope, { use, copy: 0 }] });
  setTimeout(() => showAll?.(), 30);
  const placed = [...(group.capsules ?? []), ...(group.uses ?? [])].every((one) => group.positions?.[one.id]);
  if (placed || state().layouts[group.id]) return;
  // Without the server's layout the simple one stays.
  void api.layout(id, group.id).then(
    (found) => {
      if (state().id !== id) return;
      refresh({ layouts: { ...state().layouts, [group.id]: found } });
      showAll?.();
    },
    () => undefined,
  );
}

/** Look at another copy of an opened use. */
export function chooseCopy(depth: number, copy: number): void {
  refresh({ scope: state().scope.map((one, i) => (i === depth ? { ...one, copy } : one)) });
}

export function leaveTo(depth: number): void {
  useStudio.setState({ selection: new Set() });
  refresh({ scope: state().scope.slice(0, depth) });
  setTimeout(() => showAll?.(), 30);
}

export function applyFix(index: number): void {
  const diagnostic = state().report?.diagnostics[index];
  if (!diagnostic?.fix) return;
  command("fix", { rule: diagnostic.rule, where: diagnostic.where, index: diagnostic.index ?? index });
}

/** Bring the keys to the canvas, to a vertex or line where one is named. */
export function focusCanvas(id?: string): void {
  setTimeout(() => {
    if (state().quickAdd) return;
    const named = id ? document.querySelector<HTMLElement>(`.react-flow__node[data-id="${CSS.escape(id)}"]`) : null;
    (named ?? document.querySelector<HTMLElement>("#canvas"))?.focus({ preventScroll: true });
  }, 30);
}

/** Open the drawing, or one capsule of it, to its neurons: a drawing of its own, or the reason why not. */
export async function openToNeurons(capsule = ""): Promise<void> {
  const { id } = state();
  const made = id ? await attempt(api.expand(id, capsule)) : undefined;
  if (made?.id) location.hash = `#/drawing/${made.id}`;
  else if (made) say(made.why, true);
}
