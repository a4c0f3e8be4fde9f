import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { Note, Use } from "../api/types";
import { dissolve, openGroup } from "../app/actions";
import { attempt, perform, write } from "../app/session";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { changeAttribute } from "../model/compose";
import { grouped, structureText } from "../model/findings";
import { checkedUse, findingsAt } from "../model/within";
import { Facts, Findings, useSight } from "./Cards";
import { Field, readField, showValue } from "./Field";
import { NeuronBlock } from "./NeuronCard";

const COUNT = {
  kind: "size",
  help: "",
  default: 1,
  inferred: false,
  required: false,
  letter: "",
  minimum: 1,
  maximum: 10_000,
  choices: [],
  axes: 0,
  unit: "",
} as const;

export function UseCard({ use }: { use: Use }) {
  const scene = useStudio((s) => s.scene);
  const checked = checkedUse(useSight(), use);
  const findings = useStudio((s) => findingsAt(s, use.id));
  const word = words(useStudio((s) => s.language));
  const group = scene.group.get(use.group);
  return (
    <>
      <h2>
        {use.group} <span className="soft">{use.id}</span>
      </h2>
      <Findings findings={findings} />
      <div className="fields">
        <Field
          attribute={{ ...COUNT, name: word.repeat, choices: [] }}
          value={use.repeat ?? 1}
          onChange={(value) => {
            const { repeat: _, ...bare } = use;
            const repeat = Number(value ?? 1);
            perform({
              label: `repeat ${use.id} ×${repeat}`,
              patches: [{ put: "use", id: use.id, record: repeat > 1 ? { ...bare, repeat } : bare }],
            });
          }}
        />
        {Object.entries(group?.arguments ?? {}).map(([name, usual]) => (
          <Field
            key={name}
            attribute={{
              ...COUNT,
              kind: typeof usual === "number" ? "number" : "text",
              name,
              choices: [],
              default: usual,
            }}
            value={use.arguments?.[name]}
            onChange={(value) => perform(changeAttribute(scene, use.id, name, value))}
          />
        ))}
      </div>
      <Facts
        rows={[
          [word.output, structureText(checked?.output)],
          [word.parameters, checked ? grouped(checked.parameters) : ""],
          [word.multiplyAdds, checked ? grouped(checked.multiply_adds) : ""],
        ]}
      />
      <div className="stacked">
        <button type="button" onClick={() => openGroup(use.id)}>
          {word.openGroup} <kbd>Enter</kbd>
        </button>
        <button type="button" onClick={dissolve}>
          {word.dissolve} <kbd>Ctrl Shift G</kbd>
        </button>
      </div>
    </>
  );
}

export function NoteCard({ note }: { note: Note }) {
  const word = words(useStudio((s) => s.language));
  const [text, setText] = useState(note.text);
  useEffect(() => setText(note.text), [note.text]);
  return (
    <>
      <h2>{word.note}</h2>
      <textarea
        rows={6}
        aria-label={word.note}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          write(note, event.target.value, false);
        }}
        onBlur={() => write(note, text, true)}
      />
    </>
  );
}

/** Nothing is selected: the drawing as a whole. */
export function DrawingCard() {
  const id = useStudio((s) => s.id);
  const meta = useStudio((s) => s.drawing.meta.get("meta"));
  const report = useStudio((s) => s.report);
  const word = words(useStudio((s) => s.language));
  if (!meta || !report) return null;
  const findings = report.diagnostics.map((one, i) => ({ ...one, index: one.index ?? i }));
  const text = { ...COUNT, kind: "text", default: null, choices: [], minimum: null, maximum: null } as const;
  return (
    <>
      <h2>{meta.name}</h2>
      <div className="fields">
        <Field
          attribute={{ ...text, name: word.name, choices: [] }}
          value={meta.name}
          onChange={(value) => {
            const name = showValue(readField({ ...text, name: "name", choices: [] }, showValue(value)));
            if (name && id) void attempt(api.rename(id, name));
          }}
        />
      </div>
      <Facts
        rows={[
          [word.capsules, grouped(report.capsules)],
          [word.connections, grouped(report.connections)],
          [word.parameters, grouped(report.parameters)],
          [word.multiplyAdds, grouped(report.multiply_adds)],
          ...(report.derivation ? ([[word.steps, grouped(report.derivation.steps)]] as [string, string][]) : []),
        ]}
      />
      <NeuronBlock />
      {findings.length ? <Findings findings={findings.slice(0, 30)} /> : <p className="soft">{word.well_done}</p>}
    </>
  );
}
