import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { HistoryRow } from "../api/types";
import { attempt, say } from "../app/session";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { compareStates } from "./mode";

export const FIRST: HistoryRow = { seq: 0, time: "", label: "", client: "", kind: "" };

/** Every past state, the newest first, and the state before all edits at the end. */
export function useHistory(id: string): HistoryRow[] | null {
  const [rows, setRows] = useState<HistoryRow[] | null>(null);
  const report = useStudio((s) => s.report);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new report means that something was edited
  useEffect(() => {
    let current = true;
    void attempt(api.history(id)).then(
      (found) => current && found && setRows([...[...found].sort((a, b) => b.seq - a.seq), FIRST]),
    );
    return () => {
      current = false;
    };
  }, [id, report]);
  return rows;
}

export async function restoreTo(id: string, row: HistoryRow): Promise<boolean> {
  const word = words(useStudio.getState().language);
  if ((await attempt(api.restore(id, row.seq))) === undefined) return false;
  say(`${word.restore}: ${row.label || word.first}`);
  return true;
}

/** The history of a drawing: restore a state, or choose two and compare them. */
export function HistoryList({ id }: { id: string }) {
  const rows = useHistory(id);
  const word = words(useStudio((s) => s.language));
  const [older, setOlder] = useState<number | null>(null);
  const [newer, setNewer] = useState<number | null>(null);
  if (!rows) return null;
  const now = rows[0]?.seq ?? 0;
  const after = newer ?? now;
  const before = older ?? rows.find((row) => row.seq < after)?.seq ?? 0;
  const close = () => useStudio.setState({ dialog: null });
  if (rows.length < 2) return <p className="history-hint">{word.noHistory}</p>;
  const radio = (
    name: "older" | "newer",
    row: HistoryRow,
    chosen: number,
    set: (seq: number) => void,
    off: boolean,
  ) => (
    <input
      type="radio"
      name={name}
      aria-label={`${name === "older" ? word.older : word.newer}: ${row.label || word.first}`}
      checked={chosen === row.seq}
      disabled={off}
      onChange={() => set(row.seq)}
    />
  );
  return (
    <>
      <div className="history-hint">
        <span className="soft">{word.historyHint}</span>
        <button
          type="button"
          className="button primary"
          onClick={() => {
            compareStates(before, after === now ? null : after);
            close();
          }}
        >
          {word.compareChosen}
        </button>
      </div>
      <ol className="history compared-history">
        {rows.map((row) => (
          <li key={row.seq} data-seq={row.seq}>
            {radio("older", row, before, setOlder, row.seq >= after)}
            {radio("newer", row, after, setNewer, row.seq <= before)}
            <time dateTime={row.time}>{row.time ? new Date(row.time).toLocaleTimeString() : ""}</time>
            <span>
              {row.label || word.first}
              {row.seq === now && <em className="soft"> · {word.now}</em>}
            </span>
            {row.seq !== now && (
              <button
                type="button"
                className="button"
                onClick={() => void restoreTo(id, row).then((done) => done && close())}
              >
                {word.restore}
              </button>
            )}
          </li>
        ))}
      </ol>
    </>
  );
}
