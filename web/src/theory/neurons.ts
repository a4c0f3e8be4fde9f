/** Drawings of neurons: a network of the enumeration as a drawing file, and the place of a neuron that is grown. */

import type { DrawingFile, Point } from "../api/types";
import type { ListedNetwork, Rule } from "./api";

export function fileOf(network: ListedNetwork, name: string): DrawingFile {
  return {
    format: 1,
    name,
    dtype: "float32",
    capsules: [
      ...network.inputs.map((id) => ({ id, symbol: "data", rank: 0 as const })),
      ...network.neurons.map((id) => ({ id, symbol: "relu", rank: 0 as const })),
    ],
    connections: network.edges.map(([back, front]) => ({ id: `${back}-${front}`, symbol: "amplifying", back, front })),
  };
}

const ACROSS = 110;
const DOWN = 90;

/** An input goes under the others in its column; a neuron to the right of what enters it, in their middle, where it is free. */
export function placeOfGrown(rule: Rule, entering: readonly string[], places: ReadonlyMap<string, Point>): Point {
  const all = [...places.values()];
  const from = entering.map((id) => places.get(id)).filter((at) => at !== undefined);
  const left = all.length ? Math.min(...all.map(([x]) => x)) : 0;
  const spot: Point =
    rule === "variable" || !from.length
      ? [left, all.length ? Math.min(...all.map(([, y]) => y)) : 0]
      : [
          Math.max(...from.map(([x]) => x)) + ACROSS,
          Math.round(from.reduce((sum, [, y]) => sum + y, 0) / from.length / 5) * 5,
        ];
  while (all.some(([x, y]) => Math.abs(x - spot[0]) < ACROSS * 0.6 && Math.abs(y - spot[1]) < DOWN * 0.8))
    spot[1] += DOWN;
  return spot;
}
