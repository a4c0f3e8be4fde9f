"""Reading plain values from decoded JSON, each with its place when it is wrong."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable
from typing import Any, cast

from inkcap.drawing import limits
from inkcap.drawing.codec import DrawingError
from inkcap.symbols import Attribute, suggest

UNSEEN = {"Cc", "Cf", "Zl", "Zp", "Cs"}
"""Unicode categories of characters that could fake what a reader sees."""

ID = re.compile(r"\w[\w-]{0,63}")


def read_object(value: Any, place: str, allowed: Iterable[str], required: Iterable[str] = ()) -> dict[str, Any]:
    """Read an object with known keys only."""
    if not isinstance(value, dict):
        raise DrawingError(f"must be an object, not {show(value)}", place)
    read = cast("dict[str, Any]", value)
    allowed = list(allowed)
    for key in read:
        if key not in allowed:
            raise DrawingError(f"has no field {key[:80]!r}; {suggest(key, allowed)}", place)
    for key in required:
        if key not in read:
            raise DrawingError(f"the field {key!r} is missing", place)
    return read


def read_list(value: Any, place: str, most: int) -> list[Any]:
    """Read a list of limited length."""
    if not isinstance(value, list):
        raise DrawingError(f"must be a list, not {show(value)}", place)
    items = cast("list[Any]", value)
    if len(items) > most:
        raise DrawingError(f"has {len(items)} entries, {most} are allowed", place)
    return items


def read_id(value: Any, place: str) -> str:
    """Read an id: a letter, digit or underscore, then such or hyphens, at most 64."""
    if not isinstance(value, str) or not ID.fullmatch(value):
        raise DrawingError(
            f"{show(value)} is not an id: letters, digits, _ and - (not first), at most 64; free text goes to 'label'",
            place,
        )
    return value


def read_text(value: Any, place: str, most: int = limits.NAME_LENGTH) -> str:
    """Read a text of limited length."""
    if not isinstance(value, str):
        raise DrawingError(f"must be a text, not {show(value)}", place)
    if len(value) > most:
        raise DrawingError(f"has {len(value)} characters, {most} are allowed", place)
    allowed = "\n\t" if most > limits.NAME_LENGTH else ""
    if not value.isprintable() and any(
        character not in allowed and unicodedata.category(character) in UNSEEN for character in value
    ):
        raise DrawingError("has a control or direction character, which no one can see", place)
    return value


def read_number(value: Any, place: str) -> float:
    """Read a finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise DrawingError(f"must be a number, not {show(value)}", place)
    return value


def read_attributes(
    value: Any, declared: tuple[Attribute, ...], place: str, *, expressions: bool = False
) -> dict[str, Any]:
    """Read the attributes of a symbol into canonical form and order; empty ones are left out.

    Inside a group an attribute may be an expression over the group's arguments, written ``=2*k``.
    """
    given = read_object(value, place, [attribute.name for attribute in declared])
    result: dict[str, Any] = {}
    for attribute in declared:
        if given.get(attribute.name) is None:
            continue
        raw = given[attribute.name]
        if expressions and isinstance(raw, str) and raw.startswith("="):
            result[attribute.name] = read_text(raw, f"{place}.{attribute.name}")
            continue
        try:
            result[attribute.name] = attribute.parse(raw)
        except ValueError as error:
            raise DrawingError(str(error), f"{place}.{attribute.name}") from None
    return result


def fresh_id(stem: str, taken: Container[str]) -> str:
    """Give an id like this one that is not taken: with a number behind it where it must be."""
    name, number = stem[:64], 2
    while name in taken:
        name, number = f"{stem[:58]}-{number}", number + 1
    return name


def show(value: Any) -> str:
    """Show a value briefly."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
