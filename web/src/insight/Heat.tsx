import { useStudio } from "../app/store";
import { css, inkOn, sequential } from "./colour";
import { brief } from "./measures";
import { Raster } from "./Pictures";

interface HeatProps {
  rows: readonly (readonly (number | null)[])[];
  across: readonly string[];
  down: readonly string[];
  label: string;
  axes?: [string, string];
  /** What is written for each number. */
  text?: (value: number) => string;
  /** Colours go evenly from the least to the greatest number; else from nought, the small ones raised. */
  even?: boolean;
  chosen?: readonly [number, number] | null;
  onChoose?: (row: number, column: number) => void;
}

/** Beyond so many cells there is no room for numbers, and beyond so many they become one picture. */
const MOST_WRITTEN = 400;
const MOST_CELLS = 2500;
const LABELLED = 8;

function Range({ low, high, text }: { low: number; high: number; text: (value: number) => string }) {
  return (
    <span className="heat-range">
      {text(low)}
      <Raster picture={{ rows: [Array.from({ length: 32 }, (_, i) => i / 31)] }} kind="sequential" far={1} />
      {text(high)}
    </span>
  );
}

const ends = (axis: string | undefined, names: readonly string[]) => `${axis ?? ""} ${names[0]} … ${names.at(-1)}`;

function HeatPicture({ rows, label, told }: Pick<HeatProps, "rows" | "label"> & { told: string }) {
  return (
    <figure className="heat-picture">
      <Raster picture={{ rows: rows.map((row) => [...row]) }} kind="sequential" className="matrix" label={label} />
      <figcaption>{told}</figcaption>
    </figure>
  );
}

/** A table whose cells are coloured by their numbers, with its names on both sides. */
export function Heat({ rows, across, down, label, axes, text = brief, even = false, chosen, onChoose }: HeatProps) {
  const far = Math.max(1e-12, ...rows.map((row) => Math.max(...row.map((value) => value ?? 0))));
  const low = even ? Math.min(far, ...rows.map((row) => Math.min(...row.map((value) => value ?? far)))) : 0;
  const dense = rows.length * across.length > (onChoose ? MOST_WRITTEN : MOST_WRITTEN / 4);
  const shareOf = (value: number) => (even ? (value - low) / (far - low || 1) : Math.sqrt(value / far));
  const told = `${ends(axes?.[0], down)} · ${ends(axes?.[1], across)} · ${text(low)} – ${text(far)}`;
  if (rows.length * across.length > MOST_CELLS) return <HeatPicture rows={rows} label={label} told={told} />;
  const name = (i: number, j: number) => [axes?.[0] ?? "", down[i], axes?.[1] ?? "", across[j]].join(" ").trim();
  return (
    <>
      {even && <Range low={low} high={far} text={text} />}
      <table className={`heat-table ${dense ? "dense" : ""}`} aria-label={label}>
        {axes && (
          <caption>
            ↓ {axes[0]} → {axes[1]}
          </caption>
        )}
        <thead>
          <tr>
            <td />
            {across.map((title, j) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a column is known by its place
              <th scope="col" key={j} title={title}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: and so is a row
            <tr key={i}>
              <th scope="row" title={down[i]}>
                {dense && i % LABELLED ? "" : down[i]}
              </th>
              {row.map((value, j) => (
                <Cell
                  // biome-ignore lint/suspicious/noArrayIndexKey: and a cell in it
                  key={j}
                  value={value ?? 0}
                  share={shareOf(value ?? 0)}
                  text={text(value ?? 0)}
                  written={!dense}
                  name={name(i, j)}
                  at={[i, j]}
                  chosen={chosen?.[0] === i && chosen[1] === j}
                  onChoose={onChoose}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

interface CellProps {
  value: number;
  share: number;
  text: string;
  written: boolean;
  name: string;
  at: [number, number];
  chosen: boolean;
  onChoose: HeatProps["onChoose"];
}

function Cell({ value, share, text, written, name, at, chosen, onChoose }: CellProps) {
  const theme = useStudio((s) => s.theme);
  const fill = sequential(share, theme);
  const style = value ? { background: css(fill), color: css(inkOn(fill)) } : undefined;
  const said = `${name}: ${value ? text : 0}`;
  if (!onChoose)
    return (
      <td style={style} title={said}>
        {written && text}
      </td>
    );
  return (
    <td>
      <button
        type="button"
        style={style}
        className={at[0] === at[1] ? "diagonal" : ""}
        data-cell={at.join("-")}
        aria-pressed={chosen}
        aria-label={said}
        title={said}
        onClick={() => onChoose(...at)}
      >
        {written && text}
      </button>
    </td>
  );
}
