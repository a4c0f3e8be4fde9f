/** Drawings as files: opened from a drop, renamed, copied, deleted and brought back. */

import { api } from "../api/client";
import { bringModel, LARGEST_MODEL } from "../exchange/bring";
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

type Source = "text" | "picture" | "model";
const SOURCES: readonly (readonly [RegExp, Source])[] = [
  [/\.json$/i, "text"],
  [/\.(svg|png)$/i, "picture"],
  [/\.onnx$/i, "model"],
];
const LARGEST_OF = { text: LARGEST, picture: LARGEST_PICTURE, model: LARGEST_MODEL };

/** What a file is by its name, or a sentence that says what to do instead. */
function sourceOf(file: File): Source | { wrong: string } {
  if (/\.pyw?$/i.test(file.name)) return { wrong: word().pythonFile.replace("FILE.py", file.name) };
  if (/\.(pt2?|pth|ckpt|safetensors|h5|keras)$/i.test(file.name)) return { wrong: word().pickledFile };
  const source = SOURCES.find(([ending]) => ending.test(file.name))?.[1];
  if (!source) return { wrong: word().noDrawingFile };
  const most = LARGEST_OF[source];
  return file.size > most ? { wrong: `${word().tooLargeFile} ${Math.floor(most / 2 ** 20)} MiB` } : source;
}

async function made(file: File, source: Source, taken: readonly { name: string }[]): Promise<string | undefined> {
  const text = source === "text" ? await file.text() : "";
  const name = freshTitle(titleOf(file.name, text), taken);
  if (source === "model") return (await bringModel(file, name))?.id;
  // What a picture carries is read by the server, as strictly as a drawing file.
  return (await api.create(source === "picture" ? { name, picture: await inBase64(file) } : { name, text })).id;
}

/** Make drawings of the workspace from files, and show the last one; a wrong file is named in one sentence. */
export async function openFiles(files: Iterable<File>): Promise<void> {
  let last: string | undefined;
  for (const file of files) {
    const source = sourceOf(file);
    if (typeof source !== "string") {
      say(`${file.name}: ${source.wrong}`, true);
      continue;
    }
    const known = await attempt(api.workspace());
    if (!known) return;
    try {
      last = (await made(file, source, known.drawings)) ?? last;
    } catch (error) {
      say(`${file.name}: ${(error as Error).message}`, true);
    }
  }
  if (last) show(last);
}

/** Let a person choose files to open; the menu that asked may close meanwhile. */
export function chooseFiles(): void {
  const chooser = document.createElement("input");
  Object.assign(chooser, { type: "file", multiple: true, hidden: true, accept: ".json,.svg,.png,.onnx" });
  chooser.onchange = () => {
    void openFiles([...(chooser.files ?? [])]);
    chooser.remove();
  };
  chooser.oncancel = () => chooser.remove();
  document.body.append(chooser);
  chooser.click();
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
