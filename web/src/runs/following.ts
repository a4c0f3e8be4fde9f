/** The runs as they are now: looked at each second while the page is seen, the whole list more seldom. */

import { useCallback, useEffect, useRef, useState } from "react";
import type { Drawn, RunRow } from "../api/types";
import { attempt } from "../app/session";
import { runsApi } from "./api";
import { isGoing, merged, withGoing } from "./listing";

const EVERY = 1000;
/** The whole list comes once in so many looks, since runs may be started elsewhere. */
const WHOLE_EVERY = 5;
const POINTS = 600;

export function useRunList() {
  const [runs, setRuns] = useState<RunRow[] | null>(null);
  const latest = useRef<RunRow[]>([]);
  const take = useCallback((found: RunRow[]) => {
    latest.current = found;
    setRuns(found);
  }, []);
  const load = useCallback(async () => {
    const found = await attempt(runsApi.all());
    if (found) take(merged(latest.current, found));
  }, [take]);
  useEffect(() => {
    void load();
    let looks = 0;
    let busy = false;
    const look = async () => {
      // A slow answer is waited for: no second question is asked meanwhile.
      if (busy || document.hidden) return;
      busy = true;
      looks += 1;
      try {
        const whole = looks % WHOLE_EVERY === 0;
        if (!whole && !latest.current.some(isGoing)) return;
        const told = whole ? null : withGoing(latest.current, await runsApi.going());
        take(told ?? merged(latest.current, await runsApi.all()));
      } catch {
        // The server is away: the next look may find it.
      } finally {
        busy = false;
      }
    };
    const timer = setInterval(() => void look(), EVERY);
    return () => clearInterval(timer);
  }, [load, take]);
  return { runs, load };
}

/** The curves of the chosen runs, asked for again while a log is still read or a run goes on. */
export function useCurves(chosen: readonly RunRow[]): Drawn[] {
  const [drawn, setDrawn] = useState<Drawn[]>([]);
  const ids = chosen.map((run) => run.id).join(",");
  // A run that has come further, or has ended, has other curves.
  const state = chosen.map((run) => `${run.id} ${run.step} ${run.state}`).join(",");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the state is the signal
  useEffect(() => {
    if (!ids) {
      setDrawn([]);
      return;
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    let current = true;
    const ask = async () => {
      const found = await attempt(runsApi.curves(ids.split(","), POINTS));
      if (!found || !current) return;
      setDrawn(found);
      if (found.some((one) => !one.whole)) timer = setTimeout(() => void ask(), 100);
    };
    void ask();
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [ids, state]);
  return drawn;
}
