import { useStudio } from "../app/store";
import { words } from "../app/words";
import { outputPath } from "../model/within";
import { useTheory } from "../theory/mode";
import type { Activation } from "./api";
import { groupSeries, MEASURES, reading, type Sample, seriesOf, TOGETHER } from "./measures";
import { indexOf, useInsight } from "./mode";
import { measureWord } from "./naming";
import { Mosaic } from "./Pictures";
import { NO_PAINTS, type Paint } from "./painting";

/** How a drawn thing is painted now; the mathematics has the canvas for itself. */
export function usePaint(id: string): Paint | undefined {
  const free = useTheory((s) => s.mode === null);
  const paint = useInsight((s) => (s.on ? s.paints.get(id) : undefined));
  return free ? paint : undefined;
}

/** How everything is painted now, for those who paint many things at once. */
export function usePaints(): ReadonlyMap<string, Paint> {
  const free = useTheory((s) => s.mode === null);
  return useInsight((s) => (s.on && free ? s.paints : NO_PAINTS));
}

/** What the asked example becomes in a capsule, or in the capsule that leaves a group. */
function useActivation(id: string): Activation | undefined {
  const item = useStudio((s) => {
    const use = s.scene.use.get(id);
    return use ? outputPath(s.scene, s.path, use) : `${s.path}${id}`;
  });
  const free = useTheory((s) => s.mode === null);
  const found = useInsight((s) => (s.on && item ? s.answer?.activations[item] : undefined));
  return free ? found : undefined;
}

/** All numbers of the thing that the pointer is over. */
function Tip({ id, what }: { id: string; what: "vertex" | "line" }) {
  const word = words(useStudio((s) => s.language));
  const whole = useStudio((s) => `${s.path}${id}`);
  const group = useStudio((s) => s.scene.use.has(id));
  const signals = useInsight((s) => s.signals);
  const index = useInsight(indexOf);
  const known = useInsight((s) => s.paints.get(id)?.known ?? false);
  if (!signals) return null;
  const rows = MEASURES.flatMap((measure): { name: string; value: Sample; text: string }[] => {
    const series = seriesOf(signals, whole, measure) ?? groupSeries(signals, whole, measure);
    if (!series) return [];
    const how = { sum: word.inGroupSum, norm: word.inGroupNorm, most: word.inGroupMost }[TOGETHER[measure]];
    const name = `${word[measureWord(measure)]}${group ? ` (${how})` : ""}`;
    return [{ name, value: series[index], text: reading(series[index], measure) }];
  });
  if (!rows.length && (known || what === "line")) return null;
  return (
    <table className="insight-tip" role="tooltip">
      <tbody>
        {rows.map(({ name, text }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{text}</td>
          </tr>
        ))}
        {!rows.length && (
          <tr>
            <td>{word.notInRun}</td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

/** What is shown on a vertex: what the example becomes in it, its number below its captions, all numbers under the pointer. */
export function VertexInsight({ id, below }: { id: string; below: number }) {
  const paint = usePaint(id);
  const activation = useActivation(id);
  const hovered = useInsight((s) => s.hover === id);
  return (
    <>
      {activation && (
        <span className="insight-mark">
          <Mosaic activation={activation} />
        </span>
      )}
      {paint?.text && (
        <code className="vertex-number" data-number={paint.text} style={{ top: below }}>
          {paint.text}
        </code>
      )}
      {hovered && paint && <Tip id={id} what="vertex" />}
    </>
  );
}

/** What is written beside a painted line. */
export function WireInsight({ id, text }: { id: string; text: string }) {
  const hovered = useInsight((s) => s.hover === id);
  return (
    <>
      {text && <code className="wire-number">{text}</code>}
      {hovered && <Tip id={id} what="line" />}
    </>
  );
}
