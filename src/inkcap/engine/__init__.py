"""The engine: operations on torch, modules from networks, backpropagation from the operations' products."""

from inkcap.engine.build import (
    WeightsError,
    build,
    initialise,
    load_weights,
    named_states,
    named_weights,
    source_of,
    weights_of,
)
from inkcap.engine.evaluation import dense_matrix, run_backwards, run_on_numpy, run_on_torch
from inkcap.engine.printing import FORMS, print_module
from inkcap.engine.reference import REFERENCE
from inkcap.engine.torch_operations import TORCH

__all__ = [
    "FORMS",
    "REFERENCE",
    "TORCH",
    "WeightsError",
    "build",
    "dense_matrix",
    "initialise",
    "load_weights",
    "named_states",
    "named_weights",
    "print_module",
    "run_backwards",
    "run_on_numpy",
    "run_on_torch",
    "source_of",
    "weights_of",
]
