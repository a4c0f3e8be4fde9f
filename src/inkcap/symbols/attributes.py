"""Attributes: the typed fields of a symbol, with range, default and help, each declared once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, cast

from inkcap.structures import DTYPES

Kind = Literal["size", "number", "flag", "choice", "dtype", "axes", "shape", "list", "text"]
Attributes = Mapping[str, Any]

LARGEST = 2**31 - 1
"""The largest size of one axis."""

LONGEST = 5_000_000
"""How many whole numbers a list may have: as many as a plain block may have connections."""


LONGEST_TEXT = 200
"""How many characters a text may have."""


@dataclass(frozen=True)
class Attribute:
    """One typed field.

    An attribute that is ``inferred`` may be left empty: the checks fill it from the structures around it.
    ``letter`` is the paper's letter for it; ``axes`` is how many numbers a value per axis has, 0 for as many as the
    structure has that it slides over: then one number stays one until that structure is known.
    """

    name: str
    kind: Kind
    help: str
    default: Any = None
    inferred: bool = False
    letter: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    axes: int = 2
    unit: str = ""
    reads: Callable[[str], object] | None = None
    """What reads a text; it raises ValueError where it cannot."""

    def __hash__(self) -> int:
        # Tables are looked up by attributes at every check: two of these together tell almost all of them apart.
        return hash((self.name, self.kind))

    @property
    def required(self) -> bool:
        """Tell whether a drawing without it is incomplete, unless the checks can solve for it."""
        return self.default is None and not self.inferred

    def parse(self, value: Any) -> Any:
        """Bring a value into its canonical form, or raise ValueError with the reason."""
        if value is None:
            return None
        if self.kind == "size":
            return self._whole(value, 1 if self.minimum is None else int(self.minimum))
        if self.kind == "axes":
            return self._per_axis(value)
        if self.kind == "shape":
            return self._shape(value)
        if self.kind == "list":
            return self._list(value)
        if self.kind == "number":
            return self._number(value)
        if self.kind == "flag":
            if not isinstance(value, bool):
                raise ValueError(f"must be true or false, not {value!r}")
            return value
        if self.kind == "text":
            return self._text(value)
        allowed = DTYPES if self.kind == "dtype" else self.choices
        if value not in allowed:
            raise ValueError(f"must be one of {', '.join(allowed)}, not {value!r}")
        return value

    def _whole(self, value: Any, minimum: int) -> int:
        maximum = LARGEST if self.maximum is None else int(self.maximum)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"must be a whole number, not {value!r}")
        if not minimum <= value <= maximum:
            raise ValueError(f"must be from {minimum} to {maximum}, not {value}")
        return value

    def _per_axis(self, value: Any) -> int | tuple[int, ...]:
        minimum = 1 if self.minimum is None else int(self.minimum)
        if not isinstance(value, (list, tuple)):
            one = self._whole(value, minimum)
            return (one,) * self.axes if self.axes else one
        items = cast("list[Any]", value)
        if len(items) not in self._counts:
            wanted = " or ".join(map(str, self._counts))
            raise ValueError(f"must be one number or {wanted} numbers, not {len(items)}")
        return tuple(self._whole(item, minimum) for item in items)

    @property
    def _counts(self) -> tuple[int, ...]:
        return (self.axes,) if self.axes else (2, 3)

    def _shape(self, value: Any) -> tuple[int, ...]:
        if not isinstance(value, (list, tuple)) or len(cast("list[Any]", value)) not in (1, 3, 4):
            raise ValueError(f"must be a list of 1, 3 or 4 sizes, not {value!r}")
        return tuple(self._whole(item, 1) for item in cast("list[Any]", value))

    def _list(self, value: Any) -> tuple[int, ...]:
        if not isinstance(value, (list, tuple)):
            raise ValueError(f"must be a list of whole numbers, not {value!r}")
        items = cast("list[Any]", value)
        if len(items) > LONGEST:
            raise ValueError(f"must have at most {LONGEST} numbers, not {len(items)}")
        # There may be millions: types and extremes are looked at in one go, single ones only to name the first bad one.
        if items and (set(map(type, items)) != {int} or min(items) < 0 or max(items) > LARGEST):
            for item in items:
                self._whole(item, 0)
        return tuple(items)

    def _number(self, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"must be a number, not {value!r}")
        low = float("-inf") if self.minimum is None else self.minimum
        high = float("inf") if self.maximum is None else self.maximum
        if math.isnan(value) or not low <= value <= high or math.isinf(value):
            raise ValueError(f"must be a finite number from {low} to {high}, not {value}")
        return value

    def _text(self, value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError(f"must be a text, not {value!r}")
        if len(value) > LONGEST_TEXT or not value.isprintable():
            raise ValueError(f"must be one line of at most {LONGEST_TEXT} characters")
        if self.reads is not None:
            self.reads(value)
        return value

    def schema(self) -> dict[str, Any]:
        """Describe the field as JSON Schema."""
        minimum = 1 if self.minimum is None else int(self.minimum)
        whole: dict[str, Any] = {"type": "integer", "minimum": minimum, "maximum": int(self.maximum or LARGEST)}
        body: dict[str, Any]
        if self.kind == "size":
            body = whole
        elif self.kind == "axes":
            many = [{"type": "array", "items": whole, "minItems": n, "maxItems": n} for n in self._counts]
            body = {"anyOf": [whole, *many]}
        elif self.kind == "shape":
            body = {"type": "array", "items": whole, "anyOf": [{"minItems": n, "maxItems": n} for n in (1, 3, 4)]}
        elif self.kind == "list":
            body = {"type": "array", "items": {**whole, "minimum": 0}, "maxItems": LONGEST}
        elif self.kind == "number":
            body = {"type": "number"}
            if self.minimum is not None:
                body["minimum"] = self.minimum
            if self.maximum is not None:
                body["maximum"] = self.maximum
        elif self.kind == "flag":
            body = {"type": "boolean"}
        elif self.kind == "text":
            body = {"type": "string", "maxLength": LONGEST_TEXT}
        else:
            body = {"enum": list(DTYPES if self.kind == "dtype" else self.choices)}
        described = {**body, "description": self.help}
        return described if self.default is None else {**described, "default": jsonable(self.default)}


def jsonable(value: Any) -> Any:
    """Turn tuples into lists, as JSON has them."""
    return list(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value


def complete(declared: tuple[Attribute, ...], given: Attributes) -> dict[str, Any]:
    """Give every declared attribute a value: the given one, else the default, else nothing yet."""
    return {a.name: _value(a, given.get(a.name)) for a in declared}


def _value(attribute: Attribute, given: Any) -> Any:
    # A number for each of other axes stays as it is: the checks tell what it should be.
    if given is None or (attribute.kind == "axes" and isinstance(given, tuple)):
        return attribute.default if given is None else cast("tuple[int, ...]", given)
    return attribute.parse(given)


@lru_cache(maxsize=1024)
def over_axes(declared: tuple[Attribute, ...], axes: int) -> tuple[Attribute, ...]:
    """Let attributes whose value has a number per axis have so many, where the declaration leaves it open."""
    return tuple(_spread(a, axes) if a.kind == "axes" and not a.axes else a for a in declared)


def _spread(attribute: Attribute, axes: int) -> Attribute:
    default = (attribute.default,) * axes if isinstance(attribute.default, int) else attribute.default
    return replace(attribute, axes=axes, default=default)
