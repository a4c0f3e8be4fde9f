import { type ReactNode, useEffect } from "react";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { leave } from "./mode";

export function Heading({ title, children }: { title: string; children?: ReactNode }) {
  const word = words(useStudio((s) => s.language));
  return (
    <header>
      <h2>{title}</h2>
      {children}
      <span className="grow" />
      <button type="button" className="button icon" aria-label={word.leave} title={word.leave} onClick={leave}>
        ×
      </button>
    </header>
  );
}

/** Beyond so many vertices the whole cannot be read at once, and the view goes to what is marked. */
const MOST_AT_ONCE = 60;

export function useFollow(id: string | undefined): void {
  useEffect(() => {
    if (id && useStudio.getState().places.size > MOST_AT_ONCE)
      document.dispatchEvent(new CustomEvent("inkcap-show", { detail: id }));
  }, [id]);
}
