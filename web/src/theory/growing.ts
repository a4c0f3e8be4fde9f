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
  /** A rule that was asked for before the server had answered. */
  wanted: Rule | null;
  /** When the neuron that is under way was asked for. */
  since: number;
}

const state: Growing = { offers: null, function: "relu", wanted: null, since: 0 };
/** So long a neuron may be under way before the next is asked for anyway: a refusal brings no answer of its own. */
const PATIENCE = 1500;

export const setOffers = (offers: Offers | null): void => {
  state.offers = offers;
  goOn();
};
export const setFunction = (name: string): void => {
  state.function = name;
};

function goOn(): void {
  const { wanted } = state;
  if (wanted && state.offers && !isUnderWay()) growBy(wanted);
}

const isUnderWay = () => Date.now() - state.since < PATIENCE;

/** Apply a rule to what is chosen, if the server offers it; a key that comes before its answer waits for it. */
export function growBy(rule: Rule): void {
  if (useStudio.getState().scope.length) return;
  state.wanted = rule;
  if (!state.offers || isUnderWay()) return;
  state.wanted = null;
  const offer = state.offers.offers.find((one) => one.rule === rule);
  if (!offer || offer.why) return;
  const chosen = rule === "variable" ? [] : [...useTheory.getState().picked];
  const at = placeOfGrown(rule, chosen, useStudio.getState().places);
  state.offers = null;
  state.since = Date.now();
  useTheory.setState({ picked: [] });
  command("grow", { rule, chosen, at, function: state.function }, (_, made) => {
    state.since = 0;
    const [id] = made;
    if (id) select([id]);
    goOn();
  });
}
