import { useEffect, useState } from "react";
import { api, link } from "../api/client";
import type { ExportMade, ExportRequest, RunRow } from "../api/types";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { Dialog } from "./Dialogs";

type Form = ExportRequest["to"];

const FIGURES: readonly (readonly [Form, string])[] = [
  ["pdf", "PDF"],
  ["svg", "SVG"],
  ["png", "PNG"],
  ["tikz", "TikZ (LaTeX)"],
];
const PROGRAMS: readonly (readonly [Form, string])[] = [
  ["torch", "PyTorch (.py)"],
  ["keras", "Keras 3 (.py)"],
  ["onnx", "ONNX"],
  ["safetensors", "safetensors"],
];

type Groups = "closed" | "compact" | "opened";

/** Every form in which a drawing goes out, with what it can be told, and how it was proven. */
export function ExportDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const word = words(useStudio((s) => s.language));
  const [to, setTo] = useState<Form>("pdf");
  const [width, setWidth] = useState("85mm");
  const [font, setFont] = useState("");
  const [monochrome, setMonochrome] = useState(false);
  const [labels, setLabels] = useState(true);
  const [groups, setGroups] = useState<Groups>("closed");
  const [direction, setDirection] = useState<"right" | "down">("right");
  const [run, setRun] = useState("");
  const [train, setTrain] = useState(false);
  const [runs, setRuns] = useState<RunRow[]>([]);
  const [busy, setBusy] = useState(false);
  const [made, setMade] = useState<ExportMade | null>(null);
  const [wrong, setWrong] = useState("");
  const figure = FIGURES.some(([form]) => form === to);
  useEffect(() => {
    api.runs(id).then(setRuns, () => setRuns([]));
  }, [id]);

  const asked = (): ExportRequest =>
    figure
      ? {
          to,
          width: width.trim(),
          font: to === "tikz" ? "" : font.trim(),
          monochrome,
          labels,
          opened: groups === "opened",
          compact: groups === "compact",
          direction,
        }
      : { to, run: run || (to === "safetensors" ? (runs[0]?.id ?? null) : null), train: train && to === "torch" };
  const start = async () => {
    setBusy(true);
    setMade(null);
    setWrong("");
    try {
      setMade(await api.export(id, asked()));
    } catch (error) {
      setWrong((error as Error).message);
    }
    setBusy(false);
  };

  return (
    <Dialog title={word.exportMenu} onClose={onClose}>
      <form
        className="export-box"
        onSubmit={(event) => {
          event.preventDefault();
          void start();
        }}
      >
        <label>
          {word.form}
          <select
            value={to}
            onChange={(event) => {
              setTo(event.target.value as Form);
              setMade(null);
              setWrong("");
            }}
          >
            <optgroup label={word.figure}>
              {FIGURES.map(([form, name]) => (
                <option key={form} value={form}>
                  {name}
                </option>
              ))}
            </optgroup>
            <optgroup label={word.program}>
              {PROGRAMS.map(([form, name]) => (
                <option key={form} value={form}>
                  {name}
                </option>
              ))}
            </optgroup>
          </select>
        </label>
        {figure ? (
          <>
            <label>
              {word.printedWidth}
              <input value={width} maxLength={20} onChange={(event) => setWidth(event.target.value)} />
            </label>
            {to !== "tikz" && (
              <label>
                {word.font}
                <input value={font} maxLength={80} onChange={(event) => setFont(event.target.value)} />
              </label>
            )}
            <label>
              {word.groupsShown}
              <select value={groups} onChange={(event) => setGroups(event.target.value as Groups)}>
                <option value="closed">{word.groupsClosed}</option>
                <option value="compact">{word.groupsCompact}</option>
                <option value="opened">{word.groupsOpen}</option>
              </select>
            </label>
            <label>
              {word.flow}
              <select value={direction} onChange={(event) => setDirection(event.target.value as "right" | "down")}>
                <option value="right">{word.toTheRight}</option>
                <option value="down">{word.downwards}</option>
              </select>
            </label>
            <label className="tick">
              <input type="checkbox" checked={monochrome} onChange={(event) => setMonochrome(event.target.checked)} />
              {word.monochrome}
            </label>
            <label className="tick">
              <input type="checkbox" checked={labels} onChange={(event) => setLabels(event.target.checked)} />
              {word.withLabels}
            </label>
          </>
        ) : (
          <>
            <label>
              {word.ofRun}
              <select value={run} onChange={(event) => setRun(event.target.value)}>
                {to !== "safetensors" && <option value="">{word.startingWeights}</option>}
                {to === "safetensors" && !runs.length && <option value="">{word.noRunYet}</option>}
                {runs.map((one) => (
                  <option key={one.id} value={one.id}>
                    {one.name}
                  </option>
                ))}
              </select>
            </label>
            {to === "torch" && (
              <label className="tick">
                <input type="checkbox" checked={train} onChange={(event) => setTrain(event.target.checked)} />
                {word.withTraining}
              </label>
            )}
          </>
        )}
        {wrong && (
          <div className="finding error" role="alert">
            <p>{wrong}</p>
          </div>
        )}
        {made && (
          <div className="export-made" role="status">
            <p>✓ {made.told}</p>
            {made.notes.map((note) => (
              <p key={note}>{note}</p>
            ))}
            {made.files.map((file) => (
              <a key={file.name} className="button" href={link.exported(made.token, file.name)} download={file.name}>
                {word.download} {file.name} ({Math.max(1, Math.round(file.bytes / 1000))} kB)
              </a>
            ))}
          </div>
        )}
        <footer>
          <button
            type="submit"
            className="button primary"
            disabled={busy || (to === "safetensors" && !(run || runs.length))}
          >
            {busy ? word.exporting : word.exportMenu}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
