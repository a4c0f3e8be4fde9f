"""Wiring: neurons and amplifying connections as columns, and the drawings made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkcap.drawing import Capsule, Connection, Drawing, Edit, Meta, Plain, Put
from inkcap.drawing.limits import NAME_LENGTH
from inkcap.drawing.plain import FIXED, FREE, Spans
from inkcap.engine.correspondence import Correspondence, Numbers, stored
from inkcap.engine.torch_operations import torch_dtype
from inkcap.network import CheckedCapsule, Network, structure_of
from inkcap.structures import AXES
from inkcap.theory import Graph

LONGEST_STEM = 40
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")

Origin = tuple[str, tuple[int, ...], tuple[int, int], NDArray[np.int64]]
"""A capsule's id and shape, the span of its neurons, and which of its elements they are."""


@dataclass(frozen=True, eq=False)
class Wiring:
    """The columns of a network of neurons; ``number`` and ``bias`` count through the weights that it came from."""

    symbol: NDArray[np.str_]
    bias: NDArray[np.int64]
    back: NDArray[np.int64]
    front: NDArray[np.int64]
    number: NDArray[np.int64]
    weight: NDArray[np.float64]
    tie: NDArray[np.int64]
    origins: list[Origin]
    reads: Spans
    writes: Spans

    @property
    def neurons(self) -> int:
        """Count the neurons."""
        return self.symbol.size

    @property
    def connections(self) -> int:
        """Count the connections."""
        return self.back.size

    @property
    def parameters(self) -> int:
        """Count the numbers that training changes, shared ones once."""
        return np.unique(self.number[self.tie != FIXED]).size + np.unique(self.bias[self.bias >= 0]).size


def fits_neurons(wiring: Wiring) -> bool:
    """Tell whether neurons drawn one by one can say it: no bias is shared, all are entered and they are connected."""
    own = wiring.bias[wiring.bias >= 0]
    entered = np.bincount(wiring.front, minlength=wiring.neurons) > 0
    backs: list[int] = wiring.back.tolist()
    fronts: list[int] = wiring.front.tolist()
    ends = {(str(back), str(front)) for back, front in zip(backs, fronts, strict=True)}
    graph = Graph.of([str(i) for i in range(wiring.neurons)], ends)
    joined = bool((entered | (wiring.symbol == "data")).all()) and len(graph.parts()) == 1
    return joined and np.unique(own).size == own.size


def _named(network: Network) -> Drawing:
    drawing = Drawing()
    name = f"{network.name[: NAME_LENGTH - 6]} plain"
    drawing.apply(Edit("name", (Put(Meta(name, _dtype(network))),)))
    return drawing


def _dtype(network: Network) -> str:
    return structure_of(next(iter(network.capsules.values()))).dtype


def draw_block(
    network: Network, wiring: Wiring, numbers: Numbers, kept: Mapping[str, CheckedCapsule], staying: set[str]
) -> tuple[Drawing, Correspondence]:
    """Draw it as a plain block among the capsules that are kept and the connections that stay."""
    drawing = _named(network)
    tie = numbers.tie_of(wiring.bias, FREE, FIXED)
    tie[wiring.symbol == "data"] = FREE
    plain = Plain(
        tuple(wiring.symbol.tolist()),
        tuple(np.where(wiring.bias < 0, 0.0, numbers.flat[wiring.bias]).tolist()),
        tuple(wiring.back.tolist()),
        tuple(wiring.front.tolist()),
        tuple(wiring.weight.tolist()),
        tuple(wiring.tie.tolist()) if (wiring.tie != FREE).any() else (),
        tuple(tie.tolist()) if (tie != FREE).any() else (),
        wiring.reads,
        wiring.writes,
    )
    records = [_stated(network.drawing.capsules[id], c, id in wiring.writes) for id, c in kept.items()]
    lines = [c for id, c in network.drawing.connections.items() if id in staying]
    drawing.apply(Edit("expand", tuple(Put(record) for record in (*records, *lines, plain))))
    drawing.start_history_here()
    computes = wiring.symbol != "data"
    sources = {
        "plain.weight": stored(wiring.number, wiring.tie, FIXED),
        "plain.bias": stored(wiring.bias[computes], tie[computes], FIXED),
    }
    return drawing, Correspondence(numbers.places, np.zeros(0), sources, torch_dtype(_dtype(network)))


