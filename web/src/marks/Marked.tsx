import { type ReactNode, useEffect, useMemo, useRef } from "react";
import { create } from "zustand";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { css, inkOn } from "../insight/colour";
import {
  channelsOf,
  classColour,
  legendOf,
  type MarkedBox,
  type Marks,
  outlineOf,
  shareOf,
  spokenMarks,
  sureBoxes,
  surely,
} from "./marks";
import "./marks.css";

interface Shown {
  found: boolean;
  there: boolean;
  /** Boxes that are less sure are not shown. */
  least: number;
}

/** What is laid over pictures, the same wherever there are some. */
export const useShown = create<Shown>(() => ({ found: true, there: true, least: 0.3 }));

const FILLED = 0.55;

/** The class of every pixel as a coloured layer; the background stays clear. */
function Layer({ pixels }: { pixels: readonly (readonly number[])[] }) {
  const theme = useStudio((s) => s.theme);
  const sheet = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const [height, width] = [pixels.length, pixels[0]?.length ?? 0];
    const pen = sheet.current?.getContext("2d");
    if (!sheet.current || !pen || !width) return;
    [sheet.current.width, sheet.current.height] = [width, height];
    const image = pen.createImageData(width, height);
    pixels.forEach((row, y) => {
      row.forEach((label, x) => {
        if (label > 0)
          image.data.set([...channelsOf(classColour(label, theme)), Math.round(255 * FILLED)], 4 * (y * width + x));
      });
    });
    pen.putImageData(image, 0, 0);
  }, [pixels, theme]);
  return <canvas ref={sheet} className="layer" />;
}

