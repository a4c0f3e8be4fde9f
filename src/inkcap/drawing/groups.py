"""Groups and their uses: their place in the file format."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

from inkcap.drawing import limits
from inkcap.drawing.codec import DrawingError
from inkcap.drawing.fields import read_id, read_list, read_object, read_text, show
from inkcap.drawing.records import Capsule, Connection, Position, read_tie
from inkcap.symbols import suggest

ARGUMENTS_LIMIT = 64
COPY = "copy"
"""The name in expressions for the number of the copy in a repeated use, from 0; no argument may have it."""
REPEAT_LIMIT = 10_000


def _read_arguments(value: Any, place: str) -> dict[str, Any]:
    arguments = read_object(value, place, list(cast("dict[str, Any]", value)) if isinstance(value, dict) else ())
    if len(arguments) > ARGUMENTS_LIMIT:
        raise DrawingError(f"has {len(arguments)} arguments, {ARGUMENTS_LIMIT} are allowed", place)
    for name, argument in arguments.items():
        read_id(name, place)
        if name == COPY:
            raise DrawingError(f"{COPY!r} stands for the number of the copy; call the argument otherwise", place)
        if isinstance(argument, str):
            read_text(argument, f"{place}.{name}")
        elif not isinstance(argument, (bool, int, float)):
            raise DrawingError(f"must be a number, a text or true/false, not {show(argument)}", f"{place}.{name}")
    return arguments


def _read_positions(value: Any, place: str) -> dict[str, Position]:
    places = read_object(value, place, list(cast("dict[str, Any]", value)) if isinstance(value, dict) else ())
    return {id: Position.from_json(id, at, f"{place}.{id}") for id, at in places.items()}


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
    tie: str = ""
    """Uses of one tie share all that they store, and so do the copies of a repeated use that has one."""

    def to_json(self) -> dict[str, Any]:
        """Describe it for the file; what is empty is left out."""
        record: dict[str, Any] = {"id": self.id, "group": self.group}
        if self.arguments:
            record["arguments"] = dict(self.arguments)
        if self.repeat != 1:
            record["repeat"] = self.repeat
        if self.tie:
            record["tie"] = self.tie
        if self.label:
            record["label"] = self.label
        return record

    @staticmethod
    def from_json(value: Any, place: str) -> Use:
        """Read and check it."""
        record = read_object(value, place, ("id", "group", "arguments", "repeat", "tie", "label"), ("id", "group"))
        repeat = record.get("repeat", 1)
        if isinstance(repeat, bool) or not isinstance(repeat, int) or not 1 <= repeat <= REPEAT_LIMIT:
            raise DrawingError(f"must be from 1 to {REPEAT_LIMIT}, not {show(repeat)}", f"{place}.repeat")
        return Use(
            read_id(record["id"], f"{place}.id"),
            read_id(record["group"], f"{place}.group"),
            _read_arguments(record.get("arguments", {}), f"{place}.arguments"),
            repeat,
            read_text(record.get("label", ""), f"{place}.label"),
            read_tie(record, place),
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
    positions: dict[str, Position] = field(default_factory=dict[str, Position])
    """Where what is inside lies on the canvas when the group is opened; it means nothing to the network."""

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
            "positions": {id: position.to_json() for id, position in self.positions.items()},
        }
        return {**record, **{key: part for key, part in parts.items() if part}}

    def means_the_same(self, other: Group) -> bool:
        """Tell whether two groups differ in nothing but where things lie."""
        return replace(self, positions={}) == replace(other, positions={})

    @staticmethod
    def from_json(value: Any, place: str) -> Group:
        """Read and check it."""
        fields = ("id", "arguments", "capsules", "connections", "uses", "inputs", "outputs", "label", "positions")
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
            _read_positions(record.get("positions", {}), f"{place}.positions"),
        )


def chained_ports(group: Group) -> dict[str, str]:
    """Give the outputs that lead on to an input of the next copy: the only ones, else those of equal names."""
    if len(group.inputs) == 1 and len(group.outputs) == 1:
        return dict(zip(group.outputs, group.inputs, strict=True))
    return {name: name for name in group.outputs if name in group.inputs}


def check_group(group: Group) -> None:
    """Refuse a group whose ids stand twice, or whose connections or ports end nowhere."""
    seen: set[str] = set()
    for part in (*group.capsules, *group.uses):
        if part.id in seen:
            raise DrawingError(f"group {group.id}: the id {part.id!r} stands twice")
        seen.add(part.id)
    lines: set[str] = set()
    for connection in group.connections:
        if connection.id in lines:
            raise DrawingError(f"group {group.id}: the connection {connection.id!r} stands twice")
        lines.add(connection.id)
        for role, end in (("back", connection.back), ("front", connection.front)):
            if end not in seen:
                raise DrawingError(
                    f"group {group.id}, connection {connection.id}: its {role} end {end!r} is no capsule of the group; "
                    f"{suggest(end, seen) if seen else 'it has none'}"
                )
    for kind, ports in (("input", group.inputs), ("output", group.outputs)):
        for port, inner in ports.items():
            if inner not in seen:
                raise DrawingError(
                    f"group {group.id}: its {kind} {port!r} is {inner!r}, which is no capsule of the group; "
                    f"{suggest(inner, seen) if seen else 'it has none'}"
                )
