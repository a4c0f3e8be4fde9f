import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Theme } from "../glyphs/forms";

export type Series = Record<string, [number, number][]>;

const SHOWN = [
  { key: "loss", label: "loss", light: "#5a3fd0", dark: "#a797f0", scale: "y" },
  { key: "val_loss", label: "validation loss", light: "#5a3fd0", dark: "#a797f0", scale: "y", dash: [4, 4] },
  { key: "val_accuracy", label: "validation accuracy", light: "#1f8a5b", dark: "#5cc795", scale: "share" },
];

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
  const keys = SHOWN.filter((one) => series[one.key]?.length).map((one) => one.key);
  const which = keys.join(" ");
  // Made anew only when other curves appear or the theme changes; new points go into the plot that is there.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the points are set by the next effect
  useEffect(() => {
    const home = box.current;
    if (!home) return;
    const [soft, line] = theme === "dark" ? ["#9ca1b3", "#363a4c"] : ["#6b7183", "#e3e1da"];
    const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: "11px system-ui" };
    const shown = SHOWN.filter((one) => keys.includes(one.key));
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
