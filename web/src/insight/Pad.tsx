import { type KeyboardEvent, type PointerEvent, type RefObject, useCallback, useEffect, useRef, useState } from "react";
import { say } from "../app/session";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { ask, useInsight } from "./mode";
import { paintStrokes, rowsOf, type Stroke } from "./strokes";

const INK = { light: "#1d2130", dark: "#e9e7df" } as const;
/** Pixels of the pad's own sheet. */
const SIDE = 384;
const LARGEST = 4_000_000;
const STEP = 0.04;

/** Ask about a picture file. */
export async function askPicture(file: File | undefined): Promise<void> {
  const word = words(useStudio.getState().language);
  if (!file) return;
  if (!/^image\/(png|jpeg)$/.test(file.type)) return say(word.picturesOnly, true);
  if (file.size > LARGEST) return say(word.largePicture, true);
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  ask({ image: btoa(text) });
}

/** The strokes on the pad; every change is asked about. */
function useStrokes() {
  const [strokes, setStrokes] = useState<Stroke[]>([]);
  const latest = useRef(strokes);
  const change = useCallback((next: Stroke[]) => {
    latest.current = next;
    setStrokes(next);
    ask(next.length ? { picture: { rows: rowsOf(next) } } : null);
  }, []);
  const begin = (stroke: Stroke) => change([...latest.current, stroke]);
  const extend = (point: [number, number]) => {
    const last = latest.current.at(-1);
    if (last) change([...latest.current.slice(0, -1), { ...last, points: [...last.points, point] }]);
  };
  return { strokes, change, begin, extend, undo: () => change(latest.current.slice(0, -1)) };
}

const ARROWS: Record<string, [number, number]> = {
  ArrowLeft: [-STEP, 0],
  ArrowRight: [STEP, 0],
  ArrowUp: [0, -STEP],
  ArrowDown: [0, STEP],
};

interface ToolsProps {
  pen: number;
  onPen: (pen: number) => void;
  empty: boolean;
  onUndo: () => void;
  onClear: () => void;
}

function Tools({ pen, onPen, empty, onUndo, onClear }: ToolsProps) {
  const word = words(useStudio((s) => s.language));
  return (
    <div className="pad-tools">
      <label>
        {word.pen}
        <input
          type="range"
          min={0.03}
          max={0.25}
          step={0.01}
          value={pen}
          onChange={(event) => onPen(event.currentTarget.valueAsNumber)}
        />
      </label>
      <button type="button" className="button" disabled={empty} onClick={onUndo}>
        {word.undoStroke}
      </button>
      <button type="button" className="button" disabled={empty} onClick={onClear}>
        {word.clearPad}
      </button>
    </div>
  );
}

type Cross = [number, number] | null;

/** Strokes as they are seen, and where the keys' pen is. */
function usePainted(sheet: RefObject<HTMLCanvasElement | null>, strokes: readonly Stroke[], cross: Cross): void {
  const theme = useStudio((s) => s.theme);
  const drawn = useInsight((s) => Boolean(s.subject && "picture" in s.subject));
  useEffect(() => {
    const at = sheet.current?.getContext("2d");
    if (!at) return;
    at.clearRect(0, 0, SIDE, SIDE);
    at.strokeStyle = INK[theme];
    // Once something else is asked about, what was drawn stays, paler.
    at.globalAlpha = drawn ? 1 : 0.25;
    paintStrokes(at, strokes, SIDE);
    at.globalAlpha = 1;
    if (!cross) return;
    at.lineWidth = 2;
    at.strokeRect(cross[0] * SIDE - 7, cross[1] * SIDE - 7, 14, 14);
  }, [sheet, strokes, theme, drawn, cross]);
}

const within = (n: number) => Math.min(1, Math.max(0, n));

/** A square of paper to draw on: with mouse, pen or finger, or with Shift and the arrow keys. */
export function Pad({ usual }: { usual: number }) {
  const word = words(useStudio((s) => s.language));
  const [pen, setPen] = useState(usual);
  const [cross, setCross] = useState<Cross>(null);
  const { strokes, change, begin, extend, undo } = useStrokes();
  const sheet = useRef<HTMLCanvasElement>(null);
  const down = useRef(false);
  usePainted(sheet, strokes, cross);
  const place = (event: PointerEvent<HTMLCanvasElement>): [number, number] => {
    const box = event.currentTarget.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  };
  const lift = () => {
    down.current = false;
  };
  const onKey = (event: KeyboardEvent) => {
    const way = ARROWS[event.key];
    if (event.key === "Backspace" || (event.key === "z" && (event.ctrlKey || event.metaKey))) undo();
    else if (event.key === "Delete") change([]);
    else if (way) {
      const from = cross ?? [0.5, 0.5];
      const to: [number, number] = [within(from[0] + way[0]), within(from[1] + way[1])];
      if (event.shiftKey && cross && down.current) extend(to);
      else if (event.shiftKey) begin({ pen, points: [from, to] });
      down.current = event.shiftKey;
      setCross(to);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div className="pad">
      <canvas
        ref={sheet}
        width={SIDE}
        height={SIDE}
        role="img"
        tabIndex={0}
        aria-label={`${word.drawHere}. ${word.drawHint}`}
        data-strokes={strokes.length}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          down.current = true;
          setCross(null);
          begin({ pen, points: [place(event)] });
        }}
        onPointerMove={(event) => down.current && event.buttons > 0 && extend(place(event))}
        onPointerUp={lift}
        onPointerCancel={lift}
        onKeyDown={onKey}
        onBlur={() => setCross(null)}
      />
      {!strokes.length && <span className="pad-hint">{word.drawHint}</span>}
      <Tools pen={pen} onPen={setPen} empty={!strokes.length} onUndo={undo} onClear={() => change([])} />
    </div>
  );
}
