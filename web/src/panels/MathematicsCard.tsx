import { type ReactNode, useEffect, useState } from "react";
import { api } from "../api/client";
import type { Mathematics } from "../api/types";
import { useStudio } from "../app/store";
import { Formula } from "./Formula";

/** U, Y, δ and the update of the selected thing, as the server writes them. */
export function MathematicsCard({ id, item: inner, short }: { id: string; item: string; short?: ReactNode }) {
  const [found, setFound] = useState<Mathematics | null>(null);
  const [why, setWhy] = useState("");
  const report = useStudio((s) => s.report);
  const item = useStudio((s) => `${s.path}${inner}`);
  // What was drawn a moment ago is not the server's yet: the report that knows it asks for its formulas.
  const known = Boolean(report && (item in report.structures.capsules || item in report.structures.connections));
  // The formulas follow the drawing: a new report may mean another function.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the report is the signal, not an input
  useEffect(() => {
    if (!known) return;
    let current = true;
    api
      .mathematics(id, item)
      .then((answer) => {
        if (!current) return;
        setFound(answer);
        setWhy("");
      })
      .catch((error: Error) => current && setWhy(error.message));
    return () => {
      current = false;
    };
  }, [id, item, report]);
  if (why) return short ?? <p className="soft">{why}</p>;
  if (!found) return short ?? null;
  // What a connection adds to U says already what it computes.
  const brief = report && item in report.structures.connections ? [found.U] : [found.U, found.Y];
  const lines = (short ? brief : [found.U, found.Y, found.delta, found.update]).filter((one): one is string =>
    Boolean(one),
  );
  if (!lines.length) return short ?? null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keys
    <div className="formulas" tabIndex={0}>
      {lines.map((tex) => (
        <Formula key={tex} tex={tex} />
      ))}
    </div>
  );
}
