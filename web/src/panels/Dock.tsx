import { lazy, Suspense, useCallback, useEffect, useState } from "react";
import { api } from "../api/client";
import type { Attribute, Attributes, DataSet, RecipeField, RecipeFields, RunDetail, RunRow, Value } from "../api/types";
import { attempt } from "../app/session";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { useWeights } from "../exchange/hooks";
import { showInsight } from "../insight/mode";
import { grouped } from "../model/findings";
import { GoOnChanged } from "../runs/GoOn";
import { accuracyOf, isGoing, percent } from "../runs/listing";
import { Marks, Progress, Steer } from "../runs/Steering";
import { Curve } from "./Curve";
import { Field } from "./Field";
import { Needs } from "./Needs";
import { type Chosen, OwnData } from "./OwnData";
import { placedPictures } from "./placed";

const Vary = lazy(() => import("../sweeps/Vary").then((module) => ({ default: module.Vary })));

const FIRST = ["epochs", "batch", "seed"];
const KINDS = { whole: "size", number: "number", flag: "flag", text: "text", choice: "choice" } as const;

/** A recipe's field in the form of an attribute, for those that are one value. */
function asAttribute(field: RecipeField): Attribute | null {
  const kind = KINDS[field.kind as keyof typeof KINDS];
  if (!kind) return null;
  const { name, help, minimum = null, maximum = null } = field;
  const choices = field.choices ?? [];
  const automatic = field.default === 0 && help.includes("0 = choose");
  return {
    ...{ name, help, kind, minimum, maximum, choices, default: automatic ? "auto" : field.default },
    ...{ inferred: false, required: false, letter: "", axes: 0, unit: "" },
  };
}

const quality = ({ values, state }: RunRow) => {
  const share = accuracyOf({ values });
  return share === null ? (values.val_loss?.toFixed(3) ?? state) : percent(share);
};
const shapeText = (set: DataSet) => (Array.isArray(set.shape) ? set.shape.join("×") : (set.shape ?? ""));

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

/** Other tools that hear of the run, too. */
interface Watchers {
  tensorboard: boolean;
  mlflow: boolean;
}

interface FormProps {
  data: DataSet[];
  fields: RecipeFields | null;
  onStart: (data: Chosen, recipe: Attributes, watchers: Watchers) => void;
  onVary: (data: Chosen, recipe: Attributes) => void;
  busy: boolean;
  /** Own data that were looked into, and how they are to be read. */
  own: Chosen | null;
  onOwn: () => void;
}

const OWN = "\u0000own";
const UNSAID = ["format", "version"];

interface Method {
  kind?: string;
  rate?: number;
  options?: Attributes;
}

