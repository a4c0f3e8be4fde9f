"""What is told of neurons in columns, and of opening a network to its neurons."""

from __future__ import annotations

from inkcap.studio.models import Told


class Opened(Told):
    """The drawing of the neurons that a network or a capsule was opened to, or why that cannot be."""

    id: str | None
    why: str = ""


class NeuronSpan(Told):
    """Neurons that stand for the elements of a capsule: they read its output, or write its total input."""

    capsule: str
    first: int
    count: int
    writes: bool


class Neurons(Told):
    """Neurons in columns: numbers in base64, of 1 byte (symbol), 4 bytes (places, weight: float; back, front: whole).

    ``places`` has x and y of every ``stride``-th neuron; ``back`` and ``front`` count among those.
    """

    count: int
    stride: int
    connections: int
    lines: int
    symbols: list[str]
    symbol: str
    places: str
    back: str
    front: str
    weight: str
    spans: list[NeuronSpan]


class NeuronLine(Told):
    """The other end of a line of a neuron, and its weight."""

    neuron: int
    weight: float


class Neuron(Told):
    """One neuron of the columns, with the first of its lines."""

    name: str
    symbol: str
    bias: float
    layer: int
    reads: str | None
    writes: str | None
    enters: int
    leaves: int
    entering: list[NeuronLine]
    leaving: list[NeuronLine]
