import { useEffect, useMemo, useState } from "react";
import type { Attributes } from "../api/types";
import { attempt } from "../app/session";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { Dialog } from "../panels/Dialogs";
import type { Chosen } from "../panels/OwnData";
import { type Method, type PlaceRow, sweepsApi } from "./api";
import { overOf, pointsOf, proposal, shortPath, valueText } from "./axes";
import "./sweeps.css";

const METHODS: readonly Method[] = ["grid", "random", "halving", "guided"];
const MOST = 60;
const USUAL_TRIALS = 20;
/** What is varied most often stands first. */
const FIRST = ["recipe.optimiser.rate", "recipe.batch", "recipe.optimiser.kind", "recipe.seed"];

interface VaryProps {
  id: string;
  data: Chosen;
  recipe: Attributes;
  onClose: () => void;
}

interface Varied {
  place: PlaceRow;
  text: string;
}

/** What a place holds now; 0 may stand for a choice that is left open. */
function nowText({ now, help }: PlaceRow): string {
  if (now === 0 && help.includes("0 = choose")) return "auto";
  return now === null || now === "" ? "–" : valueText(now);
}

function Found({ places, search, add }: { places: PlaceRow[]; search: string; add: (place: PlaceRow) => void }) {
  const word = words(useStudio((s) => s.language));
  const wanted = search.toLowerCase().split(/\s+/).filter(Boolean);
  const having = (text: (place: PlaceRow) => string) =>
    places.filter((place) => wanted.every((one) => text(place).toLowerCase().includes(one)));
  const byName = having((place) => place.path);
  // What is not called so may still be explained so.
  const fitting = byName.length ? byName : having((place) => `${place.path} ${place.help}`);
  if (!fitting.length) return <p className="soft centred">{places.length ? word.noPlaceFits : "…"}</p>;
  return (
    <ul className="places">
      {fitting.slice(0, MOST).map((place) => (
        <li key={place.path}>
          <button type="button" data-place={place.path} title={place.help} onClick={() => add(place)}>
            <span>
              <i>{place.path.startsWith("drawing.") ? word.drawing : word.recipe}</i>
              {shortPath(place.path)}
            </span>
            <code>{nowText(place)}</code>
          </button>
        </li>
      ))}
      {fitting.length > MOST && <li className="soft">… {fitting.length - MOST}</li>}
    </ul>
  );
}

/** The box that starts a sweep: what is varied, over which list or range, by which method. */
export function Vary({ id, data, recipe, onClose }: VaryProps) {
  const word = words(useStudio((s) => s.language));
  const [places, setPlaces] = useState<PlaceRow[]>([]);
  const [search, setSearch] = useState("");
  const [varied, setVaried] = useState<Varied[]>([]);
  const [method, setMethod] = useState<Method>("grid");
  const [trials, setTrials] = useState(USUAL_TRIALS);
  const [atOnce, setAtOnce] = useState("");
  const [factor, setFactor] = useState(3);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    void attempt(sweepsApi.places(id, data, recipe)).then((found) => {
      if (!found) return;
      const rank = (place: PlaceRow) =>
        (FIRST.indexOf(place.path) + 1 || FIRST.length + 1) + (place.path.startsWith("drawing.") ? 0 : 0.5);
      setPlaces([...found].sort((a, b) => rank(a) - rank(b)));
    });
  }, [id, data, recipe]);
  const space = useMemo(
    () => Object.fromEntries(varied.map(({ place, text }) => [place.path, overOf(text, place.kind)])),
    [varied],
  );
  const count = method === "grid" ? Object.values(space).reduce<number>((n, over) => n * pointsOf(over), 1) : trials;
  const methods: Record<Method, string> = {
    grid: word.methodGrid,
    random: word.methodRandom,
    halving: word.methodHalving,
    guided: word.methodGuided,
  };
  const start = async () => {
    setBusy(true);
    setProblem("");
    try {
      const counted = method === "grid" ? null : trials;
      const asked = { data, recipe, space, method, trials: counted, at_once: Number(atOnce) || null, factor };
      const { sweep } = await sweepsApi.start(id, asked);
      location.hash = `#/sweeps/${encodeURIComponent(sweep)}`;
    } catch (error) {
      setProblem((error as Error).message);
      setBusy(false);
    }
  };
  return (
    <Dialog title={word.varyTitle} onClose={onClose}>
      <form
        className="vary"
        onSubmit={(event) => {
          event.preventDefault();
          void start();
        }}
      >
        <div className="vary-places">
          <input
            type="search"
            value={search}
            placeholder={word.findPlace}
            aria-label={word.findPlace}
            onChange={(event) => setSearch(event.target.value)}
          />
          <Found
            places={places.filter((place) => !varied.some((one) => one.place.path === place.path))}
            search={search}
            add={(place) => setVaried((before) => [...before, { place, text: proposal(place) }])}
          />
        </div>
        <div className="vary-chosen">
          <h3>{word.varied}</h3>
          {!varied.length && <p className="soft">{word.nothingVaried}</p>}
          {varied.map(({ place, text }, i) => (
            <div className="varied" key={place.path} data-varied={place.path}>
              <label htmlFor={`vary-${i}`} title={place.help}>
                {place.path}
                <small className="soft">
                  {" "}
                  {word.nowIs} {nowText(place)}
                </small>
              </label>
              <span>
                <input
                  id={`vary-${i}`}
                  value={text}
                  placeholder={word.valuesHint}
                  autoComplete="off"
                  onChange={(event) => {
                    const typed = event.target.value;
                    setVaried((before) => before.map((one, j) => (j === i ? { ...one, text: typed } : one)));
                  }}
                />
                <button
                  type="button"
                  className="button icon"
                  aria-label={`${word.notVaried}: ${place.path}`}
                  onClick={() => setVaried((before) => before.filter((_, j) => j !== i))}
                >
                  ×
                </button>
              </span>
            </div>
          ))}
          {varied.length > 0 && <p className="soft hint">{word.valuesHint}</p>}
          <div className="vary-method">
            <label>
              {word.method}
              <select value={method} onChange={(event) => setMethod(event.target.value as Method)}>
                {METHODS.map((one) => (
                  <option key={one} value={one}>
                    {methods[one]}
                  </option>
                ))}
              </select>
            </label>
            {method !== "grid" && (
              <label>
                {word.trials}
                <input
                  type="number"
                  min={1}
                  max={1000}
                  value={trials}
                  onChange={(event) => setTrials(event.target.valueAsNumber || 1)}
                />
              </label>
            )}
            {method === "halving" && (
              <label>
                {word.factor}
                <input
                  type="number"
                  min={2}
                  max={100}
                  value={factor}
                  onChange={(event) => setFactor(event.target.valueAsNumber || 2)}
                />
              </label>
            )}
            <label>
              {word.atOnce}
              <input
                type="number"
                min={1}
                value={atOnce}
                placeholder="auto"
                onChange={(event) => setAtOnce(event.target.value)}
              />
            </label>
          </div>
          {problem && (
            <p className="bad" role="alert">
              {problem}
            </p>
          )}
          <footer>
            <span className="soft" data-count={varied.length ? count : 0}>
              {varied.length > 0 && `${count} ${word.trialsInAll}`}
            </span>
            <button type="submit" className="button primary" disabled={!varied.length || busy}>
              {busy ? "…" : `▶ ${word.startSweep}`}
            </button>
          </footer>
        </div>
      </form>
    </Dialog>
  );
}
