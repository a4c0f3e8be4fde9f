import { useStudio } from "../app/store";
import { words } from "../app/words";
import { Evaluation } from "./Evaluation";
import { type Sheet, useInsight } from "./mode";
import { Playground } from "./Playground";
import { SurfacePicture } from "./SurfacePicture";

/** What lies below the canvas while a training is seen on it: the evaluation, the playground or the surface. */
export function SheetBelow({ sheet }: { sheet: Sheet }) {
  const word = words(useStudio((s) => s.language));
  const frames = useInsight((s) => s.signals?.frames.length ?? 0);
  const why = useInsight((s) => s.why);
  return (
    <section id="sheet" aria-label={word[sheet]} data-sheet={sheet}>
      <header>
        <h2>{word[sheet]}</h2>
        <button
          type="button"
          className="button icon"
          aria-label={word.close}
          title={word.close}
          onClick={() => useInsight.setState({ sheet: null })}
        >
          ×
        </button>
      </header>
      {!frames ? (
        <p className="soft centred">{why || word.noRunHereHint}</p>
      ) : sheet === "evaluation" ? (
        <Evaluation />
      ) : sheet === "playground" ? (
        <Playground />
      ) : (
        <SurfacePicture />
      )}
    </section>
  );
}
