import { useEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Drawn, RunRow } from "../api/types";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { colourOf, type Line, linesOf, type Measure, measuresOf, tableOf } from "./curves";
import { figure, QUALITIES } from "./listing";

const FAINT = "44";

function optionsOf(
  home: HTMLElement,
  lines: readonly Line[],
  colours: ReadonlyMap<string, string>,
  logarithmic: boolean,
  theme: "light" | "dark",
): uPlot.Options {
  const [soft, line] = theme === "dark" ? ["#a3a8ba", "#363a4c"] : ["#636a7c", "#e3e1da"];
  const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: "11px system-ui" };
  return {
    width: home.clientWidth || 400,
    height: Math.max(home.clientHeight, 160),
    legend: { show: false },
    cursor: { y: false, points: { show: false } },
    scales: { x: { time: false }, y: logarithmic ? { distr: 3, log: 10 } : {} },
    axes: [
      axis,
      { ...axis, size: 58, values: (_, ticks) => ticks.map((v) => (v === null ? "" : String(+v.toPrecision(4)))) },
    ],
    series: [
      {},
      ...lines.map(
        ({ run, dashed, faint, points }): uPlot.Series => ({
          stroke: `${colours.get(run) ?? "#888888"}${faint ? FAINT : ""}`,
          width: faint ? 1 : 1.8,
          spanGaps: true,
          points: { show: points.length < 3 },
          ...(dashed ? { dash: [5, 4] } : {}),
        }),
      ),
    ],
  };
}

function Overlaid({ lines, colours, logarithmic, label }: PlotProps) {
  const theme = useStudio((s) => s.theme);
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const table = useMemo(() => tableOf(lines, logarithmic), [lines, logarithmic]);
  const which = lines.map((line) => `${line.run} ${line.dashed} ${line.faint} ${colours.get(line.run)}`).join(",");
  // Made anew when other lines appear; new points go into the plot that is there.
  // biome-ignore lint/correctness/useExhaustiveDependencies: which stands for the lines
  useEffect(() => {
    const home = box.current;
    if (!home) return;
    const made = new uPlot(optionsOf(home, lines, colours, logarithmic, theme), table, home);
    plot.current = made;
    const watch = new ResizeObserver(() =>
      made.setSize({ width: home.clientWidth, height: Math.max(home.clientHeight, 160) }),
    );
    watch.observe(home);
    return () => {
      watch.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [which, logarithmic, theme]);
  useEffect(() => {
    plot.current?.setData(table);
  }, [table]);
  return <div className="overlaid" ref={box} role="img" aria-label={label} />;
}

interface PlotProps {
  lines: Line[];
  colours: ReadonlyMap<string, string>;
  logarithmic: boolean;
  label: string;
}

/** The curves of the chosen runs over each other, with what is measured, the scale and the smoothing to choose. */
export function Plot({ chosen, drawn }: { chosen: readonly RunRow[]; drawn: readonly Drawn[] }) {
  const word = words(useStudio((s) => s.language));
  const theme = useStudio((s) => s.theme);
  const [wanted, setWanted] = useState("loss");
  const [logarithmic, setLogarithmic] = useState(false);
  const [weight, setWeight] = useState(0);
  const measures = useMemo(() => measuresOf(drawn), [drawn]);
  const measure: Measure | undefined = measures.find((one) => one.key === wanted) ?? measures[0];
  const lines = useMemo(() => (measure ? linesOf(drawn, measure, weight) : []), [drawn, measure, weight]);
  const colours = useMemo(() => new Map(chosen.map((run, i) => [run.id, colourOf(i, theme)])), [chosen, theme]);
  const titles: Record<string, string> = {
    loss: word.lossCurve,
    accuracy: word.accuracyCurve,
    rate: word.rateCurve,
  };
  for (const name of QUALITIES) titles[name] ??= word[`measure_${name}`];
  const title = (one: Measure) => titles[one.key] ?? one.key;
  const last = (id: string) => lines.findLast((line) => line.run === id && !line.faint)?.points.at(-1)?.[1];
  return (
    <div className="plot">
      <div className="plot-tools">
        <div className="segments" role="group" aria-label={word.curves}>
          {measures.map((one) => (
            <button type="button" key={one.key} aria-pressed={one === measure} onClick={() => setWanted(one.key)}>
              {title(one)}
            </button>
          ))}
        </div>
        <label className="check">
          <input
            type="checkbox"
            checked={logarithmic}
            onChange={(event) => setLogarithmic(event.currentTarget.checked)}
          />
          {word.logScale}
        </label>
        <label className="smoothing">
          {word.smoothing}
          <input
            type="range"
            min={0}
            max={0.99}
            step={0.01}
            value={weight}
            onChange={(event) => setWeight(event.currentTarget.valueAsNumber)}
          />
          <output className="mono">{weight.toFixed(2)}</output>
        </label>
      </div>
      {lines.length ? (
        <Overlaid
          lines={lines}
          colours={colours}
          logarithmic={logarithmic}
          label={`${measure ? title(measure) : ""}: ${chosen.map((run) => run.name).join(", ")}`}
        />
      ) : (
        <p className="soft centred">{drawn.length ? word.noCurve : "…"}</p>
      )}
      {measure?.dashed && lines.some((line) => line.dashed) && (
        <p className="line-kinds soft">
          <i /> {word.training} <i className="dashed" /> {word.validation}
        </p>
      )}
      <ul className="run-legend" data-whole={drawn.every((one) => one.whole)}>
        {chosen.map((run, i) => (
          <li key={run.id}>
            <i style={{ background: colourOf(i, theme) }} />
            <span>{run.name}</span>
            {drawn.some((one) => one.id === run.id && !one.whole) && <small>{word.stillReading}</small>}
            <code>{figure(last(run.id))}</code>
          </li>
        ))}
      </ul>
    </div>
  );
}
