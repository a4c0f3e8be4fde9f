"""Records: what a drawing is made of. Each knows how it stands in the file."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from inkcap.drawing import limits
from inkcap.drawing.codec import DrawingError
from inkcap.drawing.fields import read_attributes, read_id, read_list, read_number, read_object, read_text, show
from inkcap.symbols import MAIN_PORT, UnknownSymbol, capsule_symbol, connection_symbol, jsonable, part_symbol


def _plain(attributes: dict[str, Any]) -> dict[str, Any]:
    return {key: jsonable(value) for key, value in attributes.items()}


def _frozen(attributes: dict[str, Any]) -> Hashable:
    """Give attributes as something to compare by; numbers of different types are different."""
    found: list[tuple[str, str, Hashable]] = []
    for key, value in attributes.items():
        found.append((key, type(value).__name__, value if isinstance(value, Hashable) else repr(value)))
    return tuple(found)


def read_tie(record: dict[str, Any], place: str) -> str:
    """Read the name of a tie; an empty one ties nothing."""
    return read_id(record["tie"], f"{place}.tie") if record.get("tie") not in (None, "") else ""


@dataclass(frozen=True)
class Worn:
    """A part that a capsule wears, with its attributes."""

    part: str
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])

    def to_json(self) -> dict[str, Any]:
        """Describe it for the file; what is empty is left out."""
        return {"part": self.part, "attributes": _plain(self.attributes)} if self.attributes else {"part": self.part}

    @staticmethod
    def from_json(value: Any, place: str, symbol: str, rank: int, *, expressions: bool = False) -> Worn:
        """Read and check it against the catalogue, for a capsule of this symbol and rank."""
        record = read_object(value, place, ("part", "attributes"), ("part",))
        try:
            part = part_symbol(read_text(record["part"], f"{place}.part"))
        except UnknownSymbol as error:
            raise DrawingError(str(error), f"{place}.part") from None
        if part.place == "after":
            rank = capsule_symbol(symbol).output_rank(rank)
        if rank not in part.ranks:
            ranks = ", ".join(map(str, part.ranks))
            raise DrawingError(f"{part.title} is worn by capsules of the ranks {ranks}, not {rank}", f"{place}.part")
        attributes = record.get("attributes", {})
        return Worn(
            part.id, read_attributes(attributes, part.attributes, f"{place}.attributes", expressions=expressions)
        )


@dataclass(frozen=True)
class Capsule:
    """A vertex: a capsule symbol of some rank, with its attributes and the parts that it wears."""

    kind: ClassVar[str] = "capsule"
    id: str
    symbol: str
    rank: int
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    wears: tuple[Worn, ...] = ()
    label: str = ""
    tie: str = ""
    """Capsules of one tie store one bias, and the same parameters of their function and parts."""

    @cached_property
    def output_rank(self) -> int:
        """The rank of what it gives; its own unless the symbol's function changes it."""
        return capsule_symbol(self.symbol).output_rank(self.rank)

    @cached_property
    def likeness(self) -> Hashable:
        """All that it states but its names: capsules that are alike differ in nothing else."""
        worn = tuple([(part.part, _frozen(part.attributes)) for part in self.wears])
        return (self.symbol, self.rank, _frozen(self.attributes), worn, bool(self.tie))

    def to_json(self) -> dict[str, Any]:
        """Describe it for the file; what is empty is left out."""
        record: dict[str, Any] = {"id": self.id, "symbol": self.symbol, "rank": self.rank}
        if self.attributes:
            record["attributes"] = _plain(self.attributes)
        if self.wears:
            record["wears"] = [worn.to_json() for worn in self.wears]
        if self.tie:
            record["tie"] = self.tie
        if self.label:
            record["label"] = self.label
        return record

    @staticmethod
    def from_json(value: Any, place: str, *, expressions: bool = False) -> Capsule:
        """Read and check it against the catalogue."""
        fields = ("id", "symbol", "rank", "attributes", "wears", "tie", "label")
        record = read_object(value, place, fields, ("id", "symbol", "rank"))
        capsule_id = read_id(record["id"], f"{place}.id")
        name = read_text(record["symbol"], f"{place}.symbol")
        try:
            symbol = capsule_symbol(name)
        except UnknownSymbol as error:
            raise DrawingError(f"capsule {capsule_id}: {error}", f"{place}.symbol") from None
        rank = record["rank"]
        if type(rank) is not int or rank not in symbol.ranks:
            ranks = ", ".join(map(str, symbol.ranks))
            raise DrawingError(
                f"capsule {capsule_id}: {symbol.title} has the ranks {ranks}, not {rank!r}", f"{place}.rank"
            )
        attributes = read_attributes(
            record.get("attributes", {}), symbol.attributes(rank), f"{place}.attributes", expressions=expressions
        )
        wears = tuple(
            Worn.from_json(part, f"{place}.wears[{i}]", symbol.id, rank, expressions=expressions)
            for i, part in enumerate(read_list(record.get("wears", []), f"{place}.wears", 8))
        )
        parts = [worn.part for worn in wears]
        for i, part in enumerate(parts):
            if part in parts[:i]:
                raise DrawingError(f"capsule {capsule_id}: {part} is worn already", f"{place}.wears[{i}].part")
        label = read_text(record.get("label", ""), f"{place}.label")
        return Capsule(capsule_id, symbol.id, rank, attributes, wears, label, read_tie(record, place))


