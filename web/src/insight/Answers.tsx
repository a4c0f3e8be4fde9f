import { useStudio } from "../app/store";
import { words } from "../app/words";
import { FoundList } from "../marks/Found";
import { Marked, useShown } from "../marks/Marked";
import { spokenMarks } from "../marks/marks";
import type { OutputAnswer } from "./api";
import { brief } from "./measures";
import { useInsight } from "./mode";
import { Raster } from "./Pictures";

const MOST_CLASSES = 10;
const said = (value: number | null | undefined) => (typeof value === "number" ? brief(value) : "–");
const percent = (share: number | null) => (share === null ? "–" : `${(100 * share).toFixed(1)} %`);

/** Where a bar ends: probabilities as they are, scores between the least and the greatest shown. */
function lengths(answer: OutputAnswer): number[] {
  const shares = (answer.classes ?? []).slice(0, MOST_CLASSES).map((one) => one.share ?? 0);
  if (answer.meaning === "probabilities") return shares;
  const [low, high] = [Math.min(0, ...shares), Math.max(1e-12, ...shares)];
  return shares.map((share) => (share - low) / (high - low));
}

/** One output's answer: a bar for each class, the truth marked, or its numbers. */
function OfOutput({ answer, titled }: { answer: OutputAnswer; titled: boolean }) {
  const word = words(useStudio((s) => s.language));
  const bars = lengths(answer);
  // Classes keep their order while someone draws, so that bars grow and shrink instead of jumping.
  const order = (answer.classes ?? [])
    .slice(0, MOST_CLASSES)
    .map((one, i) => ({ ...one, length: bars[i] ?? 0, best: i === 0 }))
    .sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }));
  return (
    <div className="answer" data-output={answer.output} data-best={answer.classes?.[0]?.name ?? ""}>
      {titled && <h4>{answer.output}</h4>}
      {answer.found && <FoundList answer={answer} />}
      {order.length > 0 && (
        <ol className="class-bars">
          {order.map(({ name, share, length, best }) => (
            <li key={name} className={best ? "best" : ""} data-class={name}>
              <span title={name}>
                {name}
                {answer.truth === name && (
                  <b title={word.rightAnswer} aria-label={word.rightAnswer} role="img">
                    ✓
                  </b>
                )}
              </span>
              <i>
                <u style={{ width: `${Math.max(0.5, 100 * length)}%` }} />
              </i>
              <code>{answer.meaning === "probabilities" ? percent(share) : said(share)}</code>
            </li>
          ))}
        </ol>
      )}
      {!order.length && answer.values && (
        <p className="answer-values">{answer.values.slice(0, 32).map(said).join(" · ")}</p>
      )}
      {(answer.truth !== null || answer.loss !== null) && (
        <p className="soft">
          {[
            answer.truth !== null && `${word.rightAnswer} ${answer.truth}`,
            answer.loss !== null && `${word.lossOfAnswer} ${said(answer.loss)}`,
          ]
            .filter(Boolean)
            .join(" · ")}
        </p>
      )}
    </div>
  );
}

export function Answers() {
  const word = words(useStudio((s) => s.language));
  const answer = useInsight((s) => s.answer);
  const refused = useInsight((s) => s.refused);
  if (refused) return <p className="bad">{refused}</p>;
  if (!answer) return <p className="soft centred">{word.nothingAsked}</p>;
  return (
    <div className="answers" aria-live="polite">
      {answer.answers.map((one) => (
        <OfOutput key={one.output} answer={one} titled={answer.answers.length > 1} />
      ))}
      {answer.why && <p className="soft">{answer.why}</p>}
    </div>
  );
}

/** What the network was really fed: after fitting to the input's size. */
export function Fed() {
  const word = words(useStudio((s) => s.language));
  const fed = useInsight((s) => s.answer?.fed);
  const text = useInsight((s) => s.answer?.text);
  const placed = useInsight((s) => s.answer?.answers.find((one) => one.found));
  return (
    <figure className={`fed ${placed ? "with-marks" : ""}`}>
      <figcaption>{word.fedWith}</figcaption>
      {fed && placed ? (
        <Marked found={placed.found} there={placed.there} label={word.fedWith}>
          <Raster picture={fed} kind="grey" far={1} />
        </Marked>
      ) : fed ? (
        <Raster
          picture={fed}
          kind="grey"
          far={1}
          label={`${word.fedWith}: ${fed.rows.length}×${(fed.rows[0]?.length ?? 0) / fed.channels}`}
        />
      ) : text ? (
        <code>{text}</code>
      ) : (
        <span className="fed-nothing" aria-hidden="true" />
      )}
    </figure>
  );
}

/** The answer in one line, where the bars have no room. */
export function AnswerLine() {
  const word = words(useStudio((s) => s.language));
  const answers = useInsight((s) => s.answer?.answers);
  const refused = useInsight((s) => s.refused);
  const least = useShown((s) => s.least);
  if (refused) return <p className="bad">{refused}</p>;
  return (
    <p className="answer-line">
      {answers?.map((one) => {
        const best = one.classes?.[0];
        const right = one.truth === null || !best ? "" : one.truth === best.name ? "✓ " : "✗ ";
        if (one.found)
          return (
            <span key={one.output}>
              {word.answerOf}: <b>{spokenMarks(one.found, least, word.nothingFoundHere)}</b>
              {one.there && ` · ${word.rightAnswer} ${spokenMarks(one.there, 0, word.nothingThere)}`}
            </span>
          );
        const told = best
          ? `${best.name} ${one.meaning === "probabilities" ? percent(best.share) : said(best.share)}`
          : (one.values ?? []).slice(0, 4).map(said).join(" · ");
        return (
          <span key={one.output} className={right === "✗ " ? "bad" : ""}>
            {right}
            {word.answerOf}: <b>{told}</b>
            {one.truth !== null && ` · ${word.rightAnswer} ${one.truth}`}
          </span>
        );
      })}
    </p>
  );
}
