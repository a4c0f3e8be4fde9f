import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { Attributes, MemoryNeeds } from "../api/types";
import { useStudio } from "../app/store";
import { words } from "../app/words";

const PAUSE = 400;

const size = (bytes: number): string => {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  return `${(bytes / 1000 ** power).toFixed(power ? 1 : 0)} ${units[power]}`;
};

/** How much memory the training is estimated to need, told before it starts; a warning where it may not fit. */
export function Needs({ optimiser, recipe }: { optimiser: string; recipe: Attributes }) {
  const word = words(useStudio((s) => s.language));
  const id = useStudio((s) => s.id);
  const report = useStudio((s) => s.report);
  const [needs, setNeeds] = useState<MemoryNeeds | null>(null);
  const workers = Number(recipe.workers) || 1;
  const asked = new URLSearchParams({
    ...{ optimiser, batch: String(Number(recipe.batch) || 64), workers: String(workers) },
    sharded: String(recipe.sharded === true),
  });
  for (const name of Array.isArray(recipe.recompute) ? recipe.recompute : []) asked.append("recompute", String(name));
  const query = asked.toString();
  useEffect(() => {
    if (!id || !report?.well_formed) return;
    let current = true;
    const ask = () =>
      api.memory(id, query).then(
        (found) => current && setNeeds(found),
        () => undefined,
      );
    const timer = setTimeout(() => void ask(), PAUSE);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [id, report, query]);
  if (!needs) return null;
  if (needs.warning)
    return (
      <p className="needs short" role="alert">
        ⚠ {needs.warning}
      </p>
    );
  const free = needs.available === null ? "" : ` · ${size(needs.available)} ${word.memoryFree}`;
  return (
    <p className="needs soft" title={needs.sizes} data-needs={needs.total}>
      {word.memoryNeeds} {size(needs.total)}
      {free}
    </p>
  );
}
