import { useEffect, useRef, useState } from "react";
import { api, link } from "../api/client";
import type { ExportForm, ExportMade, ExportRequest, RunRow } from "../api/types";
import { attempt } from "../app/session";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { useSeconds, useWeights } from "../exchange/hooks";
import { Preview } from "../exchange/Preview";
import { Dialog } from "./Dialogs";

type Groups = "closed" | "compact" | "opened";

/** What came of an export, and of which choices. */
interface Result {
  key: string;
  made?: ExportMade;
  wrong?: string;
}

const asText = ([name, value]: [string, string | boolean]): [string, string] => [name, String(value)];

/** Every form in which a drawing goes out, with what it can be told, and how it was proven. */
export function ExportDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const word = words(useStudio((s) => s.language));
  const [forms, setForms] = useState<ExportForm[]>([]);
  const [to, setTo] = useState("pdf");
  const [width, setWidth] = useState("85mm");
  const [font, setFont] = useState("");
  const [monochrome, setMonochrome] = useState(false);
  const [labels, setLabels] = useState(true);
  const [groups, setGroups] = useState<Groups>("closed");
  const [direction, setDirection] = useState<"right" | "down">("right");
  const [chosen, setChosen] = useState<string | null>(null);
  const [train, setTrain] = useState(false);
  const [runs, setRuns] = useState<RunRow[]>([]);
  const [busy, setBusy] = useState(false);
  const [result, setResult] = useState<Result | null>(null);
  const stopping = useRef<AbortController | null>(null);
  const first = useRef<HTMLSelectElement>(null);
  const weights = useWeights(id);
  const seconds = useSeconds(busy);
  const figure = forms.find((form) => form.name === to)?.figure ?? true;
  const needed = to === "safetensors";
  // Weights that came with the drawing are meant, until others are chosen.
  const run = chosen ?? weights ?? (needed ? (runs[0]?.id ?? "") : "");
  useEffect(() => {
    void attempt(api.forms()).then((found) => found && setForms(found));
    api.runs(id).then(setRuns, () => setRuns([]));
    first.current?.focus();
    // Whoever closes the dialog waits no longer: the server gives it up, too.
    return () => stopping.current?.abort();
  }, [id]);

  const looks = {
    width: width.trim(),
    font: to === "tikz" ? "" : font.trim(),
    monochrome,
    labels,
    opened: groups === "opened",
    compact: groups === "compact",
    direction,
  };
  const asked: ExportRequest = figure
    ? { to, ...looks }
    : { to, run: run || null, ...(to === "torch" ? { train } : {}) };
  const key = JSON.stringify(asked);
  const start = async () => {
    if (busy) return;
    const stop = new AbortController();
    stopping.current = stop;
    setBusy(true);
    setResult(null);
    try {
      setResult({ key, made: await api.export(id, asked, stop.signal) });
    } catch (error) {
      if (!stop.signal.aborted) setResult({ key, wrong: (error as Error).message });
    }
    setBusy(false);
  };
  // What was made by other choices is not what these would make.
  const { made, wrong } = result?.key === key ? result : {};

  return (
    <Dialog title={word.exportMenu} onClose={onClose}>
      <form
        className="export-box"
        onSubmit={(event) => {
          event.preventDefault();
          void start();
        }}
      >
        <label>
          {word.form}
          <select ref={first} value={to} onChange={(event) => setTo(event.target.value)}>
            {[true, false].map((kind) => (
              <optgroup key={String(kind)} label={kind ? word.figure : word.program}>
                {forms
                  .filter((form) => form.figure === kind)
                  .map((form) => (
                    <option key={form.name} value={form.name}>
                      {form.title} ({form.ending})
                    </option>
                  ))}
              </optgroup>
            ))}
          </select>
        </label>
        {figure ? (
          <>
            <label>
              {word.printedWidth}
              <input value={width} maxLength={20} onChange={(event) => setWidth(event.target.value)} />
            </label>
            {to !== "tikz" && (
              <label>
                {word.font}
                <input value={font} maxLength={80} onChange={(event) => setFont(event.target.value)} />
              </label>
            )}
            <label>
              {word.groupsShown}
              <select value={groups} onChange={(event) => setGroups(event.target.value as Groups)}>
                <option value="closed">{word.groupsClosed}</option>
                <option value="compact">{word.groupsCompact}</option>
                <option value="opened">{word.groupsOpen}</option>
              </select>
            </label>
            <label>
              {word.flow}
              <select value={direction} onChange={(event) => setDirection(event.target.value as "right" | "down")}>
                <option value="right">{word.toTheRight}</option>
                <option value="down">{word.downwards}</option>
              </select>
            </label>
            <div className="ticks">
              <label className="tick">
                <input type="checkbox" checked={monochrome} onChange={(event) => setMonochrome(event.target.checked)} />
                {word.monochrome}
              </label>
              <label className="tick">
                <input type="checkbox" checked={labels} onChange={(event) => setLabels(event.target.checked)} />
                {word.withLabels}
              </label>
            </div>
          </>
        ) : (
          <>
            <label>
              {word.ofRun}
              <select value={run} onChange={(event) => setChosen(event.target.value)}>
                {!needed && <option value="">{word.startingWeights}</option>}
                {needed && !run && <option value="">–</option>}
                {weights && (
                  <option value={weights}>
                    {word.importedWeights}: {weights}
                  </option>
                )}
                {runs.map((one) => (
                  <option key={one.id} value={one.id}>
                    {one.name}
                  </option>
                ))}
              </select>
            </label>
            {needed && !run && <p className="soft">{word.noRunYet}</p>}
            {to === "torch" && (
              <label className="tick">
                <input type="checkbox" checked={train} onChange={(event) => setTrain(event.target.checked)} />
                {word.withTraining}
              </label>
            )}
          </>
        )}
        {figure && <Preview id={id} looks={new URLSearchParams(Object.entries(looks).map(asText)).toString()} />}
        {wrong && (
          <div className="finding error" role="alert">
            <p>{wrong}</p>
          </div>
        )}
        {made && (
          <div className="export-made" role="status">
            <p>✓ {made.told}</p>
            {made.notes.map((note) => (
              <p key={note}>{note}</p>
            ))}
            {made.files.map((file) => (
              <a key={file.name} className="button" href={link.exported(made.token, file.name)} download={file.name}>
                {word.download} {file.name} ({Math.max(1, Math.round(file.bytes / 1000))} kB)
              </a>
            ))}
          </div>
        )}
        <footer>
          {busy && (
            <>
              <span className="soft" role="status">
                {word.exporting}
              </span>
              <progress aria-label={word.exporting} />
              <span className="soft">{seconds} s</span>
              <button type="button" className="button" onClick={() => stopping.current?.abort()}>
                {word.stopImport}
              </button>
            </>
          )}
          <button type="submit" className="button primary" disabled={busy || !forms.length || (needed && !run)}>
            {word.exportMenu}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
