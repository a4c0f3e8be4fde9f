"""Proof: two networks on the same random data in float64, one of them drawn with neurons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from inkcap.drawing import Drawing, Plain
from inkcap.engine.evaluation import run_on_torch
from inkcap.engine.patterns import in_float64
from inkcap.engine.plain.columns import Columns
from inkcap.engine.plain.network import PlainNetwork
from inkcap.network import Network, structure_of
from inkcap.operations import Trace
from inkcap.program import lower_to_steps
from inkcap.structures import AXES, InkcapError
from inkcap.symbols import CAPSULES, CONNECTIONS, complete

Array = NDArray[Any]

TOLERANCE = 1e-12
"""How far apart two networks may be for outputs of size 1: they sum the same numbers in another order."""

SAMPLES = 8


class NotEqual(InkcapError):
    """A conversion after which the network computes something else."""


def largest_difference(first: Sequence[Array], second: Sequence[Array]) -> float:
    """Give the largest difference of outputs, each flattened; beyond the tolerance it is an error."""
    ours, theirs = (np.concatenate([a.reshape(len(a), -1) for a in arrays], 1) for arrays in (first, second))
    difference = float(np.abs(ours - theirs).max(initial=0.0))
    scale = max(1.0, float(np.abs(ours).max(initial=0.0)))
    if not difference <= TOLERANCE * scale:
        raise NotEqual(
            f"the conversion was not written: outputs differ by {difference:.3g}, {TOLERANCE * scale:.3g} is allowed; "
            "this is a fault of Inkcap, please report it with the drawing"
        )
    return difference


def random_inputs(sizes: Sequence[int], seed: int = 0) -> list[Array]:
    """Draw samples for inputs of these sizes, a row for each sample."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((SAMPLES, size)) for size in sizes]


def run_network(network: Network, weights: Mapping[str, Tensor], inputs: Sequence[Array]) -> list[Array]:
    """Compute a network's outputs step by step in float64, from inputs in the order of the network."""
    program = lower_to_steps(network)
    values = {number: weights[name].detach().double() for name, number in program.weights.items()}
    for id, x in zip(network.inputs, inputs, strict=True):
        sizes = structure_of(network.capsules[id]).sizes
        values[program.inputs[id]] = torch.from_numpy(np.array(x, np.float64)).reshape(len(x), *sizes)
    computed = run_on_torch(in_float64(program.trace.steps), values)
    return [computed[program.outputs[id]].numpy() for id in network.outputs]


def run_block(drawing: Drawing, inputs: Sequence[Array]) -> list[Array]:
    """Compute a drawing with a plain block in float64; data capsules, if there are any, in the drawing's order."""
    plain = drawing.plain
    assert plain is not None
    if not plain.writes:
        network = PlainNetwork(_columns(plain))
        return [network.forward(np.concatenate(inputs, 1), dtype=np.float64)]
    return _Mixed(drawing, plain).run(inputs)


def _columns(plain: Plain) -> Columns:
    return Columns(plain.symbol, plain.bias, plain.back, plain.front, plain.weight)


class _Mixed:
    """A plain block among capsules, computed over and over until every capsule has got what it waits for."""

    def __init__(self, drawing: Drawing, plain: Plain) -> None:
        self.drawing, self.plain = drawing, plain
        spans = plain.writes.values()
        written = np.unique(np.concatenate([np.arange(first, first + count) for first, count in spans]))
        self.network = PlainNetwork(_columns(plain), written)
        self.place = np.full(len(plain.symbol), -1)
        self.place[self.network.outputs] = np.arange(written.size)
        self.inputs = [c.id for c in drawing.capsules.values() if CAPSULES[c.symbol].is_data]

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        given = dict(zip(self.inputs, inputs, strict=True))
        values: dict[str, Array] = {id: self._function(id, np.asarray(x)) for id, x in given.items()}
        samples = len(inputs[0])
        # Each round settles at least one capsule more, because there is no cycle.
        for _ in range(len(self.drawing.capsules)):
            data = np.zeros((samples, len(self.plain.symbol)))
            for id, (first, count) in self.plain.reads.items():
                data[:, first : first + count] = values[id].reshape(samples, -1) if id in values else 0
            made = self.network.forward(data[:, self.network.inputs], dtype=np.float64)
            before: dict[str, Array] = values
            values = {id: before[id] for id in self.inputs}
            for id in self.drawing.capsules:
                total = self._total(id, made, before)
                if id not in values and total is not None:
                    values[id] = self._function(id, total)
        left = {c.back for c in self.drawing.connections.values()} | set(self.plain.reads)
        return [values[id] for id in self.drawing.capsules if id not in left]

    def _total(self, id: str, made: Array, values: Mapping[str, Array]) -> Array | None:
        if id in self.plain.writes:
            first, count = self.plain.writes[id]
            return made[:, self.place[first : first + count]]
        parts: list[Array] = []
        for connection in self.drawing.connections.values():
            if connection.front == id:
                if connection.back not in values:
                    return None
                symbol = CONNECTIONS[connection.symbol]
                given = {**connection.attributes, "shape": self._shape(id)} if self._needs_shape(symbol) else {}
                attributes = complete(symbol.attributes, given or connection.attributes)
                y = values[connection.back]
                trace = Trace()
                made_by = symbol.forward(trace.value(y.shape[1:], "float64"), {}, attributes)
                computed = run_on_torch(in_float64(trace.steps), {0: torch.from_numpy(y)})
                parts.append(computed[made_by.number].numpy())
        return sum(parts[1:], parts[0]) if parts else None

    @staticmethod
    def _needs_shape(symbol: Any) -> bool:
        return any(a.name == "shape" for a in symbol.attributes)

    def _shape(self, id: str) -> tuple[int, ...] | None:
        capsule = self.drawing.capsules[id]
        reading = tuple(capsule.attributes[name] for name in AXES[capsule.rank])
        return (reading[-1], *reading[:-1]) if capsule.rank > 1 else None

    def _function(self, id: str, total: Array) -> Array:
        capsule = self.drawing.capsules[id]
        symbol = CAPSULES[capsule.symbol]
        shape = self._shape(id) or ((capsule.attributes["dimension"],) if capsule.rank else ())
        trace = Trace()
        attributes = complete(symbol.attributes(capsule.rank), capsule.attributes)
        made = symbol.forward(trace.value(shape, "float64"), attributes)
        u = torch.from_numpy(np.ascontiguousarray(total.reshape(len(total), *shape)))
        return run_on_torch(in_float64(trace.steps), {0: u})[made.number].numpy()
