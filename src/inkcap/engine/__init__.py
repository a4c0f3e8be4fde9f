"""The engine: operations on torch, modules from networks, backpropagation from the operations' products."""

from inkcap.engine.backpropagation import Backpropagation, BackpropagationError, Backpropagator, backpropagate
from inkcap.engine.build import (
    WeightsError,
    build,
    initialise,
    load_weights,
    named_states,
    named_weights,
    source_of,
    starting_weights,
    weights_of,
)
from inkcap.engine.contraction import Contraction, contract
from inkcap.engine.conversions import prove_contraction, prove_expansion
from inkcap.engine.coupling import CouplingError, coupling
from inkcap.engine.evaluation import dense_matrix, run_backwards, run_on_numpy, run_on_torch
from inkcap.engine.expansion import Expansion, expand
from inkcap.engine.gathering import ContractionError
from inkcap.engine.patterns import ExpansionError
from inkcap.engine.printing import FORMS, print_module
from inkcap.engine.reference import REFERENCE
from inkcap.engine.torch_operations import TORCH

__all__ = [
    "FORMS",
    "REFERENCE",
    "TORCH",
    "Backpropagation",
    "BackpropagationError",
    "Backpropagator",
    "Contraction",
    "ContractionError",
    "CouplingError",
    "Expansion",
    "ExpansionError",
    "WeightsError",
    "backpropagate",
    "build",
    "contract",
    "coupling",
    "dense_matrix",
    "expand",
    "initialise",
    "load_weights",
    "named_states",
    "named_weights",
    "print_module",
    "prove_contraction",
    "prove_expansion",
    "run_backwards",
    "run_on_numpy",
    "run_on_torch",
    "source_of",
    "starting_weights",
    "weights_of",
]
