import { type ReactNode, useEffect, useRef, useState } from "react";
import { api } from "../api/client";
import type { HistoryRow } from "../api/types";
import { attempt, say } from "../app/session";
import { KEYS } from "../app/shortcuts";
import { useStudio } from "../app/store";
import { words } from "../app/words";

export function Dialog({ title, children, onClose }: { title: string; children: ReactNode; onClose: () => void }) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (!box.current?.open) box.current?.showModal();
  }, []);
  return (
    <dialog ref={box} aria-label={title} onClose={onClose} onCancel={onClose}>
      <header>
        <h2>{title}</h2>
        <button
          type="button"
          className="button icon"
          aria-label={words(useStudio.getState().language).close}
          onClick={onClose}
        >
          ×
        </button>
      </header>
      {children}
    </dialog>
  );
}

function Keys() {
  const language = useStudio((s) => s.language);
  return (
    <dl className="keys">
      {KEYS.map((one) => (
        <div key={one.keys}>
          <dt>
            <kbd>{one.keys}</kbd>
          </dt>
          <dd>{one[language]}</dd>
        </div>
      ))}
    </dl>
  );
}

function History({ id }: { id: string }) {
  const [rows, setRows] = useState<HistoryRow[]>([]);
  const word = words(useStudio((s) => s.language));
  useEffect(() => {
    void attempt(api.history(id)).then((found) => found && setRows([...found].sort((a, b) => b.seq - a.seq)));
  }, [id]);
  const restore = async (row: HistoryRow) => {
    if ((await attempt(api.restore(id, row.seq))) === undefined) return;
    say(`${word.restore}: ${row.label}`);
    useStudio.setState({ dialog: null });
  };
  return (
    <ol className="history">
      {rows.map((row, i) => (
        <li key={row.seq}>
          <time dateTime={row.time}>{new Date(row.time).toLocaleTimeString()}</time>
          <span>{row.label}</span>
          {i > 0 && (
            <button type="button" className="button" onClick={() => void restore(row)}>
              {word.restore}
            </button>
          )}
        </li>
      ))}
    </ol>
  );
}

export function Dialogs() {
  const dialog = useStudio((s) => s.dialog);
  const id = useStudio((s) => s.id);
  const word = words(useStudio((s) => s.language));
  const close = () => useStudio.setState({ dialog: null });
  if (dialog === "keys")
    return (
      <Dialog title={word.help} onClose={close}>
        <Keys />
      </Dialog>
    );
  if (dialog === "history" && id)
    return (
      <Dialog title={word.history} onClose={close}>
        <History id={id} />
      </Dialog>
    );
  return null;
}
