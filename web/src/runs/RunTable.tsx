import { type KeyboardEvent, memo, type ReactNode, useEffect, useRef, useState } from "react";
import type { RunRow } from "../api/types";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { colourOf } from "./curves";
import {
  type Column,
  duration,
  figure,
  isGoing,
  lossOf,
  measured,
  type Order,
  qualitiesOf,
  stateWord,
} from "./listing";

const HEIGHT = 38;
const BEYOND = 8;

function started(run: RunRow): string {
  if (!run.created) return "–";
  const at = new Date(run.created);
  const today = at.toDateString() === new Date().toDateString();
  const time = at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return today ? time : `${at.toLocaleDateString([], { day: "numeric", month: "short" })} ${time}`;
}

function Progress({ run }: { run: RunRow }) {
  const word = words(useStudio((s) => s.language));
  if (!isGoing(run) && (run.state === "finished" || !run.share))
    return (
      <>
        {run.epoch}
        <span className="soft"> / {run.epochs || "–"}</span>
      </>
    );
  const speed = run.throughput ? `${Math.round(run.throughput).toLocaleString()} ${word.samplesPerSecond}` : "";
  const left = run.left !== null ? `${duration(run.left)} ${word.timeLeft}` : "";
  const rate = run.rate !== null ? `${word.rateCurve.toLowerCase()} ${figure(run.rate)}` : "";
  return (
    <span className="going" title={[rate, speed, left].filter(Boolean).join(" · ")}>
      <progress max={1} value={run.share} aria-label={`${word.epoch} ${run.epoch} / ${run.epochs}`} />
      <small>
        {run.epoch}/{run.epochs}
        {left && ` · ${left}`}
      </small>
    </span>
  );
}

interface RowProps {
  run: RunRow;
  index: number;
  /** The place among the chosen ones, or -1. */
  place: number;
  current: boolean;
  onChoose: (run: RunRow, also: boolean) => void;
  onFocus: (index: number) => void;
}

const Row = memo(function Row({ run, index, place, current, onChoose, onFocus }: RowProps) {
  const language = useStudio((s) => s.language);
  const theme = useStudio((s) => s.theme);
  const word = words(language);
  const qualities = qualitiesOf(run.values);
  const first = qualities[0];
  return (
    <tr
      data-run={run.name}
      data-state={run.state}
      aria-rowindex={index + 2}
      aria-selected={place >= 0}
      tabIndex={current ? 0 : -1}
      onClick={(event) => onChoose(run, event.ctrlKey || event.metaKey || event.shiftKey)}
      onFocus={() => onFocus(index)}
    >
      <td className="choice">
        <input
          type="checkbox"
          tabIndex={-1}
          checked={place >= 0}
          aria-label={`${word.chooseRun} ${run.name}`}
          style={place >= 0 ? { accentColor: colourOf(place, theme) } : {}}
          onClick={(event) => event.stopPropagation()}
          onChange={() => onChoose(run, true)}
        />
      </td>
      <td title={run.reason}>
        <span className={`state ${run.state}`}>{stateWord(run.state, word)}</span>
        {run.inexact && (
          <abbr data-mark="inexact" title={`${word.inexact} ${run.inexact}`}>
            ≈
          </abbr>
        )}
      </td>
      <th scope="row" title={[run.name, ...run.tags, run.note].filter(Boolean).join("\n")}>
        <span>{run.name}</span>
        {run.sweep && <em title={`${word.ofSweep} ${run.sweep}`}>{run.sweep.slice(run.sweep.indexOf("/"))}</em>}
        {run.tags.slice(0, 1).map((tag) => (
          <em key={tag}>{tag}</em>
        ))}
        {run.tags.length > 1 && <em title={run.tags.join(", ")}>+{run.tags.length - 1}</em>}
      </th>
      <td>{run.drawn}</td>
      <td>{run.data || "–"}</td>
      <td className="number">
        <Progress run={run} />
      </td>
      <td className="number" title={`${run.monitor} · ${word.epoch} ${run.best_epoch}`}>
        {measured(run.monitor, run.best_value)}
      </td>
      <td className="number">{figure(lossOf(run))}</td>
      <td
        className="number"
        title={qualities.map(({ name, value }) => `${word[`measure_${name}`]} ${measured(name, value)}`).join("\n")}
      >
        {first ? measured(first.name, first.value) : "–"}
        {first && first.name !== "accuracy" && <small> {word[`measure_${first.name}`]}</small>}
      </td>
      <td className="number">{started(run)}</td>
      <td className="number">{duration(run.seconds)}</td>
    </tr>
  );
});

