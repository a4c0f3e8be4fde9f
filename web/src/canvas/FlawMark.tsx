import { applyFix } from "../app/actions";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import type { Finding } from "../model/findings";

/** The mark of an error on the very thing, with its reason below it and the button that mends it. */
export function FlawMark({ findings, below = 22 }: { findings: readonly Finding[]; below?: number }) {
  const language = useStudio((s) => s.language);
  const first = findings.find((one) => one.severity === "error") ?? findings[0];
  if (!first) return null;
  const word = words(language);
  return (
    <div className={`flaw nodrag nopan ${first.severity}`}>
      <button type="button" className="flaw-mark" aria-label={`${word.error}: ${first.message}`}>
        !
      </button>
      <div className="flaw-words" role="tooltip" style={{ top: below }}>
        {findings.slice(0, 4).map((one) => (
          <div key={one.index} className="flaw-reason">
            <p>{one.message}</p>
            {one.fix && (
              <button type="button" className="fix" onClick={() => applyFix(one.index)} data-rule={one.rule}>
                {word.fix}: {one.fix.label}
              </button>
            )}
          </div>
        ))}
      </div>
    </div>
  );
}
