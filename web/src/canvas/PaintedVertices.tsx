import { useOnViewportChange, useReactFlow, useStoreApi } from "@xyflow/react";
import { useEffect, useMemo, useRef, useState } from "react";
import type { Point } from "../api/types";
import { useNeurons } from "../app/neurons";
import { useStudio } from "../app/store";
import { usePaints } from "../insight/Overlay";
import type { Crowd, crowdOfScene } from "./crowd";
import { type Hit, type Hold, onHits, useHands } from "./hands";
import { type Chosen, Painter } from "./painter";
import type { Link } from "./painting";
import { capsuleTitle } from "./VertexNode";

type SceneCrowd = ReturnType<typeof crowdOfScene>;

interface Props {
  /** The drawing's own vertices, where they are too many for elements. */
  scene: SceneCrowd | null;
  /** Neurons in columns, which are always painted. */
  block: Crowd | null;
}

const MOST_LINKS = 64;

/** Lines between capsules and the neurons that stand for their elements or write into them. */
function useLinks(block: Crowd | null): Link[] {
  const neurons = useNeurons((s) => s.neurons);
  const places = useStudio((s) => s.places);
  return useMemo(() => {
    const links: Link[] = [];
    if (!block || !neurons) return links;
    for (const { capsule, first, count } of neurons.spans) {
      const at = places.get(capsule);
      if (!at) continue;
      const step = Math.max(1, Math.floor(count / MOST_LINKS));
      for (let i = first; i < first + count; i += step) {
        const number = Math.floor(i / neurons.stride);
        if (number < block.count) links.push([block.x[number] as number, block.y[number] as number, at[0], at[1]]);
      }
    }
    return links;
  }, [block, neurons, places]);
}

/** What is ringed: the selection, moved while it is held, and what the pointer is over. */
function useChosen({ scene, block }: Props, hover: Hit | null, hold: Hold | null): Chosen[] {
  const selection = useStudio((s) => s.selection);
  const neuron = useNeurons((s) => s.chosen);
  return useMemo(() => {
    const chosen: Chosen[] = [];
    const shift = hold?.shift ?? ([0, 0] as [number, number]);
    if (scene) {
      const numbers = new Set([...selection].flatMap((id) => scene.numbers.get(id) ?? []));
      for (const id of selection) {
        const line = useStudio.getState().scene.connection.get(id);
        for (const end of line ? [line.back, line.front] : []) {
          const number = scene.numbers.get(end);
          if (number !== undefined) numbers.add(number);
        }
      }
      if (numbers.size) chosen.push({ crowd: scene, vertices: numbers, shift });
    }
    if (block && neuron !== null) chosen.push({ crowd: block, vertices: new Set([neuron]), shift: [0, 0] });
    if (hover && !hold) chosen.push({ crowd: hover.crowd, vertices: new Set([hover.vertex]), shift: [0, 0] });
    return chosen;
  }, [scene, block, selection, neuron, hover, hold]);
}

/** The name of what the pointer is over. */
function Tip({ hit, at }: { hit: Hit; at: Point }) {
  const catalogue = useStudio((s) => s.catalogue);
  const neurons = useNeurons((s) => s.neurons);
  const capsule = useStudio((s) => (hit.id ? s.scene.capsule.get(hit.id) : undefined));
  const use = useStudio((s) => (hit.id ? s.scene.use.get(hit.id) : undefined));
  const number = usePaints().get(hit.id ?? "")?.text;
  const title = capsule
    ? capsuleTitle(catalogue, capsule)
    : (use?.group ?? neurons?.symbols[hit.crowd.look[hit.vertex] ?? 0] ?? "");
  return (
    <div className="painted-tip" style={{ left: at[0] + 14, top: at[1] + 14 }}>
      <b>{capsule?.label || hit.crowd.name(hit.vertex)}</b> {title} {number && <code>{number}</code>}
    </div>
  );
}

/** All vertices and lines that are painted, and the hands on them. */
export function PaintedVertices({ scene, block }: Props) {
  const flow = useReactFlow();
  const store = useStoreApi();
  const theme = useStudio((s) => s.theme);
  const below = useRef<HTMLCanvasElement>(null);
  const above = useRef<HTMLCanvasElement>(null);
  const [painter, setPainter] = useState<Painter | null>(null);
  const [hover, setHover] = useState<(Hit & { at: Point }) | null>(null);
  const [hold, setHold] = useState<Hold | null>(null);
  const links = useLinks(block);
  const chosen = useChosen({ scene, block }, hover, hold);
  const paints = usePaints();
  const crowds = useMemo(() => {
    const tint = scene && paints.size ? (vertex: number) => paints.get(scene.name(vertex))?.fill : undefined;
    return [block, scene && { ...scene, tint }].filter((crowd) => crowd !== null);
  }, [block, scene, paints]);

  useEffect(() => {
    if (!below.current || !above.current) return;
    const made = new Painter(below.current, above.current);
    setPainter(made);
    return () => made.stop();
  }, []);
  useEffect(() => {
    if (!painter) return;
    const follow = () => painter.move(flow.getViewport(), store.getState().width, store.getState().height);
    follow();
    painter.show(crowds, links, theme);
    // The panels beside the canvas change its size without a change of the view.
    let { width, height } = store.getState();
    return store.subscribe((now) => {
      if (now.width !== width || now.height !== height) {
        ({ width, height } = now);
        follow();
      }
    });
  }, [painter, crowds, links, theme, flow, store]);
  useEffect(() => painter?.choose(chosen), [painter, chosen]);
  useOnViewportChange({
    onChange: (view) => painter?.move(view, store.getState().width, store.getState().height),
  });
  useEffect(() => onHits(flow, scene, block), [flow, scene, block]);
  useHands(setHover, setHold);
  const count = crowds.reduce((sum, crowd) => sum + crowd.count, 0);
  return (
    <>
      <canvas ref={below} className="painted" role="img" aria-label={`${count} vertices`} />
      <canvas ref={above} className="painted" aria-label="selection" hidden />
      {hover && !hold && <Tip hit={hover} at={hover.at} />}
    </>
  );
}
