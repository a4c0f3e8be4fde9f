import { useEffect, useMemo, useState } from "react";
import { api } from "../api/client";
import type { Mathematics } from "../api/types";
import { attempt } from "../app/session";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { Formula } from "../panels/Formula";
import { type Numbers, type Tensor, theoryApi, type Walk as Walked } from "./api";
import { Heading, Spotlight } from "./Heading";
import { useTheory } from "./mode";
import { HeatStrip } from "./Overlay";
import { Player } from "./Player";
import {
  cellsOf,
  drawnAs,
  editable,
  type Moment,
  momentsOf,
  nested,
  PHASES,
  shapeText,
  short,
  walkMarks,
} from "./walking";
import { fill } from "./words";

const MOST_NUMBERS = 64;
const MOST_WRITTEN = 24;
const LOSS = "L = \\sum_{H \\in O} \\tfrac{1}{2} \\lVert Y_H - T_H \\rVert^2";

interface Given {
  seed: number;
  rate: number;
  inputs: Numbers;
  targets: Numbers;
}

const START: Given = { seed: 0, rate: 0.1, inputs: {}, targets: {} };

/** The formulas of a thing, asked for once. */
function useFormulas(id: string, item: string | undefined): Mathematics | null {
  const [known, setKnown] = useState<ReadonlyMap<string, Mathematics>>(new Map());
  const there = item !== undefined && known.has(item);
  useEffect(() => {
    if (!item || there) return;
    let current = true;
    void attempt(api.mathematics(id, item)).then(
      (answer) => current && answer && setKnown((now) => new Map(now).set(item, answer)),
    );
    return () => {
      current = false;
    };
  }, [id, item, there]);
  return (item && known.get(item)) || null;
}

function formulaOf(moment: Moment, found: Mathematics | null): string {
  if (moment.phase === "loss") return LOSS;
  if (moment.phase === "backward") return found?.delta ?? "";
  if (moment.phase === "update") return found?.update ?? "";
  return (moment.letter === "U" ? found?.U : found?.Y) ?? "";
}

