import { useEffect, useState } from "react";
import { useStudio } from "../app/store";
import { counted, words } from "../app/words";
import { Gallery } from "../marks/Gallery";
import { percent } from "../runs/listing";
import { fill } from "../theory/words";
import { type Confusion, insightApi } from "./api";
import { PartChoice, Thumbnail } from "./Examples";
import { useFetched } from "./fetching";
import { Heat } from "./Heat";
import { brief } from "./measures";
import { ask, frameOf, isExample, useInsight } from "./mode";

const MOST_WORST = 200;
const AT_ONCE = 24;

interface WorstProps {
  found: Confusion;
  cell: [number, number] | null;
  onAll: () => void;
}

/** The examples with the largest loss, or those of one cell; a chosen one goes through the network. */
function Worst({ found, cell, onAll }: WorstProps) {
  const word = words(useStudio((s) => s.language));
  const subject = useInsight((s) => s.subject);
  const [truth, answer] = cell ? [found.classes[cell[0]], found.classes[cell[1]]] : [];
  const shown = cell
    ? found.worst.filter((one) => one.truth === truth && one.answer === answer)
    : found.worst.slice(0, AT_ONCE);
  return (
    <section className="worst" aria-label={word.worst}>
      <h3>
        {word.worst}
        {cell && (
          <>
            : {fill(word.worstOf, { truth: truth ?? "", answer: answer ?? "" })}{" "}
            <button type="button" className="button" onClick={onAll}>
              {word.allWorst}
            </button>
          </>
        )}
      </h3>
      {!shown.length && <p className="soft">{word.noWorst}</p>}
      <div className="strip wrap">
        {shown.map((one) => (
          <button
            type="button"
            key={one.number}
            data-worst={one.number}
            aria-pressed={isExample(subject, found.part, one.number)}
            aria-label={`${word.example} ${one.number}: ${fill(word.worstOf, { truth: one.truth ?? "", answer: one.answer ?? "" })}`}
            title={`#${one.number} · ${word.lossOfAnswer} ${brief(one.loss ?? 0)}`}
            onClick={() => ask({ example: { part: found.part, number: one.number } })}
          >
            <Thumbnail example={one} />
            <small>
              {one.truth} → <b className={one.answer === one.truth ? "ok" : "bad"}>{one.answer}</b>
            </small>
          </button>
        ))}
      </div>
    </section>
  );
}

/** How well the network does on a part of the data: what it takes for what, and where it is most wrong. */
export function Evaluation() {
  const word = words(useStudio((s) => s.language));
  const run = useInsight((s) => s.run);
  const part = useInsight((s) => s.part);
  const frame = useInsight(frameOf);
  const [cell, setCell] = useState<[number, number] | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another part has other examples
  useEffect(() => setCell(null), [run, part]);
  const key = run && frame !== null ? `${run} ${part} ${frame}` : null;
  const { found, why, busy } = useFetched("confusion", key, () =>
    insightApi.confusion(run ?? "", part, frame, MOST_WORST),
  );
  // Boxes are not taken for one another class by class: their pictures tell more.
  const boxes = found?.places && !found.classes.length;
  return (
    <div className={`evaluation ${busy ? "busy" : ""} ${found?.places ? "with-places" : ""}`} data-epoch={found?.epoch}>
      <section aria-label={word.confusion}>
        <h3>
          {boxes ? word.examples : word.confusion} <PartChoice />
          {found?.accuracy != null && (
            <span className="accuracy">
              <b>{percent(found.accuracy)}</b> {word.accuracyOf} · {counted(word, found.samples, "samples")}
            </span>
          )}
        </h3>
        {why && <p className="soft">{why}</p>}
        {!found && !why && <p className="soft">{word.opening}</p>}
        {found && !found.classes.length && (
          <p className="soft">{found.places ? word.noBoxesToConfuse : word.noClasses}</p>
        )}
        {found && found.classes.length > 0 && (
          <Heat
            rows={found.counts}
            across={found.classes}
            down={found.classes}
            axes={[word.truth, word.said]}
            label={`${word.confusion}: ${word.confusionHint}`}
            text={(value) => (value ? String(value) : "")}
            chosen={cell}
            onChoose={(row, column) => setCell(cell?.[0] === row && cell[1] === column ? null : [row, column])}
          />
        )}
      </section>
      {found && (found.places ? <Gallery /> : <Worst found={found} cell={cell} onAll={() => setCell(null)} />)}
    </div>
  );
}
