import { useState } from "react";
import { api } from "../api/client";
import type { Attributes, Carried, RunDetail } from "../api/types";
import { attempt } from "../app/session";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { Dialog } from "../panels/Dialogs";
import { runsApi } from "./api";
import { isGoing } from "./listing";

interface Report {
  taken: readonly string[];
  left: Readonly<Record<string, string>>;
  remembered: readonly string[];
  forgotten: string;
}

/** Which weights were taken over, which begin anew and why, and what the optimiser remembers. */
export function Kept({ report }: { report: Report }) {
  const word = words(useStudio((s) => s.language));
  const left = Object.entries(report.left);
  const gone = (why: string) => why.startsWith("this drawing");
  return (
    <div className="kept-weights">
      <h3>
        {word.keptWeights} ({report.taken.length})
      </h3>
      <p className="mono" data-kept>
        {report.taken.join(", ")}
      </p>
      <p className="soft" data-memory>
        {report.remembered.length
          ? word.remembers.replace("{n}", String(report.remembered.length))
          : report.forgotten && `${word.forgets} ${report.forgotten}.`}
      </p>
      {left.length > 0 && (
        <>
          <h3>
            {word.anewWeights} ({left.filter(([, why]) => !gone(why)).length})
          </h3>
          <ul data-anew>
            {left.map(([name, why]) => (
              <li key={name} className={gone(why) ? "soft" : ""}>
                <b className="mono">{name}</b> {why}
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

/** Train the drawing as it is now from what a run has learnt: first what is kept is told, then it may start. */
export function GoOnChanged({ run, onStarted }: { run: RunDetail; onStarted: (id: string) => unknown }) {
  const word = words(useStudio((s) => s.language));
  const [told, setTold] = useState<Carried | null>(null);
  const [busy, setBusy] = useState(false);
  if (!run.changed || isGoing(run)) return null;
  const look = async () => {
    setBusy(true);
    setTold((await attempt(runsApi.carried(run.id))) ?? null);
    setBusy(false);
  };
  const start = async ({ drawing, recipe }: Carried) => {
    setBusy(true);
    const { data, ...rest } = recipe as Attributes & { data: Attributes };
    const made = await attempt(api.train(drawing, data, rest));
    setBusy(false);
    setTold(null);
    if (made) await onStarted(made.run);
  };
  return (
    <>
      <button type="button" className="button" data-steer="changed" disabled={busy} onClick={() => void look()}>
        {busy && !told ? word.resuming : word.goOnChanged}
      </button>
      {told && (
        <Dialog title={word.goOnChanged.replace(/ …$/, "")} onClose={() => setTold(null)}>
          <p className="soft kept-hint">{word.goOnChangedHint.replace("{run}", run.name)}</p>
          <Kept report={told} />
          <footer className="dialog-actions">
            <button type="button" className="button" onClick={() => setTold(null)}>
              {word.cancel}
            </button>
            <button
              type="button"
              className="button primary"
              data-start="changed"
              disabled={busy}
              onClick={() => void start(told)}
            >
              {busy ? word.resuming : `▶ ${word.start}`}
            </button>
          </footer>
        </Dialog>
      )}
    </>
  );
}
