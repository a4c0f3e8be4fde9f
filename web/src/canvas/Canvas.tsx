import {
  applyNodeChanges,
  Background,
  BackgroundVariant,
  type Edge,
  type EdgeChange,
  getViewportForBounds,
  MiniMap,
  type Node,
  type NodeChange,
  type OnConnectEnd,
  ReactFlow,
  useReactFlow,
  useStore,
  useStoreApi,
} from "@xyflow/react";
import { type DragEvent, type MouseEvent, useCallback, useEffect, useMemo, useState } from "react";
import type { Point } from "../api/types";
import { add, addUse, connect, fitView, move, onFit, openGroup, select } from "../app/actions";
import { openFiles } from "../app/files";
import { neuronCorners, useNeuronBlock } from "../app/neurons";
import { useStudio } from "../app/store";
import { colours } from "../glyphs/forms";
import { useInsight } from "../insight/mode";
import { capsuleSymbol } from "../model/compose";
import { vertexOf } from "../model/drawing";
import { FACE_TYPE, readFace } from "../panels/faces";
import { crowdOfScene } from "./crowd";
import { EmptyCanvas } from "./EmptyCanvas";
import { clickPainted, endBox, startBox } from "./hands";
import { useInView } from "./inview";
import { PaintedVertices } from "./PaintedVertices";
import { anchor, boundsOf, edgesOf, formOf, nodesOf } from "./scene";
import { GuideLines, useSnapping } from "./snapping";
import { CapsuleNode, NoteNode, UseNode } from "./VertexNode";
import { Arrowheads, DrawnLine, Wire } from "./Wire";
import { ZoomBar } from "./ZoomBar";

const NODE_TYPES = { capsule: CapsuleNode, use: UseNode, note: NoteNode };
const EDGE_TYPES = { wire: Wire };
const NO_NODES: Node[] = [];
const NO_EDGES: Edge[] = [];

/** Take what React Flow says of the selection into the store. */
function takeSelection(changes: (NodeChange | EdgeChange)[]): void {
  const chosen = changes.filter((change) => change.type === "select");
  if (!chosen.length) return;
  const selection = new Set(useStudio.getState().selection);
  for (const change of chosen) {
    if (change.selected) selection.add(change.id);
    else selection.delete(change.id);
  }
  select(selection);
}

