import { lazy, Suspense, useCallback, useEffect, useRef, useState } from "react";
import { api } from "../api/client";
import type { Attributes, DataSet, RecipeFields, RunDetail, RunRow } from "../api/types";
import { attempt, say } from "../app/session";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { showInsight } from "../insight/mode";
import { GoOnChanged } from "../runs/GoOn";
import { accuracyOf, isGoing, percent } from "../runs/listing";
import { Marks, Progress, Steer } from "../runs/Steering";
import { Curve } from "./Curve";
import { type Chosen, OwnData } from "./OwnData";
import { RecipeForm, type Watchers } from "./RecipeForm";

const Vary = lazy(() => import("../sweeps/Vary").then((module) => ({ default: module.Vary })));

const quality = ({ values, state }: RunRow) => {
  const share = accuracyOf({ values });
  return share === null ? (values.val_loss?.toFixed(3) ?? state) : percent(share);
};

/** The runs of this drawing, and the newest or chosen one in full, looked at again while it goes on. */
function useRuns(id: string | null) {
  const [runs, setRuns] = useState<RunRow[]>([]);
  const [chosen, setChosen] = useState<string | null>(null);
  const [detail, setDetail] = useState<RunDetail | null>(null);
  const look = useCallback(async () => {
    if (!id) return;
    const found = await api.runs(id).catch(() => null);
    if (!found) return;
    setRuns(found);
    const which = found.find((run) => run.id === chosen) ?? found[0];
    if (which) setDetail(await api.run(which.id).catch(() => null));
  }, [id, chosen]);
  useEffect(() => {
    void look();
    const timer = setInterval(() => void look(), 700);
    return () => clearInterval(timer);
  }, [look]);
  return { runs, chosen: chosen ?? runs[0]?.id ?? null, choose: setChosen, detail, look };
}

/** Start a training. It takes seconds until a run is there, or is refused: both are told where it was started. */
function useStart(id: string | null, onStarted: (run: string) => Promise<void>) {
  const [starting, setStarting] = useState(false);
  const [wrong, setWrong] = useState({ id, words: "" });
  const here = useRef<string | null>(null);
  useEffect(() => {
    here.current = id;
    return () => {
      here.current = null;
    };
  }, [id]);
  const start = async (set: Chosen, recipe: Attributes, watchers: Watchers) => {
    if (!id || starting) return;
    setStarting(true);
    setWrong({ id, words: "" });
    try {
      await onStarted((await api.train(id, set, recipe, watchers)).run);
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      // Whoever has left the panel meanwhile is told where all is told.
      if (here.current === id) setWrong({ id, words });
      else say(words, true);
    }
    setStarting(false);
  };
  return { starting, wrong: wrong.id === id ? wrong.words : "", start };
}

export function Dock() {
  const id = useStudio((s) => s.id);
  const theme = useStudio((s) => s.theme);
  const word = words(useStudio((s) => s.language));
  const [data, setData] = useState<DataSet[]>([]);
  const [fields, setFields] = useState<RecipeFields | null>(null);
  const { runs, chosen, choose, detail, look } = useRuns(id);
  useEffect(() => {
    void attempt(api.data()).then((found) => found && setData(found));
    void attempt(api.fields()).then((found) => found && setFields(found));
  }, []);
  const [own, setOwn] = useState<Chosen | null>(null);
  const [bringing, setBringing] = useState<File[] | null>(null);
  const [varying, setVarying] = useState<[Chosen, Attributes] | null>(null);
  const { starting, wrong, start } = useStart(id, async (run) => {
    choose(run);
    await look();
  });
  const now = runs.find((run) => run.id === chosen);
  return (
    <section
      id="dock"
      aria-label={word.train}
      onDragOver={(event) => event.dataTransfer.types.includes("Files") && event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        if (event.dataTransfer.files.length) setBringing([...event.dataTransfer.files]);
      }}
    >
      <RecipeForm
        data={data}
        fields={fields}
        busy={runs.some(isGoing)}
        starting={starting}
        wrong={wrong}
        onVary={(set, recipe) => setVarying([set, recipe])}
        onStart={(set, recipe, watchers) => void start(set, recipe, watchers)}
        own={own}
        onOwn={() => setBringing([])}
      />
      {varying && id && (
        <Suspense fallback={null}>
          <Vary id={id} data={varying[0]} recipe={varying[1]} onClose={() => setVarying(null)} />
        </Suspense>
      )}
      {bringing && (
        <OwnData
          there={data.filter((one) => one.kind === "own").map((one) => one.name)}
          dropped={bringing}
          onClose={() => setBringing(null)}
          onUse={(chosen) => {
            setOwn(chosen);
            setBringing(null);
            void attempt(api.data()).then((found) => found && setData(found));
          }}
        />
      )}
      <div className="curve-box">
        {runs.length && detail ? (
          <>
            {now && (
              <>
                <div className="progress">
                  <Progress run={now} />
                  <button
                    type="button"
                    className="button"
                    title={`${word.showOnNetwork} (O)`}
                    onClick={() => showInsight(now.id)}
                  >
                    {word.showOnNetwork}
                  </button>
                  <Steer run={now} onChange={look} />
                  {detail.id === now.id && (
                    <GoOnChanged
                      key={now.id}
                      run={detail}
                      onStarted={(run) => {
                        choose(run);
                        return look();
                      }}
                    />
                  )}
                </div>
                <Marks run={now} />
              </>
            )}
            <Curve series={detail.series ?? {}} theme={theme} />
          </>
        ) : (
          <p className="soft centred">{word.noRuns}</p>
        )}
      </div>
      <div className="runs">
        <h3>
          {word.runs}
          <a href="#/sweeps">{word.sweeps}</a>
          <a href="#/runs">{word.allRuns}</a>
        </h3>
        {runs.map((run) => (
          <button
            type="button"
            key={run.id}
            className={`run ${run.id === chosen ? "on" : ""} ${run.state}`}
            onClick={() => choose(run.id)}
          >
            <i className="dot" />
            <span>{run.name ?? run.id}</span>
            <code>{quality(run)}</code>
            {isGoing(run) && (
              <progress max={1} value={run.share} aria-label={`${run.name} ${run.epoch}/${run.epochs}`} />
            )}
          </button>
        ))}
      </div>
    </section>
  );
}
