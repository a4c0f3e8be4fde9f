"""The columnar plain block: neurons and amplifying connections by the million, in the file and in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from inkcap.drawing import limits
from inkcap.drawing.codec import DrawingError
from inkcap.drawing.fields import read_id, read_list, read_number, read_object, show
from inkcap.symbols import capsule_symbol

FREE = -1
"""A tie of its own: the weight is shared with no other connection."""
FIXED = -2
"""No tie at all: training leaves the weight as it is."""

Spans = dict[str, tuple[int, int]]
"""For a capsule the first neuron that stands for its elements, and how many do, in the order of reshaping."""

_NEURON_COLUMNS = ("symbol", "bias", "bias_tie")
_CONNECTION_COLUMNS = ("back", "front", "weight", "tie")
_NEEDED = ("symbol", "bias", "back", "front", "weight")
_FIELDS = (*_NEEDED, "tie", "bias_tie", "reads", "writes")


def _whole_within(column: list[Any], low: int, high: int) -> bool:
    # Millions of numbers: types and extremes are looked at in one go, single ones only to name the first bad one.
    return not column or (set(map(type, column)) == {int} and min(column) >= low and max(column) < high)


@dataclass(frozen=True)
class Plain:
    """Neurons and amplifying connections as columns, for networks of millions of connections.

    Neurons are numbered from 0; ``symbol``, ``bias`` and ``bias_tie`` have one entry per neuron; ``back``, ``front``,
    ``weight`` and ``tie`` one per connection. Entries with the same tie share one number; −1 shares with none, −2 is
    a number that training leaves alone. ``reads`` names capsules whose outputs are data neurons of the block,
    ``writes`` capsules whose total inputs get what neurons of the block give.
    """

    kind: ClassVar[str] = "plain"
    id: ClassVar[str] = "plain"
    symbol: tuple[str, ...]
    bias: tuple[float, ...]
    back: tuple[int, ...]
    front: tuple[int, ...]
    weight: tuple[float, ...]
    tie: tuple[int, ...] = ()
    bias_tie: tuple[int, ...] = ()
    reads: Spans = field(default_factory=dict[str, tuple[int, int]])
    writes: Spans = field(default_factory=dict[str, tuple[int, int]])

    def to_json(self) -> dict[str, Any]:
        """Describe it for the file; what is empty and not needed is left out."""
        record: dict[str, Any] = {name: list(getattr(self, name)) for name in _NEEDED}
        record |= {name: list(getattr(self, name)) for name in ("tie", "bias_tie") if getattr(self, name)}
        spans = {"reads": self.reads, "writes": self.writes}
        return record | {name: {id: list(span) for id, span in s.items()} for name, s in spans.items() if s}

    @staticmethod
    def from_json(value: Any, place: str) -> Plain:
        """Read and check it: equal lengths, neurons that exist, finite numbers."""
        record = read_object(value, place, _FIELDS, _NEEDED)
        most = limits.PLAIN_CONNECTIONS
        columns = (*_NEURON_COLUMNS, *_CONNECTION_COLUMNS)
        read = {name: read_list(record.get(name, []), f"{place}.{name}", most) for name in columns}
        neurons, connections = len(read["symbol"]), len(read["back"])
        for name in columns:
            expected = neurons if name in _NEURON_COLUMNS else connections
            if len(read[name]) != expected and (read[name] or name in _NEEDED):
                raise DrawingError(f"has {len(read[name])} entries, {expected} are needed", f"{place}.{name}")
        _check_symbols(read["symbol"], f"{place}.symbol")
        limits_of = {"back": (0, neurons), "front": (0, neurons), "tie": (FIXED, connections)}
        for name, (low, high) in (limits_of | {"bias_tie": (FIXED, neurons)}).items():
            if not _whole_within(read[name], low, high):
                i = next(i for i, n in enumerate(read[name]) if type(n) is not int or not low <= n < high)
                raise DrawingError(f"{show(read[name][i])} is not from {low} to {high - 1}", f"{place}.{name}[{i}]")
        for name in ("bias", "weight"):
            if not set(map(type, read[name])) <= {int, float}:
                for i, number in enumerate(read[name]):
                    read_number(number, f"{place}.{name}[{i}]")
        reads, writes = (_read_spans(record.get(n, {}), f"{place}.{n}", neurons) for n in ("reads", "writes"))
        return Plain(**{name: tuple(read[name]) for name in columns}, reads=reads, writes=writes)


def _check_symbols(column: list[Any], place: str) -> None:
    if not set(map(type, column)) <= {str}:
        raise DrawingError("must be texts: the symbol of every neuron", place)
    for name in sorted(set(column)):
        if 0 not in capsule_symbol(name).ranks:
            raise DrawingError(f"{name} has no neuron", place)


def _read_spans(value: Any, place: str, neurons: int) -> Spans:
    names = list(cast("dict[str, Any]", value)) if isinstance(value, dict) else ()
    spans: Spans = {}
    for name, span in read_object(value, place, names).items():
        numbers = read_list(span, f"{place}.{name}", 2)
        whole = len(numbers) == 2 and set(map(type, numbers)) == {int}
        if not whole or numbers[0] < 0 or numbers[1] < 1 or sum(numbers) > neurons:
            raise DrawingError(
                f"must be the first neuron and their number, within the {neurons} neurons, not {show(span)}",
                f"{place}.{name}",
            )
        spans[read_id(name, place)] = (numbers[0], numbers[1])
    return spans
