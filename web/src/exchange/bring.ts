/** Models from elsewhere: sent as bytes, read by the server's limited process, shown as a drawing. */

import { api } from "../api/client";
import type { ImportMade } from "../api/types";
import { leaveTo, openGroup, select } from "../app/actions";
import { useStudio } from "../app/store";

/** What protobuf can hold. */
export const LARGEST_MODEL = 2 ** 31 - 1;

/** Import a model under a name; null when it was stopped. */
export async function bringModel(file: File, name: string): Promise<ImportMade | null> {
  const stopping = new AbortController();
  const tell = (sent: number) =>
    useStudio.setState({ bringing: { file: file.name, sent, stop: () => stopping.abort() } });
  tell(0);
  try {
    const made = await api.bring(name, file, tell, stopping.signal);
    if (made) useStudio.setState({ brought: { file: file.name, made } });
    return made;
  } finally {
    useStudio.setState({ bringing: null });
  }
}

/** Show a capsule by its path: ``block.0.conv`` lies in the first copy of the use ``block``. */
export function leadTo(path: string): void {
  leaveTo(0);
  const there = (id: string) => useStudio.getState().scene.capsule.has(id);
  let rest = path;
  while (!there(rest)) {
    const use = [...useStudio.getState().scene.use.values()].find(({ id }) => rest.startsWith(`${id}.`));
    if (!use) return;
    openGroup(use.id);
    rest = rest.slice(use.id.length + 1);
    if ((use.repeat ?? 1) > 1) rest = rest.replace(/^\d+\./, "");
  }
  select([rest]);
  // The view first takes in the group that was opened.
  setTimeout(() => document.dispatchEvent(new CustomEvent("inkcap-show", { detail: rest })), 120);
}
