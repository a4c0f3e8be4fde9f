"""What training has to know of a network: its inputs and outputs, their shapes, types and activations."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from inkcap.network import CheckedCapsule, Network, structure_of
from inkcap.program import lower_to_steps
from inkcap.symbols import CAPSULES
from inkcap.symbols.anchors import listed
from inkcap.symbols.selection import score_count


@dataclass(frozen=True)
class CapsuleFacts:
    """An input or an output capsule: shapes are those of one sample, channels first."""

    name: str
    symbol: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    elements: tuple[str, ...] = ()
    """The names of the neurons that make up the vector, where they have names."""
    picks_from: int = 0
    """Of an input that picks rows of a table, how many there are; 0 for any other."""
    scores: int = 0
    """Of a selection, how many scores C each of its candidates has; 0 for any other. One is "object or not"."""
    variances: tuple[float, ...] = ()
    """Of a selection, what dx, dy, dw and dh are multiplied by."""
    picture: tuple[int, int] | None = None
    """Height and width of the picture that the network sees, where it sees one."""
    choosing: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False)
    """Of a selection, how it chooses from its candidates."""

    @property
    def class_axis(self) -> int:
        """The axis of a batch along which classes compete."""
        return -1 if self.symbol in CAPSULES and CAPSULES[self.symbol].classes_last else 1

    @property
    def classes(self) -> int:
        """The number of classes that the capsule can tell apart: its channels, its neurons, the numbers of a row."""
        if not self.shape:
            return 1
        return self.shape[-1 if self.class_axis == -1 else 0]

    @property
    def positions(self) -> tuple[int, ...]:
        """The places at each of which it chooses a class; none where there is but one."""
        places = self.shape[:-1] if self.class_axis == -1 else self.shape[1:]
        return () if self.class_axis == 1 and places == (1, 1) else places

    @property
    def size(self) -> int:
        """The number of values of one sample."""
        return math.prod(self.shape)

    def shape_text(self) -> str:
        """Give the shape as a person reads it, channels last."""
        shown = (*self.shape[1:], self.shape[0]) if len(self.shape) > 1 else self.shape
        return "×".join(str(size) for size in shown) if shown else "a single value"


@dataclass(frozen=True)
class NetworkFacts:
    """The inputs and the outputs, in the order in which the module takes and gives them."""

    inputs: tuple[CapsuleFacts, ...]
    outputs: tuple[CapsuleFacts, ...]
    compiled: bool = False
    """Whether kernels for the processor compute it."""

    def output(self, name: str) -> CapsuleFacts:
        """Give one output by name."""
        return next(output for output in self.outputs if output.name == name)

    def dtypes(self) -> tuple[str, ...]:
        """Give the data types of all inputs and outputs."""
        return tuple(capsule.dtype for capsule in (*self.inputs, *self.outputs))


def _of_candidates(capsule: CheckedCapsule) -> tuple[int, tuple[float, ...]]:
    """Give the scores of a candidate and what its offsets are multiplied by, where the capsule chooses from some."""
    if capsule.record.candidates is None:
        return 0, ()
    shapes = {name: structure.shape for name, structure in capsule.ports.items() if structure is not None}
    return score_count(shapes, capsule.attributes), listed(capsule.attributes["variances"])


def _choosing(network: Network) -> dict[str, Mapping[str, Any]]:
    """Give for each selection among the outputs how it chooses."""
    if network.plain is not None or not any(network.capsules[name].record.candidates for name in network.outputs):
        return {}
    program = lower_to_steps(network)
    chosen = {program.owners[step.target]: step for step in program.trace.steps if step.operation.name == "select"}
    return {name: chosen[name].attributes for name in network.outputs if name in chosen}


def facts_of(network: Network) -> NetworkFacts:
    """Read the facts of a checked network."""

    def facts(name: str) -> CapsuleFacts:
        capsule = network.capsules[name]
        structure = structure_of(capsule)
        rows = [c.attributes["height"] for c in network.connections.values() if c.back == name and c.record.picks]
        return CapsuleFacts(
            name,
            capsule.symbol,
            tuple(structure.sizes),
            structure.dtype,
            elements.get(name, ()),
            min(rows, default=0),
            *_of_candidates(capsule),
            picture,
            choosing.get(name, {}),
        )

    choosing = _choosing(network)
    sizes = [structure_of(network.capsules[name]).sizes for name in network.inputs] if network.plain is None else []
    picture = next(((shape[1], shape[2]) for shape in sizes if len(shape) == 3), None)
    elements: dict[str, tuple[str, ...]] = {}
    if network.plain is not None and network.plain.names:
        ends = (network.plain.inputs, network.plain.outputs)
        elements = {
            name: tuple(map(network.plain.name, vertices))
            for name, vertices in zip((*network.inputs, *network.outputs), ends, strict=True)
        }
    return NetworkFacts(
        tuple(map(facts, network.inputs)), tuple(map(facts, network.outputs)), network.plain is not None
    )
