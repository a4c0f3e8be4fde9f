import type { ReactNode } from "react";
import type { Attributes, RecipeField, Value } from "../api/types";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { Field } from "./Field";
import { asAttribute, FORMS, isIdle, SECTIONED, SECTIONS } from "./recipe";

interface FieldsProps {
  list: RecipeField[];
  values: Attributes;
  onChange: (name: string, value: Value) => void;
}

export function Fields({ list, values, onChange }: FieldsProps) {
  return list.flatMap((field) => {
    const attribute = asAttribute(field);
    const change = (value: Value) => onChange(field.name, value);
    const idle = isIdle(field.name, values);
    const off = Boolean(field.missing) || idle;
    return attribute
      ? [
          <Field
            key={field.name}
            attribute={attribute}
            value={idle ? (attribute.kind === "flag" ? false : undefined) : values[field.name]}
            form={FORMS[field.name]}
            disabled={off}
            onChange={change}
          />,
        ]
      : [];
  });
}

/** The groups of the drawing, to choose those whose values are computed again. */
function Groups({ field, chosen, onChange }: { field: RecipeField; chosen: Value; onChange: (value: Value) => void }) {
  const drawing = useStudio((s) => s.drawing);
  const named = Array.isArray(chosen) ? chosen.map(String) : [];
  const names = [...new Set(["all", ...drawing.group.keys(), ...named])];
  if (!drawing.use.size && !named.length) return null;
  const all = named.includes("all");
  const turn = (name: string, on: boolean) => {
    const next = on ? (name === "all" ? ["all"] : [...named, name]) : named.filter((one) => one !== name);
    onChange(next.length ? next : null);
  };
  return (
    <fieldset className="field wide groups-again" title={field.help}>
      <legend>{field.name}</legend>
      {names.map((name) => (
        <label key={name}>
          <input
            type="checkbox"
            data-recompute={name}
            checked={all || named.includes(name)}
            disabled={all && name !== "all"}
            onChange={(event) => turn(name, event.currentTarget.checked)}
          />
          {name}
        </label>
      ))}
    </fieldset>
  );
}

/** Everything else that a recipe says, by what it is about; what has no section stands with the first, given here. */
export function RecipeSections({ list, values, onChange, first }: FieldsProps & { first: ReactNode }) {
  const word = words(useStudio((s) => s.language));
  const named = (names: readonly string[]) => names.flatMap((name) => list.filter((field) => field.name === name));
  return (
    <>
      <div className="fields">
        {first}
        <Fields list={list.filter((field) => !SECTIONED.includes(field.name))} values={values} onChange={onChange} />
      </div>
      {(Object.keys(SECTIONS) as (keyof typeof SECTIONS)[]).map((section) => {
        const fields = named(SECTIONS[section]);
        const missing = fields.find((field) => field.missing)?.missing;
        const groups = fields.find((field) => field.name === "recompute");
        return (
          <section key={section} data-section={section}>
            <h4>{word[section]}</h4>
            {missing && (
              <p className="missing">
                {word.workersMissing} <code>{missing}</code>
              </p>
            )}
            <div className={`fields ${section}`}>
              <Fields list={fields} values={values} onChange={onChange} />
              {groups && (
                <Groups
                  field={groups}
                  chosen={values.recompute ?? null}
                  onChange={(value) => onChange("recompute", value)}
                />
              )}
            </div>
          </section>
        );
      })}
    </>
  );
}
