import { useCallback, useEffect, useMemo, useState } from "react";
import { attempt, say } from "../app/session";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { PageBar } from "../panels/PageBar";
import { stateWord } from "../runs/listing";
import { type SweepDetail, type SweepRow, sweepsApi } from "./api";
import { axesOf, type Brushes, passes, resultText } from "./axes";
import { Parallel } from "./Parallel";
import { Trials } from "./Trials";
import "../theory/theory.css";
import "../runs/runs.css";
import "./sweeps.css";

const EVERY = 1000;
/** The list comes once in so many looks: sweeps may be started elsewhere. */
const LIST_EVERY = 3;

const named = () => decodeURIComponent(/^#\/sweeps\/([^/]+)/.exec(location.hash)?.[1] ?? "");

/** Sweeps that are being deleted: nobody asks after them. */
const leaving = new Set<string>();

/** The sweeps, and the chosen one with its trials, looked at each second while the page is seen. */
function useSweeps(name: string) {
  const [sweeps, setSweeps] = useState<SweepRow[] | null>(null);
  const [detail, setDetail] = useState<SweepDetail | null>(null);
  const load = useCallback(async () => {
    const all = await attempt(sweepsApi.all());
    const one = name && !leaving.has(name) ? await attempt(sweepsApi.detail(name)) : null;
    if (all) setSweeps(all);
    setDetail(one ?? null);
  }, [name]);
  useEffect(() => {
    setDetail(null);
    void load();
    let busy = false;
    let looks = 0;
    const look = async () => {
      if (busy || document.hidden) return;
      busy = true;
      looks += 1;
      try {
        if (looks % LIST_EVERY === 0) setSweeps(await sweepsApi.all());
        if (name && !leaving.has(name)) setDetail(await sweepsApi.detail(name));
      } catch {
        // The server is away, or the sweep is gone: the next look may find it.
      } finally {
        busy = false;
      }
    };
    const timer = setInterval(() => void look(), EVERY);
    return () => clearInterval(timer);
  }, [load, name]);
  return { sweeps, detail, load };
}

/** Give the drawing and the training panel the values of a trial, and go there. */
async function take(sweep: SweepDetail, trial: number): Promise<void> {
  const taken = await attempt(sweepsApi.take(sweep.name, trial));
  if (!taken) return;
  useStudio.setState({
    again: { drawing: taken.drawing, run: `${sweep.name} / ${trial}`, recipe: taken.recipe },
    taking: { drawing: taken.drawing, edit: taken.edit },
    dock: true,
  });
  location.hash = `#/drawing/${taken.drawing}`;
}

async function remove(sweep: SweepRow, then: () => Promise<void>): Promise<void> {
  const word = words(useStudio.getState().language);
  if (sweep.state === "running") {
    say(word.cannotDeleteSweep, true);
    return;
  }
  leaving.add(sweep.name);
  const gone = await attempt(sweepsApi.remove(sweep.name));
  if (!gone) {
    leaving.delete(sweep.name);
    return;
  }
  await then();
  location.hash = "#/sweeps";
  const back = async () => {
    await attempt(sweepsApi.undelete(sweep.name, gone.undo));
    leaving.delete(sweep.name);
    location.hash = `#/sweeps/${encodeURIComponent(sweep.name)}`;
    await then();
  };
  say(`${sweep.name} ${word.sweepDeleted}`, false, { label: word.undone, run: () => void back() });
}

function Listed({ sweep, chosen }: { sweep: SweepRow; chosen: boolean }) {
  const word = words(useStudio((s) => s.language));
  return (
    <li>
      <a
        href={`#/sweeps/${encodeURIComponent(sweep.name)}`}
        aria-current={chosen ? "true" : undefined}
        data-sweep={sweep.name}
        title={sweep.reason}
      >
        <b>{sweep.name}</b>
        <span className={`state ${sweep.state}`}>{stateWord(sweep.state, word)}</span>
        <small className="soft">
          {stateWord(sweep.method, word)} · {sweep.ended}/{sweep.trials}
          {sweep.value !== null && ` · ${word.best} ${resultText(sweep.value, sweep.monitor)}`}
        </small>
      </a>
    </li>
  );
}

const titleOf = (monitor: string, validation: string) =>
  monitor.startsWith("val_") ? `${validation} ${monitor.slice(4)}` : monitor;

function Shown({ sweep, onChange }: { sweep: SweepDetail; onChange: () => Promise<void> }) {
  const word = words(useStudio((s) => s.language));
  const [brushes, setBrushes] = useState<Brushes>({});
  const [hovered, setHovered] = useState<number | null>(null);
  const [chosen, setChosen] = useState<number | null>(null);
  const title = sweep.monitor ? titleOf(sweep.monitor, word.validation) : word.bestColumn;
  const axes = useMemo(() => axesOf(sweep, title), [sweep, title]);
  const rows = sweep.rows.filter((trial) => passes(trial, axes, brushes));
  const taken = chosen ?? sweep.best;
  const pick = (trial: number) => setChosen((before) => (before === trial ? null : trial));
  const going = sweep.state === "running";
  const left = sweep.rows.some((trial) => ["waiting", "interrupted", "running"].includes(trial.state));
  // What is under way counts with the share that is done.
  const shares = sweep.rows.reduce(
    (sum, trial) => sum + (["waiting", "reached"].includes(trial.state) ? 0 : trial.share),
    0,
  );
  return (
    <section className="shown-sweep" aria-label={sweep.name}>
      <header>
        <div>
          <h2>{sweep.name}</h2>
          <p className="soft facts-line" title={sweep.reason}>
            <span className={`state ${sweep.state}`}>{stateWord(sweep.state, word)}</span> ·{" "}
            {stateWord(sweep.method, word)} · {sweep.drawn} · {sweep.data} · {sweep.at_once} {word.runsAtOnce}
          </p>
        </div>
        <div className="run-actions">
          {taken !== null && sweep.drawing && (
            <button
              type="button"
              className="button primary"
              title={word.takeHint}
              onClick={() => void take(sweep, taken)}
            >
              {chosen === null || chosen === sweep.best ? word.takeBest : word.takeTrial}
            </button>
          )}
          {going && (
            <button
              type="button"
              className="button"
              onClick={() => void attempt(sweepsApi.stop(sweep.name)).then(onChange)}
            >
              {word.stop}
            </button>
          )}
          {!going && left && (
            <button
              type="button"
              className="button"
              onClick={() => void attempt(sweepsApi.resume(sweep.name)).then(onChange)}
            >
              {word.resumeSweep}
            </button>
          )}
          {sweep.drawing && (
            <a className="button" href={`#/drawing/${sweep.drawing}`}>
              {word.openDrawing}
            </a>
          )}
          <button type="button" className="button" onClick={() => void remove(sweep, onChange)}>
            {word.remove}
          </button>
        </div>
        <div className="progress">
          <progress
            max={sweep.trials || 1}
            value={shares}
            aria-label={`${sweep.ended} / ${sweep.trials} ${word.trialsEnded}`}
          />
          <span className="mono" data-ended={sweep.ended}>
            {sweep.ended}/{sweep.trials} {word.trialsEnded}
            {sweep.running > 0 && ` · ${sweep.running} ${word.trialsRunning}`}
          </span>
        </div>
      </header>
      <Parallel
        sweep={sweep}
        title={title}
        brushes={brushes}
        onBrushes={setBrushes}
        hovered={hovered}
        onHover={setHovered}
        onChoose={pick}
      />
      <p className="soft plot-hint" role="status">
        {Object.keys(brushes).length ? (
          <>
            <span data-shown={rows.length}>
              {rows.length} / {sweep.rows.length} {word.shownTrials}
            </span>
            <button type="button" className="button small" onClick={() => setBrushes({})}>
              {word.clearBrushes}
            </button>
          </>
        ) : (
          word.parallelHint
        )}
      </p>
      <Trials
        sweep={sweep}
        rows={rows}
        title={title}
        hovered={hovered}
        chosen={taken}
        onHover={setHovered}
        onChoose={pick}
      />
    </section>
  );
}

/** All sweeps of the workspace, and the chosen one as a plot and a table. */
export function Sweeps() {
  const word = words(useStudio((s) => s.language));
  const [name, setName] = useState(named);
  useEffect(() => {
    const follow = () => setName(named());
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, []);
  const { sweeps, detail, load } = useSweeps(name);
  useEffect(() => {
    // The newest is shown until another is chosen.
    const first = sweeps?.find((sweep) => sweep.state !== "damaged");
    if (!name && first) location.replace(`#/sweeps/${encodeURIComponent(first.name)}`);
  }, [name, sweeps]);
  return (
    <div className="sweeps-page">
      <PageBar title={word.sweeps} above={[{ title: word.runs, href: "#/runs" }]} />
      <nav className="sweep-list" aria-label={word.sweeps}>
        {sweeps?.length ? (
          <ul>
            {sweeps.map((sweep) => (
              <Listed
                key={sweep.name}
                sweep={detail?.name === sweep.name ? detail : sweep}
                chosen={sweep.name === name}
              />
            ))}
          </ul>
        ) : null}
      </nav>
      {detail ? (
        <Shown key={detail.name} sweep={detail} onChange={load} />
      ) : (
        <section className="shown-sweep empty" aria-label={word.sweeps}>
          {sweeps && !sweeps.length && (
            <>
              <h2>{word.noSweeps}</h2>
              <p className="soft">{word.noSweepsHint}</p>
            </>
          )}
          {sweeps && sweeps.length > 0 && !name && <p className="soft">{word.chooseSweep}</p>}
        </section>
      )}
    </div>
  );
}
