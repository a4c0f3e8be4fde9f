import { useEffect, useMemo } from "react";
import { api } from "../api/client";
import { fitView } from "../app/actions";
import { useStudio } from "../app/store";
import { isGoing, merged } from "../runs/listing";
import { insightApi, type Subject } from "./api";
import { chooseRun, frameOf, indexOf, runToSee, seekEpoch, useInsight } from "./mode";
import { newestOnly } from "./newest";
import { NO_PAINTS, NO_SERIES, paintsAt, sceneSeries } from "./painting";

const EVERY = 900;
/** Milliseconds that an epoch is seen while the epochs are played. */
const FRAME = 650;
const PAUSE = 90;

const told = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** The runs of the drawing, looked at again and again while the page is seen. */
function useRunsHere(id: string): void {
  useEffect(() => {
    let current = true;
    let busy = false;
    const look = async () => {
      if (busy || document.hidden) return;
      busy = true;
      try {
        const found = await api.runs(id);
        if (!current) return;
        const { runs, run } = useInsight.getState();
        const now = merged(runs ?? [], found);
        useInsight.setState({ runs: now });
        const next = runToSee(runs, now, run);
        if (next !== run && next) chooseRun(next);
      } catch {
        // The server is away: the next look may find it.
      } finally {
        busy = false;
      }
    };
    void look();
    const timer = setInterval(() => void look(), EVERY);
    return () => {
      current = false;
      clearInterval(timer);
    };
  }, [id]);
}

/** The signals of the chosen run, asked for again when it has come further. */
function useSignals(): void {
  const run = useInsight((s) => s.run);
  const state = useInsight((s) => {
    const row = s.runs?.find((one) => one.id === s.run);
    return row ? `${row.epoch} ${row.state}` : "";
  });
  const asker = useMemo(
    () =>
      newestOnly(
        (id: string) => insightApi.signals(id),
        (signals, id) => {
          if (useInsight.getState().run === id) useInsight.setState({ signals, why: signals.why ?? "" });
        },
        (error) => useInsight.setState({ why: told(error) }),
      ),
    [],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: the state is the signal to ask again
  useEffect(() => {
    if (run) asker.ask(run);
  }, [asker, run, state]);
  // What is written at the end of an epoch may come a moment after the epoch is told.
  useEffect(() => {
    const timer = setInterval(() => {
      const { signals, runs, run: id } = useInsight.getState();
      const row = runs?.find((one) => one.id === id);
      if (id && row && (isGoing(row) || !signals) && (signals?.epochs.at(-1) ?? -1) < row.epoch) asker.ask(id);
    }, EVERY);
    return () => {
      clearInterval(timer);
      asker.stop();
    };
  }, [asker]);
}

/** Colours of all that the canvas shows. */
function usePaints(): void {
  const signals = useInsight((s) => s.signals);
  const measure = useInsight((s) => s.measure);
  const index = useInsight(indexOf);
  const scene = useStudio((s) => s.scene);
  const path = useStudio((s) => s.path);
  const theme = useStudio((s) => s.theme);
  const shown = useMemo(
    () => (signals?.epochs.length ? sceneSeries(signals, scene, path, measure) : NO_SERIES),
    [signals, scene, path, measure],
  );
  useEffect(() => {
    const paints = shown === NO_SERIES ? NO_PAINTS : paintsAt(shown, scene, measure, index, theme);
    useInsight.setState({ shown, paints });
  }, [shown, scene, measure, index, theme]);
  useEffect(() => () => useInsight.setState({ shown: NO_SERIES, paints: NO_PAINTS }), []);
}

function usePlaying(): void {
  const playing = useInsight((s) => s.playing);
  const index = useInsight(indexOf);
  const last = useInsight((s) => (s.signals?.epochs.length ?? 0) - 1);
  useEffect(() => {
    if (!playing) return;
    if (index >= last) return useInsight.setState({ playing: false });
    const timer = setTimeout(() => seekEpoch(index + 1), FRAME);
    return () => clearTimeout(timer);
  }, [playing, index, last]);
}

interface Question {
  run: string;
  subject: Subject;
  epoch: number | null;
}

/** What the network answers about what it is asked, at the looked-at epoch. */
function useAnswer(): void {
  const run = useInsight((s) => s.run);
  const subject = useInsight((s) => s.subject);
  const epoch = useInsight(frameOf);
  const asker = useMemo(
    () =>
      newestOnly(
        ({ run: id, subject: about, epoch: when }: Question) => insightApi.answer(id, about, when),
        (answer, { run: id }) => {
          const now = useInsight.getState();
          if (now.run === id && now.subject) useInsight.setState({ answer, asking: false, refused: "" });
        },
        (error) => useInsight.setState({ asking: false, refused: told(error) }),
      ),
    [],
  );
  useEffect(() => {
    if (!run || !subject || epoch === null) return;
    useInsight.setState({ asking: true });
    const timer = setTimeout(() => asker.ask({ run, subject, epoch }), PAUSE);
    return () => clearTimeout(timer);
  }, [asker, run, subject, epoch]);
  useEffect(() => () => asker.stop(), [asker]);
}

/** Follows the run that is seen on the canvas, and paints it. */
export function Watch({ id }: { id: string }) {
  useRunsHere(id);
  useSignals();
  usePaints();
  usePlaying();
  useAnswer();
  // The canvas is smaller while the bar is there.
  useEffect(() => {
    const timer = setTimeout(fitView, 120);
    return () => {
      clearTimeout(timer);
      setTimeout(fitView, 120);
    };
  }, []);
  return null;
}
