/** What the page shows: the mirror's drawing, the server's report, and the state of the hands and panels. */

import { create } from "zustand";
import type { Attributes, Catalogue, Edit, ImportMade, Layout, Point, Report } from "../api/types";
import type { Theme } from "../glyphs/forms";
import { type Drawing, EMPTY, inside, vertices } from "../model/drawing";
import type { Status } from "../model/live";
import { simpleLayout } from "../model/sorting";
import { type Level, levelsOf, type Opened } from "../model/within";
import type { Language } from "./words";

export interface QuickAdd {
  /** Where on the drawing; nowhere puts it after what is selected. */
  at: Point | null;
  /** Where on the screen, for the box itself. */
  screen: Point | null;
  after: string | null;
  mode: "add" | "connect" | "find";
}

export interface Notice {
  text: string;
  bad: boolean;
  action?: { label: string; run: () => void };
}

/** A model on its way into the workspace. */
export interface Bringing {
  file: string;
  /** How much of it was sent; then it is read. */
  sent: number;
  stop: () => void;
}

/** A run whose recipe the dock is to begin with. */
export interface Again {
  drawing: string;
  run: string;
  recipe: Attributes;
}

export interface StudioState {
  catalogue: Catalogue | null;
  id: string | null;
  drawing: Drawing;
  /** Uses of groups that are opened, outermost first. */
  scope: Opened[];
  /** The opened uses with their groups. */
  levels: Level[];
  /** What stands before the ids of the scene in the report. */
  path: string;
  /** What the canvas shows: the drawing, or the inside of the innermost open group. */
  scene: Drawing;
  places: ReadonlyMap<string, Point>;
  report: Report | null;
  layout: Layout | null;
  /** The server's layouts of groups that were opened, by their names. */
  layouts: Readonly<Record<string, Layout>>;
  /** The layout of what the canvas shows. */
  sceneLayout: Layout | null;
  status: Status;
  clients: number;
  selection: ReadonlySet<string>;
  quickAdd: QuickAdd | null;
  dialog: "keys" | "history" | "code" | "rename" | "export" | null;
  dock: boolean;
  notice: Notice | null;
  bringing: Bringing | null;
  /** What became of the model that was imported last, for its drawing to tell. */
  brought: { file: string; made: ImportMade } | null;
  outside: Edit | null;
  canUndo: string | null;
  canRedo: string | null;
  guide: number | null;
  again: Again | null;
  /** An edit that a drawing gets as soon as it is open: the values of a trial. */
  taking: { drawing: string; edit: Edit } | null;
  theme: Theme;
  language: Language;
}

const stored = (key: string): string | null => {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
};

const prefersDark = () => typeof matchMedia === "function" && matchMedia("(prefers-color-scheme: dark)").matches;

export const useStudio = create<StudioState>(() => ({
  catalogue: null,
  id: null,
  drawing: EMPTY,
  scope: [],
  levels: [],
  path: "",
  scene: EMPTY,
  places: new Map(),
  report: null,
  layout: null,
  layouts: {},
  sceneLayout: null,
  status: "connecting",
  clients: 1,
  selection: new Set(),
  quickAdd: null,
  dialog: null,
  dock: stored("inkcap-dock") === "open",
  notice: null,
  bringing: null,
  brought: null,
  outside: null,
  canUndo: null,
  canRedo: null,
  guide: null,
  again: null,
  taking: null,
  theme: (stored("inkcap-theme") as Theme | null) ?? (prefersDark() ? "dark" : "light"),
  language: (stored("inkcap-language") as Language | null) ?? (navigator.language?.startsWith("zh") ? "zh" : "en"),
}));

/** Take a new drawing, layout or scope, and find what the canvas shows and where it lies. */
export function refresh(change: Partial<Pick<StudioState, "drawing" | "layout" | "layouts" | "scope">>): void {
  useStudio.setState((state) => {
    const { drawing, layout, layouts } = { ...state, ...change };
    const levels = levelsOf(drawing, change.scope ?? state.scope);
    const scope = levels.map(({ use, copy }) => ({ use, copy }));
    const { group, path = "" } = levels.at(-1) ?? {};
    const scene = group ? inside(drawing, group) : drawing;
    const sceneLayout = group ? (layouts[group.id] ?? null) : layout;
    const places = placed(scene, sceneLayout);
    const there = (id: string) =>
      scene.capsule.has(id) || scene.use.has(id) || scene.connection.has(id) || scene.note.has(id);
    const selection = [...state.selection].every(there) ? state.selection : new Set([...state.selection].filter(there));
    return { ...change, scope, levels, path, scene, sceneLayout, places, selection };
  });
}

function placed(drawing: Drawing, layout: Layout | null): Map<string, Point> {
  const places = new Map<string, Point>();
  let fallback: Map<string, Point> | null = null;
  const ids = [...vertices(drawing).map((v) => v.id), ...drawing.note.keys()];
  for (const id of ids) {
    const at = drawing.position.get(id) ?? layout?.positions[id];
    if (at) places.set(id, at);
    else {
      fallback ??= simpleLayout(drawing);
      places.set(id, fallback.get(id) ?? [0, -120]);
    }
  }
  return places;
}
