"""What every capsule does for one sample: its Y as maps or as a row, and how routing capsules couple their votes."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from inkcap.engine.coupling import COUPLING
from inkcap.engine.evaluation import run_on_torch
from inkcap.structures import to_reading_order
from inkcap.training.inspection.looking import Looking
from inkcap.training.inspection.summary import Plain, block_means, cells, finite, picture
from inkcap.training.inspection.values import array_of

_MOST_MAPS = 32
_LARGEST_MAP = 32
_SMALL_MAP = 16
_LONGEST_ROW = 256
_MOST_CELLS = 400_000
"""What the maps of all capsules may have together; networks of many capsules show fewer and smaller ones."""
_MOST_COUPLED = 96


@torch.no_grad()
def activations_of(looking: Looking, inputs: Sequence[Tensor]) -> tuple[dict[str, Plain], dict[str, Plain]]:
    """Give the activations of all capsules for one sample, and the coupling coefficients of those that route."""
    watched, network = looking.watched, looking.network
    program = watched.program
    values = dict(zip(program.inputs.values(), inputs, strict=True))
    stored = {**program.weights, **program.states}
    values |= {number: watched.stored[name] for name, number in stored.items()}
    computed = run_on_torch(program.trace.steps, values)
    maps = [id for id in network.capsules if computed[program.outputs[id]].ndim > 2]
    side, most = _room(len(maps))
    found = {id: activation(array_of(computed[number][0]), side, most) for id, number in program.outputs.items()}
    couplings = {
        program.owners[step.target]: _coupling(looking, program.owners[step.target], array_of(computed[step.target][0]))
        for step in program.trace.steps
        if step.operation.name in COUPLING
    }
    return found, couplings


def _room(count: int) -> tuple[int, int]:
    """Give the side and the number of maps that each of so many capsules may show."""
    if count * _MOST_MAPS * _LARGEST_MAP**2 <= _MOST_CELLS:
        return _LARGEST_MAP, _MOST_MAPS
    return _SMALL_MAP, int(np.clip(_MOST_CELLS // (count * _SMALL_MAP**2), 4, _MOST_MAPS))


def activation(values: NDArray[Any], side: int = _LARGEST_MAP, most: int = _MOST_MAPS) -> Plain:
    """Tell Y of one capsule for one sample; maps of several layers are shown by their means over the layers."""
    told: Plain = {
        "shape": list(to_reading_order(values.shape)),
        "minimum": finite(float(values.min())),
        "maximum": finite(float(values.max())),
        "units": int(values.size),
        "maps": None,
        "row": None,
    }
    if values.ndim < 2:
        told["row"] = cells(block_means(values.reshape(-1), (_LONGEST_ROW,)))
        return told
    maps = values.reshape(values.shape[0], -1, *values.shape[-2:]).mean(1) if values.ndim > 2 else values[None]
    told["maps"] = [picture(one[None], side) for one in maps[:most]]
    return told


def _coupling(looking: Looking, id: str, coefficients: NDArray[Any]) -> Plain:
    """Tell coefficients of children and parents; those of many positions by their means over them."""
    children, parents = coefficients.shape[:2]
    table = coefficients.reshape(children, parents, -1).mean(-1)
    return {
        "rows": cells(block_means(table, (_MOST_COUPLED, _MOST_COUPLED))),
        "from": _spans(children),
        "to": _parents(looking, parents) or _spans(parents),
        "iterations": int(looking.network.capsules[id].attributes["iterations"]),
    }


def _parents(looking: Looking, count: int) -> list[str]:
    """Name parents by the classes, where there are as many."""
    named = next((classes for classes in looking.opened.classes.values() if len(classes) == count), ())
    return list(named) if count <= _MOST_COUPLED else []


def _spans(count: int) -> list[str]:
    """Number children or parents from 1; where several share a cell, by the first and the last."""
    if count <= _MOST_COUPLED:
        return [str(number) for number in range(1, count + 1)]
    edges = np.arange(_MOST_COUPLED + 1) * count // _MOST_COUPLED
    return [f"{a + 1}–{b}" if b > a + 1 else str(b) for a, b in pairwise(edges)]
