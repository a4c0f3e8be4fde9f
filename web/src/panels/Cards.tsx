import type { Attribute, Attributes, Capsule, Connection, Value } from "../api/types";
import { applyFix, openToNeurons } from "../app/actions";
import { perform } from "../app/session";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { SmallSign } from "../glyphs/Glyphs";
import {
  capsuleSymbol,
  changeAttribute,
  changeCapsule,
  changeConnection,
  connectionSymbol,
  proposals,
  putCapsule,
} from "../model/compose";
import { vertexOf } from "../model/drawing";
import { type Finding, grouped, structureText } from "../model/findings";
import { capsuleAt, findingsAt, isDoor, lineAt, outputAt, type Sight } from "../model/within";
import { Field } from "./Field";
import { Formula } from "./Formula";
import { facesOf } from "./faces";
import { MathematicsCard } from "./MathematicsCard";
import { PortChoice, PortList } from "./PortCards";

/** The report and the path of what the canvas shows. */
export function useSight(): Sight {
  const report = useStudio((s) => s.report);
  const scene = useStudio((s) => s.scene);
  const path = useStudio((s) => s.path);
  return { report, scene, path };
}

/** What is wrong, with its fix. An empty drawing is not: nobody errs who has not begun yet. */
export function Findings({ findings }: { findings: readonly Finding[] }) {
  const word = words(useStudio((s) => s.language));
  return (
    <>
      {findings.map((one) => (
        <div key={one.index} className={`finding ${one.rule === "empty" ? "hint" : one.severity}`} role="alert">
          <p>{one.message}</p>
          {one.fix && (
            <button type="button" className="fix" data-rule={one.rule} onClick={() => applyFix(one.index)}>
              {word.fix}: {one.fix.label}
            </button>
          )}
        </div>
      ))}
    </>
  );
}

