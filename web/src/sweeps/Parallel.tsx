import { type PointerEvent, useEffect, useMemo, useRef, useState } from "react";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import type { SweepDetail, TrialRow } from "./api";
import { type Axis, axesOf, type Brushes, goodness, passes } from "./axes";

const TOP = 34;
const BOTTOM = 16;
const SIDE = 84;
const HEIGHT = 300;
const REACH = 11;

function useWidth() {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(800);
  useEffect(() => {
    const home = box.current;
    if (!home) return;
    const watch = new ResizeObserver(() => setWidth(home.clientWidth || 800));
    watch.observe(home);
    return () => watch.disconnect();
  }, []);
  return { box, width };
}

const down = (at: number) => TOP + (1 - at) * (HEIGHT - TOP - BOTTOM);
const up = (y: number) => Math.min(1, Math.max(0, 1 - (y - TOP) / (HEIGHT - TOP - BOTTOM)));

/** The line of a trial through all axes that it has a value on. */
function pathOf(trial: TrialRow, axes: readonly Axis[], x: (i: number) => number): string {
  const points = axes.flatMap((axis, i) => {
    const at = axis.at(trial);
    return at === null ? [] : [`${x(i).toFixed(1)},${down(at).toFixed(1)}`];
  });
  return points.length > 1 ? `M${points.join("L")}` : "";
}

interface AxisProps {
  axis: Axis;
  x: number;
  last: boolean;
  brush: readonly [number, number] | undefined;
  onBrush: (brush: readonly [number, number] | null) => void;
}

function AxisView({ axis, x, last, brush, onBrush }: AxisProps) {
  const from = useRef<number | null>(null);
  const place = (event: PointerEvent<SVGRectElement>) =>
    up(event.clientY - (event.currentTarget.ownerSVGElement?.getBoundingClientRect().top ?? 0));
  const span = (at: number): readonly [number, number] => [
    Math.min(from.current ?? at, at),
    Math.max(from.current ?? at, at),
  ];
  return (
    <g className="axis" data-axis={axis.key || "result"}>
      <text className="axis-title" x={x} y={16} textAnchor="middle">
        {axis.title.length > 24 ? `…${axis.title.slice(-23)}` : axis.title}
        <title>{axis.title}</title>
      </text>
      <line x1={x} x2={x} y1={TOP} y2={HEIGHT - BOTTOM} />
      {axis.ticks.map((tick) => (
        <g key={tick.label}>
          <line className="tick" x1={x - 3} x2={x + 3} y1={down(tick.at)} y2={down(tick.at)} />
          <text
            className="tick-label"
            x={last ? x + 7 : x - 7}
            y={down(tick.at) + 3.5}
            textAnchor={last ? "start" : "end"}
          >
            {tick.label.length > 9 ? `${tick.label.slice(0, 8)}…` : tick.label}
          </text>
        </g>
      ))}
      {brush && (
        <rect className="brush" x={x - 8} width={16} y={down(brush[1])} height={down(brush[0]) - down(brush[1])} />
      )}
      <rect
        className="reach"
        x={x - REACH}
        width={2 * REACH}
        y={TOP - 6}
        height={HEIGHT - TOP - BOTTOM + 12}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          from.current = place(event);
        }}
        onPointerMove={(event) => {
          if (from.current === null) return;
          const [low, high] = span(place(event));
          if (high - low > 0.02) onBrush([low, high]);
        }}
        onPointerUp={(event) => {
          const [low, high] = span(place(event));
          onBrush(high - low > 0.02 ? [low, high] : null);
          from.current = null;
        }}
      />
    </g>
  );
}

interface ParallelProps {
  sweep: SweepDetail;
  title: string;
  brushes: Brushes;
  onBrushes: (brushes: Brushes) => void;
  hovered: number | null;
  onHover: (trial: number | null) => void;
  onChoose: (trial: number) => void;
}

/** One axis for each varied value and one for what came out; every trial is a line, coloured by how good it is. */
export function Parallel({ sweep, title, brushes, onBrushes, hovered, onHover, onChoose }: ParallelProps) {
  const word = words(useStudio((s) => s.language));
  const { box, width } = useWidth();
  const axes = useMemo(() => axesOf(sweep, title), [sweep, title]);
  const good = useMemo(() => goodness(sweep), [sweep]);
  const x = (i: number) => (axes.length > 1 ? SIDE + (i * (width - 2 * SIDE)) / (axes.length - 1) : width / 2);
  // The better ones lie above, the one under the pointer above all.
  const order = useMemo(
    () => [...sweep.rows].sort((a, b) => (good.get(a.number) ?? -1) - (good.get(b.number) ?? -1)),
    [sweep, good],
  );
  const lifted = sweep.rows.find((trial) => trial.number === hovered);
  const line = (trial: TrialRow, over = false) => {
    const share = good.get(trial.number);
    const out = !passes(trial, axes, brushes);
    const kind = `${trial.state} ${share === undefined ? "unmeasured" : ""} ${out ? "out" : ""} ${over ? "lifted" : ""} ${trial.number === sweep.best ? "best" : ""}`;
    const colour = `color-mix(in oklab, var(--good) ${Math.round((share ?? 0) * 100)}%, var(--poor))`;
    return (
      // biome-ignore lint/a11y/noStaticElementInteractions: the rows of the table are the same trials, for keys
      <path
        key={`${trial.number}${over}`}
        data-trial={over ? undefined : trial.number}
        className={`trial-line ${kind}`}
        d={pathOf(trial, axes, x)}
        style={share === undefined ? {} : { stroke: colour }}
        onPointerEnter={() => !out && onHover(trial.number)}
        onPointerLeave={() => onHover(null)}
        onClick={() => !out && onChoose(trial.number)}
      />
    );
  };
  return (
    <div className="parallel" ref={box}>
      <svg width={width} height={HEIGHT} role="img" aria-label={`${word.parallel}: ${sweep.name}`}>
        {order.map((trial) => line(trial))}
        {lifted && line(lifted, true)}
        {axes.map((axis, i) => (
          <AxisView
            key={axis.key}
            axis={axis}
            x={x(i)}
            last={i === axes.length - 1}
            brush={brushes[axis.key]}
            onBrush={(brush) => {
              const { [axis.key]: _, ...others } = brushes;
              onBrushes(brush ? { ...others, [axis.key]: brush } : others);
            }}
          />
        ))}
      </svg>
    </div>
  );
}
