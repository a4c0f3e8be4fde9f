import { type DragEvent, useCallback, useEffect, useRef, useState } from "react";
import { api } from "../api/client";
import type { DataPreview } from "../api/types";
import { useStudio } from "../app/store";
import { counted, words } from "../app/words";
import { ClassLegend, Marked } from "../marks/Marked";
import { grouped } from "../model/findings";
import { Dialog } from "./Dialogs";

export interface Chosen {
  name: string;
  options: Record<string, string>;
}

interface OwnDataProps {
  /** Data of the workspace, as names to train on. */
  there: string[];
  dropped: File[];
  onUse: (chosen: Chosen) => void;
  onClose: () => void;
}

const ENDINGS = ".csv,.npz,.idx,.gz,.idx1-ubyte,.idx3-ubyte,application/octet-stream";

const safe = (name: string) =>
  name
    .replace(/[^A-Za-z0-9_ .-]/g, "-")
    .replace(/^[^A-Za-z0-9_]+/, "")
    .slice(-90) || "data";

/** ``x.csv`` becomes ``x-2.csv`` where there is one already. */
function numbered(name: string, n: number): string {
  const dot = name.lastIndexOf(".");
  return n < 2 ? name : dot > 0 ? `${name.slice(0, dot)}-${n}${name.slice(dot)}` : `${name}-${n}`;
}

async function upload(file: File): Promise<string> {
  for (let n = 1; ; n++) {
    try {
      return (await api.upload(numbered(safe(file.name), n), file)).name;
    } catch (error) {
      if (n > 20 || !(error as Error).message.includes("there is a file already")) throw error;
    }
  }
}

/** One file is data by itself; two are IDX images and labels, told apart by their names or by their dimensions. */
async function uploadAll(files: File[]): Promise<string> {
  const [first, second] = files;
  if (!first) return "";
  if (!second) return upload(first);
  const dimensions = async (file: File) => new Uint8Array(await file.slice(0, 4).arrayBuffer())[3] ?? 0;
  const isLabels = /label/i.test(first.name) || (!/label/i.test(second.name) && (await dimensions(first)) === 1);
  const [images, labels] = isLabels ? [second, first] : [first, second];
  return `${await upload(images)},${await upload(labels)}`;
}

