import { useEffect, useMemo, useState } from "react";
import type { HistoryRow } from "../api/types";
import { fitView } from "../app/actions";
import { attempt } from "../app/session";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { grouped } from "../model/findings";
import { type Comparison, theoryApi } from "./api";
import { ComparedCanvas } from "./ComparedCanvas";
import { type Difference, KINDS, overlay, type View } from "./difference";
import { Heading } from "./Heading";
import { FIRST, restoreTo, useHistory } from "./HistoryList";
import { leave, useTheory } from "./mode";

const VIEWS: readonly View[] = ["before", "both", "after"];

export function Total({ name, values: [before, after] }: { name: string; values: [number, number] }) {
  return (
    <tr>
      <th>{name}</th>
      <td>
        {before === after ? (
          grouped(before)
        ) : (
          <>
            <del>{grouped(before)}</del> → <ins>{grouped(after)}</ins>
          </>
        )}
      </td>
    </tr>
  );
}

/** Fields have the names of the drawing file; only what the checks find has a word of the page. */
const nameOf = (name: string, word: ReturnType<typeof words>) => (name === "structure" ? word.structure : name);

export function Details({ difference }: { difference: Difference }) {
  const word = words(useStudio((s) => s.language));
  return (
    <table className="facts">
      <tbody>
        {difference.fields.map((field) => (
          <tr key={field.name}>
            <th>{nameOf(field.name || difference.of, word)}</th>
            <td>
              {difference.kind !== "added" && <del>{field.before}</del>}
              {difference.kind !== "added" && difference.kind !== "removed" && " → "}
              {difference.kind !== "removed" && <ins>{field.after}</ins>}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function ComparedInspector({
  told,
  differences,
  chosen,
  choose,
}: {
  told: Comparison;
  differences: Difference[];
  chosen: string | null;
  choose: (id: string | null) => void;
}) {
  const word = words(useStudio((s) => s.language));
  const shown = chosen ? differences.filter((one) => one.id === chosen || one.shown === chosen) : [];
  return (
    <aside id="inspector" aria-label={word.differences}>
      <div className="scroll" role="region" aria-label={word.differences}>
        <h2>{word.differences}</h2>
        <table className="facts totals">
          <tbody>
            <Total name={word.parameters} values={told.parameters} />
            <Total name={word.multiplyAdds} values={told.multiply_adds} />
          </tbody>
        </table>
        {!differences.length && <p className="soft">{word.noDifference}</p>}
        {chosen && (
          <section className="chosen-difference" aria-live="polite">
            <h3>{chosen}</h3>
            {shown.length ? (
              shown.map((one) => <Details key={`${one.of}-${one.id}`} difference={one} />)
            ) : (
              <p className="soft">{word.noDifference}</p>
            )}
            <button type="button" className="button" onClick={() => choose(null)}>
              {word.allDifferences}
            </button>
          </section>
        )}
        {!chosen &&
          KINDS.map((kind) => {
            const own = differences.filter((one) => one.kind === kind);
            return (
              own.length > 0 && (
                <section key={kind}>
                  <h3>
                    {word[kind]} · {own.length}
                  </h3>
                  <ul className="differences">
                    {own.slice(0, 200).map((one) => (
                      <li key={`${one.of}-${one.id}`}>
                        <button
                          type="button"
                          className={one.kind}
                          data-difference={one.id}
                          onClick={() => choose(one.shown ?? one.id)}
                        >
                          <b>{one.id}</b>
                          <small>
                            {kind === "changed" || kind === "follows"
                              ? one.fields
                                  .slice(0, 2)
                                  .map((field) => `${nameOf(field.name, word)} ${field.before} → ${field.after}`)
                                  .join(", ")
                              : one.of}
                          </small>
                        </button>
                      </li>
                    ))}
                  </ul>
                </section>
              )
            );
          })}
      </div>
    </aside>
  );
}

interface Pair {
  rows: HistoryRow[];
  before: HistoryRow;
  after: HistoryRow;
  now: number;
}

function ComparedPanel({ id, pair, view, show }: { id: string; pair: Pair; view: View; show: (view: View) => void }) {
  const word = words(useStudio((s) => s.language));
  const { rows, before, after, now } = pair;
  const set = (a: number, b: number) => useTheory.setState({ pair: [a, b === now ? null : b] });
  const name = (row: HistoryRow) =>
    `${row.seq === now ? `${word.now}: ` : ""}${row.label || word.first}${row.time ? ` · ${new Date(row.time).toLocaleTimeString()}` : ""}`;
  const at = rows.findIndex((row) => row.seq === after.seq);
  const shift = (by: number) => {
    const [newer, older] = [rows[at + by], rows[at + by + 1]];
    if (newer && older) set(older.seq, newer.seq);
  };
  const choice = (
    label: string,
    row: HistoryRow,
    allowed: (one: HistoryRow) => boolean,
    pick: (seq: number) => void,
  ) => (
    <label>
      <span className="soft">{label}</span>
      <select value={row.seq} onChange={(event) => pick(Number(event.target.value))}>
        {rows.filter(allowed).map((one) => (
          <option key={one.seq} value={one.seq}>
            {name(one)}
          </option>
        ))}
      </select>
    </label>
  );
  const restore = (row: HistoryRow) => void restoreTo(id, row).then((done) => done && leave());
  return (
    <>
      <Heading title={word.compare}>
        <div className="segments" role="group" aria-label={word.compare}>
          {VIEWS.map((one) => (
            <button type="button" key={one} aria-pressed={view === one} onClick={() => show(one)}>
              {word[one]}
            </button>
          ))}
        </div>
        <ul className="legend">
          {KINDS.map((kind) => (
            <li key={kind} className={kind}>
              {word[kind]}
            </li>
          ))}
        </ul>
      </Heading>
      <div className="compared-pair">
        <button
          type="button"
          className="button icon"
          aria-label={word.earlierPair}
          title={word.earlierPair}
          disabled={at + 2 >= rows.length}
          onClick={() => shift(1)}
        >
          ‹
        </button>
        {choice(
          word.older,
          before,
          (row) => row.seq < after.seq,
          (seq) => set(seq, after.seq),
        )}
        <span aria-hidden="true">→</span>
        {choice(
          word.newer,
          after,
          (row) => row.seq > before.seq,
          (seq) => set(before.seq, seq),
        )}
        <button
          type="button"
          className="button icon"
          aria-label={word.laterPair}
          title={word.laterPair}
          disabled={at <= 0}
          onClick={() => shift(-1)}
        >
          ›
        </button>
        <span className="grow" />
        <button type="button" className="button" onClick={() => restore(before)}>
          {word.restoreBefore}
        </button>
        {after.seq !== now && (
          <button type="button" className="button" onClick={() => restore(after)}>
            {word.restoreAfter}
          </button>
        )}
      </div>
    </>
  );
}

/** Two states on one canvas: what came is green, what went a red ghost, what is different marked. */
export function Compare({ id }: { id: string }) {
  const rows = useHistory(id);
  const pair = useTheory((s) => s.pair);
  const [told, setTold] = useState<Comparison | null>(null);
  const [view, show] = useState<View>("both");
  const [chosen, choose] = useState<string | null>(null);
  const now = rows?.[0]?.seq ?? 0;
  const [a, b] = [pair[0], pair[1] ?? now];
  const known = rows !== null;
  useEffect(() => {
    if (!known) return;
    let current = true;
    void attempt(theoryApi.compare(id, a, b)).then((answer) => {
      if (!current || !answer) return;
      setTold(answer);
      choose(null);
    });
    return () => {
      current = false;
    };
  }, [id, a, b, known]);
  // The canvas comes anew when the comparison goes, and shows the whole drawing.
  useEffect(() => () => void setTimeout(fitView, 150), []);
  const overlaid = useMemo(() => (told ? overlay(told, view) : null), [told, view]);
  if (!rows || !told || !overlaid) return <main id="canvas" tabIndex={-1} />;
  const row = (seq: number) => rows.find((one) => one.seq === seq) ?? FIRST;
  return (
    <>
      <ComparedCanvas overlaid={overlaid} structures={told.structures} chosen={chosen} choose={choose} />
      <ComparedInspector told={told} differences={overlaid.differences} chosen={chosen} choose={choose} />
      <section id="theory" aria-label={words(useStudio.getState().language).compare}>
        <ComparedPanel id={id} pair={{ rows, before: row(a), after: row(b), now }} view={view} show={show} />
      </section>
    </>
  );
}
