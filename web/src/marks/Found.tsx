import { useStudio } from "../app/store";
import { words } from "../app/words";
import type { OutputAnswer } from "../insight/api";
import { fill } from "../theory/words";
import { MarkTools, useShown } from "./Marked";
import { classColour, type Marks, pixelShares, sureBoxes, surely } from "./marks";

/** What was found, as a list: boxes from the surest on, or how much of the picture each class has. */
export function FoundList({ answer }: { answer: OutputAnswer }) {
  const word = words(useStudio((s) => s.language));
  const theme = useStudio((s) => s.theme);
  const least = useShown((s) => s.least);
  const { found, there } = answer;
  if (!found) return null;
  return (
    <>
      <MarkTools marks={[found, there]} />
      {found.pixels ? (
        <ul className="found-list" data-output={answer.output}>
          {sharesOf(found, there).map(([label, share, real]) => (
            <li key={label}>
              <i style={{ background: label ? classColour(label, theme) : "var(--line)" }} />
              <span>{found.classes[label] ?? label}</span>
              <code>{surely(share)}</code>
              <span className="soft">{real === null ? "" : fill(word.trueShare, { share: surely(real) })}</span>
            </li>
          ))}
        </ul>
      ) : (
        <ol className="found-list" data-output={answer.output}>
          {sureBoxes(found, least).map((box) => {
            const [x1, y1, x2, y2] = box.corners.map((one) => Math.round(one));
            return (
              <li key={`${box.label} ${box.corners.join(" ")}`}>
                <i style={{ background: classColour(box.label, theme) }} />
                <span>{box.name}</span>
                <code>{surely(box.score)}</code>
                <span className="soft">{fill(word.boxAt, { x1: x1 ?? 0, x2: x2 ?? 0, y1: y1 ?? 0, y2: y2 ?? 0 })}</span>
              </li>
            );
          })}
        </ol>
      )}
      {!found.pixels && !sureBoxes(found, least).length && <p className="soft">{word.nothingIsFound}</p>}
    </>
  );
}

/** The share of each class in what was found, and in what is there. */
function sharesOf(found: Marks, there: Marks | null): [number, number, number | null][] {
  const said = pixelShares(found.pixels ?? []);
  const real = there?.pixels ? pixelShares(there.pixels) : null;
  const labels = [...new Set([...said.keys(), ...(real?.keys() ?? [])])].sort((a, b) => a - b);
  return labels.map((label) => [label, said.get(label) ?? 0, real ? (real.get(label) ?? 0) : null]);
}