function Outline({ pixels }: { pixels: readonly (readonly number[])[] }) {
  const path = useMemo(() => outlineOf(pixels), [pixels]);
  return (
    <svg
      className="layer"
      viewBox={`0 0 ${pixels[0]?.length ?? 1} ${pixels.length}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path className="halo" d={path} vectorEffect="non-scaling-stroke" />
      <path className="true-line" d={path} vectorEffect="non-scaling-stroke" />
    </svg>
  );
}

/** Boxes in the colours of their classes: what was found by a whole line, what is there by a dashed one. */
function Boxes({ boxes, marks, kind }: { boxes: readonly MarkedBox[]; marks: Marks; kind: "found" | "there" }) {
  const theme = useStudio((s) => s.theme);
  return (
    <svg className="layer" viewBox={`0 0 ${marks.width} ${marks.height}`} preserveAspectRatio="none" aria-hidden="true">
      {boxes.map((box) => {
        const [x, y, right, bottom] = box.corners;
        const rect = { x, y, width: right - x, height: bottom - y, vectorEffect: "non-scaling-stroke" };
        return (
          <g key={`${box.label} ${box.corners.join(" ")}`} className={`box ${kind}`} data-box={box.name}>
            <rect className="halo" {...rect} />
            <rect className="line" {...rect} style={{ stroke: classColour(box.label, theme) }} />
          </g>
        );
      })}
    </svg>
  );
}

/** The names of boxes, each at its box: above it where there is room, else inside. */
function Tags({ boxes, marks }: { boxes: readonly MarkedBox[]; marks: Marks }) {
  const theme = useStudio((s) => s.theme);
  return (
    <>
      {/* The surest come last, on top of others. */}
      {[...boxes].reverse().map((box) => {
        const { x, y, w } = shareOf(box, marks);
        // Names begin at the left edge of their boxes, or end at the right one where they would leave the picture.
        const side = x > 0.45 ? { right: `${100 * Math.max(0, 1 - x - w)}%` } : { left: `${100 * Math.max(0, x)}%` };
        const colour = classColour(box.label, theme);
        const place = { ...side, top: `${100 * y}%`, background: colour, color: css(inkOn(channelsOf(colour))) };
        return (
          <span
            key={`${box.label} ${box.corners.join(" ")}`}
            className={`tag ${y > 0.13 ? "above" : ""}`}
            style={place}
            aria-hidden="true"
          >
            {box.name} {surely(box.score)}
          </span>
        );
      })}
    </>
  );
}

interface MarkedProps {
  children: ReactNode;
  found?: Marks | null | undefined;
  there?: Marks | null | undefined;
  /** What the picture is, for those who do not see it. */
  label: string;
  /** Small ones have no names at their boxes, and are no pictures of their own for a screen reader. */
  small?: boolean;
}

/** A picture with what is found on it and what is there. */
export function Marked({ children, found, there, label, small = false }: MarkedProps) {
  const word = words(useStudio((s) => s.language));
  const shown = useShown();
  const [said, real] = [small || shown.found ? found : null, small || !found || shown.there ? there : null];
  const boxes = sureBoxes(said, shown.least);
  const spoken = [
    said && `${word.marksFound}: ${spokenMarks(said, shown.least, word.nothingFoundHere)}`,
    real && `${word.marksThere}: ${spokenMarks(real, 0, word.nothingThere)}`,
  ].filter(Boolean);
  return (
    <div
      className={`marked ${small ? "small" : ""}`}
      data-found={said?.pixels ? "pixels" : boxes.length}
      data-there={real?.pixels ? "pixels" : (real?.boxes.length ?? 0)}
      {...(small ? {} : { role: "img", "aria-label": [label, ...spoken].join(". ") })}
    >
      {children}
      {said?.pixels && <Layer pixels={said.pixels} />}
      {real?.pixels && (said?.pixels ? <Outline pixels={real.pixels} /> : <Layer pixels={real.pixels} />)}
      {real && <Boxes boxes={real.boxes} marks={real} kind="there" />}
      {said && <Boxes boxes={boxes} marks={said} kind="found" />}
      {!small && <Tags boxes={said ? boxes : (real?.boxes ?? [])} marks={(said ?? real) as Marks} />}
    </div>
  );
}

/** Which colour is which class. */
export function ClassLegend({ marks }: { marks: readonly (Marks | null | undefined)[] }) {
  const word = words(useStudio((s) => s.language));
  const theme = useStudio((s) => s.theme);
  const classes = legendOf(marks);
  if (!classes.length) return null;
  return (
    <ul className="class-legend" aria-label={word.marksLegend}>
      {classes.map(([label, name]) => (
        <li key={name}>
          <i style={{ background: classColour(label, theme) }} />
          {name}
        </li>
      ))}
    </ul>
  );
}

/** What is laid over the pictures: what was found, what is there, and how sure it must be. */
export function MarkTools({
  marks,
  children,
}: {
  marks: readonly (Marks | null | undefined)[];
  /** What stands before the legend. */
  children?: ReactNode;
}) {
  const word = words(useStudio((s) => s.language));
  const shown = useShown();
  const scored = marks.some((one) => one?.boxes.some((box) => box.score !== null));
  const pixels = marks.some((one) => one?.pixels);
  return (
    <div className="mark-tools" role="group" aria-label={word.marksLegend}>
      {(["found", "there"] as const).map((name) => (
        <label key={name} className="check">
          <input
            type="checkbox"
            data-marks={name}
            checked={shown[name]}
            onChange={(event) => useShown.setState({ [name]: event.currentTarget.checked })}
          />
          <i className={`line-sample ${name} ${pixels ? "pixels" : ""}`} aria-hidden="true" />
          {name === "found" ? word.marksFound : word.marksThere}
        </label>
      ))}
      {scored && (
        <label className="least">
          {word.marksLeast}
          <input
            type="range"
            min={0}
            max={0.95}
            step={0.05}
            value={shown.least}
            onChange={(event) => useShown.setState({ least: event.currentTarget.valueAsNumber })}
          />
          <output className="mono">{surely(shown.least)}</output>
        </label>
      )}
      {children}
      <ClassLegend marks={marks} />
    </div>
  );
}
