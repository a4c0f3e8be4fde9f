import { chooseCopy, leaveTo } from "../app/actions";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { nameOf } from "../model/drawing";
import { faultyCopies, type Level } from "../model/within";

/** Which copy of a repeated use is looked at, and the way to one that has errors. */
function Copy({ level, depth }: { level: Level; depth: number }) {
  const report = useStudio((s) => s.report);
  const word = words(useStudio((s) => s.language));
  if (level.repeat < 2) return null;
  const faulty = faultyCopies(report, level).find((copy) => copy !== level.copy);
  return (
    <span className="copy-choice">
      {word.copyNumber}
      <input
        type="number"
        min={1}
        max={level.repeat}
        value={level.copy + 1}
        aria-label={`${word.copyNumber} ${level.copy + 1} / ${level.repeat}`}
        onChange={(event) => {
          const number = event.target.valueAsNumber;
          if (number >= 1 && number <= level.repeat) chooseCopy(depth, Math.round(number) - 1);
        }}
      />
      / {level.repeat}
      {faulty !== undefined && (
        <button
          type="button"
          className="faulty"
          title={`${word.error}: ${word.copyNumber} ${faulty + 1}`}
          onClick={() => chooseCopy(depth, faulty)}
        >
          ! {faulty + 1}
        </button>
      )}
    </span>
  );
}

/** Where the canvas is: the drawing, and the uses of groups that are open, each with its copy. */
export function Crumbs() {
  const levels = useStudio((s) => s.levels);
  const name = useStudio((s) => nameOf(s.drawing));
  const word = words(useStudio((s) => s.language));
  return (
    <nav className="crumbs" aria-label={word.drawing}>
      <a href="#/">{word.startScreen}</a>
      <i>/</i>
      {levels.length ? (
        <button type="button" onClick={() => leaveTo(0)}>
          {name}
        </button>
      ) : (
        <b>{name}</b>
      )}
      {levels.map((level, i) => (
        <span key={level.at}>
          <i>/</i>
          {i < levels.length - 1 ? (
            <button type="button" title={level.group.id} onClick={() => leaveTo(i + 1)}>
              {level.use}
            </button>
          ) : (
            <b title={level.group.id}>
              {level.use}
              {level.use !== level.group.id && <small> · {level.group.label || level.group.id}</small>}
            </b>
          )}
          <Copy level={level} depth={i} />
        </span>
      ))}
    </nav>
  );
}
