import { lazy, Suspense, useEffect, useState } from "react";
import { api } from "../api/client";
import { align, arrange, duplicate, makeGroup, removeSelected } from "../app/actions";
import { useNeurons } from "../app/neurons";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { useInsight } from "../insight/mode";
import { CapsuleCard, ConnectionCard } from "./Cards";
import { GroupCard } from "./GroupCard";
import { MathematicsCard } from "./MathematicsCard";
import { NeuronCard } from "./NeuronCard";
import { DrawingCard, NoteCard, UseCard } from "./OtherCards";

const ValuesCard = lazy(() => import("../insight/Values").then((module) => ({ default: module.ValuesCard })));

function Many({ count }: { count: number }) {
  const word = words(useStudio((s) => s.language));
  return (
    <>
      <h2>
        {count} {word.selected}
      </h2>
      <div className="stacked">
        <button type="button" onClick={() => align("row")}>
          {word.alignRow}
        </button>
        <button type="button" onClick={() => align("column")}>
          {word.alignColumn}
        </button>
        <button type="button" onClick={arrange}>
          {word.arrange}
        </button>
        <button type="button" onClick={makeGroup}>
          {word.group} <kbd>Ctrl G</kbd>
        </button>
        <button type="button" onClick={duplicate}>
          {word.duplicate} <kbd>Ctrl D</kbd>
        </button>
        <button type="button" className="danger" onClick={removeSelected}>
          {word.remove} <kbd>Del</kbd>
        </button>
      </div>
    </>
  );
}

function CodeCard({ id }: { id: string }) {
  const [source, setSource] = useState("");
  const report = useStudio((s) => s.report);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the code follows the drawing, which the report tells of
  useEffect(() => {
    let current = true;
    api
      .code(id)
      .then((answer) => current && setSource(answer.source))
      .catch((error: Error) => current && setSource(`# ${error.message}`));
    return () => {
      current = false;
    };
  }, [id, report]);
  return (
    <pre className="code">
      <code>{source}</code>
    </pre>
  );
}

type Tab = "thing" | "values" | "mathematics" | "code";

export function Inspector() {
  const selection = useStudio((s) => s.selection);
  const scene = useStudio((s) => s.scene);
  const id = useStudio((s) => s.id);
  const level = useStudio((s) => s.levels.at(-1));
  const word = words(useStudio((s) => s.language));
  const neuron = useNeurons((s) => s.chosen !== null);
  const [tab, setTab] = useState<Tab>("thing");
  const [only] = selection.size === 1 ? selection : [];
  const capsule = scene.capsule.get(only ?? "");
  const connection = scene.connection.get(only ?? "");
  const use = scene.use.get(only ?? "");
  const note = scene.note.get(only ?? "");
  const title = connection
    ? word.connection
    : capsule
      ? word.capsule
      : use
        ? word.group
        : note
          ? word.note
          : neuron
            ? word.neuron
            : level
              ? word.group
              : word.drawing;
  const insight = useInsight((s) => s.on);
  // Whoever sees a training on the canvas wants its numbers here; the other tabs are a click away.
  useEffect(() => {
    if (insight) setTab("values");
  }, [insight]);
  const tabs: [Tab, string][] = [["thing", title]];
  if (insight && selection.size < 2 && !note && !neuron) tabs.push(["values", word.valuesTab]);
  if (capsule || connection) tabs.push(["mathematics", word.mathematics]);
  tabs.push(["code", word.code]);
  const shown = tabs.some(([key]) => key === tab) ? tab : "thing";
  return (
    <aside id="inspector" aria-label={title}>
      <div className="tabs" role="tablist">
        {tabs.map(([key, text]) => (
          <button type="button" key={key} role="tab" aria-selected={shown === key} onClick={() => setTab(key)}>
            {text}
          </button>
        ))}
      </div>
      <div
        className="scroll"
        role="tabpanel"
        aria-label={title}
        // Values are read, not edited: without a field in them, the keys scroll the panel itself.
        tabIndex={shown === "values" ? 0 : undefined}
      >
        {shown === "thing" && selection.size > 1 && <Many count={selection.size} />}
        {shown === "thing" && capsule && <CapsuleCard capsule={capsule} />}
        {shown === "thing" && connection && <ConnectionCard connection={connection} />}
        {shown === "thing" && use && <UseCard use={use} />}
        {shown === "thing" && note && <NoteCard note={note} />}
        {shown === "thing" && neuron && <NeuronCard />}
        {shown === "thing" && !selection.size && !neuron && (level ? <GroupCard level={level} /> : <DrawingCard />)}
        {shown === "values" && (
          <Suspense fallback={null}>
            <ValuesCard id={only} />
          </Suspense>
        )}
        {shown === "mathematics" && id && only && <MathematicsCard id={id} item={only} />}
        {shown === "code" && id && <CodeCard id={id} />}
      </div>
    </aside>
  );
}
