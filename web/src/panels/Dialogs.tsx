import { type ReactNode, useEffect, useRef } from "react";
import { KEYS } from "../app/shortcuts";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { HistoryList } from "../theory/HistoryList";

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
        <HistoryList id={id} />
      </Dialog>
    );
  return null;
}
