"""Places: everything of a drawing and of a recipe that can be varied, each under one path."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from inkcap.drawing import Drawing, DrawingError, Edit, Put
from inkcap.drawing.arguments import is_expression
from inkcap.drawing.edits import read_record
from inkcap.structures.errors import InkcapError, nearest
from inkcap.sweeps.errors import SweepError
from inkcap.symbols import (
    CAPSULES,
    CONNECTIONS,
    Attribute,
    UnknownSymbol,
    capsule_symbol,
    connection_symbol,
    part_symbol,
    suggest,
)

PlaceKind = Literal["whole", "number", "flag", "text", "value"]
Key = str | int

_KINDS: Mapping[str, PlaceKind] = {
    "size": "whole",
    "axes": "whole",
    "number": "number",
    "flag": "flag",
    "choice": "text",
    "dtype": "text",
    "text": "text",
}


@dataclass(frozen=True)
class Place:
    """One thing that can be varied: its path, what it holds now, and what it may hold.

    `record` is the kind and the id of the drawing's record that holds it, none for a recipe; `keys` lead on from there.
    """

    path: str
    kind: PlaceKind
    help: str
    now: Any
    keys: tuple[Key, ...]
    check: Callable[[Any], Any]
    record: tuple[str, str] | None = None
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None

    @property
    def ordered(self) -> bool:
        """Tell whether it can go over a range."""
        return self.kind in ("whole", "number")

    def read(self, value: Any, where: str = "") -> Any:
        """Give a value in its own form, or one error that names the place."""
        try:
            return _plain(self.check(value))
        except (ValueError, InkcapError) as problem:
            told = str(problem).removeprefix(f"{self.path}: ").rstrip(".")
            raise SweepError(f"{self.path}{where}: {told}; correct the value or leave it out.") from None

    def from_text(self, text: str) -> Any:
        """Give the value that a person typed; numbers, true, false and JSON lists are what they look like."""
        if self.kind == "text":
            return text
        try:
            return json.loads(text)
        except ValueError:
            return text


def find_place(places: Mapping[str, Place], path: str) -> Place:
    """Give the place of a path, or one error with what is there."""
    if path in places:
        return places[path]
    if not path.startswith(("drawing.", "recipe.")):
        raise SweepError(f"{path}: a path begins with 'drawing.' or 'recipe.', such as recipe.optimiser.rate.")
    stem = path.rpartition(".")[0]
    beside = [known for known in places if known.rpartition(".")[0] == stem]
    there = f"{stem} has {', '.join(known[len(stem) + 1 :] for known in beside)}" if beside else ""
    near = nearest(path, places)
    others = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(list(places)[:12])} and others."
    raise SweepError(f"{path}: there is no such place; {there + '.' if there else others}")


def drawing_places(drawing: Drawing) -> dict[str, Place]:
    """Give everything of a drawing that can be varied."""
    found: dict[str, Place] = {}
    taken: set[str] = set()
    records: tuple[tuple[str, Mapping[str, Any]], ...] = (
        ("capsule", drawing.capsules),
        ("use", drawing.uses),
        ("connection", drawing.connections),
        ("group", drawing.groups),
    )
    for kind, group in records:
        for id, record in group.items():
            # A path names one thing: the second of two with the same id is named with its kind.
            name = f"{kind}:{id}" if id in taken else id
            taken.add(id)
            for place in _of_record(f"drawing.{name}", (kind, id), (), record.to_json(), drawing):
                found[place.path] = place
    for alias, place in _entering(drawing, found).items():
        found.setdefault(alias, place)
    return found


def _entering(drawing: Drawing, found: Mapping[str, Place]) -> dict[str, Place]:
    """Let what enters a capsule be named by the capsule, where one connection alone enters it: b.kernels."""
    entering: dict[str, list[str]] = {}
    for connection in drawing.connections.values():
        entering.setdefault(connection.front, []).append(connection.id)
    aliases: dict[str, Place] = {}
    for place in found.values():
        if place.record is not None and place.record[0] == "connection":
            front = drawing.connections[place.record[1]].front
            if len(entering[front]) == 1:
                aliases[f"drawing.{front}.{place.path.rpartition('.')[2]}"] = place
    return aliases


def _of_record(
    path: str, record: tuple[str, str], keys: tuple[Key, ...], told: dict[str, Any], drawing: Drawing, kind: str = ""
) -> Iterable[Place]:
    """Give the places of one record, of a group also those of what is inside."""
    kind = kind or record[0]
    inside = bool(keys)
    if kind == "capsule":
        yield from _of_capsule(path, record, keys, told, inside)
    elif kind == "connection":
        declared = connection_symbol(told["symbol"]).attributes
        yield from _of_attributes(path, record, (*keys, "attributes"), told.get("attributes", {}), declared, inside)
        yield _of_symbol(path, record, keys, told["symbol"], tuple(CONNECTIONS))
    elif kind == "use":
        group = drawing.groups.get(told["group"])
        for name, default in (group.arguments if group else {}).items():
            now = told.get("arguments", {}).get(name, default)
            yield _of_argument(
                f"{path}.{name}", record, (*keys, "arguments", name), now, f"argument of {told['group']}"
            )
        repeat = Attribute("repeat", "size", "how many times in a row", maximum=10_000)
        yield _of_attribute(path, record, keys, told.get("repeat", 1), repeat, False)
    else:
        for name, default in told.get("arguments", {}).items():
            yield _of_argument(f"{path}.{name}", record, (*keys, "arguments", name), default, "default of the argument")
        for part, inner in (("capsules", "capsule"), ("connections", "connection"), ("uses", "use")):
            for i, one in enumerate(told.get(part, [])):
                yield from _of_record(f"{path}.{one['id']}", record, (*keys, part, i), one, drawing, inner)


def _of_capsule(
    path: str, record: tuple[str, str], keys: tuple[Key, ...], told: dict[str, Any], inside: bool
) -> Iterable[Place]:
    rank = told["rank"]
    declared = capsule_symbol(told["symbol"]).attributes(rank)
    yield from _of_attributes(path, record, (*keys, "attributes"), told.get("attributes", {}), declared, inside)
    alike = tuple(name for name, symbol in CAPSULES.items() if rank in symbol.ranks)
    yield _of_symbol(path, record, keys, told["symbol"], alike)
    for i, worn in enumerate(told.get("wears", [])):
        there = part_symbol(worn["part"]).attributes
        given = worn.get("attributes", {})
        at = (*keys, "wears", i, "attributes")
        yield from _of_attributes(f"{path}.{worn['part']}", record, at, given, there, inside)


def _of_symbol(path: str, record: tuple[str, str], keys: tuple[Key, ...], now: str, choices: tuple[str, ...]) -> Place:
    def check(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"there is no symbol {value!r} of this rank; {suggest(str(value), choices)}")
        return cast("str", value)

    return Place(f"{path}.symbol", "text", "its symbol", now, (*keys, "symbol"), check, record, choices)


def _of_attributes(
    path: str,
    record: tuple[str, str],
    keys: tuple[Key, ...],
    given: Mapping[str, Any],
    declared: Iterable[Attribute],
    inside: bool,
) -> Iterable[Place]:
    for attribute in declared:
        now = given.get(attribute.name, attribute.default)
        yield _of_attribute(path, record, keys, _plain(now), attribute, inside)


def _of_attribute(
    path: str, record: tuple[str, str], keys: tuple[Key, ...], now: Any, attribute: Attribute, inside: bool
) -> Place:
    def check(value: Any) -> Any:
        if inside and is_expression(value):
            return value
        if value is None:
            raise ValueError("null is no value to try")
        attribute.parse(value)
        return value

    least = 1 if attribute.kind in ("size", "axes") and attribute.minimum is None else attribute.minimum
    return Place(
        f"{path}.{attribute.name}",
        _KINDS.get(attribute.kind, "value"),
        attribute.help,
        now,
        (*keys, attribute.name),
        check,
        record,
        attribute.choices,
        least,
        attribute.maximum,
    )


def _of_argument(path: str, record: tuple[str, str], keys: tuple[Key, ...], now: Any, help: str) -> Place:
    kind: PlaceKind = "flag" if isinstance(now, bool) else "whole" if isinstance(now, int) else "value"
    kind = "number" if isinstance(now, float) else "text" if isinstance(now, str) else kind

    def check(value: Any) -> Any:
        if not isinstance(value, bool | int | float | str):
            raise ValueError(f"must be a number, a text or true/false, not {value!r}")
        return value

    return Place(path, kind, help, now, keys, check, record)


def with_values(drawing: Drawing, given: Iterable[tuple[Place, Any]]) -> Drawing:
    """Give a copy of the drawing that holds the values at their places, changed in one edit."""
    return changed(drawing, values_edit(drawing, given))


def changed(drawing: Drawing, edit: Edit) -> Drawing:
    """Give a copy of the drawing with an edit applied."""
    copy = drawing.copy()
    if edit.patches:
        copy.apply(edit)
    return copy


def values_edit(drawing: Drawing, given: Iterable[tuple[Place, Any]]) -> Edit:
    """Give the one edit that puts values at their places; attributes that another symbol lacks go with the old one."""
    told: dict[tuple[str, str], dict[str, Any]] = {}
    # Symbols come first: they decide which attributes there are.
    for place, value in sorted(given, key=lambda one: one[0].keys[-1] != "symbol"):
        if place.record is None:
            continue
        kind, id = place.record
        if place.record not in told:
            told[place.record] = json.loads(json.dumps(_records(drawing, kind)[id].to_json()))
        _put(told[place.record], place.keys, value, kind)
    try:
        patches = [Put(read_record(kind, id, record, f"{kind} {id}")) for (kind, id), record in told.items()]
    except (DrawingError, UnknownSymbol) as problem:
        raise SweepError(str(problem)) from None
    return Edit("take the values of a trial", tuple(patches))


def _records(drawing: Drawing, kind: str) -> Mapping[str, Any]:
    return {
        "capsule": drawing.capsules,
        "use": drawing.uses,
        "connection": drawing.connections,
        "group": drawing.groups,
    }[kind]


def _put(record: dict[str, Any], keys: tuple[Key, ...], value: Any, kind: str) -> None:
    at: Any = record
    for key in keys[:-1]:
        at = at[key] if isinstance(key, int) else at.setdefault(key, {})
    if keys[-1] == "symbol" and value != at["symbol"]:
        capsule = "rank" in at
        declared = capsule_symbol(value).attributes(at["rank"]) if capsule else connection_symbol(value).attributes
        names = {attribute.name for attribute in declared}
        at["attributes"] = {name: held for name, held in at.get("attributes", {}).items() if name in names}
    at[keys[-1]] = value


def _plain(value: Any) -> Any:
    return [_plain(item) for item in cast("list[Any]", value)] if isinstance(value, list | tuple) else value