export function Canvas() {
  const scene = useStudio((s) => s.scene);
  const places = useStudio((s) => s.places);
  const selection = useStudio((s) => s.selection);
  const catalogue = useStudio((s) => s.catalogue);
  const report = useStudio((s) => s.report);
  const path = useStudio((s) => s.path);
  const theme = useStudio((s) => s.theme);
  const flow = useReactFlow();
  const size = useStoreApi();
  const { crowded, near } = useInView();
  const block = useNeuronBlock();
  const crowd = useMemo(
    () => (crowded ? crowdOfScene(scene, places, catalogue) : null),
    [crowded, scene, places, catalogue],
  );
  const drawn = useMemo(
    () => (crowded ? NO_NODES : nodesOf(scene, places, selection, catalogue, report, path, near)),
    [crowded, near, scene, places, selection, catalogue, report, path],
  );
  const edges = useMemo(
    () => (crowded ? NO_EDGES : edgesOf(scene, selection, catalogue, near)),
    [crowded, near, scene, selection, catalogue],
  );
  const [nodes, setNodes] = useState<Node[]>(drawn);
  const [connecting, setConnecting] = useState(false);

  useEffect(() => {
    setNodes((now) => {
      const known = new Map(now.map((node) => [node.id, node]));
      return drawn.map((node) => {
        const old = known.get(node.id);
        return old?.measured ? { ...node, measured: old.measured } : node;
      });
    });
  }, [drawn]);

  useEffect(() => {
    onFit(() => {
      const { width, height } = size.getState();
      const all = boundsOf([...useStudio.getState().places.values(), ...neuronCorners()]);
      if (all && width)
        void flow.setViewport(getViewportForBounds(all, width, height, 0.03, 1.25, 0.06), { duration: 200 });
    });
    return () => onFit(null);
  }, [flow, size]);

  const { guides, snap, release } = useSnapping();
  const onNodesChange = useCallback(
    (changes: NodeChange[]) => {
      takeSelection(changes);
      const placed = changes.filter((c) => c.type === "position" || c.type === "dimensions");
      const after = snap(placed, size.getState().transform[2]);
      setNodes((now) => applyNodeChanges(after, now));
    },
    [snap, size],
  );

  const commitMove = useCallback(
    (_: unknown, __: Node | Node[], moved?: Node[]) => {
      const { scene: now, places: before } = useStudio.getState();
      const after = new Map<string, Point>();
      const [dx, dy] = release();
      for (const node of moved ?? []) {
        const vertex = vertexOf(now, node.id);
        const [x, y] = vertex ? anchor(formOf(vertex), node.position) : [node.position.x + 90, node.position.y + 20];
        const at: Point = [x + dx, y + dy];
        const old = before.get(node.id);
        if (!old || Math.hypot(old[0] - at[0], old[1] - at[1]) > 0.5) after.set(node.id, at);
      }
      move(after);
    },
    [release],
  );

  const place = useCallback(
    (event: { clientX: number; clientY: number }): Point => {
      const { x, y } = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
      return [x, y];
    },
    [flow],
  );

  const onConnectEnd: OnConnectEnd = useCallback(
    (event, connection) => {
      setConnecting(false);
      if (!connection.fromNode || connection.toNode) return;
      const at = "changedTouches" in event ? event.changedTouches[0] : event;
      if (!at) return;
      useStudio.setState({
        quickAdd: { at: place(at), screen: [at.clientX, at.clientY], after: connection.fromNode.id, mode: "add" },
      });
    },
    [place],
  );

  const onPaneClick = useCallback(
    (event: MouseEvent) => {
      const hit = clickPainted(event);
      if (!hit && !event.ctrlKey && !event.metaKey && !event.shiftKey) select([]);
      if (event.detail === 2 && !hit)
        useStudio.setState({
          quickAdd: { at: place(event), screen: [event.clientX, event.clientY], after: null, mode: "add" },
        });
    },
    [place],
  );

  const onDrop = useCallback(
    (event: DragEvent) => {
      if (event.dataTransfer.files.length) {
        event.preventDefault();
        void openFiles(event.dataTransfer.files);
        return;
      }
      const text = event.dataTransfer.getData(FACE_TYPE);
      if (!text || !catalogue) return;
      event.preventDefault();
      const group = text.startsWith("group:") ? text.slice(6) : null;
      const face = group ? null : readFace(catalogue, text);
      if (group) addUse(group, place(event), null);
      else if (face) add(face, place(event), null);
    },
    [catalogue, place],
  );

  const tint = useCallback(
    (node: Node) => {
      const capsule = scene.capsule.get(node.id);
      const symbol = capsule && catalogue ? capsuleSymbol(catalogue, capsule.symbol) : undefined;
      return symbol ? colours(symbol.glyph, theme)[0] : "#8a8fa0";
    },
    [scene, catalogue, theme],
  );

  const id = useStudio((s) => s.id);
  // Neurons that come after their drawing are brought into view as the drawing was.
  useEffect(() => {
    if (block) fitView();
  }, [block]);

  const empty = scene.capsule.size + scene.use.size + scene.note.size + scene.plain.size === 0;
  return (
    <main
      id="canvas"
      data-drawing={id}
      data-vertices={scene.capsule.size + scene.use.size}
      data-neurons={block?.count ?? 0}
      className={connecting ? "connecting" : ""}
      tabIndex={-1}
      aria-label="canvas"
      onDragOver={allow}
      onDrop={onDrop}
    >
      <Arrowheads />
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        onNodesChange={onNodesChange}
        // The rubber band means what it surrounds; lines come along with their ends.
        onEdgesChange={(changes) => size.getState().userSelectionActive || takeSelection(changes)}
        // What is selected is dragged by any of its parts; a sheet above them would only hide them.
        onSelectionEnd={(event) => {
          size.setState({ nodesSelectionActive: false });
          endBox(event);
        }}
        onNodeDragStop={commitMove}
        onSelectionDragStop={(event, moved) => commitMove(event, moved, moved)}
        onNodeDoubleClick={(_, node) => node.type === "use" && openGroup(node.id)}
        onNodeMouseEnter={(_, node) => overThing(node.id)}
        onNodeMouseLeave={() => overThing(null)}
        onEdgeMouseEnter={(_, edge) => overThing(edge.id)}
        onEdgeMouseLeave={() => overThing(null)}
        onConnect={({ source, target, targetHandle }) => connect(source, target, { port: targetHandle ?? undefined })}
        onConnectStart={() => setConnecting(true)}
        onConnectEnd={onConnectEnd}
        onPaneClick={onPaneClick}
        onSelectionStart={startBox}
        connectionLineComponent={DrawnLine}
        connectionRadius={36}
        isValidConnection={({ source, target }) => source !== target}
        onlyRenderVisibleElements
        disableKeyboardA11y
        deleteKeyCode={null}
        selectionKeyCode="Shift"
        multiSelectionKeyCode={["Meta", "Control", "Shift"]}
        zoomOnDoubleClick={false}
        minZoom={0.03}
        maxZoom={3}
        defaultViewport={{ x: 420, y: 380, zoom: 1 }}
        colorMode={theme}
        proOptions={{ hideAttribution: true }}
      >
        <Dots />
        {(crowd || block) && <PaintedVertices scene={crowd} block={block} />}
        {places.size > 12 && !crowded && (
          <MiniMap pannable zoomable nodeColor={tint} nodeBorderRadius={10} ariaLabel="minimap" />
        )}
        <GuideLines guides={guides} />
        <ZoomBar />
      </ReactFlow>
      {empty && <EmptyCanvas />}
    </main>
  );
}

/** What the pointer is over matters while a training is seen on the canvas. */
function overThing(hover: string | null): void {
  if (useInsight.getState().on) useInsight.setState({ hover });
}

/** The paper's dots; from afar they would be a grey that costs every frame. */
function Dots() {
  const near = useStore((s) => s.transform[2] > 0.4);
  return near ? <Background variant={BackgroundVariant.Dots} gap={22} size={2} /> : null;
}

function allow(event: DragEvent): void {
  if (event.dataTransfer.types.some((type) => type === FACE_TYPE || type === "Files")) {
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
  }
}
