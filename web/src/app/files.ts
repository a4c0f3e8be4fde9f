/** Drawings as files: opened from a drop, renamed, copied, deleted and brought back. */

import { api } from "../api/client";
import { titleOf } from "../model/drawing";
import { attempt, say } from "./session";
import { useStudio } from "./store";
import { words } from "./words";

const LARGEST = 64 * 2 ** 20;
/** In base64 it must fit into a request. */
const LARGEST_PICTURE = 11 * 2 ** 20;
const word = () => words(useStudio.getState().language);

/** A name that no drawing has yet. */
export function freshTitle(stem: string, taken: readonly { name: string }[]): string {
  const names = new Set(taken.map((one) => one.name));
  let name = stem;
  for (let n = 2; names.has(name); n++) name = `${stem} ${n}`;
  return name;
}

export const show = (id: string): void => {
  location.hash = `#/drawing/${id}`;
};

const inBase64 = (file: Blob): Promise<string> =>
  new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result).split(",", 2)[1] ?? "");
    reader.onerror = () => failed(new Error(word().noDrawingFile));
    reader.readAsDataURL(file);
  });

/** Make drawings of the workspace from files, and show the last one; a wrong file is named in one sentence. */
export async function openFiles(files: Iterable<File>): Promise<void> {
  let last: string | null = null;
  for (const file of files) {
    const picture = /\.(svg|png)$/i.test(file.name);
    if ((!picture && !/\.json$/i.test(file.name)) || file.size > (picture ? LARGEST_PICTURE : LARGEST)) {
      say(`${file.name}: ${word().noDrawingFile}`, true);
      continue;
    }
    const text = picture ? "" : await file.text();
    const known = await attempt(api.workspace());
    if (!known) return;
    try {
      const name = freshTitle(titleOf(file.name, text), known.drawings);
      // What a picture carries is read by the server, as strictly as a drawing file.
      const made = await api.create(picture ? { name, picture: await inBase64(file) } : { name, text });
      last = made.id;
    } catch (error) {
      say(`${file.name}: ${(error as Error).message}`, true);
    }
  }
  if (last) show(last);
}

export async function duplicateDrawing(id: string): Promise<string | undefined> {
  return (await attempt(api.duplicate(id)))?.id;
}

/** Delete a drawing; the notice takes it back, and ``then`` runs after both. */
export async function deleteDrawing(id: string, name: string, then: (back: boolean) => void): Promise<void> {
  const gone = await attempt(api.remove(id));
  if (!gone) return;
  then(false);
  say(`${name} ${word().deleted}`, false, {
    label: word().undone,
    run: () => void attempt(api.undelete(gone.undo)).then((back) => back && then(true)),
  });
}