function TensorTable({ tensor, name }: { tensor: Tensor; name: string }) {
  const word = words(useStudio((s) => s.language));
  const across = tensor.shape.length ? (tensor.shape.at(-1) ?? 1) : 1;
  const { values } = tensor;
  return (
    <figure className="tensor" data-tensor={name}>
      <figcaption>
        <b>{name}</b> <code>{shapeText(tensor.shape)}</code>
      </figcaption>
      {values && across <= 12 ? (
        <table>
          <tbody>
            {Array.from({ length: Math.ceil(values.length / across) }, (_, row) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows of a matrix are known by their place
              <tr key={row}>
                {values.slice(row * across, (row + 1) * across).map((n, column) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: and so are its columns
                  <td key={column} className={n < 0 ? "below" : n > 0 ? "above" : ""}>
                    {short(n)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      ) : (
        <HeatStrip
          cells={cellsOf(tensor, 32)}
          label={`${name}: ${word.from} ${short(tensor.least)} ${word.to} ${short(tensor.greatest)}`}
        />
      )}
      {values?.length !== 1 && (
        <small>
          {word.norm} {short(tensor.norm)} · {word.from} {short(tensor.least)} {word.to} {short(tensor.greatest)}
        </small>
      )}
      {!values && <small className="soft">{word.largeNumbers}</small>}
    </figure>
  );
}

/** One number of an input or a target. */
function NumberField({ label, value, onChange }: { label: string; value: number; onChange: (value: number) => void }) {
  // Numbers of 32 bits have digits that nobody wrote.
  const shown = Number(value.toPrecision(6));
  const [text, setText] = useState(String(shown));
  useEffect(() => setText(String(shown)), [shown]);
  const read = Number(text);
  const bad = !text.trim() || !Number.isFinite(read);
  return (
    <label>
      <span className="mono">{label}</span>
      <input
        inputMode="decimal"
        aria-invalid={bad}
        className={bad ? "bad" : ""}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onBlur={() => !bad && read !== shown && onChange(read)}
        onKeyDown={(event) => event.key === "Enter" && !bad && read !== shown && onChange(read)}
      />
    </label>
  );
}

function Settings({ walk, given, give }: { walk: Walked; given: Given; give: (given: Given) => void }) {
  const word = words(useStudio((s) => s.language));
  const open = editable(walk, MOST_WRITTEN);
  const fields = (kind: "inputs" | "targets", tensors: ReadonlyMap<string, Tensor>) =>
    [...tensors].flatMap(([id, tensor]) =>
      (tensor.values ?? []).map((value, i, all) => (
        <NumberField
          // biome-ignore lint/suspicious/noArrayIndexKey: a number is known by its place in the tensor
          key={`${kind}-${id}-${i}`}
          label={`${kind === "targets" ? "T" : "X"} ${id}${all.length > 1 ? ` ${i + 1}` : ""}`}
          value={value}
          onChange={(next) =>
            give({
              ...given,
              [kind]: {
                ...given[kind],
                [id]: nested(
                  all.map((old, j) => (j === i ? next : old)),
                  tensor.shape,
                ),
              },
            })
          }
        />
      )),
    );
  return (
    <div className="walk-settings">
      <div>
        <NumberField
          label={word.seed}
          value={given.seed}
          onChange={(seed) => give({ ...START, rate: given.rate, seed: Math.max(0, Math.floor(seed)) % 2 ** 32 })}
        />
        <NumberField label={word.rate} value={given.rate} onChange={(rate) => give({ ...given, rate })} />
        <button
          type="button"
          className="button"
          title={word.otherNumbers}
          aria-label={word.otherNumbers}
          onClick={() => give({ ...START, rate: given.rate, seed: given.seed + 1 })}
        >
          ⚄
        </button>
      </div>
      {open ? (
        <details>
          <summary>{word.editNumbers}</summary>
          <div className="walk-fields">
            {fields("inputs", open.inputs)}
            {fields("targets", open.targets)}
          </div>
        </details>
      ) : (
        <small className="soft">{fill(word.smallInputs, { most: MOST_WRITTEN })}</small>
      )}
    </div>
  );
}

function useWalk(id: string, given: Given): { walk: Walked | null; why: string } {
  const [walk, setWalk] = useState<Walked | null>(null);
  const report = useStudio((s) => s.report);
  const columns = useStudio((s) => s.drawing.plain.size > 0);
  const word = words(useStudio((s) => s.language));
  const flaw = report?.diagnostics.find((one) => one.severity === "error")?.message;
  const ready = Boolean(report?.well_formed) && !columns;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new report means another drawing
  useEffect(() => {
    if (!ready) return;
    let current = true;
    void attempt(theoryApi.walk(id, { ...given, most: MOST_NUMBERS })).then((answer) => {
      if (!current || !answer) return;
      setWalk(answer);
      const last = answer.refused ? 0 : momentsOf(answer).length;
      useTheory.setState((now) => ({ last, at: Math.min(now.at, last) }));
    });
    return () => {
      current = false;
    };
  }, [id, given, ready, report]);
  if (columns) return { walk: null, why: word.columns };
  if (report && !report.well_formed) return { walk: null, why: fill(word.notWell, { why: flaw ?? "" }) };
  return { walk: walk?.refused ? null : walk, why: walk?.refused ?? "" };
}

/** One step of Algorithm 1 on the canvas: forwards, the loss, backwards, the update. */
export function Walk({ id }: { id: string }) {
  const [given, give] = useState<Given>(START);
  const { walk, why } = useWalk(id, given);
  const at = useTheory((s) => s.at);
  const scene = useStudio((s) => s.drawing);
  const word = words(useStudio((s) => s.language));
  const moments = useMemo(() => (walk ? momentsOf(walk) : []), [walk]);
  const now = moments[at - 1];
  useEffect(() => {
    useTheory.setState({ marks: walk ? walkMarks(moments, at, scene) : new Map() });
  }, [walk, moments, at, scene]);
  const found = useFormulas(id, now && now.phase !== "loss" ? now.item : undefined);
  if (why)
    return (
      <>
        <Heading title={word.walk} />
        <p className="finding" role="alert">
          {why}
        </p>
      </>
    );
  if (!walk)
    return (
      <>
        <Heading title={word.walk} />
        <p className="soft">{word.computing}</p>
      </>
    );
  const shown = now && drawnAs(now.item, scene);
  const loss = { before: short(walk.loss.before), after: short(walk.loss.after) };
  const spoken = now ? `${word[now.phase]}: ${now.letter} ${now.item}` : word.beforeWalk;
  const tex = now ? formulaOf(now, found) : "";
  return (
    <>
      <Heading title={word.walk}>
        <ol className="phases">
          {PHASES.map((phase) => (
            <li key={phase} aria-current={now?.phase === phase ? "step" : undefined}>
              {word[phase]}
            </li>
          ))}
        </ol>
      </Heading>
      <div className="walk">
        <div className="walk-now" aria-live="polite">
          <p className="sentence">
            {now?.phase === "loss" ? (
              fill(word.lossOf, loss)
            ) : at === moments.length && at > 0 ? (
              <>
                <b>{now?.letter}</b> {now?.item} · {fill(word.lossNow, loss)}
              </>
            ) : now ? (
              <>
                <b>{now.letter}</b> {now.item}
              </>
            ) : (
              word.beforeWalk
            )}
          </p>
          {tex && <Formula tex={tex} />}
        </div>
        <div className="walk-values">
          {now?.value && <TensorTable tensor={now.value} name={now.letter} />}
          {now?.becomes && <TensorTable tensor={now.becomes} name={`${now.letter.slice(1)} ${word.after}`} />}
        </div>
        <Settings walk={walk} given={given} give={give} />
      </div>
      <Spotlight id={shown && (scene.connection.get(shown)?.front ?? shown)} badge={now?.letter} />
      <Player spoken={spoken} />
    </>
  );
}
