import { useEffect, useState } from "react";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { Marked } from "../marks/Marked";
import { type Marks, spokenMarks } from "../marks/marks";
import { type Example, insightApi, type Part } from "./api";
import { useFetched } from "./fetching";
import { ask, frameOf, isExample, useInsight } from "./mode";
import { Raster } from "./Pictures";

const PARTS: readonly Part[] = ["training", "validation", "test"];
const AT_ONCE = 24;

export function PartChoice() {
  const word = words(useStudio((s) => s.language));
  const part = useInsight((s) => s.part);
  const names = { training: word.partTraining, validation: word.partValidation, test: word.partTest };
  return (
    <select
      className="part-choice"
      aria-label={word.examples}
      value={part}
      onChange={(event) => useInsight.setState({ part: event.target.value as Part })}
    >
      {PARTS.map((one) => (
        <option key={one} value={one}>
          {names[one]}
        </option>
      ))}
    </select>
  );
}

/** One example, small: its picture, or its numbers. */
export function Thumbnail({ example }: { example: Pick<Example, "thumbnail" | "text"> & { there?: Marks | null } }) {
  if (example.thumbnail) {
    const picture = <Raster picture={example.thumbnail} kind="grey" far={1} className="thumbnail" />;
    if (!example.there) return picture;
    return (
      <Marked there={example.there} label="" small>
        {picture}
      </Marked>
    );
  }
  return <code className="thumbnail text">{example.text}</code>;
}

function Choice({ example, part }: { example: Example; part: Part }) {
  const word = words(useStudio((s) => s.language));
  const chosen = useInsight((s) => isExample(s.subject, part, example.number));
  const label = example.label ?? spokenMarks(example.there, 0, word.nothingThere);
  return (
    <button
      type="button"
      data-example={example.number}
      aria-pressed={chosen}
      aria-label={`${word.example} ${example.number}${label ? `: ${label}` : ""}`}
      title={`${label} · ${example.text || `#${example.number}`}`}
      onClick={() => ask({ example: { part, number: example.number } })}
    >
      <Thumbnail example={example} />
      {example.label !== null && <small>{example.label}</small>}
    </button>
  );
}

/** A strip of examples of one part: a chosen one goes through the network, and stays. */
export function ExampleStrip() {
  const word = words(useStudio((s) => s.language));
  const run = useInsight((s) => s.run);
  const part = useInsight((s) => s.part);
  const asked = useInsight((s) => s.subject !== null);
  const frame = useInsight(frameOf);
  const [wrong, setWrong] = useState(false);
  const [count, setCount] = useState(AT_ONCE);
  // biome-ignore lint/correctness/useExhaustiveDependencies: other examples begin anew
  useEffect(() => setCount(AT_ONCE), [run, part, wrong]);
  const epoch = wrong ? frame : null;
  const key = run && frame !== null ? `${run} ${part} ${wrong} ${epoch} ${count}` : null;
  const { found, why, busy } = useFetched("examples", key, () =>
    insightApi.examples(run ?? "", part, 0, Math.min(count, 200), wrong, epoch),
  );
  return (
    <div className="examples" role="group" aria-label={word.examples}>
      <div className="examples-head">
        <b>{word.examples}</b>
        <PartChoice />
        <label className="check">
          <input type="checkbox" checked={wrong} onChange={(event) => setWrong(event.currentTarget.checked)} />
          {word.onlyWrong}
        </label>
        {asked && (
          <button
            type="button"
            className="button icon"
            aria-label={word.forgetExample}
            title={word.forgetExample}
            onClick={() => ask(null)}
          >
            ×
          </button>
        )}
      </div>
      {why && <p className="soft">{why}</p>}
      {busy && !found && <p className="soft">{word.opening}</p>}
      {found && !found.examples.length && <p className="soft">{word.noExamples}</p>}
      <div className="strip">
        {found?.examples.map((example) => (
          <Choice key={example.number} example={example} part={part} />
        ))}
        {found && found.count > count && count < 200 && (
          <button
            type="button"
            className="more"
            aria-label={word.moreExamples}
            onClick={() => setCount(count + AT_ONCE)}
          >
            …
          </button>
        )}
      </div>
    </div>
  );
}
