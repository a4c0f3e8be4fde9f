"""What a capsule or a connection holds after an epoch: its weights, its Y, its δ and the gradient of its weights."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from inkcap.network import CheckedConnection, WeightRecord
from inkcap.training.data.wording import listing, near_matches
from inkcap.training.errors import TrainingError
from inkcap.training.inspection.looking import Looking
from inkcap.training.inspection.summary import (
    Plain,
    block_means,
    finite,
    histogram,
    matrix,
    picture,
    statistics,
)
from inkcap.training.passes import WatchedPass
from inkcap.training.signals import dead_share, delta_norm, sample_norm

_MOST_KERNELS = 64
_LARGEST_KERNEL = 32
_LARGEST_MATRIX = 96
_COLOURS = 3


def values_of(looking: Looking, item: str, epoch: int | None = None) -> Plain:
    """Tell what a capsule or a connection holds."""
    watched, network = looking.watched, looking.network
    capsule, connection = network.capsules.get(item), network.connections.get(item)
    if capsule is None and connection is None:
        there = (*network.capsules, *network.connections)
        near = near_matches(item, there) or f" It has {listing(there)}."
        raise TrainingError(f"{looking.folder.id}: its drawing has no capsule or connection {item!r}.{near}")
    chosen = looking.at(epoch)
    passed = looking.passed()
    told: Plain = {"id": item, "epoch": chosen, "samples": passed.samples, "output": None, "delta": None}
    records: Sequence[WeightRecord]
    if capsule is not None:
        records = capsule.stored
        told |= {"kind": "capsule", "title": capsule.title, "output": _output(looking, item)}
        if item in passed.deltas:
            told["delta"] = _delta(passed.deltas[item], passed.samples)
    else:
        assert connection is not None
        records = list(connection.weights.values())
        told |= {"kind": "connection", "title": connection.record.title}
    rgb = connection is not None and _takes_colours(looking, connection)
    convolving = _convolving(watched)
    told["weights"] = [
        _weight(record, array_of(watched.stored[record.name]), record.name in convolving, rgb) for record in records
    ]
    found = [passed.gradients.get(record.name) for record in records]
    told["gradient"] = _gradient([value for value in found if value is not None])
    return told


def array_of(tensor: Tensor) -> NDArray[Any]:
    """Give a tensor as an array of wide numbers."""
    return tensor.detach().double().cpu().numpy()


def _output(looking: Looking, id: str) -> Plain:
    output = looking.passed().outputs[id]
    numbers = array_of(output)
    found = statistics(numbers)
    return {
        "histogram": histogram(numbers),
        "mean": found["mean"],
        "deviation": found["deviation"],
        "norm": finite(sample_norm(output)),
        "dead": None if id in looking.network.inputs else dead_share(output),
    }


def _delta(slope: Tensor | None, samples: int) -> Plain:
    # The loss is a mean over the batch: a sample's own δ is as many times larger as there are samples.
    numbers = np.zeros(1) if slope is None else array_of(slope) * samples
    return {"histogram": histogram(numbers), "norm": finite(delta_norm(slope, samples))}


def _gradient(gradients: Sequence[Tensor]) -> Plain | None:
    if not gradients:
        return None
    numbers = np.concatenate([array_of(value).ravel() for value in gradients])
    return {"histogram": histogram(numbers), "norm": statistics(numbers)["norm"]}


def _takes_colours(looking: Looking, connection: CheckedConnection) -> bool:
    """Tell whether a connection looks at a picture of three colours itself, so that its kernels are such pictures."""
    sizes = connection.back_end.sizes if connection.back_end is not None else ()
    return connection.back in looking.network.inputs and len(sizes) == _COLOURS and sizes[0] == _COLOURS


def _convolving(watched: WatchedPass) -> set[str]:
    """Find the weights that are kernels: what a convolution takes, as it is or flipped."""
    program = watched.program
    names = {number: name for name, number in program.weights.items()}
    flipped = {step.target: step.arguments[0] for step in program.trace.steps if step.operation.name == "flip"}
    taken = [step.arguments[1] for step in program.trace.steps if step.operation.name in ("convolve", "deconvolve")]
    return {names[n] for n in (flipped.get(number, number) for number in taken) if n in names}


def _weight(record: WeightRecord, numbers: NDArray[Any], convolving: bool, rgb: bool) -> Plain:
    kernels = _kernels(numbers, rgb) if convolving else None
    flat = numbers.reshape(1, -1) if numbers.ndim < 2 else numbers.reshape(len(numbers), -1)
    return {
        "name": record.name,
        "shape": list(numbers.shape),
        **statistics(numbers),
        "histogram": histogram(numbers),
        "kernels": kernels,
        "matrix": None if kernels is not None or not numbers.size else matrix(flat, _LARGEST_MATRIX),
    }


def _kernels(numbers: NDArray[Any], rgb: bool) -> list[Plain] | None:
    """Give the kernels of a convolution as pictures: the means over what they sum, or colours where they see such."""
    if numbers.ndim not in (4, 5) or numbers.shape[-1] * numbers.shape[-2] == 1:
        return None
    volumes = numbers.mean(2) if numbers.ndim == 5 else numbers
    shown = block_means(volumes[:_MOST_KERNELS], (_LARGEST_KERNEL, _LARGEST_KERNEL))
    if rgb and shown.shape[1] == _COLOURS:
        low, high = float(np.nanmin(numbers)), float(np.nanmax(numbers))
        span = high - low if high > low else 1.0
        return [picture((kernel - low) / span, _LARGEST_KERNEL) for kernel in shown]
    return [picture(kernel.mean(0, keepdims=True), _LARGEST_KERNEL) for kernel in shown]