def _stated(capsule: Capsule, checked: CheckedCapsule, written: bool) -> Capsule:
    """State what the connections told before: sizes, data type, and that the neurons have added the bias."""
    assert checked.total_input is not None
    shape = checked.total_input.sizes
    reading = (*shape[1:], shape[0]) if len(shape) > 1 else shape
    attributes: dict[str, Any] = {**dict(zip(AXES[capsule.rank], reading, strict=True)), **capsule.attributes}
    attributes["dtype"] = checked.total_input.dtype
    if written:
        attributes = {**attributes, "bias": "none"}
        attributes.pop("b", None)
    declared = [a.name for a in checked.record.attributes(capsule.rank)]
    ordered = {name: attributes[name] for name in declared if name in attributes}
    return replace(capsule, attributes=ordered)


def draw_neurons(network: Network, wiring: Wiring, numbers: Numbers) -> tuple[Drawing, Correspondence]:
    """Draw it neuron by neuron, with the weights and biases as the numbers with which training starts."""
    drawing = _named(network)
    ids, labels = _names_of(wiring)
    records: list[Capsule | Connection] = []
    sources: dict[str, NDArray[np.int64]] = {}
    constants: list[float] = []
    for id, label, symbol, bias in zip(ids, labels, wiring.symbol.tolist(), wiring.bias.tolist(), strict=True):
        attributes: dict[str, Any] = {} if bias >= 0 or symbol == "data" else {"bias": "none"}
        if bias >= 0:
            attributes = {"b": float(numbers.flat[bias])}
            sources[f"{id}.bias"] = np.array(bias)
        records.append(Capsule(id, symbol, 0, attributes, (), label))
    taken: set[str] = set()
    backs: list[int] = wiring.back.tolist()
    fronts: list[int] = wiring.front.tolist()
    for i, (back, front) in enumerate(zip(backs, fronts, strict=True)):
        name, number, knot = _fresh(f"{ids[back]}-{ids[front]}"[:58], taken), int(wiring.number[i]), int(wiring.tie[i])
        attributes = {"strength": float(wiring.weight[i])} | ({"trainable": False} if knot == FIXED else {})
        tie = f"w{knot + 1}" if knot >= 0 else ""
        records.append(Connection(name, "amplifying", ids[back], ids[front], attributes, tie=tie))
        if number < 0:
            number = numbers.flat.size - 1 + len(constants)
            constants.append(float(wiring.weight[i]))
        sources[f"tie:{tie}.weight" if tie else f"{name}.weight"] = np.array(number)
    drawing.apply(Edit("expand", tuple(Put(record) for record in records)))
    drawing.start_history_here()
    return drawing, Correspondence(numbers.places, np.array(constants), sources, torch_dtype(_dtype(network)))


def _names_of(wiring: Wiring) -> tuple[list[str], list[str]]:
    """Name neurons after the capsule and the place of the element in it, counted from 1: ``b_3``, read b₃."""
    ids: list[str] = []
    labels: list[str] = []
    taken: set[str] = set()
    for id, shape, _, elements in wiring.origins:
        numbered: list[list[int]] = np.stack(np.unravel_index(elements, shape), 1).tolist() if shape else [[]]
        for place in numbered:
            index = [str(i + 1) for i in place]
            ids.append(_fresh("_".join([id[:LONGEST_STEM], *index]), taken))
            labels.append(id + ",".join(index).translate(SUBSCRIPTS) if index else "")
    return ids, labels


def _fresh(stem: str, taken: set[str]) -> str:
    name, number = stem, 2
    while name in taken:
        name, number = f"{stem}-{number}", number + 1
    taken.add(name)
    return name
