"""Keras blocks: uses of a group that differ only in numbers are calls of one function with those numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from inkcap.exchange.classes import NUMBER, Numbers, drawn_as, known_arguments
from inkcap.exchange.keras_bodies import KerasBody, KerasLine
from inkcap.program import Identifiers, identifier

ROLES = {
    "Conv": ("filters", "kernel"),
    "Dense": ("units",),
    "ZeroPadding": ("padding",),
    "Cropping": ("cropping",),
    "Max": ("window",),
    "Average": ("window",),
    "Dropout": ("rate",),
    "SpatialDropout": ("rate",),
    "LeakyReLU": ("slope",),
    "Rescaling": ("scale",),
    "GroupNormalization": ("groups",),
}
"""What the first numbers of a layer are, by how its name begins."""


@dataclass(frozen=True)
class KerasFunction:
    """A function that stands for some uses: its body over its arguments, which are known with their types."""

    name: str
    arguments: Mapping[str, str]
    body: KerasBody
    gave_way: tuple[str, ...]
    """The names that arguments would have, had not something in the body the same."""


def skeleton_of(body: KerasBody) -> object:
    """Give what two uses must have in common to be calls of one function."""
    lines = tuple((line.name, NUMBER.sub("0", line.call), line.given, line.times != "") for line in body.lines)
    return (tuple(body.arguments), lines, body.result, body.outputs)


def numbers_of(body: KerasBody) -> Numbers:
    """Give all numbers of a body, in order."""
    return tuple(number for line in body.lines for number in (*NUMBER.findall(line.call), *_times(line)))


def unify(
    name: str, bodies: Sequence[KerasBody], values: Sequence[Mapping[str, object]], taken: tuple[str, ...]
) -> tuple[KerasFunction, list[tuple[str, ...]]]:
    """Make one function of bodies with equal skeletons; give the options with which each use calls it."""
    columns = list(zip(*map(numbers_of, bodies), strict=True))
    roles = [role for line in bodies[0].lines for role in _roles(line)]
    identifiers = Identifiers()
    for word in ("keras", "layers", "name", *taken, *_locals(bodies[0])):
        identifiers.take(word)
    known = known_arguments(values)
    names: dict[tuple[str, ...], str] = {}
    texts: dict[int, str] = {}
    gave_way: list[str] = []
    for place, column in enumerate(columns):
        if len(set(column)) == 1:
            continue
        factor, argument = drawn_as(column, known) or (0, roles[place])
        column = known[argument] if factor else column
        if column not in names:
            names[column] = identifiers.fresh(argument)
            gave_way += [identifier(argument)] if names[column] != identifier(argument) else []
        texts[place] = names[column] if factor <= 1 else f"{factor} * {names[column]}"
    kinds = {argument: "int" if all(map(str.isdigit, column)) else "float" for column, argument in names.items()}
    options = [tuple(f"{a}={column[use]}" for column, a in names.items()) for use in range(len(bodies))]
    return KerasFunction(name, kinds, _filled(bodies, texts, names), tuple(gave_way)), options


def _times(line: KerasLine) -> tuple[str, ...]:
    return (line.times,) if line.times else ()


def _locals(body: KerasBody) -> list[str]:
    """Give the names that a body has already."""
    found = [*body.arguments]
    for line in body.lines:
        found += [*line.name.split(", "), line.number]
    return list(dict.fromkeys(word for word in found if word))


def _roles(line: KerasLine) -> list[str]:
    """Name every number by what it is: the ``filters`` of a layer, its ``strides``, and so on."""
    found: list[str] = []
    kind = line.call.partition("(")[0].removeprefix("layers.")
    first = next((roles for start, roles in ROLES.items() if kind.startswith(start)), ())
    for count, number in enumerate(NUMBER.finditer(line.call)):
        option = re.search(r"(\w+)=[(\[]*[\d, ]*$", line.call[: number.start()])
        found.append(option[1] if option else first[count] if count < len(first) else "size")
    return [*found, *("repeats" for _ in _times(line))]


def _filled(bodies: Sequence[KerasBody], texts: Mapping[int, str], names: Mapping[tuple[str, ...], str]) -> KerasBody:
    """Write arguments in the places of numbers that differ."""
    place = -1

    def number(found: re.Match[str]) -> str:
        nonlocal place
        place += 1
        return texts.get(place, found[0])

    lines: list[KerasLine] = []
    for count, line in enumerate(bodies[0].lines):
        comment = _shape([body.lines[count].comment for body in bodies], names)
        call = NUMBER.sub(number, line.call)
        lines.append(replace(line, call=call, times=NUMBER.sub(number, line.times), comment=comment))
    return replace(bodies[0], lines=lines)


def _shape(shapes: Sequence[str], names: Mapping[tuple[str, ...], str]) -> str:
    """Give the structure that a line has in all uses, over the arguments; nothing where it is none of theirs."""
    parts = [shape.split("×") for shape in shapes]
    if len({len(part) for part in parts}) > 1:
        return ""
    found = [column[0] if len(set(column)) == 1 else names.get(column) for column in zip(*parts, strict=True)]
    return "×".join(part for part in found if part is not None) if None not in found else ""
