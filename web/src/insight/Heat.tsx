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
  /** Numbers that are as strong as their share of the row, with what is written for each. */
  text?: (value: number) => string;
  chosen?: readonly [number, number] | null;
  onChoose?: (row: number, column: number) => void;
}

/** Beyond so many cells nobody reads numbers in them: they become one picture. */
const MOST_CELLS = 900;

/** A table whose cells are coloured by their numbers, with its names on both sides. */
export function Heat({ rows, across, down, label, axes, text = brief, chosen, onChoose }: HeatProps) {
  const far = Math.max(1e-12, ...rows.map((row) => Math.max(...row.map((value) => value ?? 0))));
  if (rows.length * across.length > MOST_CELLS)
    return (
      <figure className="heat-picture">
        <Raster picture={{ rows: rows.map((row) => [...row]) }} kind="sequential" className="matrix" label={label} />
        <figcaption>
          {axes?.[0]} {down[0]} … {down.at(-1)} · {axes?.[1]} {across[0]} … {across.at(-1)} · 0 – {text(far)}
        </figcaption>
      </figure>
    );
  const name = (i: number, j: number) => [axes?.[0] ?? "", down[i], axes?.[1] ?? "", across[j]].join(" ").trim();
  return (
    <table className="heat-table" aria-label={label}>
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
              {down[i]}
            </th>
            {row.map((value, j) => (
              <Cell
                // biome-ignore lint/suspicious/noArrayIndexKey: and a cell in it
                key={j}
                value={value ?? 0}
                share={Math.sqrt((value ?? 0) / far)}
                text={text(value ?? 0)}
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
  );
}

interface CellProps {
  value: number;
  share: number;
  text: string;
  name: string;
  at: [number, number];
  chosen: boolean;
  onChoose: HeatProps["onChoose"];
}

function Cell({ value, share, text, name, at, chosen, onChoose }: CellProps) {
  const theme = useStudio((s) => s.theme);
  const fill = sequential(share, theme);
  const style = value ? { background: css(fill), color: css(inkOn(fill)) } : undefined;
  const said = `${name}: ${value ? text : 0}`;
  if (!onChoose)
    return (
      <td style={style} title={said}>
        {text}
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
        {text}
      </button>
    </td>
  );
}
