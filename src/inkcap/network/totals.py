"""The numbers of a drawing as a whole, kept by differences: what one capsule brings in, another takes away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from inkcap.network.network import CheckedCapsule, CheckedConnection, WeightRecord

Checked = tuple[tuple[CheckedConnection, ...], CheckedCapsule]
"""The records of the connections that enter a capsule, and its own."""


@dataclass(frozen=True)
class Totals:
    """What training changes, what it leaves alone, and what one sample costs."""

    parameters: int = 0
    frozen_parameters: int = 0
    multiply_adds: int = 0
    activation_bytes: int = 0
    """The bytes of all outputs for one sample."""


def weights_of(checked: Checked) -> Iterable[tuple[WeightRecord, bool]]:
    """Give the weights that are stored for a capsule and what enters it, and whether a later one of its name counts."""
    for connection in checked[0]:
        if connection.weights:
            for weight in connection.weights.values():
                yield weight, False
    capsule = checked[1]
    if capsule.bias is not None or capsule.parameters or capsule.parts:
        for weight in capsule.stored:
            if not weight.state:
                yield weight, True


class Counting:
    """Sums over all capsules; weights of one name, as tied ones have, count once, as in the network's own list."""

    def __init__(self) -> None:
        """Count nothing yet."""
        self._alone: dict[str, WeightRecord] = {}
        self._owners: dict[str, str] = {}
        self._shared: dict[str, Counter[str]] = {}
        """By a name under which several store: the capsules that do, and how many times each."""
        self._chosen: dict[str, WeightRecord] = {}
        self._doubtful: set[str] = set()
        self._trained = self._frozen = self._multiply_adds = self._bytes = 0

    def exchange(self, owner: str, old: Checked | None, new: Checked | None) -> None:
        """Let what is found of a capsule now count in place of what was found of it before."""
        for checked, sign in ((old, -1), (new, 1)):
            if checked is not None:
                capsule = checked[1]
                self._multiply_adds += sign * (capsule.multiply_adds + sum([c.multiply_adds for c in checked[0]]))
                self._bytes += sign * (capsule.output.bytes if capsule.output else 0)
        for weight, _ in weights_of(old) if old is not None else ():
            self._remove(owner, weight.name)
        for weight, _ in weights_of(new) if new is not None else ():
            self._add(owner, weight)

    def _count(self, weight: WeightRecord, sign: int) -> None:
        if weight.trainable:
            self._trained += sign * weight.structure.elements
        else:
            self._frozen += sign * weight.structure.elements

    def _add(self, owner: str, weight: WeightRecord) -> None:
        name = weight.name
        if name in self._alone:
            self._count(self._alone.pop(name), -1)
            self._shared[name] = Counter([self._owners.pop(name)])
        if name in self._shared:
            self._shared[name][owner] += 1
            self._doubtful.add(name)
            return
        self._alone[name], self._owners[name] = weight, owner
        self._count(weight, 1)

    def _remove(self, owner: str, name: str) -> None:
        if name in self._alone:
            del self._owners[name]
            self._count(self._alone.pop(name), -1)
            return
        self._shared[name][owner] -= 1
        self._doubtful.add(name)

    def totals(self, positions: Mapping[str, int], checked: Mapping[str, Checked], reordered: bool) -> Totals:
        """Give the sums; of what is stored under one name the network's list has the first or the last in order."""
        for name in list(self._shared) if reordered else self._doubtful:
            if name in self._chosen:
                self._count(self._chosen.pop(name), -1)
            owners = [owner for owner, times in self._shared[name].items() if times]
            if not owners:
                del self._shared[name]
                continue
            found = self._chosen[name] = _choice(name, [checked[o] for o in sorted(owners, key=positions.__getitem__)])
            self._count(found, 1)
        self._doubtful = set()
        return Totals(self._trained, self._frozen, self._multiply_adds, self._bytes)


def _choice(name: str, checked: list[Checked]) -> WeightRecord:
    named = [(weight, later) for one in checked for weight, later in weights_of(one) if weight.name == name]
    return next((weight for weight, later in reversed(named) if later), named[0][0])
