import { useEffect, useState } from "react";
import { api } from "../api/client";
import { attempt } from "../app/session";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { grouped } from "../model/findings";
import { Dialog } from "../panels/Dialogs";
import { type Enumeration, type ListedNetwork, theoryApi } from "./api";
import { useTheory } from "./mode";
import { fileOf } from "./neurons";

interface Asked {
  n: number;
  m: number;
  rules: string;
  upTo: string;
}

function describe({ edges }: ListedNetwork): string {
  const entering = new Map<string, string[]>();
  for (const [back, front] of edges) entering.set(front, [...(entering.get(front) ?? []), back]);
  return [...entering].map(([front, backs]) => `${front} ← {${backs.join(", ")}}`).join("; ");
}

/** Networks of one size, page after page. */
function useNetworks(asked: Asked): { found: Enumeration | null; more: () => void } {
  const [found, setFound] = useState<Enumeration | null>(null);
  const dark = useStudio((s) => s.theme === "dark");
  const ask = (start: number) => theoryApi.enumeration(asked.n, asked.m, asked.rules, asked.upTo, start, dark);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is asked for is in these
  useEffect(() => {
    let current = true;
    void attempt(ask(0)).then((answer) => current && answer && setFound(answer));
    return () => {
      current = false;
    };
  }, [asked, dark]);
  const more = () =>
    void attempt(ask(found?.networks.length ?? 0)).then(
      (answer) =>
        answer && setFound((now) => (now ? { ...now, networks: [...now.networks, ...answer.networks] } : answer)),
    );
  return { found, more };
}

async function openNetwork(network: ListedNetwork, name: string): Promise<void> {
  const made = await attempt(api.create({ name, text: JSON.stringify(fileOf(network, name)) }));
  if (!made) return;
  useTheory.setState({ gallery: false, mode: null });
  location.hash = `#/drawing/${made.id}`;
}

export function Gallery() {
  const [asked, ask] = useState<Asked>({ n: 2, m: 2, rules: "growth", upTo: "order" });
  const { found, more } = useNetworks(asked);
  const word = words(useStudio((s) => s.language));
  const number = (name: "n" | "m", label: string, least: number, most: number) => (
    <label>
      <span>{label}</span>
      <select
        data-size={name}
        value={asked[name]}
        onChange={(event) => ask({ ...asked, [name]: Number(event.target.value) })}
      >
        {[...Array(most - least + 1).keys()].map((more) => (
          <option key={more}>{least + more}</option>
        ))}
      </select>
    </label>
  );
  const choice = (name: "rules" | "upTo", label: string, options: [string, string][]) => (
    <label>
      <span>{label}</span>
      <select
        data-choice={name}
        value={asked[name]}
        onChange={(event) => ask({ ...asked, [name]: event.target.value })}
      >
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <Dialog title={word.gallery} onClose={() => useTheory.setState({ gallery: false })}>
      <div className="gallery">
        <form className="gallery-choices" onSubmit={(event) => event.preventDefault()}>
          {number("n", word.inputs, 1, 6)}
          {number("m", word.neurons, 1, 5)}
          {choice("rules", word.madeBy, [
            ["growth", word.byGrowth],
            ["all", word.byAll],
          ])}
          {choice("upTo", word.countedBy, [
            ["order", word.byOrder],
            ["labels", word.byLabels],
            ["isomorphism", word.byIsomorphism],
          ])}
        </form>
        <p className="gallery-count" aria-live="polite" data-count={found?.count}>
          {found?.refused ? (
            <span className="bad">{found.refused}</span>
          ) : found ? (
            <>
              <b>{grouped(found.count)}</b> {asked.n}-{asked.m} {word.networksOf}
            </>
          ) : (
            word.computing
          )}
        </p>
        <ul>
          {found?.networks.map((network, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: networks are known by their place in the enumeration
            <li key={i}>
              <button
                type="button"
                aria-label={`${word.openNetwork}: ${describe(network)}`}
                title={describe(network)}
                onClick={() => void openNetwork(network, `${asked.n}-${asked.m} network ${i + 1}`)}
              >
                <img alt="" src={`data:image/svg+xml,${encodeURIComponent(network.svg)}`} />
                <small>{i + 1}</small>
              </button>
            </li>
          ))}
        </ul>
        {found && found.networks.length < found.count && (
          <button type="button" className="button" onClick={more}>
            {word.moreNetworks} ({grouped(found.count - found.networks.length)})
          </button>
        )}
      </div>
    </Dialog>
  );
}
