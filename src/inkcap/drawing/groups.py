"""Groups and the columnar plain block: their place in the file format."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from inkcap.drawing import limits
from inkcap.drawing.codec import DrawingError
from inkcap.drawing.fields import read_id, read_list, read_number, read_object, read_text, show
from inkcap.drawing.records import Capsule, Connection
from inkcap.symbols import capsule_symbol

ARGUMENTS_LIMIT = 64
REPEAT_LIMIT = 10_000


def _read_arguments(value: Any, place: str) -> dict[str, Any]:
    arguments = read_object(value, place, list(cast("dict[str, Any]", value)) if isinstance(value, dict) else ())
    if len(arguments) > ARGUMENTS_LIMIT:
        raise DrawingError(f"has {len(arguments)} arguments, {ARGUMENTS_LIMIT} are allowed", place)
    for name, argument in arguments.items():
        read_id(name, place)
        if isinstance(argument, str):
            read_text(argument, f"{place}.{name}")
        elif not isinstance(argument, (bool, int, float)):
            raise DrawingError(f"must be a number, a text or true/false, not {show(argument)}", f"{place}.{name}")
    return arguments


def _read_ports(value: Any, place: str) -> dict[str, str]:
    names = list(cast("dict[str, Any]", value)) if isinstance(value, dict) else ()
    return {read_id(k, place): read_id(v, f"{place}.{k}") for k, v in read_object(value, place, names).items()}


@dataclass(frozen=True)
class Use:
    """A vertex that stands for a group: which one, with which arguments, how many times in a row."""

    kind: ClassVar[str] = "use"
    id: str
    group: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    repeat: int = 1
    label: str = ""

    def to_json(self) -> dict[str, Any]:
        """Describe it for the file; what is empty is left out."""
        record: dict[str, Any] = {"id": self.id, "group": self.group}
        if self.arguments:
            record["arguments"] = dict(self.arguments)
        if self.repeat != 1:
            record["repeat"] = self.repeat
        if self.label:
            record["label"] = self.label
        return record

    @staticmethod
    def from_json(value: Any, place: str) -> Use:
        """Read and check it."""
        record = read_object(value, place, ("id", "group", "arguments", "repeat", "label"), ("id", "group"))
        repeat = record.get("repeat", 1)
        if isinstance(repeat, bool) or not isinstance(repeat, int) or not 1 <= repeat <= REPEAT_LIMIT:
            raise DrawingError(f"must be from 1 to {REPEAT_LIMIT}, not {show(repeat)}", f"{place}.repeat")
        return Use(
            read_id(record["id"], f"{place}.id"),
            read_id(record["group"], f"{place}.group"),
            _read_arguments(record.get("arguments", {}), f"{place}.arguments"),
            repeat,
            read_text(record.get("label", ""), f"{place}.label"),
        )


@dataclass(frozen=True)
class Group:
    """A named sub-drawing with arguments and ports, used by ``uses``."""

    kind: ClassVar[str] = "group"
    id: str
    arguments: dict[str, Any]
    capsules: tuple[Capsule, ...]
    connections: tuple[Connection, ...]
    uses: tuple[Use, ...]
    inputs: dict[str, str]
    outputs: dict[str, str]
    label: str = ""

    def to_json(self) -> dict[str, Any]:
        """Describe it for the file; what is empty is left out."""
        record: dict[str, Any] = {"id": self.id}
        parts: dict[str, Any] = {
            "arguments": dict(self.arguments),
            "capsules": [capsule.to_json() for capsule in self.capsules],
            "connections": [connection.to_json() for connection in self.connections],
            "uses": [use.to_json() for use in self.uses],
            "inputs": dict(self.inputs),
            "outputs": dict(self.outputs),
            "label": self.label,
        }
        return {**record, **{key: part for key, part in parts.items() if part}}

    @staticmethod
    def from_json(value: Any, place: str) -> Group:
        """Read and check it."""
        fields = ("id", "arguments", "capsules", "connections", "uses", "inputs", "outputs", "label")
        record = read_object(value, place, fields, ("id",))
        capsules = read_list(record.get("capsules", []), f"{place}.capsules", limits.CAPSULES)
        connections = read_list(record.get("connections", []), f"{place}.connections", limits.CONNECTIONS)
        uses = read_list(record.get("uses", []), f"{place}.uses", limits.CAPSULES)
        return Group(
            read_id(record["id"], f"{place}.id"),
            _read_arguments(record.get("arguments", {}), f"{place}.arguments"),
            tuple(Capsule.from_json(c, f"{place}.capsules[{i}]", expressions=True) for i, c in enumerate(capsules)),
            tuple(
                Connection.from_json(c, f"{place}.connections[{i}]", expressions=True)
                for i, c in enumerate(connections)
            ),
            tuple(Use.from_json(u, f"{place}.uses[{i}]") for i, u in enumerate(uses)),
            _read_ports(record.get("inputs", {}), f"{place}.inputs"),
            _read_ports(record.get("outputs", {}), f"{place}.outputs"),
            read_text(record.get("label", ""), f"{place}.label"),
        )


def _whole_within(column: list[Any], low: int, high: int) -> bool:
    # Millions of numbers: types and extremes are looked at in one go, single ones only to name the first bad one.
    return not column or (set(map(type, column)) == {int} and min(column) >= low and max(column) < high)


@dataclass(frozen=True)
class Plain:
    """Neurons and amplifying connections as columns, for networks of millions of connections.

    Neurons are numbered from 0; ``symbol`` and ``bias`` have one entry per neuron; ``back``, ``front``,
    ``weight`` and ``tie`` one per connection (tie −1: not tied).
    """

    kind: ClassVar[str] = "plain"
    id: ClassVar[str] = "plain"
    symbol: tuple[str, ...]
    bias: tuple[float, ...]
    back: tuple[int, ...]
    front: tuple[int, ...]
    weight: tuple[float, ...]
    tie: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Describe it for the file."""
        columns = ("symbol", "bias", "back", "front", "weight", "tie")
        return {name: list(getattr(self, name)) for name in columns if name != "tie" or self.tie}

    @staticmethod
    def from_json(value: Any, place: str) -> Plain:
        """Read and check it: equal lengths, neurons that exist, finite numbers."""
        columns = ("symbol", "bias", "back", "front", "weight", "tie")
        record = read_object(value, place, columns, columns[:5])
        most = limits.PLAIN_CONNECTIONS
        read = {name: read_list(record.get(name, []), f"{place}.{name}", most) for name in columns}
        neurons, connections = len(read["symbol"]), len(read["back"])
        for name, expected in (("bias", neurons), ("front", connections), ("weight", connections)):
            if len(read[name]) != expected:
                raise DrawingError(f"has {len(read[name])} entries, {expected} are needed", f"{place}.{name}")
        if read["tie"] and len(read["tie"]) != connections:
            raise DrawingError(f"has {len(read['tie'])} entries, {connections} are needed", f"{place}.tie")
        if not set(map(type, read["symbol"])) <= {str}:
            raise DrawingError("must be texts: the symbol of every neuron", f"{place}.symbol")
        for name in sorted(set(read["symbol"])):
            if 0 not in capsule_symbol(name).ranks:
                raise DrawingError(f"{name} has no neuron", f"{place}.symbol")
        for name, low, high in (("back", 0, neurons), ("front", 0, neurons), ("tie", -1, connections)):
            if not _whole_within(read[name], low, high):
                i = next(i for i, n in enumerate(read[name]) if type(n) is not int or not low <= n < high)
                raise DrawingError(f"{show(read[name][i])} is not from {low} to {high - 1}", f"{place}.{name}[{i}]")
        for name in ("bias", "weight"):
            if not set(map(type, read[name])) <= {int, float}:
                for i, number in enumerate(read[name]):
                    read_number(number, f"{place}.{name}[{i}]")
        return Plain(**{name: tuple(read[name]) for name in columns})
