import { useEffect, useState } from "react";
import type { RunRow } from "../api/types";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { runsApi } from "./api";
import { Progress, Steer } from "./Steering";

const EVERY = 1500;

/** The runs that go on now, for the start screen: each with its bar, and a way to its drawing. */
export function GoingRuns() {
  const word = words(useStudio((s) => s.language));
  const [runs, setRuns] = useState<RunRow[]>([]);
  const look = () =>
    runsApi
      .going()
      .then(setRuns)
      .catch(() => undefined);
  // biome-ignore lint/correctness/useExhaustiveDependencies: looked at from the first day on, in the same way
  useEffect(() => {
    void look();
    const timer = setInterval(() => !document.hidden && void look(), EVERY);
    return () => clearInterval(timer);
  }, []);
  if (!runs.length) return null;
  return (
    <section aria-label={word.goingNow}>
      <div className="section-head">
        <h2>{word.goingNow}</h2>
      </div>
      <div className="going-runs">
        {runs.map((run) => (
          <div className="progress going-run" key={run.id} data-going={run.name}>
            <a href={run.drawing ? `#/drawing/${run.drawing}` : "#/runs"}>{run.name}</a>
            <Progress run={run} />
            <Steer run={run} onChange={look} />
          </div>
        ))}
      </div>
    </section>
  );
}
