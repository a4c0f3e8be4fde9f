import { type ReactNode, useState } from "react";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { accuracyOf, percent, qualityOf, sharesOf, stateWord } from "../runs/listing";
import type { SweepDetail, TrialRow } from "./api";
import { resultText, shortPath, sortedTrials, type TrialColumn, valueText } from "./axes";

interface TrialsProps {
  sweep: SweepDetail;
  rows: readonly TrialRow[];
  title: string;
  hovered: number | null;
  chosen: number | null;
  onHover: (trial: number | null) => void;
  onChoose: (trial: number) => void;
}

/** The trials as a table, the best first until a column is chosen. */
export function Trials({ sweep, rows, title, hovered, chosen, onHover, onChoose }: TrialsProps) {
  const word = words(useStudio((s) => s.language));
  const [order, setOrder] = useState<{ column: TrialColumn | null; down: boolean }>({ column: null, down: false });
  const paths = Object.keys(sweep.space);
  const quality = rows.map((trial) => sharesOf(trial.scores)[0]?.name).find(Boolean);
  const accuracy = quality !== undefined && qualityOf(sweep.monitor) !== quality;
  const heading = (column: TrialColumn, label: string, number = true): ReactNode => (
    <th
      scope="col"
      className={number ? "number" : ""}
      aria-sort={order.column === column ? (order.down ? "descending" : "ascending") : "none"}
    >
      <button
        type="button"
        data-column={column}
        title={column.includes(".") ? column : undefined}
        onClick={() =>
          setOrder((before) => ({ column, down: before.column === column ? !before.down : column === "accuracy" }))
        }
      >
        {label}
        <i aria-hidden="true">{order.column === column ? (order.down ? "↓" : "↑") : ""}</i>
      </button>
    </th>
  );
  return (
    <div className="run-table trials" role="region" aria-label={word.trials}>
      <table aria-label={word.trials}>
        <thead>
          <tr>
            {heading("number", word.trialColumn)}
            {heading("state", word.stateColumn, false)}
            {paths.map((path) => heading(path, shortPath(path)))}
            {heading("value", title)}
            {accuracy &&
              quality &&
              heading("accuracy", quality === "accuracy" ? word.accuracyColumn : word[`measure_${quality}`])}
            {heading("epochs", word.epochsColumn)}
            <th scope="col" className="plain-heading">
              {word.runColumn}
            </th>
          </tr>
        </thead>
        <tbody>
          {sortedTrials(rows, order.column, order.down).map((trial) => (
            <tr
              key={trial.number}
              data-trial-row={trial.number}
              data-state={trial.state}
              className={`${trial.number === hovered ? "hovered" : ""} ${trial.number === chosen ? "chosen" : ""}`}
              onPointerEnter={() => onHover(trial.number)}
              onPointerLeave={() => onHover(null)}
            >
              <td className="number">
                <button
                  type="button"
                  className="pick"
                  aria-pressed={trial.number === chosen}
                  aria-label={`${word.trialColumn} ${trial.number}`}
                  onClick={() => onChoose(trial.number)}
                >
                  {trial.number}
                </button>
              </td>
              <td title={trial.reason}>
                <span className={`state ${trial.state}`}>{stateWord(trial.state, word)}</span>
                {trial.number === sweep.best && <em className="best-mark">{word.best}</em>}
              </td>
              {paths.map((path) => (
                <td key={path} className="number">
                  {valueText(trial.values[path])}
                </td>
              ))}
              <td className="number">{resultText(trial.value, sweep.monitor)}</td>
              {accuracy && <td className="number">{percent(accuracyOf({ values: trial.scores }))}</td>}
              <td className="number">
                {trial.epochs}
                <span className="soft"> / {trial.wanted || "–"}</span>
              </td>
              <td>
                {trial.run ? (
                  <a href={`#/runs/${trial.run}`} title={word.openRun}>
                    {trial.run_name}
                  </a>
                ) : (
                  <span className="soft" title={trial.reason}>
                    {trial.reason || "–"}
                  </span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
