import { useEffect } from "react";
import { answerFile } from "../app/session";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { BringingNotice } from "../exchange/Brought";

export function Notices() {
  const notice = useStudio((s) => s.notice);
  const bringing = useStudio((s) => s.bringing);
  const outside = useStudio((s) => s.outside);
  const away = useStudio((s) => s.id !== null && s.status === "away");
  const word = words(useStudio((s) => s.language));
  useEffect(() => {
    if (!notice) return;
    const timer = setTimeout(() => useStudio.setState({ notice: null }), notice.bad || notice.action ? 9000 : 2500);
    return () => clearTimeout(timer);
  }, [notice]);
  return (
    <div className="notices" aria-live="polite">
      {away && <div className="notice bad">{word.away}</div>}
      {bringing && <BringingNotice bringing={bringing} />}
      {outside && (
        <div className="notice">
          {word.outside}
          <button type="button" onClick={() => answerFile(true)}>
            {word.takeTheirs}
          </button>
          <button type="button" onClick={() => answerFile(false)}>
            {word.keepOurs}
          </button>
        </div>
      )}
      {notice && (
        <div className={`notice ${notice.bad ? "bad" : ""}`} role={notice.bad ? "alert" : "status"}>
          {notice.text}
          {notice.action && (
            <button
              type="button"
              onClick={() => {
                notice.action?.run();
                useStudio.setState({ notice: null });
              }}
            >
              {notice.action.label}
            </button>
          )}
          <button type="button" aria-label={word.close} onClick={() => useStudio.setState({ notice: null })}>
            ×
          </button>
        </div>
      )}
    </div>
  );
}
