"""Merging: two changes of one value, or of one drawing, become one; where both say something else they conflict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from inkcap.drawing.codec import DrawingError, decode, encode
from inkcap.drawing.document import Drawing
from inkcap.drawing.files import from_text, to_text

MISSING: Any = object()
Choose = Callable[[tuple[str, ...], Any, Any, Any], Any]
"""Decides where both changed one thing: its place, what it was, what the one says and what the other says."""
PLACES, PLACED = "positions", ("capsules", "uses", "notes")


def merge_values(base: Any, mine: Any, theirs: Any, choose: Choose, place: tuple[str, ...] = ()) -> Any:
    """Merge two changes of one JSON value, as deep as both are objects or lists of things with ids."""
    if mine in (base, theirs):
        return theirs
    if theirs == base:
        return mine
    if all(isinstance(value, dict) for value in (base, mine, theirs)):
        return _merge_objects(base, mine, theirs, choose, place)
    first, second, third = (_by_id(value) for value in (base, mine, theirs))
    if first is not None and second is not None and third is not None:
        return list(_merge_objects(first, second, third, choose, place).values())
    return choose(place, base, mine, theirs)


def _merge_objects(
    base: dict[str, Any], mine: dict[str, Any], theirs: dict[str, Any], choose: Choose, place: tuple[str, ...]
) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for key in dict.fromkeys((*mine, *theirs)):
        parts = (base.get(key, MISSING), mine.get(key, MISSING), theirs.get(key, MISSING))
        value = merge_values(*parts, choose, (*place, key))
        if value is not MISSING:
            merged[key] = value
    return merged


def _by_id(value: Any) -> dict[str, Any] | None:
    if value is MISSING:
        return {}
    if not isinstance(value, list):
        return None
    items = cast("list[Any]", value)
    if not all(isinstance(item, dict) and "id" in item for item in items):
        return None
    return {item["id"]: item for item in items}


@dataclass(frozen=True)
class Merged:
    """A merged drawing, and where the two sides contradict each other; there it says what the first side said."""

    drawing: Drawing
    conflicts: tuple[str, ...]


def merge_drawings(base: Drawing | None, mine: Drawing, theirs: Drawing) -> Merged:
    """Merge two drawings that come from one; without that one everything that differs conflicts.

    Places of capsules never conflict: they mean nothing to the network.
    """
    conflicts: list[str] = []

    def choose(place: tuple[str, ...], before: Any, one: Any, other: Any) -> Any:
        if PLACES not in place:
            conflicts.append(f"{_thing(place)}: {_shown(before, one)} here, {_shown(before, other)} there")
        return one

    merged: dict[str, Any] = merge_values(_document(base), _document(mine), _document(theirs), choose)
    there = {item["id"] for section in PLACED for item in merged.get(section, [])}
    if PLACES in merged:
        merged[PLACES] = {id: at for id, at in merged[PLACES].items() if id in there}
    try:
        return Merged(from_text(encode(merged)), tuple(conflicts))
    except DrawingError as error:
        # Each side is sound alone: one took away what the other built on.
        return Merged(mine.copy(), (*conflicts, f"the two do not stand together: {error}"))


def _document(drawing: Drawing | None) -> dict[str, Any]:
    return {} if drawing is None else decode(to_text(drawing))


def _thing(place: tuple[str, ...]) -> str:
    """Name a place in a document: the record that it is in, and the field."""
    section, *rest = place
    return " ".join([section.removesuffix("s") if rest else section, *(f"{part}" for part in rest)])


def _shown(before: Any, value: Any) -> str:
    if value is MISSING:
        return "removed"
    if before is MISSING and isinstance(value, dict):
        return "added otherwise"
    return "changed" if isinstance(value, (dict, list)) else f"{value}"
