"""Comparing: what is different between two drawings, by meaning, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from inkcap.drawing import Capsule, Connection, Drawing, Group, Meta, Note, Plain, Record, Use
from inkcap.network.check import check
from inkcap.network.report import Report
from inkcap.structures import show_shape
from inkcap.symbols import CAPSULES, CONNECTIONS, MAIN_PORT, PARTS

MEANT = ("meta", "group", "capsule", "use", "connection", "note", "plain")
"""Kinds of records that mean something; positions do not."""
MOST_STRUCTURES = 12
LONGEST = 60
INDENT = "    "
FLAT = ("attributes", "arguments")
"""Fields whose own fields are told by their names alone."""


def tell_difference(before: Drawing | None, after: Drawing | None) -> list[str]:
    """Tell what is different: ``+`` what is new, ``-`` what is gone, ``~`` what changed, and what follows from it."""
    old, new = _records(before), _records(after)
    lines = list(_told(old, new))
    if before is None or after is None:
        return lines
    if not lines:
        return ["only places differ"] if before.to_text() != after.to_text() else []
    return [*lines, *_effects(check(before), check(after))]


Records = Mapping[tuple[str, str], Record]


def _records(drawing: Drawing | None) -> Records:
    if drawing is None:
        return {}
    return {(kind, record.id): record for kind in MEANT for record in drawing.records(kind)}


def _told(old: Records, new: Records) -> Iterator[str]:
    for key in sorted(dict.fromkeys((*old, *new)), key=lambda key: MEANT.index(key[0])):
        one, other = old.get(key), new.get(key)
        if one is None and other is not None:
            yield f"+ {described(other)}"
        elif other is None and one is not None:
            yield f"- {described(one)}"
        elif isinstance(one, Group) and isinstance(other, Group):
            yield from _group(one, other)
        elif one is not None and other is not None and one != other:
            before: Any = one.to_json()
            after: Any = other.to_json()
            yield f"~ {_name(other)}: {', '.join(_fields(before, after))}"


def _group(one: Group, other: Group) -> Iterator[str]:
    if one.means_the_same(other):
        return
    inner = ("capsules", "uses", "connections", "positions")
    before, after = ({k: v for k, v in group.to_json().items() if k not in inner} for group in (one, other))
    yield f"~ group {other.id}" + (f": {', '.join(_fields(before, after))}" if before != after else "")
    first, second = (
        {(record.kind, record.id): record for record in (*group.capsules, *group.uses, *group.connections)}
        for group in (one, other)
    )
    yield from (f"{INDENT}{line}" for line in _told(first, second))


def _name(record: Record) -> str:
    if isinstance(record, Connection):
        return f"connection {record.back} → {record.front}"
    return "drawing" if isinstance(record, Meta) else f"{record.kind} {record.id}"


def described(record: Record) -> str:
    """Describe a record in one line."""
    said = ""
    if isinstance(record, Capsule):
        parts = " + ".join(PARTS[worn.part].title for worn in record.wears)
        title = CAPSULES[record.symbol].title_of(record.rank, record.attributes)
        said = ", ".join([f"{title}{' + ' + parts if parts else ''}", *_stated(record.attributes)])
    elif isinstance(record, Connection):
        port = [f"into {record.port}"] if record.port != MAIN_PORT else []
        said = ", ".join([CONNECTIONS[record.symbol].title, *port, *_stated(record.attributes)])
    elif isinstance(record, Use):
        times = f" ×{record.repeat}" if record.repeat > 1 else ""
        said = ", ".join([f"group {record.group}{times}", *_stated(record.arguments)])
    elif isinstance(record, Group):
        said = f"{len(record.capsules)} capsules, {len(record.uses)} uses, {len(record.connections)} connections"
    elif isinstance(record, Note):
        said = _value(record.text)
    elif isinstance(record, Plain):
        said = f"{len(record.symbol)} neurons, {len(record.back)} connections"
    elif isinstance(record, Meta):
        said = f"{_value(record.name)}, {record.dtype}"
    return f"{_name(record)}: {said}"


def _stated(values: Mapping[str, Any]) -> list[str]:
    return [f"{name} {_value(value)}" for name, value in values.items()]


def _value(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, (list, tuple)):
        return _items(cast("Sequence[Any]", value))
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _items(items: Sequence[Any]) -> str:
    """Show a list: sizes as sizes, worn parts by their names, long ones by how long they are."""
    if all(isinstance(item, dict) for item in items):
        return " + ".join(str(item.get("part", item.get("id", "?"))) for item in items) or "–"
    text = "×".join(map(str, items))
    return text if len(text) <= LONGEST else f"{len(items)} numbers"


def _fields(before: Mapping[str, Any], after: Mapping[str, Any], inside: str = "") -> Iterator[str]:
    for key in dict.fromkeys((*before, *after)):
        one, other = before.get(key), after.get(key)
        if one == other:
            continue
        if isinstance(one or {}, dict) and isinstance(other or {}, dict):
            yield from _fields(one or {}, other or {}, inside if key in FLAT else f"{inside}{key} ")
        else:
            # Two lists of worn parts may have the same names and other attributes.
            shown = [_value(one), _value(other)]
            yield f"{inside}{key} {shown[0]} → {shown[1] if shown[0] != shown[1] else shown[1] + ', otherwise'}"


def _effects(before: Report, after: Report) -> Iterator[str]:
    one, other = ({id: c.output for id, c in report.capsules.items()} for report in (before, after))
    changed = [
        f"{id} {show_shape(old.shape)} → {show_shape(new.shape)}"
        for id, old in one.items()
        if old is not None and (new := other.get(id)) is not None and old.shape != new.shape
    ]
    if changed:
        more = f" … and {len(changed) - MOST_STRUCTURES} more" if len(changed) > MOST_STRUCTURES else ""
        yield f"  structures     {', '.join(changed[:MOST_STRUCTURES])}{more}"
    kinds = [r.classification.kind if r.classification else "not a network" for r in (before, after)]
    totals = (
        ("kind", *kinds),
        ("errors", len(before.errors), len(after.errors)),
        ("parameters", before.parameters, after.parameters),
        ("multiply-adds", before.multiply_adds, after.multiply_adds),
    )
    for name, old, new in totals:
        if old != new:
            shown = [f"{value:,}".replace(",", " ") if isinstance(value, int) else value for value in (old, new)]
            yield f"  {name:<14} {shown[0]} → {shown[1]}"
