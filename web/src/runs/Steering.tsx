import { type FormEvent, Fragment, useEffect, useState } from "react";
import type { RunRow } from "../api/types";
import { attempt } from "../app/session";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { runsApi } from "./api";
import { duration, figure, isGoing, lossOf, lostWords, percent, sharesOf, stateWord } from "./listing";
import "./steering.css";

/** The number of epochs that a finished run is to have more, asked for where the button was. */
function More({ run, onGo, onNone }: { run: RunRow; onGo: (epochs: number) => void; onNone: () => void }) {
  const word = words(useStudio((s) => s.language));
  const [more, setMore] = useState(String(Math.max(run.epoch, 1)));
  const whole = /^[1-9]\d{0,5}$/.test(more) ? Number(more) : 0;
  const go = (event: FormEvent) => {
    event.preventDefault();
    if (whole) onGo(run.epoch + whole);
  };
  return (
    <form className="more-epochs" onSubmit={go} onKeyDown={(event) => event.key === "Escape" && onNone()}>
      <label htmlFor="more-epochs">{word.moreEpochs}</label>
      <input
        id="more-epochs"
        type="number"
        min={1}
        max={999_999}
        value={more}
        // biome-ignore lint/a11y/noAutofocus: it stands where the button was that had the focus
        autoFocus
        onChange={(event) => setMore(event.target.value)}
      />
      <button type="submit" className="button primary" disabled={!whole}>
        {word.goOn}
      </button>
      <button type="button" className="button" onClick={onNone}>
        {word.cancel}
      </button>
    </form>
  );
}

type Wish = "pause" | "stop" | "resume";

/** The buttons that pause a run, stop it, or go on with it, whichever it allows. */
export function Steer({ run, onChange }: { run: RunRow; onChange: () => unknown }) {
  const word = words(useStudio((s) => s.language));
  const [wish, setWish] = useState<Wish | null>(null);
  const [asking, setAsking] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another state, or another run, has answered the wish
  useEffect(() => {
    setWish(null);
    setAsking(false);
  }, [run.id, run.state, run.resumed]);
  const ask = async (what: Wish, sent: Promise<unknown>) => {
    setWish(what);
    if ((await attempt(sent)) === undefined) setWish(null);
    await onChange();
  };
  const resume = (epochs?: number) => void ask("resume", runsApi.resume(run.id, epochs));
  if (run.state === "damaged") return null;
  if (isGoing(run))
    return (
      <>
        <button
          type="button"
          className="button"
          data-steer="pause"
          title={word.pauseHint}
          disabled={wish !== null}
          onClick={() => void ask("pause", runsApi.pause(run.id))}
        >
          {wish === "pause" ? word.pausing : `❚❚ ${word.pause}`}
        </button>
        <button
          type="button"
          className="button"
          data-steer="stop"
          title={word.stopHint}
          disabled={wish !== null}
          onClick={() => void ask("stop", runsApi.stop(run.id))}
        >
          {wish === "stop" ? word.stopping : word.stop}
        </button>
      </>
    );
  if (asking)
    return (
      <More
        run={run}
        onNone={() => setAsking(false)}
        onGo={(epochs) => {
          setAsking(false);
          resume(epochs);
        }}
      />
    );
  const finished = run.state === "finished";
  return (
    <button
      type="button"
      className={`button ${run.state === "paused" ? "primary" : ""}`}
      data-steer={finished ? "continue" : "resume"}
      disabled={wish !== null}
      onClick={() => (finished ? setAsking(true) : resume())}
    >
      {wish === "resume" ? word.resuming : finished ? word.continueRun : `▶ ${word.resume}`}
    </button>
  );
}

/** What must not be overseen of a run: that its bits may differ, what a kill has cost, that it waits for data. */
export function Marks({ run }: { run: RunRow }) {
  const word = words(useStudio((s) => s.language));
  const cost = lostWords(run, word);
  if (!run.inexact && !cost && !run.hint && run.data_wait === null) return null;
  return (
    <ul className="marks">
      {run.inexact && (
        <li data-mark="inexact">
          <b>≈ {word.inexact}</b> {run.inexact}
        </li>
      )}
      {cost && <li data-mark="lost">{cost}</li>}
      {run.hint && <li data-mark="hint">{run.hint}</li>}
      {run.data_wait !== null && (
        <li data-mark="waiting">
          <b>{percent(run.data_wait)}</b> {word.dataWait}
        </li>
      )}
    </ul>
  );
}

/** How far a run is, as a bar and in numbers: epoch, quality, learning rate, speed, the time that is left. */
export function Progress({ run }: { run: RunRow }) {
  const word = words(useStudio((s) => s.language));
  const shares = sharesOf(run.values);
  const loss = lossOf(run);
  const facts = [
    loss !== null && !shares.length ? `${word.lossCurve.toLowerCase()} ${figure(loss)}` : "",
    run.rate !== null ? `${word.rateCurve.toLowerCase()} ${figure(run.rate)}` : "",
    run.throughput ? `${Math.round(run.throughput).toLocaleString()} ${word.samplesPerSecond}` : "",
    run.left !== null ? `${duration(run.left)} ${word.timeLeft}` : "",
  ].filter(Boolean);
  return (
    <div className="run-progress">
      <progress max={1} value={run.share} aria-label={`${run.name}: ${word.epoch} ${run.epoch} / ${run.epochs}`} />
      <span className="mono run-facts">
        {word.epoch} {run.epoch}/{run.epochs}
        {shares.map(({ name, value }, i) => (
          <Fragment key={name}>
            {" · "}
            <b data-quality={name} {...(i ? {} : { "data-accuracy": value })} title={word[`tells_${name}`]}>
              {percent(value)}
            </b>
            {name !== "accuracy" || shares.length > 1 ? ` ${word[`measure_${name}`]}` : ""}
          </Fragment>
        ))}
        {facts.map((fact) => (
          <Fragment key={fact}>
            {" · "}
            <span>{fact}</span>
          </Fragment>
        ))}
        {" · "}
        <i data-run-state={run.state} title={run.reason}>
          {stateWord(run.state, word)}
        </i>
      </span>
    </div>
  );
}
