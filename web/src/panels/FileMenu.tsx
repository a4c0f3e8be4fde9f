import { useEffect, useState } from "react";
import { api } from "../api/client";
import { deleteDrawing, duplicateDrawing, show } from "../app/files";
import { attempt, say } from "../app/session";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { OpenFile } from "../exchange/OpenFile";
import { nameOf } from "../model/drawing";
import { Dialog } from "./Dialogs";
import { ExportDialog } from "./ExportDialog";

/** Ask for another name. */
export function RenameDialog({ id, name, onClose }: { id: string; name: string; onClose: (renamed: boolean) => void }) {
  const word = words(useStudio((s) => s.language));
  const [text, setText] = useState(name);
  const rename = async () => {
    const wanted = text.trim();
    if (!wanted || wanted === name) return onClose(false);
    onClose((await attempt(api.rename(id, wanted))) !== undefined);
  };
  return (
    <Dialog title={word.rename} onClose={() => onClose(false)}>
      <form
        className="rename"
        onSubmit={(event) => {
          event.preventDefault();
          void rename();
        }}
      >
        <input
          aria-label={word.name}
          value={text}
          maxLength={200}
          autoFocus
          onFocus={(event) => event.target.select()}
          onChange={(event) => setText(event.target.value)}
        />
        <button type="submit" className="button primary" disabled={!text.trim()}>
          {word.rename}
        </button>
      </form>
    </Dialog>
  );
}

/** The PyTorch module: to be read, copied or kept as a file. */
function CodeDialog({ id, name, onClose }: { id: string; name: string; onClose: () => void }) {
  const word = words(useStudio((s) => s.language));
  const [source, setSource] = useState("");
  const [wrong, setWrong] = useState("");
  useEffect(() => {
    let current = true;
    api.code(id).then(
      (found) => current && setSource(found.source),
      (error: Error) => current && setWrong(error.message),
    );
    return () => {
      current = false;
    };
  }, [id]);
  const copy = async () => {
    await navigator.clipboard.writeText(source);
    say(word.codeCopied);
    onClose();
  };
  const save = () => {
    const anchor = document.createElement("a");
    anchor.href = URL.createObjectURL(new Blob([source], { type: "text/x-python" }));
    anchor.download = `${name.replace(/\W+/g, "_").toLowerCase() || "network"}.py`;
    anchor.click();
    URL.revokeObjectURL(anchor.href);
  };
  return (
    <Dialog title={word.pytorch} onClose={onClose}>
      <div className="code-box">
        {wrong ? (
          <div className="finding error" role="alert">
            <p>{wrong}</p>
          </div>
        ) : (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: long code is scrolled by keys
          <pre className="code" tabIndex={0}>
            <code>{source || "…"}</code>
          </pre>
        )}
        <footer>
          <button type="button" className="button" disabled={!source} onClick={() => void attempt(copy())}>
            {word.copy}
          </button>
          <button type="button" className="button primary" disabled={!source} onClick={save}>
            {word.download}
          </button>
        </footer>
      </div>
    </Dialog>
  );
}

/** What can be done with the open drawing as a file. */
export function FileItems() {
  const id = useStudio((s) => s.id) ?? "";
  const name = useStudio((s) => nameOf(s.drawing));
  const word = words(useStudio((s) => s.language));
  const duplicate = async () => {
    const made = await duplicateDrawing(id);
    if (made) show(made);
  };
  const remove = () =>
    deleteDrawing(id, name, (back) => {
      if (back) show(id);
      else location.hash = "#/";
    });
  return (
    <div className="menu-part">
      <OpenFile className="" role="menuitem" />
      <button type="button" role="menuitem" onClick={() => useStudio.setState({ dialog: "rename" })}>
        {word.rename}
      </button>
      <button type="button" role="menuitem" onClick={() => void duplicate()}>
        {word.duplicate}
      </button>
      <button type="button" role="menuitem" className="danger" onClick={() => void remove()}>
        {word.remove}
      </button>
    </div>
  );
}

/** The dialogs of the open drawing as a file. */
export function FileDialogs() {
  const dialog = useStudio((s) => s.dialog);
  const id = useStudio((s) => s.id);
  const name = useStudio((s) => nameOf(s.drawing));
  const close = () => useStudio.setState({ dialog: null });
  if (!id) return null;
  if (dialog === "rename") return <RenameDialog id={id} name={name} onClose={close} />;
  if (dialog === "export") return <ExportDialog id={id} onClose={close} />;
  if (dialog === "code") return <CodeDialog id={id} name={name} onClose={close} />;
  return null;
}
