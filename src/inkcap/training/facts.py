"""What training has to know of a network: its inputs and outputs, their shapes, types and activations."""

import math
from dataclasses import dataclass

from inkcap.network import CheckedCapsule, Network, structure_of
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
        )

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
