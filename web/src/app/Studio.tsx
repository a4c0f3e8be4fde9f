import { ReactFlowProvider, useReactFlow } from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { lazy, Suspense, useEffect } from "react";
import { Canvas } from "../canvas/Canvas";
import { Brought } from "../exchange/Brought";
import { forgetInsight, useInsight } from "../insight/mode";
import "../insight/insight.css";
import "../insight/values.css";
import "../insight/sheet.css";
import { Dialogs } from "../panels/Dialogs";
import { FileDialogs } from "../panels/FileMenu";
import { Guide } from "../panels/Guide";
import { Inspector } from "../panels/Inspector";
import { Palette } from "../panels/Palette";
import { QuickBox } from "../panels/QuickBox";
import { TopBar } from "../panels/TopBar";
import { leave, useTheory } from "../theory/mode";
import "../theory/theory.css";
import { fitView } from "./actions";
import { neuronByName, neuronPlace, useNeurons } from "./neurons";
import { closeDrawing, command, openDrawing, performOutside, say } from "./session";
import { onKey } from "./shortcuts";
import { useStudio } from "./store";
import { words } from "./words";

const Dock = lazy(() => import("../panels/Dock").then((module) => ({ default: module.Dock })));

const Bar = lazy(() => import("../insight/Bar").then((module) => ({ default: module.Bar })));
const Watch = lazy(() => import("../insight/Watch").then((module) => ({ default: module.Watch })));
const SheetBelow = lazy(() => import("../insight/Sheet").then((module) => ({ default: module.SheetBelow })));

const Panel = lazy(() => import("../theory/Panel").then((module) => ({ default: module.Panel })));
const Compare = lazy(() => import("../theory/Compare").then((module) => ({ default: module.Compare })));
const Gallery = lazy(() => import("../theory/Gallery").then((module) => ({ default: module.Gallery })));

/** Keys that move the view, and showing a vertex that was searched for. */
function ViewKeys() {
  const flow = useReactFlow();
  useEffect(() => {
    const onZoom = (event: Event) => {
      const how = (event as CustomEvent<string>).detail;
      if (how === "in") void flow.zoomIn();
      else if (how === "out") void flow.zoomOut();
      else void flow.zoomTo(1);
    };
    const onShow = (event: Event) => {
      const { detail } = event as CustomEvent<string>;
      const at = useStudio.getState().places.get(detail) ?? neuronPlace(neuronByName(detail));
      if (at) void flow.setCenter(at[0], at[1], { zoom: Math.max(flow.getZoom(), 0.8), duration: 250 });
    };
    document.addEventListener("inkcap-zoom", onZoom);
    document.addEventListener("inkcap-show", onShow);
    return () => {
      document.removeEventListener("inkcap-zoom", onZoom);
      document.removeEventListener("inkcap-show", onShow);
    };
  }, [flow]);
  return null;
}

/** Keep what was just added in view. */
function Follow() {
  const flow = useReactFlow();
  const selection = useStudio((s) => s.selection);
  const neuron = useNeurons((s) => s.chosen);
  useEffect(() => {
    const [id] = selection;
    const at = id && selection.size === 1 ? useStudio.getState().places.get(id) : neuronPlace(neuron);
    const box = document.querySelector("#canvas")?.getBoundingClientRect();
    if (!at || !box) return;
    const { x, y } = flow.flowToScreenPosition({ x: at[0], y: at[1] });
    const out = x < box.left + 40 || x > box.right - 60 || y < box.top + 40 || y > box.bottom - 90;
    if (!out) return;
    // Of a large drawing the whole would show nothing of the one thing.
    if (neuron !== null || useStudio.getState().places.size > 200)
      void flow.setCenter(at[0], at[1], { zoom: flow.getZoom(), duration: 200 });
    else fitView();
  }, [flow, selection, neuron]);
  return null;
}

/** Bring a drawing into view once it has come. */
function FirstFit({ id }: { id: string }) {
  const there = useStudio((s) => s.id === id && (s.report !== null || s.status === "live"));
  useEffect(() => {
    if (!there) return;
    const timer = setTimeout(fitView, 80);
    return () => clearTimeout(timer);
  }, [there]);
  return null;
}

/** Give the drawing the values of a trial that were taken on another page: one edit of this tab, to be undone. */
function Taking() {
  const taking = useStudio((s) => (s.taking?.drawing === s.id && s.status === "live" ? s.taking : null));
  useEffect(() => {
    if (!taking) return;
    useStudio.setState({ taking: null });
    const word = words(useStudio.getState().language);
    if (taking.edit.patches.length) {
      performOutside(taking.edit);
      say(word.taken, false, { label: word.undo, run: () => command("undo") });
    } else say(word.takenRecipe);
  }, [taking]);
  return null;
}

/** The canvas grows and shrinks with the dock, and shows the whole drawing again. */
function DockFit() {
  const dock = useStudio((s) => s.dock);
  const sheet = useInsight((s) => s.sheet);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the change of the dock, or of what lies in its place, is the signal
  useEffect(() => {
    const timer = setTimeout(fitView, 80);
    return () => clearTimeout(timer);
  }, [dock, sheet]);
  return null;
}

export function Studio({ id }: { id: string }) {
  const open = useStudio((s) => s.dock);
  const mode = useTheory((s) => s.mode);
  const gallery = useTheory((s) => s.gallery);
  const insight = useInsight((s) => s.on) && !mode;
  const sheet = useInsight((s) => s.sheet);
  const below = insight ? sheet : null;
  const dock = open && !mode && !below;
  const parts = [
    mode && "with-theory",
    dock && "with-dock",
    below && "with-dock with-sheet",
    insight && "with-insight",
  ];
  useEffect(() => {
    void openDrawing(id);
    return () => {
      leave();
      forgetInsight();
      closeDrawing();
    };
  }, [id]);
  useEffect(() => {
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  return (
    <ReactFlowProvider>
      <div className={`studio ${parts.filter(Boolean).join(" ")}`} data-mode={mode ?? undefined}>
        <TopBar />
        {!mode && <Palette />}
        {insight && (
          <Suspense fallback={<section id="insight" />}>
            <Bar />
            <Watch id={id} />
          </Suspense>
        )}
        {mode !== "compare" && <Canvas />}
        {!mode && <Brought id={id} />}
        {mode !== "compare" && <Inspector />}
        <Suspense fallback={null}>
          {mode === "compare" && <Compare id={id} />}
          {mode && mode !== "compare" && <Panel key={mode} id={id} mode={mode} />}
          {gallery && <Gallery />}
        </Suspense>
        {below && (
          <Suspense fallback={<section id="sheet" />}>
            <SheetBelow sheet={below} />
          </Suspense>
        )}
        {dock && (
          <Suspense fallback={<section id="dock" />}>
            <Dock />
          </Suspense>
        )}
      </div>
      <QuickBox />
      <Dialogs />
      <FileDialogs />
      <Guide />
      <ViewKeys />
      <Follow />
      <DockFit />
      <FirstFit id={id} />
      <Taking />
    </ReactFlowProvider>
  );
}
