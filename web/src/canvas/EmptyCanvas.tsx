import { useStudio } from "../app/store";
import { words } from "../app/words";

export function EmptyCanvas() {
  const language = useStudio((s) => s.language);
  const status = useStudio((s) => s.status);
  const seen = useStudio((s) => s.report !== null);
  const word = words(language);
  if (status !== "live" && !seen) return null;
  return (
    <div className="empty-canvas">
      <svg width="96" height="58" viewBox="0 0 96 58" aria-hidden="true">
        <rect x="4" y="12" width="34" height="34" rx="5" className="ghost" />
        <path d="M44 29H66" className="ghost-line" />
        <rect x="72" y="6" width="18" height="46" rx="9" className="ghost" />
      </svg>
      <h2>{word.emptyCanvas}</h2>
      <p>{word.emptyHint}</p>
    </div>
  );
}