function Samples({ seen }: { seen: DataPreview }) {
  const word = words(useStudio((s) => s.language));
  const placed = seen.pictures.some((one) => one.marks);
  if (seen.pictures.length)
    return (
      <div className={`sample-pictures ${placed ? "with-marks" : ""}`}>
        {seen.pictures.map((one, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: samples have no names, and their order is their identity
          <figure key={i}>
            {one.marks ? (
              <Marked there={one.marks} label={`${word.example} ${i + 1}`}>
                <img src={`data:image/png;base64,${one.png}`} alt="" />
              </Marked>
            ) : (
              <>
                <img src={`data:image/png;base64,${one.png}`} alt={one.caption} />
                <figcaption>{one.caption.replace(/^y=/, "")}</figcaption>
              </>
            )}
          </figure>
        ))}
        {placed && <ClassLegend marks={seen.pictures.map((one) => one.marks)} />}
      </div>
    );
  if (!seen.columns.length) return null;
  return (
    <div className="sample-rows">
      <table>
        <thead>
          <tr>
            {seen.columns.map((one, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: two columns may have one name
              <th key={i}>{one}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {seen.rows.map((row, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no names, and their order is their identity
            <tr key={i}>
              {row.map((cell, j) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: cells stand where their columns stand
                <td key={j}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Classes({ counts }: { counts: Record<string, number> }) {
  const word = words(useStudio((s) => s.language));
  const all = Object.entries(counts);
  const most = Math.max(1, ...all.map(([, count]) => count));
  return (
    <div className="class-counts">
      {all.slice(0, 20).map(([name, count]) => (
        <div key={name} title={`${name}: ${count}`}>
          <span>{name}</span>
          <meter min={0} max={most} value={count} aria-label={`${name}: ${count}`} />
          <code>{grouped(count)}</code>
        </div>
      ))}
      {all.length > 20 && <small>… {counted(word, all.length, "classes")}</small>}
    </div>
  );
}

function Outline({ seen }: { seen: DataPreview }) {
  const word = words(useStudio((s) => s.language));
  return (
    <>
      {seen.count !== null && (
        <p className="data-outline">
          <b>{counted(word, seen.count, "samples")}</b>
          {seen.test_count > 0 && ` + ${grouped(seen.test_count)} ${word.forTesting}`}
          {seen.inputs.map((one) => (
            <code key={one.name}>
              {one.name} {one.shape}
            </code>
          ))}
          {seen.targets.map((one) => (
            <code key={one.name}>
              → {one.name}{" "}
              {seen.class_counts[one.name]
                ? counted(word, Object.keys(seen.class_counts[one.name] ?? {}).length, "classes")
                : one.shape}
            </code>
          ))}
        </p>
      )}
      {seen.problem && (
        <div className="finding error" role="alert">
          <p>{seen.problem}</p>
        </div>
      )}
      {!seen.problem && seen.misfit && (
        <div className="finding note" role="status">
          <p>{seen.misfit}</p>
        </div>
      )}
      {seen.notes.map((one) => (
        <p key={one} className="soft">
          {one}
        </p>
      ))}
      <Samples seen={seen} />
      {Object.values(seen.class_counts).map((counts) => (
        <Classes key={Object.keys(counts).join()} counts={counts} />
      ))}
      {seen.description && <p className="soft">{seen.description}</p>}
    </>
  );
}

function Options({
  seen,
  given,
  onChange,
}: {
  seen: DataPreview;
  given: Record<string, string>;
  onChange: (options: Record<string, string>) => void;
}) {
  const word = words(useStudio((s) => s.language));
  if (!seen.options.length) return null;
  const set = (name: string, value: string) => {
    const { [name]: _, ...others } = given;
    onChange(value.trim() ? { ...others, [name]: value.trim() } : others);
  };
  return (
    <details open={seen.problem !== null || Object.keys(given).length > 0}>
      <summary>{word.readAs}</summary>
      <div className="fields three">
        {seen.options.map((one) => (
          <div key={one.name} className="field" title={one.help}>
            <label htmlFor={`option-${one.name}`}>{one.name}</label>
            <input
              id={`option-${one.name}`}
              data-option={one.name}
              key={given[one.name] ?? ""}
              defaultValue={given[one.name] ?? ""}
              placeholder={one.default}
              onBlur={(event) =>
                event.target.value.trim() !== (given[one.name] ?? "") && set(one.name, event.target.value)
              }
              onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
            />
          </div>
        ))}
      </div>
    </details>
  );
}

/** Own data: bring a file or name one of the workspace, look into it, then train on it. */
export function OwnData({ there, dropped, onUse, onClose }: OwnDataProps) {
  const drawing = useStudio((s) => s.id);
  const word = words(useStudio((s) => s.language));
  const [name, setName] = useState("");
  const [options, setOptions] = useState<Record<string, string>>({});
  const [seen, setSeen] = useState<DataPreview | null>(null);
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState("");
  const picker = useRef<HTMLInputElement>(null);

  const look = useCallback(
    async (spec: string, given: Record<string, string>) => {
      setName(spec);
      setOptions(given);
      setBusy(true);
      setWrong("");
      try {
        setSeen(await api.preview({ name: spec, options: given, rows: 10, drawing }));
      } catch (error) {
        setSeen(null);
        setWrong((error as Error).message);
      }
      setBusy(false);
    },
    [drawing],
  );
  const take = useCallback(
    async (files: File[]) => {
      if (files.length > 2) return setWrong(word.oneFile);
      setBusy(true);
      setWrong("");
      try {
        await look(await uploadAll(files), {});
      } catch (error) {
        setWrong((error as Error).message);
        setBusy(false);
      }
    },
    [look, word],
  );
  const first = useRef(dropped);
  useEffect(() => {
    if (first.current.length) void take(first.current);
    first.current = [];
  }, [take]);
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    event.stopPropagation();
    void take([...event.dataTransfer.files]);
  };
  return (
    <Dialog title={word.ownData} onClose={onClose}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: files may be dropped anywhere; the button does the same */}
      <div className="own-data" onDragOver={(event) => event.preventDefault()} onDrop={onDrop}>
        <div className="drop-zone">
          <p>{word.dropData}</p>
          <button type="button" className="button" onClick={() => picker.current?.click()}>
            {word.chooseFile}
          </button>
          <input
            ref={picker}
            type="file"
            hidden
            multiple
            accept={ENDINGS}
            aria-label={word.chooseFile}
            onChange={(event) => {
              const files = [...(event.target.files ?? [])];
              event.target.value = "";
              if (files.length) void take(files);
            }}
          />
        </div>
        <form
          className="data-path"
          onSubmit={(event) => {
            event.preventDefault();
            const given = new FormData(event.currentTarget).get("path");
            if (typeof given === "string" && given.trim()) void look(given.trim(), {});
          }}
        >
          <input
            name="path"
            key={name}
            defaultValue={name}
            list="data-there"
            placeholder={word.dataPath}
            aria-label={word.dataPath}
          />
          <datalist id="data-there">
            {there.map((one) => (
              <option key={one} value={one} />
            ))}
          </datalist>
          <button type="submit" className="button">
            {word.lookInto}
          </button>
        </form>
        <div className="data-look" aria-busy={busy} aria-live="polite">
          {wrong && (
            <div className="finding error" role="alert">
              <p>{wrong}</p>
            </div>
          )}
          {busy && <p className="soft">{word.looking}</p>}
          {!busy && seen && (
            <>
              <Outline seen={seen} />
              <Options seen={seen} given={options} onChange={(next) => void look(name, next)} />
            </>
          )}
        </div>
        <footer>
          <button
            type="button"
            className="button primary"
            disabled={!seen || busy || seen.problem !== null}
            onClick={() => onUse({ name, options })}
          >
            {word.useData}
          </button>
        </footer>
      </div>
    </Dialog>
  );
}
