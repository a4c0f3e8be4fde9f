import { type ConnectionLineComponentProps, EdgeLabelRenderer, type EdgeProps } from "@xyflow/react";
import { memo, useMemo } from "react";
import type { Attributes, Connection, Point, Value } from "../api/types";
import { useStudio } from "../app/store";
import { Sign } from "../glyphs/Glyphs";
import { useInsight } from "../insight/mode";
import { usePaint, WireInsight } from "../insight/Overlay";
import { connectionSymbol, freePort, MAIN_PORT, proposals } from "../model/compose";
import { vertexOf } from "../model/drawing";
import { placeOf } from "../model/ports";
import { findingsAt } from "../model/within";

import { useMark, WireMark } from "../theory/Overlay";
import { FlawMark } from "./FlawMark";
import { liftOver, route, straight } from "./geometry";

const NO_BENDS: Point[] = [];

/** What a line says about itself: its kernels or its weight. */
export function wireText(connection: Connection, weight: string | undefined, computed: Attributes = {}): string {
  const { kernels, kernel } = { ...connection.attributes, ...computed };
  if (kernel !== undefined && kernel !== null) return `${kernels ? `${kernels}@` : ""}${sides(kernel)}`;
  return weight ?? "";
}

const sides = (value: Value): string => (Array.isArray(value) ? value.join("×") : `${value}×${value}`);

/** Bends hold while both ends lie as the layout put them, wherever the whole was moved to. */
function useBends(id: string, source: string, target: string): Point[] {
  const bends = useStudio((s) => s.sceneLayout?.bends?.[id]);
  const moved = useStudio((s) => {
    const [a, b] = [source, target].map((end) => [s.sceneLayout?.positions[end], s.places.get(end)] as const);
    if (!a?.[0] || !a[1] || !b?.[0] || !b[1]) return "";
    const [dx, dy] = [a[1][0] - a[0][0], a[1][1] - a[0][1]];
    const alike = Math.abs(b[1][0] - b[0][0] - dx) < 1 && Math.abs(b[1][1] - b[0][1] - dy) < 1;
    return alike ? `${dx} ${dy}` : "";
  });
  return useMemo(() => {
    if (!bends?.length || !moved) return NO_BENDS;
    const [dx = 0, dy = 0] = moved.split(" ").map(Number);
    return bends.map(([x, y]): Point => [x + dx, y + dy]);
  }, [bends, moved]);
}

/** Several lines between the same two capsules rise one above another. */
function useRank(id: string, source: string, target: string): number {
  return useStudio((s) => {
    if (s.scene.connection.size > 2000) return 0;
    let before = 0;
    for (const other of s.scene.connection.values()) {
      if (other.id === id) return before;
      if (other.back === source && other.front === target) before++;
    }
    return 0;
  });
}

/** Lines between neurons are many and all alike: thin, straight, and without a badge where there are more than a few. */
function useFine(source: string, target: string): boolean {
  return useStudio((s) => {
    const neurons = s.scene.capsule.get(source)?.rank === 0 && s.scene.capsule.get(target)?.rank === 0;
    return neurons && s.scene.connection.size > 12;
  });
}

