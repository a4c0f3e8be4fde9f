import { deleteDrawing } from "../app/files";
import { toggleDock } from "../app/preferences";
import { type Bringing, useStudio } from "../app/store";
import { counted, words } from "../app/words";
import { leadTo } from "./bring";
import { useSeconds } from "./hooks";
import "./exchange.css";

/** A model on its way: how much was sent, then for how long it is read. */
export function BringingNotice({ bringing }: { bringing: Bringing }) {
  const word = words(useStudio((s) => s.language));
  const reading = bringing.sent >= 1;
  const seconds = useSeconds(reading);
  return (
    <div className="notice bringing" role="status">
      <b>{bringing.file}</b>
      {/* Seconds that are spoken one by one would drown everything else. */}
      <span aria-live="off">
        {reading ? `${word.readingModel} ${seconds} s` : `${word.sending} ${Math.round(bringing.sent * 100)} %`}
      </span>
      <progress aria-label={bringing.file} max={1} {...(reading ? {} : { value: bringing.sent })} />
      <button type="button" onClick={bringing.stop}>
        {word.stopImport}
      </button>
    </div>
  );
}

/** What came of an imported model: how far it is from it, its weights, and what has no symbol. */
export function Brought({ id }: { id: string }) {
  // What it leads to must be there.
  const brought = useStudio((s) => (s.brought?.made.id === id && s.id === id && s.report ? s.brought : null));
  const dock = useStudio((s) => s.dock);
  const word = words(useStudio((s) => s.language));
  if (!brought) return null;
  const { file, made } = brought;
  const close = () => useStudio.setState({ brought: null });
  const undo = () =>
    deleteDrawing(id, made.name, (back) => {
      close();
      location.hash = back ? `#/drawing/${id}` : "#/";
    });
  return (
    <div className="brought" role="region" aria-label={`${word.imported} ${file}`} aria-live="polite">
      <header>
        <h3>
          {word.imported} <b>{file}</b>
        </h3>
        <button type="button" className="button icon" aria-label={word.close} onClick={close}>
          ×
        </button>
      </header>
      <p className="soft">
        {counted(word, made.capsules, "capsules")} · {counted(word, made.connections, "connections")} ·{" "}
        {counted(word, made.parameters, "parameters")}
      </p>
      {made.difference !== null && (
        <p className="same">
          <i aria-hidden="true">✓</i> {word.sameAsModel} <b data-difference>{made.difference.toPrecision(2)}</b>.
        </p>
      )}
      {made.difference === null && !made.missing.length && (
        <p className="unproven">
          {word.notCompared} {made.unproven}.
        </p>
      )}
      {made.missing.length > 0 && (
        <>
          <h4>
            {word.withoutSymbol} ({made.missing.length})
          </h4>
          <ul>
            {made.missing.map((one) => (
              <li key={`${one.capsule} ${one.node}`}>
                <button type="button" title={one.node} onClick={() => leadTo(one.capsule)}>
                  <b>{one.operator}</b> <span>{one.reason}</span>
                </button>
              </li>
            ))}
          </ul>
          <p className="unproven">{word.notComputed}</p>
        </>
      )}
      {made.weights && (
        <p className="soft">
          {word.itsWeights} <code>{made.weights}</code>
        </p>
      )}
      <div>
        <button type="button" className="button" onClick={() => void undo()}>
          {word.undoImport}
        </button>
        {made.weights && !made.missing.length && !dock && (
          <button type="button" className="button primary" onClick={toggleDock}>
            {word.trainFromThem}
          </button>
        )}
      </div>
    </div>
  );
}
