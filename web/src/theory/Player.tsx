import { useEffect } from "react";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { SPEEDS, seek, step, toggle, useTheory } from "./mode";

/** Play, pause, step, slide, and how fast. */
export function Player({ spoken }: { spoken: string }) {
  const { at, last, playing, speed } = useTheory();
  const word = words(useStudio((s) => s.language));
  useEffect(() => {
    if (!playing) return;
    const timer = setTimeout(() => seek(at + 1), 1000 / speed);
    return () => clearTimeout(timer);
  }, [at, playing, speed]);
  const button = (label: string, sign: string, act: () => void, off: boolean) => (
    <button type="button" className="button icon" aria-label={label} title={label} disabled={off} onClick={act}>
      {sign}
    </button>
  );
  return (
    <div className="player" role="group" aria-label={word.position}>
      {button(word.toStart, "«", () => seek(0), at === 0)}
      {button(word.stepBack, "‹", () => step(-1), at === 0)}
      <button
        type="button"
        className="button primary icon"
        aria-label={playing ? word.pause : word.play}
        aria-pressed={playing}
        disabled={!last}
        onClick={toggle}
      >
        {playing ? "⏸\uFE0E" : "▶"}
      </button>
      {button(word.stepForward, "›", () => step(1), at >= last)}
      {button(word.toEnd, "»", () => seek(last), at >= last)}
      <input
        type="range"
        min={0}
        max={last}
        value={at}
        aria-label={word.position}
        aria-valuetext={spoken}
        onChange={(event) => {
          useTheory.setState({ playing: false });
          seek(Number(event.target.value));
        }}
      />
      <output className="mono">
        {at} / {last}
      </output>
      <label className="speed">
        <span className="soft">{word.speed}</span>
        <select value={speed} onChange={(event) => useTheory.setState({ speed: Number(event.target.value) })}>
          {SPEEDS.map((one) => (
            <option key={one} value={one}>
              {one}×
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}