@dataclass(frozen=True)
class Connection:
    """A directed edge from the back end to the front end, with a connection symbol."""

    kind: ClassVar[str] = "connection"
    id: str
    symbol: str
    back: str
    front: str
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    port: str = MAIN_PORT
    tie: str = ""
    label: str = ""
    output: str = ""
    """Which output of a group it leaves from; empty for a capsule, and for a group's only output."""

    @cached_property
    def likeness(self) -> Hashable:
        """All that it states but its names and its ends."""
        return (self.symbol, self.port, _frozen(self.attributes), bool(self.tie))

    def to_json(self) -> dict[str, Any]:
        """Describe it for the file; what is empty is left out."""
        record: dict[str, Any] = {"id": self.id, "symbol": self.symbol, "back": self.back, "front": self.front}
        if self.attributes:
            record["attributes"] = _plain(self.attributes)
        if self.output:
            record["output"] = self.output
        if self.port != MAIN_PORT:
            record["port"] = self.port
        if self.tie:
            record["tie"] = self.tie
        if self.label:
            record["label"] = self.label
        return record

    @staticmethod
    def from_json(value: Any, place: str, *, expressions: bool = False) -> Connection:
        """Read and check it against the catalogue."""
        fields = ("id", "symbol", "back", "front", "attributes", "output", "port", "tie", "label")
        record = read_object(value, place, fields, ("id", "symbol", "back", "front"))
        connection_id = read_id(record["id"], f"{place}.id")
        name = read_text(record["symbol"], f"{place}.symbol")
        try:
            symbol = connection_symbol(name)
        except UnknownSymbol as error:
            raise DrawingError(f"connection {connection_id}: {error}", f"{place}.symbol") from None
        return Connection(
            connection_id,
            symbol.id,
            read_id(record["back"], f"{place}.back"),
            read_id(record["front"], f"{place}.front"),
            read_attributes(
                record.get("attributes", {}), symbol.attributes, f"{place}.attributes", expressions=expressions
            ),
            read_id(record.get("port", MAIN_PORT), f"{place}.port"),
            read_tie(record, place),
            read_text(record.get("label", ""), f"{place}.label"),
            read_id(record["output"], f"{place}.output") if record.get("output") not in (None, "") else "",
        )


@dataclass(frozen=True)
class Note:
    """A remark on the drawing; it has no meaning for the network."""

    kind: ClassVar[str] = "note"
    id: str
    text: str

    def to_json(self) -> dict[str, Any]:
        """Describe it for the file."""
        return {"id": self.id, "text": self.text}

    @staticmethod
    def from_json(value: Any, place: str) -> Note:
        """Read and check it."""
        record = read_object(value, place, ("id", "text"), ("id", "text"))
        return Note(
            read_id(record["id"], f"{place}.id"), read_text(record["text"], f"{place}.text", limits.TEXT_LENGTH)
        )


@dataclass(frozen=True)
class Position:
    """Where a capsule or a note lies on the canvas."""

    kind: ClassVar[str] = "position"
    id: str
    x: float
    y: float

    def to_json(self) -> list[float]:
        """Describe it for the file."""
        return [self.x, self.y]

    @staticmethod
    def from_json(item: str, value: Any, place: str) -> Position:
        """Read and check it."""
        numbers = read_list(value, place, 2)
        if len(numbers) != 2:
            raise DrawingError("must be two numbers, x and y", place)
        x, y = (read_number(n, place) for n in numbers)
        if max(abs(x), abs(y)) > limits.SHEET:
            raise DrawingError(
                f"must lie within {limits.SHEET} of the origin, not at {show([x, y])}; "
                "without a position it is placed beside the others",
                place,
            )
        return Position(read_id(item, place), x, y)

    @staticmethod
    def near(id: str, x: float, y: float) -> Position:
        """Give the place there, or the nearest on the sheet: what was computed can always be read again."""
        on_sheet = (min(max(n, -limits.SHEET), limits.SHEET) for n in (x, y))
        return Position(id, *on_sheet)