export const Wire = memo(function Wire(props: EdgeProps) {
  const { id, source, target, sourceX, sourceY, targetX, targetY, selected } = props;
  const connection = useStudio((s) => s.scene.connection.get(id));
  const symbol = useStudio((s) =>
    s.catalogue && connection ? connectionSymbol(s.catalogue, connection.symbol) : undefined,
  );
  const weight = useStudio((s) => s.report?.structures.connections[`${s.path}${id}`]?.weight_text);
  // Inside of a group the report tells what expressions come to in the copy that is open.
  const computed = useStudio((s) =>
    s.path && connection?.attributes?.kernel !== undefined
      ? s.report?.structures.connections[`${s.path}${id}`]?.inferred
      : undefined,
  );
  const findings = useStudio((s) => findingsAt(s, id));
  const bends = useBends(id, source, target);
  const lift = useStudio((s) => {
    const [a, b] = [s.places.get(source), s.places.get(target)];
    return a && b && s.places.size < 400 ? liftOver(a, b, s.places.values()) : 0;
  });
  const parallel = useRank(id, source, target);
  const place = useStudio((s) => (s.catalogue && connection ? placeOf(s.catalogue, s.scene, connection) : null));
  const fine = useFine(source, target);
  const mark = useMark(id);
  const paint = usePaint(id);
  const seen = useInsight((s) => s.on && s.hover === id);
  if (!connection) return null;
  const from: Point = [sourceX - 5, sourceY];
  const tone = findings.some((one) => one.severity === "error") ? "flawed" : selected ? "chosen" : "";
  // A colour that tells a number is not hidden by that of the selection; an error always shows.
  const painted = paint?.fill && tone !== "flawed" ? { stroke: paint.fill, strokeWidth: 2.4 + 4 * paint.share } : null;
  // The head of a thick line stands before its end.
  const to: Point = [targetX - (painted && !fine ? 12 : 3), targetY];
  const { path, middle } = fine
    ? straight(from, to)
    : parallel
      ? route(from, to, NO_BENDS, 46 + 40 * parallel)
      : route(from, to, bends, bends.length ? 0 : lift);
  const text = wireText(connection, weight, computed);
  const head = painted && !fine ? "-painted" : tone ? `-${tone}` : "";
  return (
    <>
      <g className={`wire-line ${tone} ${fine ? "fine" : ""} ${painted ? "painted-line" : ""} ${mark?.tone ?? ""}`}>
        <path className="reach" d={path} />
        {painted && <path className="wire-edge" d={path} style={{ strokeWidth: painted.strokeWidth + 1.2 }} />}
        <path className="wire" d={path} markerEnd={`url(#arrow${head})`} style={painted ?? undefined} />
        {place !== null && !fine && (
          <text className="wire-place" x={to[0] - 13} y={to[1] - 5}>
            {place}
          </text>
        )}
        {symbol && (!fine || selected) && (
          <g transform={`translate(${middle[0]} ${middle[1]})`}>
            <circle className="badge" r="9.5" />
            <Sign symbol={symbol} />
            {text && !fine && (
              <text className="wire-text" y={-16}>
                {text}
              </text>
            )}
          </g>
        )}
      </g>
      {mark?.rows && mark.rows.length > 0 && (!fine || mark.tone === "lit") && (
        <EdgeLabelRenderer>
          <div className={`wire-mark ${mark.tone}`} style={{ transform: `translate(${middle[0]}px, ${middle[1]}px)` }}>
            <WireMark id={id} />
          </div>
        </EdgeLabelRenderer>
      )}
      {((paint?.text && !fine) || seen) && (
        <EdgeLabelRenderer>
          <div className="wire-insight" style={{ transform: `translate(${middle[0]}px, ${middle[1]}px)` }}>
            <WireInsight id={id} text={paint?.text ?? ""} />
          </div>
        </EdgeLabelRenderer>
      )}
      {findings.length > 0 && (
        <EdgeLabelRenderer>
          <div className="wire-flaw" style={{ transform: `translate(${middle[0]}px, ${middle[1] + 20}px)` }}>
            <FlawMark findings={findings} />
          </div>
        </EdgeLabelRenderer>
      )}
    </>
  );
});

/** The line while it is drawn: over a capsule it shows the connection that would be made. */
export function DrawnLine({ fromX, fromY, toX, toY, fromNode, toNode, toHandle }: ConnectionLineComponentProps) {
  const catalogue = useStudio((s) => s.catalogue);
  const scene = useStudio((s) => s.scene);
  const front = toNode ? vertexOf(scene, toNode.id) : undefined;
  const port = catalogue && front ? (toHandle?.id ?? freePort(catalogue, scene, front)) : undefined;
  const proposed = catalogue && front ? proposals(catalogue, scene, fromNode.id, front, port)[0] : undefined;
  const symbol = catalogue && proposed ? connectionSymbol(catalogue, proposed) : undefined;
  const { path, middle } = route([fromX - 5, fromY], [toX, toY], NO_BENDS, 0);
  return (
    <g className="wire-line chosen drawn">
      <path className="wire" d={path} markerEnd="url(#arrow-chosen)" />
      {symbol && (
        <g transform={`translate(${middle[0]} ${middle[1]})`}>
          <circle className="badge" r="9.5" />
          <Sign symbol={symbol} />
          <text className="wire-text" y={-16}>
            {symbol.title}
            {port && port !== MAIN_PORT && ` → ${port}`}
          </text>
        </g>
      )}
    </g>
  );
}

/** Arrowheads, once for all lines. */
export function Arrowheads() {
  return (
    <svg className="defs" aria-hidden="true">
      <defs>
        {["", "-chosen", "-flawed", "-painted"].map((tone) => (
          <marker
            key={tone}
            id={`arrow${tone}`}
            className={`arrow${tone}`}
            viewBox="0 0 8 8"
            refX={tone === "-painted" ? 0.5 : 7}
            refY="4"
            markerWidth={tone === "-painted" ? 12 : 9}
            markerHeight={tone === "-painted" ? 12 : 9}
            markerUnits="userSpaceOnUse"
            orient="auto"
          >
            <path d="M0 .6L8 4L0 7.4Z" />
          </marker>
        ))}
      </defs>
    </svg>
  );
}
