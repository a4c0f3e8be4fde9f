import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import type { Theme } from "../glyphs/forms";
import { isShare, QUALITIES } from "../runs/listing";
import { fill } from "../theory/words";

export type Series = Record<string, [number, number][]>;

interface Shown {
  key: string;
  label: string;
  light: string;
  dark: string;
  scale: "y" | "share";
  dash?: number[];
}

/** The loss by its own scale, and what is a share of a whole from 0 to 100 %; the most telling share is green. */
function shownOf(word: ReturnType<typeof words>): Shown[] {
  const violet = { light: "#5a3fd0", dark: "#a797f0", scale: "y" } as const;
  const shares = QUALITIES.filter(isShare).map((name, i): Shown => {
    const colours = i === 1 ? { light: "#1f6fb5", dark: "#72b4ee" } : { light: "#c8641b", dark: "#f0a566" };
    const label = fill(word.onValidation, { measure: word[`measure_${name}`] });
    return { key: `val_${name}`, label, ...colours, scale: "share" };
  });
  return [
    { key: "loss", label: word.lossCurve.toLowerCase(), ...violet },
    {
      key: "val_loss",
      label: fill(word.onValidation, { measure: word.lossCurve.toLowerCase() }),
      ...violet,
      dash: [4, 4],
    },
    ...shares,
  ];
}

/** The curves that there are; the first share of a whole is green, whichever it is. */
function present(series: Series, word: ReturnType<typeof words>): Shown[] {
  const there = shownOf(word).filter((one) => series[one.key]?.length);
  const first = there.find((one) => one.scale === "share");
  return there.map((one) => (one === first ? { ...one, light: "#1f8a5b", dark: "#5cc795" } : one));
}

/** One table for uPlot: all steps, and each curve where it has a value. */
function columns(series: Series, keys: string[]): uPlot.AlignedData {
  const steps = [...new Set(keys.flatMap((key) => (series[key] ?? []).map(([step]) => step)))].sort((a, b) => a - b);
  const at = new Map(steps.map((step, i) => [step, i]));
  const table = keys.map((key) => {
    const column: (number | null)[] = new Array(steps.length).fill(null);
    for (const [step, value] of series[key] ?? []) column[at.get(step) ?? 0] = Number.isFinite(value) ? value : null;
    return column;
  });
  return [steps, ...table];
}

export function Curve({ series, theme }: { series: Series; theme: Theme }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const word = words(useStudio((s) => s.language));
  const shown = present(series, word);
  const keys = shown.map((one) => one.key);
  const which = shown.map((one) => `${one.key} ${one.label}`).join(" ");
  // Made anew only when other curves appear or the theme changes; new points go into the plot that is there.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the points are set by the next effect
  useEffect(() => {
    const home = box.current;
    if (!home) return;
    const [soft, line] = theme === "dark" ? ["#9ca1b3", "#363a4c"] : ["#6b7183", "#e3e1da"];
    const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: "11px system-ui" };
    const made = new uPlot(
      {
        width: home.clientWidth || 400,
        height: Math.max(home.clientHeight - 34, 120),
        legend: { live: false },
        cursor: { y: false },
        scales: { x: { time: false }, share: { range: [0, 1] } },
        axes: [
          axis,
          { ...axis, size: 44 },
          {
            ...axis,
            scale: "share",
            side: 1,
            size: 44,
            grid: { show: false },
            values: (_, ticks) => ticks.map((v) => `${Math.round(v * 100)} %`),
          },
        ],
        series: [
          {},
          ...shown.map((one) => ({
            label: one.label,
            stroke: theme === "dark" ? one.dark : one.light,
            width: 2,
            scale: one.scale,
            spanGaps: true,
            points: { show: (series[one.key]?.length ?? 0) < 3 },
            ...(one.dash ? { dash: one.dash } : {}),
          })),
        ],
      },
      columns(series, keys),
      home,
    );
    plot.current = made;
    const watch = new ResizeObserver(() =>
      made.setSize({ width: home.clientWidth, height: Math.max(home.clientHeight - 34, 120) }),
    );
    watch.observe(home);
    return () => {
      watch.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [which, theme]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: which stands for the keys
  useEffect(() => {
    plot.current?.setData(columns(series, keys));
  }, [series, which]);
  return <div className="curve" ref={box} role="img" aria-label="training curve" />;
}
