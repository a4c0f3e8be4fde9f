import { select } from "../app/actions";
import { toggleDock } from "../app/preferences";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { isGoing } from "../runs/listing";
import { fill } from "../theory/words";
import { Legend } from "./Legend";
import { MEASURES, type Measure, reading } from "./measures";
import {
  chooseMeasure,
  chooseRun,
  hideInsight,
  indexOf,
  type Sheet,
  seekEpoch,
  stepEpoch,
  togglePlay,
  toggleSheet,
  useInsight,
} from "./mode";
import { measureWord, tellsWord, tellWord, warnWord } from "./naming";
import { apart, shownAs } from "./painting";
import { hasSurface } from "./twofold";
import { type Warning, warningsOf } from "./warnings";

/** While the run goes on: whether the newest epoch is followed, and the way back to it. */
function LiveMark({ last }: { last: number }) {
  const word = words(useStudio((s) => s.language));
  const follows = useInsight((s) => s.epoch === null);
  const live = useInsight((s) => s.runs?.some((run) => run.id === s.run && isGoing(run)) ?? false);
  if (!live) return null;
  return (
    <button
      type="button"
      className="live-mark"
      aria-pressed={follows}
      title={word.followNewest}
      onClick={() => seekEpoch(last)}
    >
      <i /> {word.live}
    </button>
  );
}

/** The epochs: a slider, play, one back, one on, and whether what comes is followed. */
function Epochs() {
  const word = words(useStudio((s) => s.language));
  const index = useInsight(indexOf);
  const epochs = useInsight((s) => s.signals?.epochs) ?? [];
  const playing = useInsight((s) => s.playing);
  const last = epochs.length - 1;
  const now = epochs[index];
  const spoken = `${word.epochOf} ${now ?? "–"}${now === 0 ? `, ${word.beforeFirst}` : ""}`;
  const button = (label: string, sign: string, act: () => void, off: boolean) => (
    <button type="button" className="button icon" aria-label={label} title={label} disabled={off} onClick={act}>
      {sign}
    </button>
  );
  return (
    <div className="epochs" role="group" aria-label={word.epochOf}>
      {button(word.earlierEpoch, "‹", () => stepEpoch(-1), index <= 0)}
      <button
        type="button"
        className="button icon"
        aria-label={playing ? word.pauseEpochs : word.playEpochs}
        title={`${playing ? word.pauseEpochs : word.playEpochs} (Space)`}
        aria-pressed={playing}
        disabled={last < 1}
        onClick={togglePlay}
      >
        {playing ? "⏸\uFE0E" : "▶"}
      </button>
      {button(word.laterEpoch, "›", () => stepEpoch(1), index >= last)}
      <input
        type="range"
        min={0}
        max={Math.max(0, last)}
        value={Math.max(0, index)}
        disabled={last < 1}
        aria-label={word.epochOf}
        aria-valuetext={spoken}
        title={spoken}
        onChange={(event) => {
          useInsight.setState({ playing: false });
          seekEpoch(event.target.valueAsNumber);
        }}
      />
      <output className="mono" data-epoch={now ?? ""}>
        {word.epochOf} {now ?? "–"} / {epochs.at(-1) ?? "–"}
      </output>
      <LiveMark last={last} />
    </div>
  );
}

