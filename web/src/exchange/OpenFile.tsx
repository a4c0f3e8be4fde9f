import { chooseFiles } from "../app/files";
import { useStudio } from "../app/store";
import { words } from "../app/words";

/** A button that opens files, as dropping them does. */
export function OpenFile({ className = "button", role }: { className?: string; role?: string }) {
  const word = words(useStudio((s) => s.language));
  return (
    <button type="button" className={className} role={role} title={word.openFileHint} onClick={chooseFiles}>
      {word.openFile}
    </button>
  );
}
