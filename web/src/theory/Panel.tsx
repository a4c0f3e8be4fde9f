import { useEffect } from "react";
import { fitView, focusCanvas, leaveTo } from "../app/actions";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { Grow } from "./Grow";
import type { Mode } from "./mode";
import { Replay } from "./Replay";
import { Walk } from "./Walk";

/** The strip below the canvas in which a derivation, a growing or a walk is led. */
export function Panel({ id, mode }: { id: string; mode: Exclude<Mode, "compare"> }) {
  const word = words(useStudio((s) => s.language));
  // The mathematics is that of the whole drawing; the canvas has another size now, and the keys mean the mode.
  useEffect(() => {
    if (useStudio.getState().scope.length) leaveTo(0);
    focusCanvas();
    const timer = setTimeout(fitView, 120);
    return () => {
      clearTimeout(timer);
      setTimeout(fitView, 120);
    };
  }, []);
  return (
    <section id="theory" aria-label={word[mode]} data-mode={mode}>
      {mode === "replay" && <Replay id={id} />}
      {mode === "grow" && <Grow id={id} />}
      {mode === "walk" && <Walk id={id} />}
    </section>
  );
}
