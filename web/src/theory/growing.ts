/** Growing by rules: the server knows what is permitted and makes the neuron; the page chooses and places. */

import { select } from "../app/actions";
import { command } from "../app/session";
import { useStudio } from "../app/store";
import type { Offers, Rule } from "./api";
import { useTheory } from "./mode";
import { placeOfGrown } from "./neurons";

interface Growing {
  offers: Offers | null;
  function: string;
  busy: boolean;
}

const state: Growing = { offers: null, function: "relu", busy: false };

export const setOffers = (offers: Offers | null): void => {
  state.offers = offers;
};
export const setFunction = (name: string): void => {
  state.function = name;
};

/** Apply a rule to what is chosen, if the server offered it. */
export function growBy(rule: Rule): void {
  const offer = state.offers?.offers.find((one) => one.rule === rule);
  if (!offer || offer.why || useStudio.getState().scope.length) return;
  const { picked } = useTheory.getState();
  const chosen = rule === "variable" ? [] : [...picked];
  const at = placeOfGrown(rule, chosen, useStudio.getState().places);
  // Until the answer is here nothing more is offered: the next rule must see this neuron.
  state.offers = null;
  useTheory.setState({ picked: [] });
  command("grow", { rule, chosen, at, function: state.function }, (_, made) => {
    const [id] = made;
    if (id) select([id]);
  });
}
