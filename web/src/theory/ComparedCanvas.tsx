import {
  Background,
  BackgroundVariant,
  type Edge,
  type EdgeProps,
  type Node,
  type NodeProps,
  ReactFlow,
  useReactFlow,
} from "@xyflow/react";
import { memo, useEffect, useMemo } from "react";
import type { Connection, Use } from "../api/types";
import { onFit } from "../app/actions";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { liftOver, route, straight } from "../canvas/geometry";
import { corner, formOf } from "../canvas/scene";
import { Captions, capsuleTitle, Ends } from "../canvas/VertexNode";
import { Arrowheads, wireText } from "../canvas/Wire";
import { ZoomBar } from "../canvas/ZoomBar";
import { extent } from "../glyphs/forms";
import { CapsuleGlyph, Sign } from "../glyphs/Glyphs";
import { capsuleSymbol, connectionSymbol } from "../model/compose";
import { isUse, type Vertex } from "../model/drawing";
import type { Comparison } from "./api";
import type { Kind, Overlaid } from "./difference";

const SIGNS: Record<Kind, string> = { added: "+", removed: "−", changed: "≠", follows: "≈", same: "" };

type VertexData = { vertex: Vertex; kind: Kind; structure: [string, string] | null };
type LineData = { line: Connection; kind: Kind; lift: number; fine: boolean };

function Box({ use }: { use: Use }) {
  return (
    <div className="group-box">
      <strong>{use.group}</strong>
      {(use.repeat ?? 1) > 1 && <em>×{use.repeat}</em>}
    </div>
  );
}

const ComparedVertex = memo(function ComparedVertex({ data }: NodeProps<Node<VertexData>>) {
  const { vertex, kind, structure } = data;
  const catalogue = useStudio((s) => s.catalogue);
  const theme = useStudio((s) => s.theme);
  const form = formOf(vertex);
  const symbol = catalogue && !isUse(vertex) ? capsuleSymbol(catalogue, vertex.symbol) : undefined;
  return (
    <div className={`compared ${kind}`}>
      {isUse(vertex) ? (
        <Box use={vertex} />
      ) : (
        symbol && (
          <CapsuleGlyph glyph={symbol.glyph} rank={vertex.rank} theme={theme} worn={vertex.wears?.length ?? 0} />
        )
      )}
      {SIGNS[kind] && <b className="compared-sign">{SIGNS[kind]}</b>}
      <Captions
        name={vertex.label || vertex.id}
        title={isUse(vertex) ? vertex.group : vertex.rank ? capsuleTitle(catalogue, vertex) : ""}
        structure={structure ? `→ ${structure[1]}` : ""}
        top={extent(form).height + 9}
      />
      <Ends form={form} />
    </div>
  );
});

const ComparedLine = memo(function ComparedLine(props: EdgeProps<Edge<LineData>>) {
  const { sourceX, sourceY, targetX, targetY, data, selected } = props;
  const catalogue = useStudio((s) => s.catalogue);
  if (!data) return null;
  const symbol = catalogue ? connectionSymbol(catalogue, data.line.symbol) : undefined;
  const [from, to]: [[number, number], [number, number]] = [
    [sourceX - 5, sourceY],
    [targetX - 3, targetY],
  ];
  const { path, middle } = data.fine ? straight(from, to) : route(from, to, [], data.lift);
  return (
    <g className={`wire-line compared-line ${data.kind} ${selected ? "chosen" : ""} ${data.fine ? "fine" : ""}`}>
      <path className="reach" d={path} />
      <path className="wire" d={path} markerEnd="url(#arrow)" />
      {symbol && !data.fine && (
        <g transform={`translate(${middle[0]} ${middle[1]})`}>
          <circle className="badge" r="9.5" />
          <Sign symbol={symbol} />
          <text className="wire-text" y={-16}>
            {wireText(data.line, undefined)}
          </text>
        </g>
      )}
    </g>
  );
});

const NODE_TYPES = { compared: ComparedVertex };
const EDGE_TYPES = { compared: ComparedLine };
const FIT = { padding: 0.12, maxZoom: 1.25 };

export function ComparedCanvas({
  overlaid,
  structures,
  chosen,
  choose,
}: {
  overlaid: Overlaid;
  structures: Comparison["structures"];
  chosen: string | null;
  choose: (id: string | null) => void;
}) {
  const theme = useStudio((s) => s.theme);
  const word = words(useStudio((s) => s.language));
  const flow = useReactFlow();
  const nodes = useMemo(
    () =>
      overlaid.vertices.map(({ vertex, kind, at }): Node<VertexData> => {
        const form = formOf(vertex);
        return {
          id: vertex.id,
          type: "compared",
          position: corner(form, at),
          data: { vertex, kind, structure: structures[vertex.id] ?? null },
          ...extent(form),
          selected: chosen === vertex.id,
          ariaLabel: `${vertex.id}${kind === "same" ? "" : `, ${word[kind]}`}`,
        };
      }),
    [overlaid, structures, chosen, word],
  );
  const edges = useMemo(() => {
    const places = new Map(overlaid.vertices.map(({ vertex, at }) => [vertex.id, at]));
    const neurons = new Set(
      overlaid.vertices.filter(({ vertex }) => !isUse(vertex) && !vertex.rank).map((v) => v.vertex.id),
    );
    const many = overlaid.lines.length > 12;
    return overlaid.lines.map(({ line, kind, key }): Edge<LineData> => {
      const [a, b] = [places.get(line.back), places.get(line.front)];
      const lift = a && b && places.size < 200 ? liftOver(a, b, places.values()) : 0;
      return {
        id: key,
        type: "compared",
        source: line.back,
        target: line.front,
        data: { line, kind, lift, fine: many && neurons.has(line.back) && neurons.has(line.front) },
        selected: chosen === line.id,
        ariaLabel: `${line.back} → ${line.front}${kind === "same" ? "" : `, ${word[kind]}`}`,
      };
    });
  }, [overlaid, chosen, word]);
  const count = nodes.length;
  useEffect(() => {
    onFit(() => void flow.fitView(FIT));
    const timer = count ? setTimeout(() => void flow.fitView(FIT), 90) : undefined;
    return () => {
      clearTimeout(timer);
      onFit(null);
    };
  }, [flow, count]);
  useEffect(() => {
    const node = chosen ? flow.getNode(chosen) : undefined;
    if (node && count > 30)
      void flow.setCenter(node.position.x + 20, node.position.y + 20, {
        zoom: Math.max(flow.getZoom(), 0.8),
        duration: 200,
      });
  }, [chosen, flow, count]);
  return (
    <main id="canvas" className="comparing" tabIndex={-1} aria-label={word.compare} data-vertices={count}>
      <Arrowheads />
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        nodesDraggable={false}
        nodesConnectable={false}
        onNodeClick={(_, node) => choose(node.id)}
        onEdgeClick={(_, edge) => choose((edge.data as LineData).line.id)}
        onPaneClick={() => choose(null)}
        onlyRenderVisibleElements
        disableKeyboardA11y
        deleteKeyCode={null}
        minZoom={0.03}
        maxZoom={3}
        colorMode={theme}
        proOptions={{ hideAttribution: true }}
      >
        <Background variant={BackgroundVariant.Dots} gap={22} size={2} />
        <ZoomBar />
      </ReactFlow>
    </main>
  );
}
