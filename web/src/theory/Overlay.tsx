import { type Mark, type Row, useTheory } from "./mode";

/** Numbers as a strip: violet above zero, amber below, stronger the farther. */
export function HeatStrip({ cells, label }: { cells: number[]; label?: string }) {
  return (
    <span className="heat" {...(label ? { role: "img", "aria-label": label } : { "aria-hidden": true })}>
      {cells.map((cell, i) => (
        <i
          // biome-ignore lint/suspicious/noArrayIndexKey: cells are places in a strip
          key={i}
          className={cell < 0 ? "below" : "above"}
          style={{ opacity: 0.08 + 0.92 * Math.abs(cell) }}
        />
      ))}
    </span>
  );
}

function Rows({ rows }: { rows: Row[] }) {
  return (
    <span className="mark-rows">
      {rows.map((row) => (
        <span key={row.letter}>
          <b>{row.letter}</b>
          {row.text ? <code>{row.text}</code> : <HeatStrip cells={row.cells} />}
        </span>
      ))}
    </span>
  );
}

export const useMark = (id: string): Mark | undefined => useTheory((s) => s.marks.get(id));

/** What the mathematics marks on a vertex; how the vertex itself looks follows from the class. */
export function VertexMark({ id }: { id: string }) {
  const mark = useMark(id);
  if (!mark) return null;
  return (
    <span className={`mark ${mark.tone}`}>
      {mark.badge && <b className="rule-badge">{mark.badge}</b>}
      {mark.rows && mark.rows.length > 0 && <Rows rows={mark.rows} />}
    </span>
  );
}

/** What the mathematics marks on a line, beside its badge. */
export function WireMark({ id }: { id: string }) {
  const mark = useMark(id);
  return mark?.rows?.length ? <Rows rows={mark.rows} /> : null;
}
