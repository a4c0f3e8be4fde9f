/** The session: opens a drawing, keeps its live connection, and turns gestures into edits and commands. */

import { api, link, Refused } from "../api/client";
import type { Attributes, Edit } from "../api/types";
import { abandoned, bring } from "../model/courier";
import { EMPTY, foldIntoGroup } from "../model/drawing";
import { mergeReport } from "../model/findings";
import { identify, remember } from "../model/identity";
import { Live, type Socket } from "../model/live";
import { Mirror } from "../model/mirror";
import { Outbox } from "../model/outbox";
import { type Notice, refresh, useStudio } from "./store";

let live: Live | null = null;
const couriers: Live[] = [];
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
  const left = (await outbox?.left(id).catch(() => [])) ?? [];
  const self = await identify(id, left);
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
      status: (status) => useStudio.setState({ status }),
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
        remember(id, self.client, mirror.nextNumber);
        void outbox?.keep(id, self.client, pending).catch(() => undefined);
      },
      forget: (number) => void outbox?.forget(id, self.client, number).catch(() => undefined),
    },
  );
  live = mine;
  mine.start();
  for (const orphan of await abandoned(left, self.client)) {
    if (live !== mine) return;
    const forget = (number: number) => void outbox?.forget(id, orphan.client, number).catch(() => undefined);
    const keeper = { keep: () => undefined, forget };
    couriers.push(
      bring(
        orphan,
        () => new WebSocket(link.live(id)) as unknown as Socket,
        keeper,
        (why) => say(why, true),
      ),
    );
  }
}

export function closeDrawing(): void {
  for (const courier of couriers.splice(0)) courier.stop();
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
