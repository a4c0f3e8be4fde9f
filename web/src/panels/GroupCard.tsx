import { useState } from "react";
import type { Attributes, Group, Value } from "../api/types";
import { performOutside } from "../app/session";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { usesOf } from "../model/drawing";
import { findingsOf, grouped, structureText } from "../model/findings";
import { checkedUse, type Level } from "../model/within";
import { Facts, Findings } from "./Cards";
import { showValue } from "./Field";

const NAME = /^[\p{L}\p{N}_][\p{L}\p{N}_-]{0,63}$/u;

const put = (label: string, group: Group) =>
  performOutside({ label: `${label} of ${group.id}`, patches: [{ put: "group", id: group.id, record: group }] });

/** Read what an argument is when a use states none: a number, true or false, else a text. */
export function readArgument(text: string): Value {
  const trimmed = text.trim();
  if (trimmed === "true" || trimmed === "false") return trimmed === "true";
  return trimmed !== "" && !Number.isNaN(Number(trimmed)) ? Number(trimmed) : trimmed;
}

/** A row of a name and what it stands for, which is typed or chosen, and can be taken away. */
function Row({
  name,
  value,
  choices,
  onChange,
  onRemove,
}: {
  name: string;
  value: string;
  choices?: string[];
  onChange: (text: string) => void;
  onRemove: () => void;
}) {
  const word = words(useStudio((s) => s.language));
  return (
    <div className="pair">
      <code>{name}</code>
      {choices ? (
        <select aria-label={name} value={value} onChange={(event) => onChange(event.target.value)}>
          {choices.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      ) : (
        <input
          key={value}
          aria-label={name}
          data-argument={name}
          defaultValue={value}
          onBlur={(event) => event.target.value !== value && onChange(event.target.value)}
          onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
        />
      )}
      <button type="button" aria-label={`${word.remove} ${name}`} title={word.remove} onClick={onRemove}>
        ×
      </button>
    </div>
  );
}

/** A row that adds a name with what it stands for. */
function NewRow({
  what,
  taken,
  choices,
  onAdd,
}: {
  what: string;
  taken: string[];
  choices?: string[];
  onAdd: (name: string, text: string) => void;
}) {
  const [name, setName] = useState("");
  const [text, setText] = useState("");
  const word = words(useStudio((s) => s.language));
  const given = choices ? text || choices[0] || "" : text.trim();
  const fine = NAME.test(name) && !taken.includes(name) && name !== "copy" && given !== "";
  return (
    <form
      className="pair new-pair"
      onSubmit={(event) => {
        event.preventDefault();
        if (!fine) return;
        onAdd(name, given);
        setName("");
        setText("");
      }}
    >
      <input
        value={name}
        placeholder={what}
        aria-label={what}
        aria-invalid={name !== "" && !NAME.test(name)}
        onChange={(event) => setName(event.target.value.trim())}
      />
      {choices ? (
        <select aria-label={word.capsule} value={given} onChange={(event) => setText(event.target.value)}>
          {choices.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      ) : (
        <input value={text} placeholder="64" aria-label={word.usual} onChange={(e) => setText(e.target.value)} />
      )}
      <button type="submit" aria-label={`${word.add} ${what}`} title={word.add} disabled={!fine}>
        +
      </button>
    </form>
  );
}

const without = <T,>(all: Record<string, T> | undefined, name: string): Record<string, T> =>
  Object.fromEntries(Object.entries(all ?? {}).filter(([key]) => key !== name));

/** Nothing is selected inside an opened group: the group itself, with its arguments and ports. */
export function GroupCard({ level }: { level: Level }) {
  const drawing = useStudio((s) => s.drawing);
  const report = useStudio((s) => s.report);
  const word = words(useStudio((s) => s.language));
  const { group } = level;
  const inner = [...(group.capsules ?? []), ...(group.uses ?? [])].map((one) => one.id);
  const uses = usesOf(drawing, group.id);
  const around = level.at.slice(0, level.at.length - level.use.length);
  const checked = checkedUse({ report, scene: drawing, path: around }, level.record);
  const findings = findingsOf(report, level.path.slice(0, -1));
  const given: Attributes = { ...group.arguments, ...level.record.arguments };
  const ports = (kind: "inputs" | "outputs", title: string) => (
    <>
      <h3>{title}</h3>
      {Object.entries(group[kind] ?? {}).map(([name, id]) => (
        <Row
          key={name}
          name={name}
          value={id}
          choices={inner}
          onChange={(next) => put(`change the port ${name}`, { ...group, [kind]: { ...group[kind], [name]: next } })}
          onRemove={() => put(`remove the port ${name}`, { ...group, [kind]: without(group[kind], name) })}
        />
      ))}
      {inner.length > 0 && (
        <NewRow
          what={word.port}
          taken={Object.keys(group[kind] ?? {})}
          choices={inner}
          onAdd={(name, id) => put(`add the port ${name}`, { ...group, [kind]: { ...group[kind], [name]: id } })}
        />
      )}
    </>
  );
  return (
    <>
      <h2>
        {group.label || group.id} <span className="soft">{level.use}</span>
      </h2>
      {(uses.length > 1 || level.repeat > 1) && <p className="soft">{word.allUses}</p>}
      <Findings findings={findings.slice(0, 12)} />
      <Facts
        rows={[
          [word.output, structureText(checked?.output)],
          [word.parameters, checked ? grouped(checked.parameters) : ""],
          [word.multiplyAdds, checked ? grouped(checked.multiply_adds) : ""],
        ]}
      />
      <h3>{word.groupArguments}</h3>
      <p className="soft">{word.argumentHint}</p>
      {Object.entries(group.arguments ?? {}).map(([name, usual]) => (
        <Row
          key={name}
          name={given[name] === usual ? name : `${name} (${showValue(given[name])})`}
          value={showValue(usual)}
          onChange={(text) =>
            put(`change the argument ${name}`, {
              ...group,
              arguments: { ...group.arguments, [name]: readArgument(text) },
            })
          }
          onRemove={() => put(`remove the argument ${name}`, { ...group, arguments: without(group.arguments, name) })}
        />
      ))}
      <NewRow
        what={word.argument}
        taken={Object.keys(group.arguments ?? {})}
        onAdd={(name, text) =>
          put(`add the argument ${name}`, { ...group, arguments: { ...group.arguments, [name]: readArgument(text) } })
        }
      />
      {ports("inputs", word.inputs)}
      {ports("outputs", word.outputs)}
    </>
  );
}