function Choices() {
  const word = words(useStudio((s) => s.language));
  const runs = useInsight((s) => s.runs) ?? [];
  const run = useInsight((s) => s.run);
  const measure = useInsight((s) => s.measure);
  return (
    <>
      <label title={word.ofRun}>
        <span className="unseen">{word.ofRun}</span>
        <select id="insight-run" value={run ?? ""} onChange={(event) => chooseRun(event.target.value)}>
          {run && !runs.some((one) => one.id === run) && <option value={run}>{run}</option>}
          {runs.map((one) => (
            <option key={one.id} value={one.id}>
              {one.name}
            </option>
          ))}
        </select>
      </label>
      <label title={word[tellsWord(measure)]}>
        <span className="unseen">{word.measureLabel}</span>
        <select id="insight-measure" value={measure} onChange={(event) => chooseMeasure(event.target.value as Measure)}>
          {MEASURES.map((one) => (
            <option key={one} value={one}>
              {word[measureWord(one)]}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}

function Sheets() {
  const word = words(useStudio((s) => s.language));
  const sheet = useInsight((s) => s.sheet);
  const twofold = useStudio((s) => hasSurface(s.drawing, s.report));
  const all: [Sheet, string, string][] = [
    ["playground", word.playground, "P"],
    ["evaluation", word.evaluation, "W"],
  ];
  if (twofold) all.push(["surface", word.surfaceShort, ""]);
  return (
    <div className="segments" role="group" aria-label={word.insight}>
      {all.map(([key, text, letter]) => (
        <button
          type="button"
          key={key}
          data-sheet={key}
          aria-pressed={sheet === key}
          title={letter ? `${text} (${letter})` : text}
          onClick={() => toggleSheet(key)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}

const MOST_WARNINGS = 3;

function spokenOf(one: Warning, word: ReturnType<typeof words>): string {
  const value = reading(one.value, one.kind === "dead" || one.kind === "wild" ? "dead" : "delta");
  return fill(word[warnWord(one.kind)], { id: one.id, value });
}

/** What is wrong, in words, each a way to the thing itself. */
function Warnings() {
  const word = words(useStudio((s) => s.language));
  const signals = useInsight((s) => s.signals);
  const index = useInsight(indexOf);
  if (!signals) return null;
  const all = warningsOf(signals, index);
  const show = (item: string) => {
    const { scene, path } = useStudio.getState();
    const shown = shownAs(scene, path, item);
    if (!shown) return;
    select([shown]);
    document.dispatchEvent(new CustomEvent("inkcap-show", { detail: scene.connection.get(shown)?.front ?? shown }));
  };
  if (!all.length) return <span className="soft all-well">✓ {word.allWell}</span>;
  return (
    <>
      {all.slice(0, MOST_WARNINGS).map((one) => (
        <button
          type="button"
          key={`${one.kind} ${one.id}`}
          className="warning"
          data-warning={one.kind}
          title={word[tellWord(one.kind)]}
          onClick={() => show(one.id)}
        >
          {spokenOf(one, word)}
        </button>
      ))}
      {all.length > MOST_WARNINGS && (
        <span
          className="soft"
          title={all
            .slice(MOST_WARNINGS, 40)
            .map((one) => spokenOf(one, word))
            .join("\n")}
        >
          {fill(word.moreWarnings, { n: all.length - MOST_WARNINGS })}
        </span>
      )}
    </>
  );
}

/** Whether the drawing is still the one that was trained. */
function Changed() {
  const word = words(useStudio((s) => s.language));
  const signals = useInsight((s) => s.signals);
  const report = useStudio((s) => s.report);
  if (!signals?.epochs.length || !report) return null;
  const { strange, gone } = apart(signals, report);
  if (!strange && !gone) return null;
  return (
    <p className="changed-since" role="status">
      {fill(word.changedSince, { strange, gone })}
    </p>
  );
}

/** What of the signals was left out, because it is damaged. */
function LeftOut() {
  const note = useInsight((s) => s.signals?.note);
  return note ? (
    <p className="changed-since" role="status">
      {note}
    </p>
  ) : null;
}

/** Nothing to be seen yet, and what to do about it. */
function Nothing() {
  const word = words(useStudio((s) => s.language));
  const runs = useInsight((s) => s.runs);
  const run = useInsight((s) => s.run);
  const signals = useInsight((s) => s.signals);
  const why = useInsight((s) => s.why);
  const dock = useStudio((s) => s.dock);
  const going = runs?.some((one) => one.id === run && isGoing(one));
  if (!runs) return <p className="soft">…</p>;
  if (!runs.length && !run)
    return (
      <p className="nothing-yet">
        <b>{word.noRunHere}</b> {word.noRunHereHint}
        {!dock && (
          <button type="button" className="button primary" onClick={toggleDock}>
            {word.openDock}
          </button>
        )}
      </p>
    );
  if (going && !signals?.epochs.length) return <p className="soft">{word.waitingForSignals}</p>;
  if (why || signals) return <p className="nothing-yet">{why || word.noSignals}</p>;
  return <p className="soft">…</p>;
}

/** The bar over the canvas: run, measure, epoch, legend, what is wrong, and what lies below. */
export function Bar() {
  const word = words(useStudio((s) => s.language));
  const there = useInsight((s) => Boolean(s.signals?.epochs.length));
  const runs = useInsight((s) => s.runs?.length ?? 0);
  return (
    <section id="insight" aria-label={word.insight}>
      <div className="insight-row">
        {runs > 0 && <Choices />}
        {there ? <Epochs /> : <Nothing />}
        <span className="grow" />
        {runs > 0 && <Sheets />}
        <button
          type="button"
          className="button icon"
          aria-label={word.leaveInsight}
          title={word.leaveInsight}
          onClick={hideInsight}
        >
          ×
        </button>
      </div>
      {there && (
        <>
          <div className="insight-row">
            <Legend />
            <div className="warnings" role="status" aria-live="polite">
              <Warnings />
            </div>
          </div>
          <Changed />
          <LeftOut />
        </>
      )}
    </section>
  );
}