export function Facts({ rows }: { rows: [string, string][] }) {
  return (
    <table className="facts">
      <tbody>
        {rows.map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{value || "?"}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface AttributesProps {
  declared: Attribute[];
  stated: Attributes | undefined;
  inferred: Attributes | undefined;
  onChange: (name: string, value: Value) => void;
}

/** What is usual stands open; what is rarely changed folds away, unless it was changed. */
function AttributeFields({ declared, stated, inferred, onChange }: AttributesProps) {
  const word = words(useStudio((s) => s.language));
  const isFirst = (one: Attribute) =>
    stated?.[one.name] !== undefined || one.letter !== "" || one.required || ["padding", "same"].includes(one.name);
  const fields = (list: Attribute[]) => (
    <div className="fields">
      {list.map((one) => (
        <Field
          key={one.name}
          attribute={one}
          value={stated?.[one.name]}
          inferred={inferred?.[one.name]}
          onChange={(value) => onChange(one.name, value)}
        />
      ))}
    </div>
  );
  const [first, rest] = [declared.filter(isFirst), declared.filter((one) => !isFirst(one))];
  return (
    <>
      {fields(first)}
      {rest.length > 0 && (
        <details>
          <summary>
            {word.more} ({rest.length})
          </summary>
          {fields(rest)}
        </details>
      )}
    </>
  );
}

const dtyped = (structure: Parameters<typeof structureText>[0]) =>
  structure ? `${structureText(structure)} ${structure.dtype}` : "";

export function ConnectionCard({ connection }: { connection: Connection }) {
  const catalogue = useStudio((s) => s.catalogue);
  const scene = useStudio((s) => s.scene);
  const checked = lineAt(useSight(), connection.id);
  const findings = useStudio((s) => findingsAt(s, connection.id));
  const word = words(useStudio((s) => s.language));
  const symbol = catalogue && connectionSymbol(catalogue, connection.symbol);
  const front = vertexOf(scene, connection.front);
  if (!catalogue || !symbol || !front) return null;
  const fitting = proposals(catalogue, scene, connection.back, front, connection.port);
  return (
    <>
      <h2>
        {symbol.title}{" "}
        <span className="soft">
          {connection.back} → {connection.front}
        </span>
      </h2>
      <p className="tooltip">{symbol.tooltip}</p>
      <Findings findings={findings} />
      <div className="choices" role="group" aria-label={word.changeBy} title={word.changeBy}>
        {fitting.map((id) => {
          const one = connectionSymbol(catalogue, id);
          return one ? (
            <button
              type="button"
              key={id}
              aria-pressed={id === symbol.id}
              title={one.title}
              aria-label={one.title}
              onClick={() => perform(changeConnection(catalogue, connection, id))}
            >
              <SmallSign symbol={one} />
            </button>
          ) : null;
        })}
      </div>
      <PortChoice connection={connection} />
      <AttributeFields
        declared={symbol.attributes}
        stated={connection.attributes}
        inferred={checked?.inferred}
        onChange={(name, value) => perform(changeAttribute(scene, connection.id, name, value))}
      />
      <h3>{word.structures}</h3>
      <Facts
        rows={[
          [word.backEnd, dtyped(checked?.back_end)],
          [
            word.weight,
            checked
              ? (checked.weight_text ??
                (Object.values(checked.weights)
                  .map((one) => one.join("×"))
                  .join(", ") ||
                  "–"))
              : "",
          ],
          [word.frontEnd, dtyped(checked?.front_end)],
          [word.parameters, checked ? grouped(checked.parameters) : ""],
          [word.multiplyAdds, checked ? grouped(checked.multiply_adds) : ""],
        ]}
      />
      <CheckedFormula item={connection.id} formula={symbol.formula} />
    </>
  );
}

/** The mathematics of the thing where the drawing tells it, else the formula of its symbol. */
function CheckedFormula({ item, formula }: { item: string; formula: string }) {
  const id = useStudio((s) => s.id);
  const plain = (
    // A long formula is scrolled by the keys, too.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached
    <div className="formulas" tabIndex={0}>
      <Formula tex={formula} />
    </div>
  );
  return id ? <MathematicsCard id={id} item={item} short={plain} /> : plain;
}

function Worn({ capsule }: { capsule: Capsule }) {
  const catalogue = useStudio((s) => s.catalogue);
  const scene = useStudio((s) => s.scene);
  const word = words(useStudio((s) => s.language));
  if (!catalogue) return null;
  const worn = capsule.wears ?? [];
  const possible = catalogue.parts.filter(
    (part) => part.ranks.includes(capsule.rank) && !worn.some((one) => one.part === part.id),
  );
  const put = (wears: Capsule["wears"], label: string) => {
    const { wears: _, ...bare } = scene.capsule.get(capsule.id) ?? capsule;
    perform({ label, patches: [putCapsule(wears?.length ? { ...bare, wears } : bare)] });
  };
  return (
    <>
      <h3>{word.wears}</h3>
      {worn.map((one) => {
        const part = catalogue.parts.find((candidate) => candidate.id === one.part);
        return (
          <div key={one.part} className="worn">
            <div className="worn-head" title={part?.tooltip}>
              <b>{part?.title ?? one.part}</b>
              <button
                type="button"
                onClick={() =>
                  put(
                    worn.filter((other) => other !== one),
                    `take ${one.part} off ${capsule.id}`,
                  )
                }
              >
                {word.takeOff}
              </button>
            </div>
            <AttributeFields
              declared={part?.attributes ?? []}
              stated={one.attributes}
              inferred={undefined}
              onChange={(name, value) => {
                const { [name]: _, ...others } = one.attributes ?? {};
                const attributes = value === null ? others : { ...others, [name]: value };
                put(
                  worn.map((other) => (other === one ? { part: one.part, attributes } : other)),
                  `change ${one.part} at ${capsule.id}`,
                );
              }}
            />
          </div>
        );
      })}
      {possible.length > 0 && (
        <select
          className="wear"
          aria-label={word.wear}
          value=""
          onChange={(event) =>
            put([...worn, { part: event.target.value }], `wear ${event.target.value} at ${capsule.id}`)
          }
        >
          <option value="">{word.wear}</option>
          {possible.map((part) => (
            <option key={part.id} value={part.id}>
              {part.title}
            </option>
          ))}
        </select>
      )}
    </>
  );
}

export function CapsuleCard({ capsule }: { capsule: Capsule }) {
  const inGroup = useStudio((s) => s.scope.length > 0);
  const catalogue = useStudio((s) => s.catalogue);
  const scene = useStudio((s) => s.scene);
  const sight = useSight();
  const checked = capsuleAt(sight, capsule.id);
  const findings = useStudio((s) => findingsAt(s, capsule.id));
  const word = words(useStudio((s) => s.language));
  const symbol = catalogue && capsuleSymbol(catalogue, capsule.symbol);
  const face = symbol?.faces[String(capsule.rank)];
  if (!catalogue || !symbol || !face) return null;
  const rows: [string, string][] = [
    [word.totalInput, dtyped(checked ? checked.total_input : outputAt(sight, capsule.id))],
    [word.output, dtyped(outputAt(sight, capsule.id))],
  ];
  const listed = outputAt(sight, capsule.id)?.listed;
  if (listed) rows.push(["", listed]);
  if (checked?.parameter_count !== undefined) rows.push([word.parameters, grouped(checked.parameter_count)]);
  return (
    <>
      <h2>
        {face.title} <span className="soft">{capsule.id}</span>
      </h2>
      <p className="tooltip">{symbol.tooltip}</p>
      {isDoor(sight, capsule.id) && <p className="soft">{word.door}</p>}
      <Findings findings={findings} />
      <div className="fields">
        <div className="field wide">
          <label htmlFor="capsule-symbol">{word.capsule}</label>
          <select
            id="capsule-symbol"
            value={`${symbol.id}/${capsule.rank}`}
            onChange={(event) => {
              const next = facesOf(catalogue).find((one) => one.key === event.target.value);
              if (next) perform(changeCapsule(catalogue, capsule, next));
            }}
          >
            {facesOf(catalogue).map((one) => (
              <option key={one.key} value={one.key}>
                {one.title}
              </option>
            ))}
          </select>
        </div>
        <Field
          attribute={{ ...LABEL, name: word.label }}
          value={capsule.label}
          onChange={(value) => {
            const { label: _, ...bare } = capsule;
            perform({
              label: `label ${capsule.id}`,
              patches: [putCapsule(value ? { ...bare, label: String(value) } : bare)],
            });
          }}
        />
      </div>
      <AttributeFields
        declared={face.attributes}
        stated={capsule.attributes}
        inferred={checked?.inferred}
        onChange={(name, value) => perform(changeAttribute(scene, capsule.id, name, value))}
      />
      <Worn capsule={capsule} />
      <PortList capsule={capsule} />
      <h3>{word.structures}</h3>
      <Facts rows={rows} />
      <CheckedFormula item={capsule.id} formula={symbol.formula} />
      {capsule.rank > 0 && !symbol.data && !inGroup && (
        <div className="stacked">
          <button type="button" onClick={() => void openToNeurons(capsule.id)}>
            {word.openCapsule}
          </button>
        </div>
      )}
    </>
  );
}

const LABEL: Attribute = {
  name: "label",
  kind: "text",
  help: "How the drawing names it.",
  default: null,
  inferred: true,
  required: false,
  letter: "",
  minimum: null,
  maximum: null,
  choices: [],
  axes: 0,
  unit: "",
};
