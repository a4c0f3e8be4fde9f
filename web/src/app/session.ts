/** The session: opens a drawing, keeps its live connection, and turns gestures into edits and commands. */

import { api, link, Refused } from "../api/client";
import type { Attributes, Edit, Note } from "../api/types";
import { bring, Couriers } from "../model/courier";
import { Drafts } from "../model/drafts";
import { EMPTY, foldIntoGroup } from "../model/drawing";
import { mergeReport } from "../model/findings";
import { identify, remember } from "../model/identity";
import { Live, type Socket } from "../model/live";
import { Mirror } from "../model/mirror";
import { Names } from "../model/names";
import { Outbox } from "../model/outbox";
import { type Notice, refresh, useStudio } from "./store";

let live: Live | null = null;
let drafts: Drafts | null = null;
let couriers: Couriers | null = null;
const waiting = new Map<number, (edit: Edit, made: string[]) => void>();

export function say(text: string, bad = false, action?: Notice["action"]): void {
  useStudio.setState({ notice: action ? { text, bad, action } : { text, bad } });
}

/** Run something that may be refused, and say so in words. */
export async function attempt<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    say(error instanceof Refused || error instanceof Error ? error.message : String(error), true);
    return undefined;
  }
}

export async function openDrawing(id: string): Promise<void> {
  closeDrawing();
  const outbox = await Outbox.open().catch(() => null);
  const names = await Names.open().catch(() => null);
  const left = async () => (await outbox?.left(id).catch(() => [])) ?? [];
  const self = await identify(id, { left, known: async () => (await names?.of(id).catch(() => [])) ?? [] });
  const note = (next: number) => {
    remember(id, self.client, next);
    void names?.remember(id, self.client, next).catch(() => undefined);
  };
  note(self.next);
  useStudio.setState({ id, report: null, selection: new Set(), status: "connecting" });
  refresh({ drawing: EMPTY, layout: null, layouts: {}, scope: [] });
  const mirror = new Mirror(self.client, self.pending, self.next);
  const mine = new Live(
    mirror,
    () => new WebSocket(link.live(id)) as unknown as Socket,
    {
      drawing: (drawing) => refresh({ drawing }),
      report: (report, layout) => {
        useStudio.setState((before) => ({ report: mergeReport(before.report, report) }));
        if (layout) refresh({ layout });
      },
      layout: (layout) => refresh({ layout }),
      status: (status) => {
        useStudio.setState({ status });
        if (status === "live") void finishDrafts(id, mine);
      },
      clients: (clients) => useStudio.setState({ clients }),
      refused: (message) => say(message, true),
      outside: (outside) => useStudio.setState({ outside }),
      trouble: (message) => say(message, true),
      steps: ({ can_undo, can_redo }) => useStudio.setState({ canUndo: can_undo ?? null, canRedo: can_redo ?? null }),
      done: (number, edit, made) => {
        waiting.get(number)?.(edit, made);
        waiting.delete(number);
      },
    },
    {
      keep: (pending) => {
        note(mirror.nextNumber);
        void outbox?.keep(id, self.client, pending).catch(() => undefined);
      },
      forget: (number) => void outbox?.forget(id, self.client, number).catch(() => undefined),
    },
  );
  live = mine;
  mine.start();
  drafts = await Drafts.open().catch(() => null);
  if (live !== mine) return;
  couriers = new Couriers(self.client, left, (orphan) => {
    const forget = (number: number) => void outbox?.forget(id, orphan.client, number).catch(() => undefined);
    return bring(
      orphan,
      () => new WebSocket(link.live(id)) as unknown as Socket,
      { keep: () => undefined, forget },
      (why) => say(why, true),
    );
  });
  void couriers.look();
}

const written = (note: Note, text: string): Edit => ({
  label: `write ${note.id}`,
  patches: [{ put: "note", id: note.id, record: { ...note, text } }],
});

/** Write what a tab was writing into notes when it died. */
async function finishDrafts(id: string, mine: Live): Promise<void> {
  const there = await Drafts.open().catch(() => null);
  for (const draft of (await there?.of(id, mine.mirror.client).catch(() => [])) ?? []) {
    const note = mine.mirror.drawing.note.get(draft.note);
    // Somebody who is writing just now has a draft too; it is an edit once it is finished.
    if (writing === draft.note || live !== mine) continue;
    if (note && note.text === draft.before && draft.text !== draft.before) mine.edit(written(note, draft.text));
    void there?.forget(draft).catch(() => undefined);
  }
}

let writing = "";

/** Keep what is being written into a note, and write it when that is finished. */
export function write(note: Note, text: string, finished: boolean): void {
  const { id, levels } = useStudio.getState();
  writing = finished ? "" : note.id;
  if (finished && text !== note.text) perform(written(note, text));
  if (!live || !id || levels.length) return;
  const draft = { drawing: id, client: live.mirror.client, note: note.id, before: note.text, text };
  void (finished ? drafts?.forget(draft) : drafts?.keep(draft))?.catch(() => undefined);
}

export function closeDrawing(): void {
  couriers?.stop();
  couriers = null;
  live?.stop();
  live = null;
  waiting.clear();
  useStudio.setState({ id: null, dialog: null, quickAdd: null });
}

/** Make an edit of what the canvas shows; inside a group it changes the group. */
export function perform(edit: Edit | undefined): void {
  if (!edit?.patches.length || !live) return;
  // Whoever goes on has read what was wrong before.
  if (useStudio.getState().notice?.bad) useStudio.setState({ notice: null });
  const { drawing, levels } = useStudio.getState();
  const group = levels.at(-1)?.group;
  live.edit(group ? foldIntoGroup(drawing, group, edit) : edit);
}

/** Make an edit of the drawing itself, whatever the canvas shows: of a group's record, for one. */
export function performOutside(edit: Edit): void {
  live?.edit(edit);
}

/** Commands that mean the whole drawing, whatever group is open. */
const WHOLE = new Set(["undo", "redo", "fix"]);

/** Let the server run a command; ``then`` gets the edit that it made. */
export function command(name: string, given: Attributes = {}, then?: (edit: Edit, made: string[]) => void): void {
  if (!live) return;
  const inside = WHOLE.has(name) ? undefined : useStudio.getState().levels.at(-1)?.group.id;
  const number = live.command(name, inside ? { ...given, inside } : given);
  if (then) waiting.set(number, then);
}

export function answerFile(accept: boolean): void {
  live?.answerFile(accept);
  useStudio.setState({ outside: null });
}

export async function loadCatalogue(): Promise<void> {
  if (useStudio.getState().catalogue) return;
  const catalogue = await attempt(api.catalogue());
  if (catalogue) useStudio.setState({ catalogue });
}
