import { useOnViewportChange, useReactFlow, useStoreApi, type Viewport } from "@xyflow/react";
import { useCallback, useEffect, useRef, useState } from "react";
import type { Point } from "../api/types";
import { useStudio } from "../app/store";
import { colours } from "../glyphs/forms";
import { capsuleSymbol } from "../model/compose";

/** Beyond so many vertices in view the DOM is too slow, and they are painted. */
const MOST_ELEMENTS = 700;

function countVisible(
  places: ReadonlyMap<string, Point>,
  { x, y, zoom }: Viewport,
  width: number,
  height: number,
): number {
  let count = 0;
  for (const [px, py] of places.values()) {
    const [sx, sy] = [px * zoom + x, py * zoom + y];
    if (sx > -60 && sy > -60 && sx < width + 60 && sy < height + 60) count++;
  }
  return count;
}

/** Tell whether more is in view than elements can show. */
export function useCrowded(): boolean {
  const places = useStudio((s) => s.places);
  const store = useStoreApi();
  // Before the view is known, a large drawing counts as crowded: thousands of elements would be made for one moment.
  const [seen, setCrowded] = useState<boolean | null>(null);
  const crowded = seen ?? places.size > MOST_ELEMENTS;
  const judge = useCallback(
    (viewport: Viewport) => {
      if (places.size <= MOST_ELEMENTS) return setCrowded(false);
      const { width, height } = store.getState();
      setCrowded(countVisible(places, viewport, width, height) > MOST_ELEMENTS);
    },
    [places, store],
  );
  useOnViewportChange({ onChange: judge });
  useEffect(() => {
    const [x, y, zoom] = store.getState().transform;
    judge({ x, y, zoom });
  }, [judge, store]);
  return crowded;
}

/** All vertices and lines in one picture; while the view moves, the picture moves, and is painted anew as time allows. */
export function PaintedVertices() {
  const canvas = useRef<HTMLCanvasElement>(null);
  const flow = useReactFlow();
  const store = useStoreApi();
  const scene = useStudio((s) => s.scene);
  const places = useStudio((s) => s.places);
  const catalogue = useStudio((s) => s.catalogue);
  const theme = useStudio((s) => s.theme);
  const painted = useRef<Viewport>({ x: 0, y: 0, zoom: 1 });
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);

  const paint = useCallback(() => {
    const sheet = canvas.current;
    const pen = sheet?.getContext("2d");
    if (!sheet || !pen) return;
    const { width, height } = store.getState();
    const view = flow.getViewport();
    if (sheet.width !== width || sheet.height !== height) [sheet.width, sheet.height] = [width, height];
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.setTransform(view.zoom, 0, 0, view.zoom, view.x, view.y);
    const inView = ([x, y]: Point) =>
      x * view.zoom + view.x > -40 &&
      x * view.zoom + view.x < width + 40 &&
      y * view.zoom + view.y > -40 &&
      y * view.zoom + view.y < height + 40;
    pen.strokeStyle = theme === "dark" ? "rgba(233,231,223,.28)" : "rgba(29,33,48,.22)";
    pen.lineWidth = Math.min(1.4, 0.8 / view.zoom);
    pen.beginPath();
    for (const { back, front } of scene.connection.values()) {
      const [a, b] = [places.get(back), places.get(front)];
      if (!a || !b || !(inView(a) || inView(b))) continue;
      pen.moveTo(a[0], a[1]);
      pen.lineTo(b[0], b[1]);
    }
    pen.stroke();
    const bySymbol = new Map<string, Point[]>();
    for (const capsule of scene.capsule.values()) {
      const at = places.get(capsule.id);
      if (!at || !inView(at)) continue;
      const list = bySymbol.get(capsule.symbol);
      if (list) list.push(at);
      else bySymbol.set(capsule.symbol, [at]);
    }
    pen.lineWidth = 1.6;
    for (const [id, points] of bySymbol) {
      const glyph = catalogue && capsuleSymbol(catalogue, id)?.glyph;
      const [ink, wash] = glyph ? colours(glyph, theme) : ["#5f6676", "#f4f3ee"];
      pen.beginPath();
      for (const [x, y] of points) {
        pen.moveTo(x + 16, y);
        pen.arc(x, y, 16, 0, Math.PI * 2);
      }
      pen.fillStyle = wash;
      pen.fill();
      pen.strokeStyle = ink;
      pen.stroke();
    }
    painted.current = view;
    sheet.style.transform = "none";
  }, [catalogue, flow, places, scene, store, theme]);

  const shift = useCallback(
    (view: Viewport) => {
      const sheet = canvas.current;
      if (!sheet) return;
      const was = painted.current;
      const scale = view.zoom / was.zoom;
      sheet.style.transform = `translate(${view.x - was.x * scale}px, ${view.y - was.y * scale}px) scale(${scale})`;
      clearTimeout(timer.current);
      timer.current = setTimeout(paint, 70);
    },
    [paint],
  );

  useOnViewportChange({ onChange: shift });
  useEffect(() => {
    paint();
    return () => clearTimeout(timer.current);
  }, [paint]);
  return <canvas ref={canvas} className="painted" aria-label={`${places.size} vertices`} role="img" />;
}
