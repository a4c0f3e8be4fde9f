/** Neurons in columns: fetched for the drawing that is open, looked at one by one; they are not edited here. */

import { useEffect } from "react";
import { create } from "zustand";
import { api } from "../api/client";
import type { Neurons, Point } from "../api/types";
import { type Crowd, crowdOfNeurons, pointsOf, towards } from "../canvas/crowd";
import type { Way } from "../model/sorting";
import { attempt } from "./session";
import { useStudio } from "./store";

interface NeuronState {
  neurons: Neurons | null;
  crowd: Crowd | null;
  /** The number, among those shown, of the neuron that the inspector tells of. */
  chosen: number | null;
}

export const useNeurons = create<NeuronState>(() => ({ neurons: null, crowd: null, chosen: null }));

/** Fetch the neurons whenever the drawing's block of them is another. */
export function useNeuronBlock(): Crowd | null {
  const id = useStudio((s) => s.id);
  const block = useStudio((s) => s.drawing.plain.get("plain"));
  const catalogue = useStudio((s) => s.catalogue);
  const inGroup = useStudio((s) => s.scope.length > 0);
  const neurons = useNeurons((s) => s.neurons);
  const crowd = useNeurons((s) => s.crowd);
  useEffect(() => {
    if (!id || !block) return useNeurons.setState({ neurons: null, crowd: null, chosen: null });
    let current = true;
    void attempt(api.neurons(id)).then((found) => {
      if (found && current) useNeurons.setState({ neurons: found, chosen: null });
    });
    return () => {
      current = false;
    };
  }, [id, block]);
  useEffect(() => {
    useNeurons.setState({ crowd: neurons && crowdOfNeurons(neurons, catalogue) });
  }, [neurons, catalogue]);
  return inGroup ? null : crowd;
}

export function chooseNeuron(chosen: number | null): void {
  if (chosen !== null && useStudio.getState().selection.size) useStudio.setState({ selection: new Set() });
  useNeurons.setState({ chosen });
}

// What else is selected takes the inspector from a neuron.
useStudio.subscribe((now, before) => {
  if (now.selection !== before.selection && now.selection.size) useNeurons.setState({ chosen: null });
});

const WAYS: Record<Way, Point> = { left: [-1, 0], right: [1, 0], up: [0, -1], down: [0, 1] };

/** Let an arrow key go from neuron to neuron; false where none is chosen and there is something else to go to. */
export function walkNeurons(way: Way): boolean {
  const { crowd, chosen } = useNeurons.getState();
  const { selection, scene } = useStudio.getState();
  if (!crowd || selection.size || (chosen === null && scene.capsule.size)) return false;
  chooseNeuron(chosen === null ? 0 : (towards(crowd, chosen, WAYS[way]) ?? chosen));
  return true;
}

export function neuronPlace(number: number | null): Point | undefined {
  const { crowd } = useNeurons.getState();
  return crowd && number !== null && number < crowd.count
    ? [crowd.x[number] as number, crowd.y[number] as number]
    : undefined;
}

export function neuronCorners(): Point[] {
  const { crowd } = useNeurons.getState();
  return crowd && !useStudio.getState().scope.length ? pointsOf(crowd) : [];
}

/** The number, among those shown, of a neuron that is searched for by its name, such as n12. */
export function neuronByName(text: string): number | null {
  const { neurons, crowd } = useNeurons.getState();
  const found = /^n?(\d+)$/.exec(text.trim().toLowerCase());
  if (!neurons || !crowd || !found) return null;
  const number = Math.floor(Number(found[1]) / neurons.stride);
  return number < crowd.count && number * neurons.stride === Number(found[1]) ? number : null;
}
