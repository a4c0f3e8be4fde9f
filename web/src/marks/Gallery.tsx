import { useEffect, useState } from "react";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { type Example, insightApi, type Part } from "../insight/api";
import { useFetched } from "../insight/fetching";
import { brief } from "../insight/measures";
import { ask, frameOf, isExample, useInsight } from "../insight/mode";
import { Raster } from "../insight/Pictures";
import { fill } from "../theory/words";
import { Marked, MarkTools, useShown } from "./Marked";
import { judge } from "./marks";

const AT_ONCE = 12;
const MOST = 96;

/** One picture with what was found on it; a chosen one goes through the network. */
function Shown({ example, part }: { example: Example; part: Part }) {
  const word = words(useStudio((s) => s.language));
  const chosen = useInsight((s) => isExample(s.subject, part, example.number));
  const least = useShown((s) => s.least);
  const judged = judge(example.found, example.there, least);
  const told = judged && [
    judged.right > 0 && fill(word.rightBoxes, { right: judged.right }),
    judged.extra > 0 && fill(word.extraBoxes, { extra: judged.extra }),
    judged.missed > 0 && fill(word.missedBoxes, { missed: judged.missed }),
  ];
  return (
    <button
      type="button"
      data-shown={example.number}
      aria-pressed={chosen}
      onClick={() => ask({ example: { part, number: example.number } })}
    >
      <Marked found={example.found} there={example.there} label={`${word.example} ${example.number}`}>
        {example.thumbnail && <Raster picture={example.thumbnail} kind="grey" far={1} />}
      </Marked>
      <small>
        <span className={judged && (judged.extra || judged.missed) ? "bad" : ""}>
          {told ? told.filter(Boolean).join(", ") || "–" : `#${example.number}`}
        </span>
        <span title={word.lossOfAnswer}>{brief(example.loss ?? 0)}</span>
      </small>
    </button>
  );
}

/** Pictures of a part with what the network finds on them, beside what is there. */
export function Gallery() {
  const word = words(useStudio((s) => s.language));
  const run = useInsight((s) => s.run);
  const part = useInsight((s) => s.part);
  const frame = useInsight(frameOf);
  const [worst, setWorst] = useState(false);
  const [count, setCount] = useState(AT_ONCE);
  // biome-ignore lint/correctness/useExhaustiveDependencies: other pictures begin anew
  useEffect(() => setCount(AT_ONCE), [run, part, worst]);
  const key = run && frame !== null ? `${run} ${part} ${frame} ${worst} ${count}` : null;
  const { found, why, busy } = useFetched("gallery", key, () =>
    insightApi.found(run ?? "", part, count, worst ? "worst" : "all", frame),
  );
  const marks = found?.examples.flatMap((one) => [one.found, one.there]) ?? [];
  return (
    <section className={`found-gallery ${busy ? "busy" : ""}`} aria-label={word.galleryOf}>
      <MarkTools marks={marks}>
        <select
          className="part-choice"
          aria-label={word.orderOf}
          value={worst ? "worst" : "all"}
          onChange={(event) => setWorst(event.target.value === "worst")}
        >
          <option value="all">{word.inOrder}</option>
          <option value="worst">{word.worstFirst}</option>
        </select>
      </MarkTools>
      {why && <p className="soft">{why}</p>}
      {!found && !why && <p className="soft">{word.opening}</p>}
      {found && (
        <div className="found-pictures">
          {found.examples.map((example) => (
            <Shown key={example.number} example={example} part={part} />
          ))}
          {found.count > count && count < MOST && (
            <button type="button" className="button found-more" onClick={() => setCount(count + AT_ONCE)}>
              {word.moreExamples}
            </button>
          )}
        </div>
      )}
    </section>
  );
}
