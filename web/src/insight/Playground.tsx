import { type DragEvent, useEffect, useRef, useState } from "react";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { fill } from "../theory/words";
import { Answers, Fed } from "./Answers";
import { insightApi } from "./api";
import { ExampleStrip } from "./Examples";
import { useFetched } from "./fetching";
import { ask, frameOf, useInsight } from "./mode";
import { askPicture, Pad } from "./Pad";
import { readNumbers } from "./reading";
import { inputCount } from "./twofold";

const MOST_FIELDS = 64;

/** Numbers to be typed: one field for each input, filled in from the chosen example. */
function NumberFields({ start, count }: { start: string; count: number }) {
  const word = words(useStudio((s) => s.language));
  const subject = useInsight((s) => s.subject);
  const text = useInsight((s) => s.answer?.text ?? "");
  const [numbers, setNumbers] = useState<string[]>([]);
  const taken = subject && "example" in subject ? text : "";
  useEffect(() => {
    const read = readNumbers(taken || start);
    const known = read.length === count && read.every(Number.isFinite);
    setNumbers((before) => (known ? read.map(String) : before.length === count ? before : Array(count).fill("0")));
  }, [taken, start, count]);
  const change = (next: string[]) => {
    setNumbers(next);
    const read = next.map((one) => (one.trim() ? Number(one) : Number.NaN));
    if (read.every(Number.isFinite)) ask({ values: read });
  };
  return (
    <div className="number-fields" role="group" aria-label={word.inputNumbers}>
      {numbers.map((value, i) => {
        const bad = !value.trim() || !Number.isFinite(Number(value));
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: an input is known by its place
          <label key={i}>
            <span className="mono">x{i + 1}</span>
            <input
              inputMode="decimal"
              value={value}
              aria-label={`${word.inputNumbers} ${i + 1}`}
              aria-invalid={bad}
              className={bad ? "bad" : ""}
              onChange={(event) => change(numbers.map((old, j) => (j === i ? event.target.value : old)))}
            />
          </label>
        );
      })}
    </div>
  );
}

/** Many numbers at once: typed or pasted as one text. */
function NumberText({ count }: { count: number }) {
  const word = words(useStudio((s) => s.language));
  const [text, setText] = useState("");
  const read = readNumbers(text);
  const bad = text.trim() !== "" && (read.length !== count || !read.every(Number.isFinite));
  return (
    <div className="number-text">
      <textarea
        rows={5}
        value={text}
        aria-label={word.inputNumbers}
        aria-invalid={bad}
        placeholder="0.1 0.2 0.3 …"
        onChange={(event) => {
          setText(event.target.value);
          const now = readNumbers(event.target.value);
          if (now.length === count && now.every(Number.isFinite)) ask({ values: now });
        }}
      />
      {bad && <small className="bad">{fill(word.notNumbers, { n: count })}</small>}
    </div>
  );
}

function PictureChoice() {
  const word = words(useStudio((s) => s.language));
  const file = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" className="button" onClick={() => file.current?.click()}>
        {word.choosePicture}
      </button>
      <input
        ref={file}
        type="file"
        hidden
        accept="image/png,image/jpeg"
        aria-label={word.choosePicture}
        onChange={(event) => {
          void askPicture(event.target.files?.[0]);
          event.target.value = "";
        }}
      />
    </>
  );
}

/** Try the network: draw, drop a picture, type numbers or take an example, and see the answer at once. */
export function Playground() {
  const word = words(useStudio((s) => s.language));
  const run = useInsight((s) => s.run);
  const frame = useInsight(frameOf);
  const count = useStudio((s) => inputCount(s.drawing, s.report));
  const key = run && frame !== null ? run : null;
  const first = useFetched("first", key, () => insightApi.examples(run ?? "", "training", 0, 1, false, null));
  const example = first.found?.examples[0];
  const pictures = Boolean(example?.thumbnail);
  const numbers = Number.isFinite(count) ? count : readNumbers(example?.text ?? "").length;
  // Digits of few cells are drawn with thick strokes.
  const side = example?.thumbnail?.rows.length ?? 0;
  const drop = (event: DragEvent) => {
    event.preventDefault();
    void askPicture(event.dataTransfer.files[0]);
  };
  if (first.why) return <p className="soft centred">{first.why}</p>;
  if (!example) return <p className="soft centred">{word.opening}</p>;
  return (
    <div
      className="playground"
      role="group"
      aria-label={word.playground}
      onDragOver={(event) => pictures && event.dataTransfer.types.includes("Files") && event.preventDefault()}
      onDrop={(event) => pictures && drop(event)}
    >
      <div className="play-input">
        {pictures ? (
          <Pad key={run} usual={side > 16 ? 0.08 : 0.15} />
        ) : numbers <= MOST_FIELDS ? (
          <NumberFields start={example.text} count={numbers} />
        ) : (
          <NumberText count={numbers} />
        )}
      </div>
      <div className="play-middle">
        <Fed />
        {pictures && <PictureChoice />}
      </div>
      <div className="play-answer">
        <Answers />
      </div>
      <div className="play-examples">
        <ExampleStrip />
      </div>
    </div>
  );
}
