"""The network: a drawing that passed its checks, with every structure known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from inkcap.drawing import Drawing
from inkcap.network.plain import PlainFacts
from inkcap.structures import Structure
from inkcap.symbols import CAPSULES, CONNECTIONS, MAIN_PORT, PARTS, CapsuleSymbol, ConnectionSymbol, PartSymbol

PLAIN_WEIGHT, PLAIN_BIAS = "plain.weight", "plain.bias"
"""The stored weights of neurons in columns: one number a connection or neuron that trains, tied ones once."""


@dataclass(frozen=True)
class WeightRecord:
    """A stored weight: its name in the drawing, its structure, how it starts and whether training changes it."""

    name: str
    structure: Structure
    initialiser: str
    fan_in: int
    fan_out: int
    trainable: bool
    start: float | None = None
    """One number with which every element starts, instead of the initialiser."""
    state: bool = False
    """A state is stored with the run but never trained: the running numbers of a normalisation."""
    starts: tuple[float, ...] = ()
    """A number for each element to start with, in the weight's order."""


@dataclass(frozen=True)
class CheckedPart:
    """A worn part with its attributes and what it stores."""

    part: str
    attributes: Mapping[str, Any]
    weights: Mapping[str, WeightRecord]

    @property
    def record(self) -> PartSymbol:
        """The part's record in the catalogue."""
        return PARTS[self.part]


@dataclass(frozen=True)
class CheckedCapsule:
    """A capsule with everything inferred; structures are None where they could not be."""

    id: str
    symbol: str
    rank: int
    attributes: Mapping[str, Any]
    total_input: Structure | None
    output: Structure | None
    bias_kind: str
    bias: WeightRecord | None
    incoming: tuple[str, ...]
    parts: tuple[CheckedPart, ...] = ()
    ports: Mapping[str, Structure | None] = field(default_factory=dict[str, "Structure | None"])
    """The total inputs of the other ports, by their names."""
    parameters: Mapping[str, WeightRecord] = field(default_factory=dict[str, WeightRecord])
    """The parameters that the symbol's function stores."""
    multiply_adds: int = 0
    """Those of what enters it with one another; connections count their own."""

    @property
    def record(self) -> CapsuleSymbol:
        """The symbol's record in the catalogue."""
        return CAPSULES[self.symbol]

    @property
    def title(self) -> str:
        """The symbol's title with the parts that are worn: ``2D-ReLU + batch norm``."""
        return " + ".join(
            (self.record.title_of(self.rank, self.attributes), *(part.record.title for part in self.parts))
        )

    @property
    def stored(self) -> tuple[WeightRecord, ...]:
        """What the capsule itself stores: its bias, its parameters, and those and the states of its parts."""
        bias = (self.bias,) if self.bias else ()
        if not self.parts and not self.parameters:
            return bias
        return (*bias, *self.parameters.values(), *(weight for part in self.parts for weight in part.weights.values()))


@dataclass(frozen=True)
class CheckedConnection:
    """A connection with its back end, weights and front end, as in the paper's Table 2."""

    id: str
    symbol: str
    back: str
    front: str
    attributes: Mapping[str, Any]
    back_end: Structure | None
    front_end: Structure | None
    weights: Mapping[str, WeightRecord]
    multiply_adds: int
    tied: bool
    port: str = MAIN_PORT

    @property
    def record(self) -> ConnectionSymbol:
        """The symbol's record in the catalogue."""
        return CONNECTIONS[self.symbol]


@dataclass(frozen=True)
class Network:
    """The tensor-induced network: capsules in topological order, connections, inputs and outputs."""

    drawing: Drawing
    capsules: Mapping[str, CheckedCapsule]
    connections: Mapping[str, CheckedConnection]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    plain: PlainFacts | None = None
    """The neurons that are held in columns."""

    @property
    def name(self) -> str:
        """The drawing's name."""
        return self.drawing.name

    @property
    def hidden(self) -> tuple[str, ...]:
        """The capsules that are neither input nor output."""
        ends = {*self.inputs, *self.outputs}
        return tuple(id for id in self.capsules if id not in ends)

    # Records never change: what follows from them is found out once, however often it is asked for.
    @cached_property
    def weights(self) -> Mapping[str, WeightRecord]:
        """Every stored weight and parameter by its name in the drawing; tied ones once."""
        found: dict[str, WeightRecord] = {}
        for capsule in self.capsules.values():
            for connection in capsule.incoming:
                for weight in self.connections[connection].weights.values():
                    found.setdefault(weight.name, weight)
            found |= {weight.name: weight for weight in capsule.stored if not weight.state}
        if self.plain is not None:
            for name, count in ((PLAIN_WEIGHT, self.plain.weights), (PLAIN_BIAS, self.plain.biases)):
                structure = Structure((count,), self.plain.dtype)
                found[name] = WeightRecord(name, structure, "given", 1, 1, True)
        return found

    @cached_property
    def states(self) -> Mapping[str, WeightRecord]:
        """Every state by its name in the drawing: stored with a run, moved in training, never trained."""
        return {weight.name: weight for c in self.capsules.values() for weight in c.stored if weight.state}


def structure_of(capsule: CheckedCapsule) -> Structure:
    """Give a checked capsule's output; it is known in every network."""
    assert capsule.output is not None
    return capsule.output
