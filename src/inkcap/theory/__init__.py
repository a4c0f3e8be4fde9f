"""Theory: graphs and what the paper's Section 2 says of them."""

from inkcap.theory.computation import ComputationalGraph, ComputationError, Vertex
from inkcap.theory.derivations import Derivation, Rule, RuleSet, Step, derive, derive_edges
from inkcap.theory.enumeration import Inputs, MadeBy, UpTo, count_networks, list_children, list_networks
from inkcap.theory.errors import Cyclic, DerivationError, EnumerationError, NotConnected, RuleError, TheoryError
from inkcap.theory.graphs import Classification, Graph, Witness, classify
from inkcap.theory.growing import Offer, offers
from inkcap.theory.necessity import Necessity, count_derivations, needs_convergence
from inkcap.theory.nets import (
    ACTIVATIONS,
    Net,
    Neuron,
    Output,
    Rules,
    WeightingConnection,
    convergence,
    growth,
    neuron,
    variable,
)
from inkcap.theory.replay import induced_net, replay, replay_edges, replay_net, require_network, verify

__all__ = [
    "ACTIVATIONS",
    "Classification",
    "ComputationError",
    "ComputationalGraph",
    "Cyclic",
    "Derivation",
    "DerivationError",
    "EnumerationError",
    "Graph",
    "Inputs",
    "MadeBy",
    "Necessity",
    "Net",
    "Neuron",
    "NotConnected",
    "Offer",
    "Output",
    "Rule",
    "RuleError",
    "RuleSet",
    "Rules",
    "Step",
    "TheoryError",
    "UpTo",
    "Vertex",
    "WeightingConnection",
    "Witness",
    "classify",
    "convergence",
    "count_derivations",
    "count_networks",
    "derive",
    "derive_edges",
    "growth",
    "induced_net",
    "list_children",
    "list_networks",
    "needs_convergence",
    "neuron",
    "offers",
    "replay",
    "replay_edges",
    "replay_net",
    "require_network",
    "variable",
    "verify",
]
