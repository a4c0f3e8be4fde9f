"""Contraction: a network of neurons as a network of capsules (Figure 22 as Figure 20)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from inkcap.drawing import Capsule, Connection, Drawing, Edit, Meta, Put
from inkcap.drawing.limits import NAME_LENGTH
from inkcap.engine.bundles import Bundle, Edges, bundle
from inkcap.engine.gathering import ContractionError, Group, Neurons, group_neurons, read_neurons
from inkcap.engine.plain.columns import CODES, DATA
from inkcap.network import Network, check, structure_of

Array = NDArray[Any]

SYMBOLS = {code: name for name, code in CODES.items()}


@dataclass(frozen=True, eq=False)
class Contraction:
    """A network of capsules, its weights by name in float64, and which neuron became which element.

    ``neurons`` gives for every capsule the neurons that are its elements, in order, by their number in the plain
    block or in the drawing.
    """

    drawing: Drawing
    weights: Mapping[str, Tensor]
    neurons: Mapping[str, NDArray[np.int64]]

    @property
    def network(self) -> Network:
        """The checked network."""
        return check(self.drawing).network

    def place(self, neuron: int) -> tuple[str, int]:
        """Find the capsule and the index of a neuron."""
        for id, members in self.neurons.items():
            if (found := np.flatnonzero(members == neuron)).size:
                return id, int(found[0])
        raise ContractionError(f"there is no neuron {neuron}")


def contract(drawing: Drawing, weights: Mapping[str, Tensor] | None = None) -> Contraction:
    """Contract a drawing of neurons to capsules, with these weights, or with those it starts from.

    Neurons of one symbol with the same predecessors become a capsule, single ones of one level another. Complete
    blocks become full connections, others sparse ones; tied weights stay tied and fixed ones fixed.
    """
    neurons = read_neurons(drawing, weights)
    groups = group_neurons(neurons, drawing)
    return _Drawer(drawing, neurons, groups).draw()


class _Drawer:
    """Draws groups of neurons as capsules, and what is between them as connections."""

    def __init__(self, source: Drawing, neurons: Neurons, groups: list[Group]) -> None:
        self.source, self.neurons, self.groups = source, neurons, groups
        self.kept: dict[str, Capsule] = dict(source.capsules) if source.plain else {}
        self.taken = set(self.kept)
        self.records: list[Capsule | Connection] = []
        self.weights: dict[str, Tensor] = {}
        self.names: set[str] = set()
        self.edges = Edges.of(neurons, groups)
        self.needs_one = self.edges.add_biases(neurons, groups)
        self.one_id = ""

    def draw(self) -> Contraction:
        """Draw everything."""
        lines = list(self.source.connections.values()) if self.source.plain else []
        self.names = {line.id for line in lines}
        for group in self.groups:
            self._capsule(group)
        if self.needs_one:
            self._constant()
        for bundled in bundle(self.edges):
            self._connection(bundled)
        drawing = Drawing()
        name = re.sub(r" plain$", "", self.source.name)
        meta = Meta(f"{name[: NAME_LENGTH - 9]} capsules" if name == self.source.name else name, self._dtype())
        records = (meta, *self.kept.values(), *self.records, *lines)
        ordered = sorted(records, key=lambda r: isinstance(r, Connection))
        drawing.apply(Edit("contract", tuple(Put(record) for record in ordered)))
        drawing.start_history_here()
        members = {group.id: group.members for group in self.groups}
        return Contraction(drawing, self.weights, members)

    def _dtype(self) -> str:
        if self.source.plain is None:
            return structure_of(next(iter(check(self.source).network.capsules.values()))).dtype
        return next(
            (str(c.attributes["dtype"]) for c in self.kept.values() if c.attributes.get("dtype")), self.source.dtype
        )

    def _capsule(self, group: Group) -> None:
        """Draw a group's capsule, or find the kept capsule that it is."""
        for id in filter(None, (group.reads, *group.writes)):
            if self.kept[id].rank == 0:
                raise ContractionError(
                    f"the plain block reads from or writes into {id}, a neuron, and no connection joins a vector to a "
                    "neuron; draw all neurons into the block"
                )
        if group.reads and self.kept[group.reads].rank == 1:
            group.id = group.reads
            return
        bias = {} if group.code == DATA else self._bias(group)
        if self._is_sum(group):
            (group.id,) = group.writes
            old = self.kept[group.id]
            self.kept[group.id] = replace(old, rank=1, attributes={**old.attributes, **bias})
        else:
            group.id = self._name(group)
            symbol = "identical" if group.reads else SYMBOLS[group.code]
            self.records.append(Capsule(group.id, symbol, 1, {"dimension": group.members.size, **bias}))
            for id in filter(None, (group.reads, *group.writes)):
                back, front = (id, group.id) if group.reads else (group.id, id)
                self._connect(back, front, "transfer" if self.kept[id].rank == 1 else "reshaping", {})
        if bias.get("bias") == "full":
            self.weights[f"{group.id}.bias"] = torch.from_numpy(self.neurons.bias[group.members])

    def _bias(self, group: Group) -> dict[str, Any]:
        return {"bias": "full" if self.edges.has_own_bias(self.neurons, group) else "none"}

    def _is_sum(self, group: Group) -> bool:
        """Tell whether neurons only hold the total input of the vector into which they write."""
        if len(group.writes) != 1 or group.code != CODES["identical"]:
            return False
        return self.kept[group.writes[0]].rank == 1 and not np.isin(group.members, self.neurons.back).any()

    def _name(self, group: Group) -> str:
        """Name a capsule after its neurons where they have one stem, else by its role."""
        is_output = not group.writes and not np.isin(group.members, self.neurons.back).any()
        stem = "x" if group.code == DATA else "y" if is_output else "h"
        if self.neurons.names:
            numbers: list[int] = group.members.tolist()
            found = {re.sub(r"(_?\d+)+$", "", self.neurons.names[i]) for i in numbers}
            if len(found) == 1 and (common := found.pop()):
                stem = common
        return self._fresh(group.reads or stem, self.taken)

    @staticmethod
    def _fresh(stem: str, taken: set[str]) -> str:
        name, number = stem[:58], 2
        while name in taken:
            name, number = f"{stem[:58]}{'-' if stem[-1].isdigit() else ''}{number}", number + 1
        taken.add(name)
        return name

    def _constant(self) -> None:
        """Draw the capsule that is always 1: what it sends is a bias that is shared, fixed, or all that enters."""
        first = next(group for group in self.groups if group.code == DATA)
        self.one_id = self._fresh("one", self.taken)
        self.records.append(Capsule(self.one_id, "step", 1, {"dimension": 1, "bias": "none"}, (), "1"))
        attributes = {"initialiser": "zeros", "trainable": False}
        name = self._connect(first.id, self.one_id, "full", attributes)
        self.weights[f"{name}.weight"] = torch.zeros(1, first.members.size, dtype=torch.float64)

    def _connect(self, back: str, front: str, symbol: str, attributes: dict[str, Any], tie: str = "") -> str:
        name = self._fresh(f"{back}-{front}", self.names)
        self.records.append(Connection(name, symbol, back, front, attributes, tie=tie))
        return name

    def _id(self, group: int) -> str:
        return self.groups[group].id if group < len(self.groups) else self.one_id

    def _connection(self, made: Bundle) -> None:
        attributes: dict[str, Any] = dict(made.attributes)
        if made.symbol != "transfer" and made.fixed:
            attributes["trainable"] = False
        tie = f"w{made.tie}" if made.tie else ""
        name = self._connect(self._id(made.back), self._id(made.front), made.symbol, attributes, tie)
        if made.weight is not None:
            self.weights[f"tie:{tie}.weight" if tie else f"{name}.weight"] = torch.from_numpy(made.weight)
