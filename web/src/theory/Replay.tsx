import { useEffect, useMemo, useState } from "react";
import { attempt } from "../app/session";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { Formula } from "../panels/Formula";
import { type Derivation, theoryApi } from "./api";
import { census, replayMarks, ruleNumber, STATEMENTS, sentenceOf } from "./derivation";
import { Heading, Spotlight } from "./Heading";
import { useTheory } from "./mode";
import { Player } from "./Player";

/** The drawing generated again, rule by rule. */
export function Replay({ id }: { id: string }) {
  const [found, setFound] = useState<Derivation | null>(null);
  const report = useStudio((s) => s.report);
  const scene = useStudio((s) => s.drawing);
  const at = useTheory((s) => s.at);
  const word = words(useStudio((s) => s.language));
  // A new report means another drawing: its derivation may be another one.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the report is the signal, not an input
  useEffect(() => {
    let current = true;
    void attempt(theoryApi.derivation(id)).then((answer) => {
      if (!current || !answer) return;
      setFound(answer);
      useTheory.setState((now) => ({ last: answer.steps.length, at: Math.min(now.at, answer.steps.length) }));
    });
    return () => {
      current = false;
    };
  }, [id, report]);
  useEffect(() => {
    useTheory.setState({ marks: found && !found.refused ? replayMarks(found, at, scene) : new Map() });
  }, [found, at, scene]);
  const step = found?.steps[at - 1];
  const counted = useMemo(() => census(found?.steps ?? [], at), [found, at]);
  if (found?.refused)
    return (
      <>
        <Heading title={word.replay} />
        <p className="finding" role="alert">
          <b>{word.refusedDerivation}:</b> {found.refused}
        </p>
      </>
    );
  const sentence = step ? sentenceOf(step, word) : word.beforeAll;
  return (
    <>
      <Heading title={word.replay}>
        <span className="chip" data-census={counted.networks}>
          |S| = {counted.inputs} · |H| = {counted.neurons} · |W| = {counted.connections} · {counted.networks}{" "}
          {counted.networks === 1 ? word.networkUnderWay : word.networksUnderWay}
        </span>
      </Heading>
      <div className="rule-line" aria-live="polite">
        {step && (
          <>
            <b className="rule-badge large">{ruleNumber(step.rule)}</b>
            <b>
              {word.ruleOf} {word[step.rule]}
            </b>
          </>
        )}
        <span className="sentence">{sentence}</span>
      </div>
      <div className="rule-statement">{step && <Formula tex={STATEMENTS[step.rule]} />}</div>
      <Spotlight id={step?.vertices[0]} badge={step && ruleNumber(step.rule)} />
      <Player spoken={sentence} />
    </>
  );
}
