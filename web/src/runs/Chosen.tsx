import { ReactFlowProvider } from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import type { Attributes, Drawn, RunDetail, RunRow, Value } from "../api/types";
import { attempt } from "../app/session";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { showInsight } from "../insight/mode";
import type { Comparison } from "../theory/api";
import { Details, Total } from "../theory/Compare";
import { ComparedCanvas } from "../theory/ComparedCanvas";
import { overlay } from "../theory/difference";
import { runsApi } from "./api";
import { colourOf } from "./curves";
import { useCurves } from "./following";
import { GoOnChanged, Kept } from "./GoOn";
import { isGoing } from "./listing";
import { Plot } from "./Plot";
import { compared } from "./recipes";
import { Marks, Progress, Steer } from "./Steering";

type Tab = "curves" | "recipe" | "drawing" | "notes";

interface RecipesProps {
  chosen: readonly RunRow[];
  drawn: readonly Drawn[];
  children: ReactNode;
}

function Recipes({ chosen, drawn, children }: RecipesProps) {
  const word = words(useStudio((s) => s.language));
  const theme = useStudio((s) => s.theme);
  const recipes = chosen.map((run) => (drawn.find((one) => one.id === run.id)?.recipe ?? {}) as Value);
  const rows = compared(recipes);
  if (!rows.length && drawn.length) return <p className="soft centred">{word.sameRecipe}</p>;
  return (
    <div className="recipes" role="region" aria-label={word.recipeTab}>
      {children}
      {chosen.length > 1 && <p className="soft">{word.onlyDiffering}</p>}
      <table className="recipe-table">
        <thead>
          <tr>
            <th scope="col">{word.field}</th>
            {chosen.map((run, i) => (
              <th scope="col" key={run.id} title={run.name}>
                <i style={{ background: colourOf(i, theme) }} />
                {run.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, values }) => (
            <tr key={name} data-field={name}>
              <th scope="row">{name}</th>
              {values.map((value, i) => (
                <td key={chosen[i]?.id}>{value}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Drawings({ chosen }: { chosen: readonly RunRow[] }) {
  const word = words(useStudio((s) => s.language));
  const [told, setTold] = useState<Comparison | null>(null);
  const [at, setAt] = useState<string | null>(null);
  // The older of the two first chosen ones is before, the newer after.
  const [before, after] = chosen.slice(0, 2).sort((a, b) => a.created.localeCompare(b.created));
  const [a, b] = [before?.id, after?.id];
  useEffect(() => {
    setTold(null);
    setAt(null);
    if (!a || !b) return;
    let current = true;
    void attempt(runsApi.compare(a, b)).then((answer) => current && answer && setTold(answer));
    return () => {
      current = false;
    };
  }, [a, b]);
  const overlaid = useMemo(() => (told ? overlay(told, "both") : null), [told]);
  if (!before || !after) return <p className="soft centred">{word.twoForDrawings}</p>;
  if (!told || !overlaid) return <p className="soft centred">…</p>;
  const shown = overlaid.differences.filter((one) => !at || one.id === at || one.shown === at);
  return (
    <div className="drawings">
      <p className="soft">
        {before.name} → {after.name}
      </p>
      <ReactFlowProvider>
        <ComparedCanvas overlaid={overlaid} structures={told.structures} chosen={at} choose={setAt} />
      </ReactFlowProvider>
      <div className="drawing-differences" role="region" aria-label={word.differences}>
        <table className="facts totals">
          <tbody>
            <Total name={word.parameters} values={told.parameters} />
            <Total name={word.multiplyAdds} values={told.multiply_adds} />
          </tbody>
        </table>
        {!overlaid.differences.length && <p className="soft">{word.sameDrawing}</p>}
        {shown.slice(0, 200).map((one) => (
          <section key={`${one.of}-${one.id}`} data-difference={one.id}>
            <h3>
              {one.id} · {one.kind === "same" ? "" : word[one.kind]}
            </h3>
            <Details difference={one} />
          </section>
        ))}
      </div>
    </div>
  );
}

const parted = (text: string) =>
  text
    .split(/[,，、]/)
    .map((tag) => tag.trim())
    .filter(Boolean);

function Notes({ run, onChange }: { run: RunRow; onChange: () => void }) {
  const word = words(useStudio((s) => s.language));
  const [note, setNote] = useState(run.note);
  const [tags, setTags] = useState(run.tags.join(", "));
  const [kept, setKept] = useState(true);
  useEffect(() => {
    if (kept) return;
    const keep = async () => {
      if ((await attempt(runsApi.note(run.id, note, parted(tags)))) === undefined) return;
      setKept(true);
      onChange();
    };
    const timer = setTimeout(() => void keep(), 500);
    return () => clearTimeout(timer);
  }, [kept, note, tags, run.id, onChange]);
  return (
    <div className="notes">
      <label htmlFor="run-tags">{word.tags}</label>
      <input
        id="run-tags"
        value={tags}
        placeholder={word.tagsHint}
        onChange={(event) => {
          setTags(event.target.value);
          setKept(false);
        }}
      />
      <label htmlFor="run-note">{word.note_}</label>
      <textarea
        id="run-note"
        value={note}
        rows={10}
        maxLength={20_000}
        placeholder={word.noteHint}
        onChange={(event) => {
          setNote(event.target.value);
          setKept(false);
        }}
      />
      <p className="soft" role="status">
        {kept ? `✓ ${word.kept}` : "…"}
      </p>
    </div>
  );
}

/** Open the dock of the run's drawing with the run's recipe filled in. */
async function trainAgain(run: RunRow): Promise<void> {
  const [detail, drawing] = [await attempt(runsApi.detail(run.id)), await attempt(runsApi.again(run.id))];
  if (!detail || !drawing) return;
  useStudio.setState({
    again: { drawing: drawing.id, run: run.name, recipe: detail.recipe as Attributes },
    dock: true,
  });
  location.hash = `#/drawing/${drawing.id}`;
}

/** What is told of one run beyond its row, asked for again when it stands otherwise. */
function useDetail(run: RunRow | undefined): RunDetail | null {
  const [detail, setDetail] = useState<RunDetail | null>(null);
  const [id, state] = [run?.id, `${run?.state} ${run?.resumed}`];
  // biome-ignore lint/correctness/useExhaustiveDependencies: the state is the signal
  useEffect(() => {
    setDetail(null);
    if (!id) return;
    let current = true;
    void runsApi.detail(id).then(
      (found) => current && setDetail(found),
      () => undefined,
    );
    return () => {
      current = false;
    };
  }, [id, state]);
  return detail;
}

/** From which run the weights were taken, as the summary keeps it. */
function Origin({ detail }: { detail: RunDetail | null }) {
  const word = words(useStudio((s) => s.language));
  const from = detail?.summary?.init_from as (Parameters<typeof Kept>[0]["report"] & { run: string }) | undefined;
  if (!from?.run) return null;
  const { remembered = [], forgotten = "" } = from;
  return (
    <section data-origin={from.run}>
      <h3>
        {word.startedFrom} {from.run}
      </h3>
      <Kept report={{ ...from, remembered, forgotten }} />
    </section>
  );
}

function Actions({ run, detail, onChange }: { run: RunRow; detail: RunDetail | null; onChange: () => void }) {
  const word = words(useStudio((s) => s.language));
  return (
    <>
      <Steer run={run} onChange={onChange} />
      {detail?.id === run.id && <GoOnChanged run={detail} onStarted={onChange} />}
      {run.state !== "damaged" && (
        <button type="button" className="button" onClick={() => void trainAgain(run)}>
          {word.trainAgain}
        </button>
      )}
      {run.drawing && (
        <>
          <a className="button" href={`#/drawing/${run.drawing}`}>
            {word.openDrawing}
          </a>
          <a className="button" href={`#/drawing/${run.drawing}`} onClick={() => showInsight(run.id)}>
            {word.showOnNetwork}
          </a>
        </>
      )}
    </>
  );
}

function Headline({ run }: { run: RunRow }) {
  return (
    <>
      <h2>{run.name}</h2>
      <div className="progress">
        <Progress run={run} />
      </div>
      {run.reason && <p className="soft facts-line">{run.reason}</p>}
      <Marks run={run} />
    </>
  );
}

interface ChosenProps {
  chosen: RunRow[];
  onChange: () => void;
  onRemove: () => void;
  onNone: () => void;
}

/** What is told of the chosen runs: their curves, recipes and drawings beside each other, and the note of one. */
export function Chosen({ chosen, onChange, onRemove, onNone }: ChosenProps) {
  const word = words(useStudio((s) => s.language));
  const [tab, setTab] = useState<Tab>("curves");
  const drawn = useCurves(chosen);
  const [only] = chosen;
  const detail = useDetail(chosen.length === 1 ? only : undefined);
  if (!only)
    return (
      <aside className="chosen-runs" aria-label={word.curves}>
        <div className="centred soft">
          <b>{word.chooseRuns}</b>
          <p>{word.chooseRunsHint}</p>
        </div>
      </aside>
    );
  const single = chosen.length === 1;
  const tabs: Record<Tab, string> = {
    curves: word.curves,
    recipe: word.recipeTab,
    drawing: word.drawingTab,
    notes: word.notesTab,
  };
  return (
    <aside className="chosen-runs" aria-label={word.curves}>
      <header>
        {single ? (
          <Headline run={only} />
        ) : (
          <h2>
            {chosen.length} {word.chosenRuns}
          </h2>
        )}
        <div className="run-actions">
          {single && <Actions run={only} detail={detail} onChange={onChange} />}
          {!(single && isGoing(only)) && (
            <button type="button" className="button danger" onClick={onRemove}>
              {word.remove}
            </button>
          )}
          <span className="grow" />
          <button type="button" className="button" onClick={onNone}>
            {word.forgetChosen}
          </button>
        </div>
        <div className="run-tabs" role="group" aria-label={word.runs}>
          {(Object.keys(tabs) as Tab[]).map((one) => (
            <button type="button" key={one} aria-pressed={tab === one} data-tab={one} onClick={() => setTab(one)}>
              {tabs[one]}
            </button>
          ))}
        </div>
      </header>
      {tab === "curves" && <Plot chosen={chosen} drawn={drawn} />}
      {tab === "recipe" && (
        <Recipes chosen={chosen} drawn={drawn}>
          {single && <Origin detail={detail} />}
        </Recipes>
      )}
      {tab === "drawing" && <Drawings chosen={chosen} />}
      {tab === "notes" &&
        (single ? (
          <Notes key={only.id} run={only} onChange={onChange} />
        ) : (
          <p className="soft centred">{word.oneForNotes}</p>
        ))}
    </aside>
  );
}
