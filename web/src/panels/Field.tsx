import { type KeyboardEvent, useEffect, useId, useState } from "react";
import type { Attribute, Value } from "../api/types";
import { focusCanvas } from "../app/actions";
import { useStudio } from "../app/store";
import { isExpression, wrongValue } from "../model/values";

export const showValue = (value: Value | undefined): string => {
  if (value === null || value === undefined) return "";
  return Array.isArray(value) ? value.join("×") : String(value);
};

/** Read what was typed for an attribute; what is no value of its kind stays a text. */
export function readField(attribute: Attribute, text: string): Value {
  const trimmed = text.trim();
  if (!trimmed) return null;
  // Inside of a group any attribute may be an expression over the group's arguments.
  if (isExpression(trimmed)) return trimmed;
  const numbers = () => {
    const list = trimmed.split(/[\s,x×·]+/);
    return list.every((one) => one && !Number.isNaN(Number(one))) ? list.map(Number) : null;
  };
  switch (attribute.kind) {
    case "size":
    case "number": {
      const number = Number(trimmed.replace(/\s/g, ""));
      return Number.isNaN(number) ? trimmed : number;
    }
    case "axes": {
      const list = numbers();
      return list?.length === 1 ? (list[0] ?? trimmed) : (list ?? trimmed);
    }
    case "shape":
    case "list":
      return numbers() ?? trimmed;
    default:
      return trimmed;
  }
}

interface FieldProps {
  attribute: Attribute;
  value: Value | undefined;
  inferred?: Value | undefined;
  /** The form of what is written into a field that is empty as usual. */
  form?: string | undefined;
  disabled?: boolean | undefined;
  onChange: (value: Value) => void;
}

export function Field(props: FieldProps) {
  const { attribute, disabled } = props;
  const id = useId();
  const label = attribute.name.replaceAll("_", " ");
  return (
    <div className={`field ${attribute.kind} ${disabled ? "off" : ""}`} title={attribute.help}>
      <label htmlFor={id}>
        {label}
        {attribute.letter && <i>{attribute.letter}</i>}
      </label>
      <Control id={id} {...props} />
    </div>
  );
}

function Control(props: FieldProps & { id: string }) {
  const { attribute, value } = props;
  const dtypes = useStudio((s) => s.catalogue?.dtypes);
  const inGroup = useStudio((s) => s.path !== "");
  const [typing, setTyping] = useState(false);
  const picked = attribute.kind === "flag" || attribute.kind === "choice" || attribute.kind === "dtype";
  if (picked && (typing || isExpression(value))) return <TypedInput {...props} />;
  if (picked && inGroup)
    return (
      <span className="picked">
        <Picked {...props} dtypes={dtypes} />
        <button type="button" className="as-expression" title="= …" aria-label="=" onClick={() => setTyping(true)}>
          =
        </button>
      </span>
    );
  return picked ? <Picked {...props} dtypes={dtypes} /> : <TypedInput {...props} />;
}

function Picked({
  id,
  attribute,
  value,
  inferred,
  disabled,
  onChange,
  dtypes,
}: FieldProps & { id: string; dtypes: string[] | undefined }) {
  if (attribute.kind === "flag") {
    const on = value ?? inferred ?? attribute.default;
    return (
      <input
        id={id}
        type="checkbox"
        data-choice={attribute.name}
        disabled={disabled}
        checked={on === true}
        onChange={(event) => onChange(event.target.checked === attribute.default ? null : event.target.checked)}
      />
    );
  }
  const choices = attribute.kind === "dtype" ? (dtypes ?? []) : attribute.choices;
  const usual = showValue(inferred) || showValue(attribute.default);
  return (
    <select
      id={id}
      data-choice={attribute.name}
      disabled={disabled}
      className={value === undefined ? "inferred" : ""}
      value={showValue(value)}
      onChange={(event) => onChange(event.target.value || null)}
    >
      <option value="">{usual || "–"}</option>
      {choices
        .filter((one) => one !== usual || one === value)
        .map((one) => (
          <option key={one}>{one}</option>
        ))}
    </select>
  );
}

function TypedInput({ id, attribute, value, inferred, form, disabled, onChange }: FieldProps & { id: string }) {
  const given = showValue(value);
  const [text, setText] = useState(given);
  const [wrong, setWrong] = useState("");
  useEffect(() => {
    setText(given);
    setWrong("");
  }, [given]);
  const commit = () => {
    if (text === given) return setWrong("");
    const read = readField(attribute, text);
    const problem = wrongValue(attribute, read, useStudio.getState().language);
    setWrong(problem);
    if (!problem) onChange(read);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.key === "Enter") commit();
    else if (event.key === "Escape") {
      setText(given);
      setWrong("");
      focusCanvas([...useStudio.getState().selection][0]);
    } else if ((event.key === "ArrowUp" || event.key === "ArrowDown") && attribute.kind === "size" && Number(text)) {
      event.preventDefault();
      const next = Math.max(attribute.minimum ?? 1, Number(text) + (event.key === "ArrowUp" ? 1 : -1));
      setText(String(next));
      onChange(next);
    }
  };
  const hint = showValue(inferred) || showValue(attribute.default);
  const computed = isExpression(value) ? showValue(inferred) : "";
  const input = (
    <input
      id={id}
      data-attribute={attribute.name}
      className={`${given ? "" : "inferred"} ${wrong ? "bad" : ""} ${form ? "formed" : ""}`}
      value={text}
      disabled={disabled}
      placeholder={hint || (attribute.required ? "?" : (form ?? ""))}
      inputMode={attribute.kind === "text" ? "text" : "decimal"}
      aria-invalid={wrong !== ""}
      onChange={(event) => {
        setText(event.target.value);
        // Said of the text before; gone only when the field is left, it would move what is being clicked.
        setWrong("");
      }}
      onBlur={commit}
      onKeyDown={onKeyDown}
    />
  );
  if (wrong)
    return (
      <>
        {input}
        <small className="wrong" role="alert">
          {wrong}
        </small>
      </>
    );
  if (!computed) return input;
  return (
    <span className="computed">
      {input}
      <output htmlFor={id}>{computed}</output>
    </span>
  );
}
