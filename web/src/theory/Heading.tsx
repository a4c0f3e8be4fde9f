import { ViewportPortal } from "@xyflow/react";
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

/** In a large drawing, go to a vertex and ring it: where vertices are painted, they carry no marks of their own. */
export function Spotlight({ id, badge }: { id: string | undefined; badge?: string | undefined }) {
  const at = useStudio((s) => (id && s.places.size > MOST_AT_ONCE ? s.places.get(id) : undefined));
  useEffect(() => {
    if (id && at) document.dispatchEvent(new CustomEvent("inkcap-show", { detail: id }));
  }, [id, at]);
  if (!at) return null;
  return (
    <ViewportPortal>
      <div className="spotlight" style={{ transform: `translate(${at[0]}px, ${at[1]}px)` }}>
        {badge && <b className="rule-badge">{badge}</b>}
      </div>
    </ViewportPortal>
  );
}