function RecipeForm({ data, fields, onStart, onVary, busy, own, onOwn }: FormProps) {
  const word = words(useStudio((s) => s.language));
  const well = useStudio((s) => s.report?.well_formed ?? false);
  const [chosen, setChosen] = useState("");
  const [recipe, setRecipe] = useState<Attributes>({});
  const [optimiser, setOptimiser] = useState<Method>({});
  const [watchers, setWatchers] = useState<Watchers>({ tensorboard: false, mlflow: false });
  const again = useStudio((s) => (s.again?.drawing === s.id ? s.again : null));
  const weights = useWeights(useStudio((s) => s.id));
  const set = (name: string, value: Value) =>
    setRecipe(({ [name]: _, ...others }) => (value === null ? others : { ...others, [name]: value }));
  useEffect(() => {
    if (own) setChosen(own.name);
  }, [own]);
  useEffect(() => {
    // What was imported is meant to be gone on with; a recipe that is trained again says itself where it starts.
    if (weights && !useStudio.getState().again) setRecipe((now) => ({ init_from: weights, ...now }));
  }, [weights]);
  useEffect(() => {
    if (!again || !fields) return;
    const { optimiser: method, data: set } = again.recipe as { optimiser?: Method; data?: { name?: string } };
    const own = fields.recipe.filter((field) => asAttribute(field) && again.recipe[field.name] !== undefined);
    setRecipe(Object.fromEntries(own.map((field) => [field.name, again.recipe[field.name] ?? null])));
    setOptimiser(method ?? {});
    setChosen(set?.name ?? "");
  }, [again, fields]);
  const pictures = useStudio((s) => placedPictures(s.report));
  const fitting = pictures ? "shapes" : "digits";
  const usual = data.find((one) => one.name === fitting)?.name ?? data[0]?.name ?? "";
  const shown = (list: RecipeField[]) =>
    list.flatMap((field) => {
      const attribute = asAttribute(field);
      const change = (value: Value) => set(field.name, value);
      return attribute
        ? [<Field key={field.name} attribute={attribute} value={recipe[field.name]} onChange={change} />]
        : [];
    });
  const all = fields?.recipe ?? [];
  const first = FIRST.flatMap((name) => all.filter((field) => field.name === name));
  const rest = shown(all.filter((field) => !first.includes(field)));
  const method = fields?.optimisers.find((one) => one.name === (optimiser.kind ?? "adam")) ?? fields?.optimisers[0];
  const filled = (): [Chosen, Attributes] => {
    const { kind = method?.name, rate = method?.rate, options: details } = optimiser;
    const changed = Object.keys(optimiser).length > 0 && kind !== undefined && rate !== undefined;
    const name = chosen || usual;
    // Shapes are drawn as large as the network's pictures.
    const drawn: Record<string, string> = name === "shapes" && pictures ? { size: pictures } : {};
    const options = own?.name === name ? own.options : drawn;
    // What the form does not show comes from the run that is trained again: its losses, its schedule, how data are read.
    const shown = new Set([...all.filter(asAttribute).map((field) => field.name), "optimiser", "data", ...UNSAID]);
    const rest = Object.fromEntries(Object.entries(again?.recipe ?? {}).filter(([key]) => !shown.has(key)));
    const before = again?.recipe.data as Chosen | undefined;
    const base = { ...rest, ...recipe };
    return [
      before?.name === name && own?.name !== name ? before : { name, options },
      changed ? { ...base, optimiser: { kind, rate, ...(details ? { options: details } : {}) } } : base,
    ];
  };
  return (
    <form
      className="recipe"
      onSubmit={(event) => {
        event.preventDefault();
        onStart(...filled(), watchers);
      }}
    >
      {again && (
        <p className="again">
          {word.againAs} <b>{again.run}</b>
          <button
            type="button"
            aria-label={word.againForget}
            title={word.againForget}
            onClick={() => {
              useStudio.setState({ again: null });
              setRecipe({});
              setOptimiser({});
            }}
          >
            ×
          </button>
        </p>
      )}
      <div className="field wide">
        <label htmlFor="data">{word.data}</label>
        <select
          id="data"
          value={chosen || usual}
          onChange={(event) => (event.target.value === OWN ? onOwn() : setChosen(event.target.value))}
        >
          {data.map((one) => (
            <option key={one.name} value={one.name} title={one.title}>
              {one.name}
              {one.samples ? ` · ${grouped(one.samples)}` : ""}
              {one.shape ? ` · ${shapeText(one)}` : ""}
            </option>
          ))}
          {chosen && !data.some((one) => one.name === chosen) && <option value={chosen}>{chosen}</option>}
          <option value={OWN}>{word.ownData} …</option>
        </select>
      </div>
      {weights && (
        <label className="check watcher" title={weights}>
          <input
            type="checkbox"
            data-weights={weights}
            checked={recipe.init_from === weights}
            onChange={(event) => set("init_from", event.currentTarget.checked ? weights : null)}
          />
          {word.fromImported}
        </label>
      )}
      <div className="fields three">{shown(first)}</div>
      <div className="fields">
        <div className="field" title={method?.help}>
          <label htmlFor="optimiser">{word.optimiser}</label>
          <select
            id="optimiser"
            value={method?.name ?? ""}
            onChange={(event) => setOptimiser({ kind: event.target.value })}
          >
            {fields?.optimisers.map((one) => (
              <option key={one.name}>{one.name}</option>
            ))}
          </select>
        </div>
        <Field
          attribute={{ ...RATE, default: method?.rate ?? null }}
          value={optimiser.rate}
          onChange={(value) =>
            setOptimiser(({ rate: _, ...others }) => (value === null ? others : { ...others, rate: Number(value) }))
          }
        />
      </div>
      {rest.length > 0 && (
        <details>
          <summary>
            {word.recipe} ({rest.length})
          </summary>
          <div className="fields">{rest}</div>
          {(["tensorboard", "mlflow"] as const).map((name) => (
            <label key={name} className="check watcher" title={word[`${name}Hint`]}>
              <input
                type="checkbox"
                data-watcher={name}
                checked={watchers[name]}
                onChange={(event) => setWatchers({ ...watchers, [name]: event.currentTarget.checked })}
              />
              {word[name]}
            </label>
          ))}
        </details>
      )}
      <div className="starting">
        <Needs batch={Number(recipe.batch) || 64} optimiser={method?.name ?? "adam"} />
        <button type="submit" className="button primary" disabled={!well || busy || !data.length}>
          ▶ {word.start}
        </button>
        <button
          type="button"
          className="button"
          title={word.varyTitle}
          disabled={!well || !data.length}
          onClick={() => onVary(...filled())}
        >
          {word.vary}
        </button>
      </div>
    </form>
  );
}

const RATE: Attribute = {
  ...{ name: "rate", kind: "number", help: "How far each step goes.", default: null, inferred: false, required: false },
  ...{ letter: "", minimum: 0, maximum: null, choices: [], axes: 0, unit: "" },
};

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
  const start = async (set: Chosen, recipe: Attributes, watchers: Watchers) => {
    if (!id) return;
    const made = await attempt(api.train(id, set, recipe, watchers));
    if (made) choose(made.run);
    await look();
  };
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