/** The rows that are in view of a list whose rows are all of one height. */
function useWindow(count: number) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 900 });
  useEffect(() => {
    const home = box.current;
    if (!home) return;
    const look = () => setView({ top: home.scrollTop, height: home.clientHeight });
    const watch = new ResizeObserver(look);
    watch.observe(home);
    home.addEventListener("scroll", look, { passive: true });
    return () => {
      watch.disconnect();
      home.removeEventListener("scroll", look);
    };
  }, []);
  const first = Math.max(0, Math.min(Math.floor(view.top / HEIGHT) - BEYOND, count - 1));
  const last = Math.min(count, Math.ceil((view.top + view.height) / HEIGHT) + BEYOND);
  return { box, first, last };
}

interface TableProps {
  runs: RunRow[];
  chosen: readonly string[];
  order: Order;
  onOrder: (column: Column) => void;
  onChoose: (run: RunRow, also: boolean) => void;
  onRemove: () => void;
  onNone: () => void;
}

export function RunTable({ runs, chosen, order, onOrder, onChoose, onRemove, onNone }: TableProps) {
  const word = words(useStudio((s) => s.language));
  const { box, first, last } = useWindow(runs.length);
  const [at, setAt] = useState(0);
  const current = Math.min(at, Math.max(runs.length - 1, 0));
  const go = (index: number) => {
    const to = Math.max(0, Math.min(index, runs.length - 1));
    setAt(to);
    const home = box.current;
    if (!home) return;
    const top = to * HEIGHT;
    if (top < home.scrollTop) home.scrollTop = top;
    else if (top + 2 * HEIGHT > home.scrollTop + home.clientHeight)
      home.scrollTop = top + 2 * HEIGHT - home.clientHeight;
    // The row may come into being only now.
    requestAnimationFrame(() =>
      requestAnimationFrame(() => home.querySelector<HTMLElement>(`tr[aria-rowindex="${to + 2}"]`)?.focus()),
    );
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const run = runs[current];
    const moves: Record<string, number> = {
      ArrowDown: current + 1,
      ArrowUp: current - 1,
      PageDown: current + 12,
      PageUp: current - 12,
      Home: 0,
      End: runs.length - 1,
    };
    const to = moves[event.key];
    if (to !== undefined) go(to);
    else if (event.key === " " && run) onChoose(run, true);
    else if (event.key === "Enter" && run && (event.target as HTMLElement).tagName === "TR") onChoose(run, false);
    else if (event.key === "Delete") onRemove();
    else if (event.key === "Escape") onNone();
    else return;
    event.preventDefault();
  };
  const heading = (column: Column, title: string, number = false): ReactNode => (
    <th
      scope="col"
      className={number ? "number" : ""}
      aria-sort={order.column === column ? (order.down ? "descending" : "ascending") : "none"}
    >
      <button type="button" onClick={() => onOrder(column)} data-column={column}>
        {title}
        <i aria-hidden="true">{order.column === column ? (order.down ? "↓" : "↑") : ""}</i>
      </button>
    </th>
  );
  return (
    <div className="run-table" ref={box}>
      {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a table whose rows are chosen is a grid */}
      <table role="grid" aria-label={word.runs} aria-rowcount={runs.length + 1} aria-multiselectable="true">
        <thead>
          <tr aria-rowindex={1}>
            <th scope="col" className="choice">
              <span className="unseen">{word.chooseRun}</span>
            </th>
            {heading("state", word.stateColumn)}
            {heading("name", word.runColumn)}
            {heading("drawn", word.drawing)}
            {heading("data", word.dataColumn)}
            {heading("epoch", word.epochsColumn, true)}
            {heading("best", word.bestColumn, true)}
            {heading("loss", word.lossColumn, true)}
            {heading("accuracy", word.qualityColumn, true)}
            {heading("started", word.startedColumn, true)}
            {heading("seconds", word.durationColumn, true)}
          </tr>
        </thead>
        <tbody onKeyDown={onKeyDown}>
          {first > 0 && <tr style={{ height: first * HEIGHT }} />}
          {runs.slice(first, last).map((run, i) => (
            <Row
              key={run.id}
              run={run}
              index={first + i}
              place={chosen.indexOf(run.id)}
              current={first + i === current}
              onChoose={onChoose}
              onFocus={setAt}
            />
          ))}
          {last < runs.length && <tr style={{ height: (runs.length - last) * HEIGHT }} />}
        </tbody>
      </table>
    </div>
  );
}
