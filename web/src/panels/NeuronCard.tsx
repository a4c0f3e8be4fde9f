import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { Neuron, NeuronLine } from "../api/types";
import { chooseNeuron, useNeurons } from "../app/neurons";
import { attempt } from "../app/session";
import { useStudio } from "../app/store";
import { words } from "../app/words";
import { capsuleSymbol } from "../model/compose";
import { grouped } from "../model/findings";
import { Facts } from "./Cards";

const short = (n: number): string => (Number.isInteger(n) ? String(n) : n.toPrecision(4));

function Lines({ title, count, lines }: { title: string; count: number; lines: NeuronLine[] }) {
  const stride = useNeurons((s) => s.neurons?.stride ?? 1);
  if (!count) return null;
  return (
    <>
      <h3>
        {title} <span className="soft">{grouped(count)}</span>
      </h3>
      <div className="neuron-lines">
        {lines.map(({ neuron, weight }) => (
          <button
            type="button"
            key={neuron}
            disabled={neuron % stride !== 0}
            onClick={() => chooseNeuron(neuron / stride)}
          >
            <b>n{neuron}</b> <code>{short(weight)}</code>
          </button>
        ))}
        {count > lines.length && <span className="soft">… {grouped(count - lines.length)}</span>}
      </div>
    </>
  );
}

/** One neuron of the columns: what it computes and what it is joined to. */
export function NeuronCard() {
  const id = useStudio((s) => s.id);
  const catalogue = useStudio((s) => s.catalogue);
  const number = useNeurons((s) => (s.chosen === null ? null : s.chosen * (s.neurons?.stride ?? 1)));
  const word = words(useStudio((s) => s.language));
  const [neuron, setNeuron] = useState<Neuron | null>(null);
  useEffect(() => {
    let current = true;
    if (id && number !== null)
      void attempt(api.neuron(id, number)).then((found) => found && current && setNeuron(found));
    return () => {
      current = false;
    };
  }, [id, number]);
  if (!neuron) return <p className="soft">…</p>;
  const symbol = catalogue ? capsuleSymbol(catalogue, neuron.symbol) : undefined;
  const rows: [string, string][] = [
    [word.layer, neuron.layer < 0 ? "–" : String(neuron.layer)],
    [word.bias, neuron.symbol === "data" ? "–" : short(neuron.bias)],
  ];
  if (neuron.reads) rows.push([word.standsFor, neuron.reads]);
  if (neuron.writes) rows.push([word.writesTo, neuron.writes]);
  return (
    <>
      <h2>
        {symbol?.faces["0"]?.title ?? neuron.symbol} <span className="soft">{neuron.name}</span>
      </h2>
      <p className="soft">{word.inColumns}</p>
      <Facts rows={rows} />
      <Lines title={word.entering} count={neuron.enters} lines={neuron.entering} />
      <Lines title={word.leaving} count={neuron.leaves} lines={neuron.leaving} />
    </>
  );
}

/** What the card of the drawing adds where neurons lie in columns. */
export function NeuronBlock() {
  const neurons = useNeurons((s) => s.neurons);
  const word = words(useStudio((s) => s.language));
  if (!neurons) return null;
  const sampled = neurons.stride > 1 || neurons.lines < neurons.connections;
  return (
    <>
      <h3>{word.neuronsInColumns}</h3>
      <p className="soft">{word.inColumns}</p>
      {sampled && (
        <p className="soft">
          {word.sampled} {grouped(neurons.lines)} / {grouped(neurons.connections)}
        </p>
      )}
    </>
  );
}
