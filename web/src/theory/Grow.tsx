import { useEffect, useState } from "react";
import { attempt } from "../app/session";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { type Offers, theoryApi } from "./api";
import { RULES, ruleNumber } from "./derivation";
import { growBy, setFunction, setOffers } from "./growing";
import { Heading } from "./Heading";
import { type Mark, pick, useTheory } from "./mode";

const PICKED: Mark = { tone: "picked" };

/** A click on a neuron chooses it for the next rule, or no longer. */
function useClicks(): void {
  useEffect(() => {
    const click = (event: MouseEvent) => {
      const node = (event.target as HTMLElement).closest<HTMLElement>("#canvas .react-flow__node-capsule");
      const id = node?.dataset.id;
      if (id) pick(id);
    };
    document.addEventListener("click", click);
    return () => document.removeEventListener("click", click);
  }, []);
}

/** What the server permits for what is chosen now; asked again when either changes. */
function useOffers(id: string): Offers | null {
  const [found, setFound] = useState<Offers | null>(null);
  const picked = useTheory((s) => s.picked);
  const report = useStudio((s) => s.report);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the report is the signal that the server knows the drawing
  useEffect(() => {
    let current = true;
    setOffers(null);
    void attempt(theoryApi.rules(id, [...picked])).then((answer) => {
      if (!current || !answer) return;
      setOffers(answer);
      setFound(answer);
    });
    return () => {
      current = false;
    };
  }, [id, picked, report]);
  return found;
}

export function Grow({ id }: { id: string }) {
  const picked = useTheory((s) => s.picked);
  const scene = useStudio((s) => s.scene);
  const [chosenFunction, choose] = useState("relu");
  const word = words(useStudio((s) => s.language));
  const found = useOffers(id);
  useClicks();
  useEffect(() => {
    const there = picked.filter((one) => scene.capsule.has(one));
    if (there.length < picked.length) useTheory.setState({ picked: there });
    useTheory.setState({ marks: new Map(there.map((one) => [one, PICKED])) });
  }, [picked, scene]);
  useEffect(() => setFunction(chosenFunction), [chosenFunction]);
  return (
    <>
      <Heading title={word.grow}>
        <span className="soft">{word.growKeys}</span>
      </Heading>
      {found?.refused ? (
        <p className="finding" role="alert">
          {found.refused}
        </p>
      ) : (
        <>
          <div className="grow-line" aria-live="polite">
            <span className="sentence">
              {picked.length ? (
                <>
                  N = {"{"}
                  {picked.join(", ")}
                  {"}"}
                </>
              ) : (
                word.chooseVertices
              )}
            </span>
            {picked.length > 0 && (
              <button type="button" className="button" onClick={() => useTheory.setState({ picked: [] })}>
                {word.clear}
              </button>
            )}
            <span className="grow" />
            <label className="speed">
              <span className="soft">{word.function}</span>
              <select value={chosenFunction} onChange={(event) => choose(event.target.value)}>
                {(found?.functions ?? ["relu"]).map((one) => (
                  <option key={one}>{one}</option>
                ))}
              </select>
            </label>
          </div>
          <div className="rules">
            {RULES.map((rule, i) => {
              const offer = found?.offers.find((one) => one.rule === rule);
              return (
                <button
                  type="button"
                  key={rule}
                  data-rule={rule}
                  disabled={!offer || Boolean(offer.why)}
                  aria-describedby={`why-${rule}`}
                  onClick={() => growBy(rule)}
                >
                  <b className="rule-badge large">{ruleNumber(rule)}</b>
                  <span>
                    <b>
                      {word.ruleOf} {word[rule]}
                      {rule === "convergence" && offer && !offer.why ? ` (K = ${offer.parts.length})` : ""}
                    </b>
                    <small id={`why-${rule}`}>{offer?.why.replace(/^rule of \w+( for \w+)?: /, "") ?? ""}</small>
                  </span>
                  <kbd>{i + 1}</kbd>
                </button>
              );
            })}
          </div>
        </>
      )}
    </>
  );
}
