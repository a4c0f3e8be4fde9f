"""A space: which places are varied, over which list or range. It is read and checked before anything starts."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from inkcap.drawing import Drawing
from inkcap.network import check
from inkcap.network.memory import Memory
from inkcap.recipes import Recipe
from inkcap.recipes.strict import expect_names, expect_object, parse
from inkcap.structures.errors import InkcapError
from inkcap.sweeps.errors import SweepError
from inkcap.sweeps.places import Place, drawing_places, find_place, with_values
from inkcap.sweeps.recipe_places import check_comparable, recipe_places, recipe_with

MOST_PLACES = 32
MOST_VALUES = 1_000
USUAL_POINTS = 5
"""How many points of a range a grid takes where nothing is said."""
DIGITS = 4
"""Significant digits of a number that is drawn or computed: as many as a person would write."""

_RANGE = re.compile(r"(?P<low>[^\s,\[{]+?)\.\.(?P<high>[^\s,]+)(?P<log>\s+log)?(?:\s+(?P<points>\d+))?")
_JSON = re.compile(r"\s*[\[{]")

Point = Mapping[str, Any]
"""A value for each path that is varied."""


@dataclass(frozen=True)
class Choices:
    """A list of values to try."""

    values: tuple[Any, ...]

    def to_json(self) -> Any:
        """Describe it."""
        return list(self.values)

    def grid(self) -> tuple[Any, ...]:
        """Give the values that a grid tries."""
        return self.values


@dataclass(frozen=True)
class Range:
    """Numbers from one to another, even in themselves or in their logarithms."""

    low: float
    high: float
    log: bool
    whole: bool
    points: int = USUAL_POINTS

    def to_json(self) -> Any:
        """Describe it."""
        scale = "log" if self.log else "linear"
        return {"from": self.low, "to": self.high, "scale": scale, "points": self.points}

    def tidy(self, value: float) -> float:
        """Give a number with few digits, or a whole one, within the range."""
        near = round(value) if self.whole else float(f"{value:.{DIGITS}g}")
        return min(max(near, self.low), self.high)

    def grid(self) -> tuple[Any, ...]:
        """Give the points that a grid tries, both ends among them; whole numbers stand once."""
        last = max(self.points - 1, 1)
        shares = [i / last for i in range(self.points)] if self.points > 1 else [0.0]
        if self.log:
            low, high = math.log(self.low), math.log(self.high)
            exact = [math.exp(low + share * (high - low)) for share in shares]
        else:
            exact = [self.low + share * (self.high - self.low) for share in shares]
        return tuple(dict.fromkeys(self.tidy(value) for value in exact))


@dataclass(frozen=True)
class Space:
    """What is varied, in the order given, with the drawing and the recipe that all else is taken from."""

    drawing: Drawing
    recipe: Recipe
    places: Mapping[str, Place]
    varied: Mapping[str, Choices | Range]

    def to_json(self) -> dict[str, Any]:
        """Describe what is varied; this is what a sweep keeps."""
        return {path: over.to_json() for path, over in self.varied.items()}

    def grid_size(self) -> int:
        """Count the points of the grid."""
        return math.prod(len(over.grid()) for over in self.varied.values())

    def count(self) -> int | None:
        """Count the points there are, None when a range of numbers has no end of them."""
        sizes: list[int] = []
        for over in self.varied.values():
            if isinstance(over, Range) and not over.whole:
                return None
            sizes.append(len(over.values) if isinstance(over, Choices) else int(over.high - over.low) + 1)
        return math.prod(sizes)

    def grid(self) -> Iterator[dict[str, Any]]:
        """Give every point of the grid: the last place varies fastest."""
        for values in itertools.product(*(over.grid() for over in self.varied.values())):
            yield dict(zip(self.varied, values, strict=True))

    def apply(self, point: Point) -> tuple[Drawing, Recipe]:
        """Give the drawing and the recipe of a point, or an error that says why there are none."""
        given = [(self.places[path], value) for path, value in point.items()]
        return with_values(self.drawing, given), recipe_with(self.recipe, given)

    def refusal(self, point: Point, memory: Memory | None = None) -> str:
        """Say why a point is no network that could be trained; nothing when it is one."""
        try:
            drawing, _ = self.apply(point)
            errors = check(drawing, memory).errors
        except InkcapError as problem:
            return str(problem)
        return f"[{errors[0].rule}] {errors[0].message}" if errors else ""


def read_space(value: object, drawing: Drawing, recipe: Recipe, name: str = "space") -> Space:
    """Read a space of plain values against a drawing and a recipe; every mistake is told with its place."""
    given = expect_object(value, name, SweepError)
    if not given:
        raise SweepError(f"{name}: nothing is varied; give a path and its values, such as recipe.batch: [32, 64].")
    if len(given) > MOST_PLACES:
        raise SweepError(f"{name}: {len(given)} places are too many; vary at most {MOST_PLACES}.")
    places = {**drawing_places(drawing), **recipe_places(recipe)}
    check_comparable(given, recipe)
    varied: dict[str, Choices | Range] = {}
    for path, over in given.items():
        place = find_place(places, path)
        if place.path in varied:
            raise SweepError(f"{path}: this is {place.path}, which is varied already; give it once.")
        varied[place.path] = _read_over(place, over)
    return Space(drawing, recipe, places, varied)


def space_from_text(text: str | bytes, drawing: Drawing, recipe: Recipe, name: str = "space") -> Space:
    """Read a space of JSON text."""
    return read_space(parse(text, name, SweepError), drawing, recipe, name)


def space_from_words(words: Mapping[str, str], drawing: Drawing, recipe: Recipe) -> Space:
    """Read a space that was typed: lists such as 4,8,16 and ranges such as 0.001..0.1 log 3, or JSON."""
    places = {**drawing_places(drawing), **recipe_places(recipe)}
    check_comparable(words, recipe)
    return read_space({path: over_from_text(find_place(places, path), text) for path, text in words.items()},
                      drawing, recipe)  # fmt: skip


def over_from_text(place: Place, text: str) -> Any:
    """Give the plain values of what was typed for a place."""
    if not text.strip():
        raise SweepError(f"{place.path}: no values; give a list such as 4,8,16 or a range such as 0.001..0.1 log.")
    if _JSON.match(text):
        return parse(text, place.path, SweepError)
    found = _RANGE.fullmatch(text.strip())
    if found and place.ordered:
        ends = {"from": place.from_text(found["low"]), "to": place.from_text(found["high"])}
        points = {"points": int(found["points"])} if found["points"] else {}
        return {**ends, "scale": "log" if found["log"] else "linear", **points}
    return [place.from_text(part.strip()) for part in text.split(",")]


def _read_over(place: Place, over: object) -> Choices | Range:
    if isinstance(over, dict):
        return _read_range(place, cast("dict[str, object]", over))
    if not isinstance(over, list) or not over:
        raise SweepError(
            f"{place.path}: give a list of values such as [4, 8, 16], or a range such as "
            '{"from": 0.001, "to": 0.1, "scale": "log"}.'
        )
    values = cast("list[object]", over)
    if len(values) > MOST_VALUES:
        raise SweepError(f"{place.path}: {len(values)} values are too many; give at most {MOST_VALUES}.")
    read = [place.read(value, f"[{i}]") for i, value in enumerate(values)]
    for i, value in enumerate(read):
        if value in read[:i] and type(value) is type(read[read.index(value)]):
            raise SweepError(f"{place.path}[{i}]: {value!r} stands twice; give each value once.")
    return Choices(tuple(read))


def _read_range(place: Place, over: Mapping[str, object]) -> Range:
    expect_names(over, ("from", "to", "scale", "points"), ("from", "to"), place.path, SweepError)
    if not place.ordered:
        raise SweepError(f"{place.path}: only numbers have a range; give a list of values.")
    low, high = place.read(over["from"], ".from"), place.read(over["to"], ".to")
    numbers = all(isinstance(end, int | float) and not isinstance(end, bool) for end in (low, high))
    if not numbers or not low < high:
        raise SweepError(f"{place.path}: from {low!r} to {high!r} is no range; give two numbers, the lower one first.")
    whole = place.kind == "whole"
    if whole and not (isinstance(low, int) and isinstance(high, int)):
        raise SweepError(f"{place.path}: from {low} to {high}: this holds whole numbers; give whole ends.")
    scale, points = over.get("scale", "linear"), over.get("points", USUAL_POINTS)
    if scale not in ("linear", "log"):
        raise SweepError(f"{place.path}.scale: {scale!r} is not one of linear, log.")
    if scale == "log" and low <= 0:
        raise SweepError(f"{place.path}: a log range begins above 0, not at {low:g}; give a higher start, or linear.")
    if type(points) is not int or not 1 <= points <= MOST_VALUES:
        raise SweepError(f"{place.path}.points: {points!r} is not a whole number from 1 to {MOST_VALUES}.")
    return Range(low, high, scale == "log", whole, points)
