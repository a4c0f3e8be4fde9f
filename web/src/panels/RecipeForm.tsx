import { useEffect, useState } from "react";
import type { Attribute, Attributes, DataSet, RecipeField, RecipeFields, Value } from "../api/types";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { useWeights } from "../exchange/hooks";
import { grouped } from "../model/findings";
import { Field } from "./Field";
import { Needs } from "./Needs";
import type { Chosen } from "./OwnData";
import { placedPictures } from "./placed";
import { Fields, RecipeSections } from "./RecipeSections";
import { asAttribute, isShown, possible } from "./recipe";

const FIRST = ["epochs", "batch", "seed"];
const shapeText = (set: DataSet) => (Array.isArray(set.shape) ? set.shape.join("×") : (set.shape ?? ""));

/** Other tools that hear of the run, too. */
export interface Watchers {
  tensorboard: boolean;
  mlflow: boolean;
}

interface FormProps {
  data: DataSet[];
  fields: RecipeFields | null;
  onStart: (data: Chosen, recipe: Attributes, watchers: Watchers) => void;
  onVary: (data: Chosen, recipe: Attributes) => void;
  busy: boolean;
  starting: boolean;
  /** Why the last start was refused. It stays until the next: a form that moved under the hand would miss a click. */
  wrong: string;
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

/** A recipe that is trained again, as far as it is taken apart here. */
interface Again {
  optimiser?: Method;
  schedule?: Method;
  data?: Attributes;
}

/** How data are prepared; their name and how they are read is chosen elsewhere. */
const isPreparing = ({ name }: RecipeField): boolean => name !== "name";

function withValue(values: Attributes, name: string, value: Value): Attributes {
  const { [name]: _, ...others } = values;
  return value === null ? others : { ...others, [name]: value };
}

/** What to train on and how: the usual in sight, everything else folded. */
export function RecipeForm({ data, fields, onStart, onVary, busy, starting, wrong, own, onOwn }: FormProps) {
  const word = words(useStudio((s) => s.language));
  const well = useStudio((s) => s.report?.well_formed ?? false);
  const [chosen, setChosen] = useState("");
  const [recipe, setRecipe] = useState<Attributes>({});
  const [optimiser, setOptimiser] = useState<Method>({});
  const [schedule, setSchedule] = useState<Method>({});
  const [prepared, setPrepared] = useState<Attributes>({});
  const [watchers, setWatchers] = useState<Watchers>({ tensorboard: false, mlflow: false });
  const again = useStudio((s) => (s.again?.drawing === s.id ? s.again : null));
  const weights = useWeights(useStudio((s) => s.id));
  const set = (name: string, value: Value) => setRecipe((now) => withValue(now, name, value));
  useEffect(() => {
    if (own) setChosen(own.name);
  }, [own]);
  useEffect(() => {
    // What was imported is meant to be gone on with; a recipe that is trained again says itself where it starts.
    if (weights && !useStudio.getState().again) setRecipe((now) => ({ init_from: weights, ...now }));
  }, [weights]);
  useEffect(() => {
    if (!again || !fields) return;
    const { optimiser: method, schedule: course, data: set } = again.recipe as Again;
    const own = fields.recipe.filter((field) => isShown(field) && again.recipe[field.name] !== undefined);
    setRecipe(Object.fromEntries(own.map((field) => [field.name, again.recipe[field.name] ?? null])));
    setOptimiser(method ?? {});
    setSchedule(course ?? {});
    const told = fields.data.filter((field) => asAttribute(field) && set?.[field.name] !== undefined);
    setPrepared(Object.fromEntries(told.filter(isPreparing).map((field) => [field.name, set?.[field.name] ?? null])));
    setChosen(String(set?.name ?? ""));
  }, [again, fields]);
  const pictures = useStudio((s) => placedPictures(s.report));
  const fitting = pictures ? "shapes" : "digits";
  const usual = data.find((one) => one.name === fitting)?.name ?? data[0]?.name ?? "";
  const all = fields?.recipe ?? [];
  const first = FIRST.flatMap((name) => all.filter((field) => field.name === name));
  const rest = all.filter((field) => !first.includes(field) && isShown(field));
  const preparing = (fields?.data ?? []).filter((field) => isPreparing(field) && asAttribute(field));
  const prepare = (name: string, value: Value) => setPrepared((now) => withValue(now, name, value));
  const method = fields?.optimisers.find((one) => one.name === (optimiser.kind ?? "adam")) ?? fields?.optimisers[0];
  const filled = (): [Chosen, Attributes] => {
    const { kind = method?.name, rate = method?.rate, options: details } = optimiser;
    const changed = Object.keys(optimiser).length > 0 && kind !== undefined && rate !== undefined;
    const name = chosen || usual;
    // Shapes are drawn as large as the network's pictures.
    const drawn: Record<string, string> = name === "shapes" && pictures ? { size: pictures } : {};
    const options = own?.name === name ? own.options : drawn;
    // What the form does not show comes from the run that is trained again: its losses, its schedule, how data are read.
    const named = all.filter(isShown).map((field) => field.name);
    const shown = new Set([...named, "optimiser", "schedule", "data", ...UNSAID]);
    const rest = Object.fromEntries(Object.entries(again?.recipe ?? {}).filter(([key]) => !shown.has(key)));
    const before = again?.recipe.data as Chosen | undefined;
    const said = possible(recipe, all);
    const base = { ...rest, ...said, ...(schedule.kind ? { schedule: { ...schedule, kind: schedule.kind } } : {}) };
    const read = before?.name === name && own?.name !== name ? before : { name, options };
    // What was prepared otherwise and is as usual again is not said.
    const plain = Object.fromEntries(
      Object.entries(read).filter(([key]) => !preparing.some((one) => one.name === key)),
    );
    return [
      { ...plain, ...prepared } as unknown as Chosen,
      changed ? { ...base, optimiser: { kind, rate, ...(details ? { options: details } : {}) } } : base,
    ];
  };
  return (
    <form
      className="recipe"
      onSubmit={(event) => {
        event.preventDefault();
        // A field that says what is wrong with it was not taken over: nothing else is trained in its place.
        const bad = event.currentTarget.querySelector<HTMLElement>("[aria-invalid=true]");
        if (!bad) return onStart(...filled(), watchers);
        bad.closest("details")?.setAttribute("open", "");
        bad.focus();
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
              setSchedule({});
              setPrepared({});
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
          onChange={(event) => {
            if (event.target.value === OWN) return onOwn();
            setChosen(event.target.value);
            // Other data are prepared as usual, until something else is said.
            setPrepared({});
          }}
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
      <div className="fields three">
        <Fields list={first} values={recipe} onChange={set} />
      </div>
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
            {word.recipe} ({rest.length + preparing.length + 1})
          </summary>
          <RecipeSections
            list={rest}
            values={recipe}
            onChange={set}
            first={
              <div className="field">
                <label htmlFor="schedule">{word.schedule}</label>
                <select
                  id="schedule"
                  value={schedule.kind ?? fields?.schedules[0]?.name ?? ""}
                  title={fields?.schedules.find((one) => one.name === schedule.kind)?.help}
                  onChange={(event) => setSchedule({ kind: event.target.value })}
                >
                  {fields?.schedules.map((one) => (
                    <option key={one.name} title={one.help}>
                      {one.name}
                    </option>
                  ))}
                </select>
              </div>
            }
          />
          <h4>{word.preparing}</h4>
          <div className="fields">
            <Fields list={preparing} values={prepared} onChange={prepare} />
          </div>
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
        <Needs optimiser={method?.name ?? "adam"} recipe={possible(recipe, all)} />
        {wrong && (
          <p className="needs short" role="alert" data-refused>
            {wrong}
          </p>
        )}
        <button type="submit" className="button primary" disabled={!well || busy || starting || !data.length}>
          {starting ? word.startsNow : `▶ ${word.start}`}
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
