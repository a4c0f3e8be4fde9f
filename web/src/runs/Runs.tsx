import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { RunRow } from "../api/types";
import { attempt, say } from "../app/session";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { PageBar } from "../panels/PageBar";
import { runsApi } from "./api";
import { Chosen } from "./Chosen";
import { useRunList } from "./following";
import { type Column, type Filter, fitting, isGoing, type Order, sorted, stateWord } from "./listing";
import { RunTable } from "./RunTable";
import "../theory/theory.css";
import "./runs.css";

const MOST = 24;
const NUMBERS: readonly Column[] = ["epoch", "accuracy", "started", "seconds"];
const EVERYTHING: Filter = { search: "", state: "", drawn: "", data: "" };
const distinct = (values: string[]) => [...new Set(values)].filter(Boolean).sort();

/** The run that the address names, as a sweep's table does. */
const inAddress = () => /^#\/runs\/([\w-]+)/.exec(location.hash)?.slice(1, 2) ?? [];

/** Delete runs one after another; the notice takes all of them back. */
async function removeRuns(runs: readonly RunRow[], then: () => Promise<void>): Promise<void> {
  const word = words(useStudio.getState().language);
  const gone: { id: string; undo: string }[] = [];
  for (const { id } of runs) {
    const answer = await attempt(runsApi.remove(id));
    if (answer) gone.push({ id, undo: answer.undo });
  }
  await then();
  if (!gone.length) return;
  const told = gone.length === 1 ? `${runs[0]?.name} ${word.deleted}` : `${gone.length} ${word.runsDeleted}`;
  const back = async () => {
    for (const { id, undo } of gone) await attempt(runsApi.undelete(id, undo));
    await then();
  };
  say(told, false, { label: word.undone, run: () => void back() });
}

function Tools({ runs, filter, change }: { runs: RunRow[]; filter: Filter; change: (part: Partial<Filter>) => void }) {
  const word = words(useStudio((s) => s.language));
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "/" || (event.target as HTMLElement).matches("input, textarea, select")) return;
      event.preventDefault();
      search.current?.focus();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  const choice = (key: "state" | "drawn" | "data", any: string, name: (value: string) => string = (v) => v) => (
    <select aria-label={any} value={filter[key]} onChange={(event) => change({ [key]: event.target.value })}>
      <option value="">{any}</option>
      {distinct(runs.map((run) => run[key])).map((value) => (
        <option key={value} value={value}>
          {name(value)}
        </option>
      ))}
    </select>
  );
  return (
    <div className="run-tools">
      <input
        ref={search}
        type="search"
        value={filter.search}
        placeholder={`${word.searchRuns}   /`}
        aria-label={word.searchRuns}
        onChange={(event) => change({ search: event.target.value })}
      />
      {choice("state", word.anyState, (state) => stateWord(state, word))}
      {choice("drawn", word.anyDrawing)}
      {choice("data", word.anyData)}
    </div>
  );
}

/** All runs of the workspace: listed, followed, laid over each other, compared. */
export function Runs() {
  const word = words(useStudio((s) => s.language));
  const { runs, load } = useRunList();
  const [filter, setFilter] = useState(EVERYTHING);
  const [order, setOrder] = useState<Order>({ column: "started", down: true });
  const [ids, setIds] = useState<readonly string[]>(inAddress);
  const all = runs ?? [];
  const shown = useMemo(() => sorted(fitting(runs ?? [], filter), order), [runs, filter, order]);
  const chosen = useMemo(
    () => ids.flatMap((id) => (runs ?? []).filter((run) => run.id === id)).slice(0, MOST),
    [ids, runs],
  );
  const choose = useCallback((run: RunRow, also: boolean) => {
    setIds((before) => {
      if (!also) return before.length === 1 && before[0] === run.id ? [] : [run.id];
      if (before.includes(run.id)) return before.filter((id) => id !== run.id);
      if (before.length < MOST) return [...before, run.id];
      say(words(useStudio.getState().language).mostChosen.replace("{n}", String(MOST)), true);
      return before;
    });
  }, []);
  const none = useCallback(() => setIds([]), []);
  const remove = () => {
    if (chosen.some(isGoing)) {
      say(word.cannotDeleteGoing, true);
      return;
    }
    none();
    void removeRuns(chosen, load);
  };
  const turn = (column: Column) =>
    setOrder((before) => ({
      column,
      down: before.column === column ? !before.down : NUMBERS.includes(column),
    }));
  return (
    <div className="runs-page">
      <PageBar
        title={word.runs}
        status={
          <span className="chip" role="status" data-count={shown.length}>
            {shown.length === all.length ? all.length : `${shown.length} / ${all.length}`} {word.runs.toLowerCase()}
          </span>
        }
      >
        <a className="button" href="#/sweeps">
          {word.sweeps}
        </a>
      </PageBar>
      <section className="run-list" aria-label={word.runs}>
        <Tools runs={all} filter={filter} change={(part) => setFilter((before) => ({ ...before, ...part }))} />
        <RunTable
          runs={shown}
          chosen={ids}
          order={order}
          onOrder={turn}
          onChoose={choose}
          onRemove={remove}
          onNone={none}
        />
        {runs && !shown.length && <p className="soft centred">{all.length ? word.noRunFits : word.noRunsAnywhere}</p>}
      </section>
      <Chosen chosen={chosen} onChange={load} onRemove={remove} onNone={none} />
    </div>
  );
}
