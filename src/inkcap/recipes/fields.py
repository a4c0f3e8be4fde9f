"""One declaration for each setting: its range, its default and its help text.

Validation, the command line's help and the JSON schema are all read from here, so they cannot drift apart.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from inkcap.drawing.limits import LARGEST_INTEGER
from inkcap.recipes.errors import RecipeError

FieldKind = Literal["whole", "number", "flag", "text", "choice", "texts", "options"]
Scalar = bool | int | float | str

_NOUNS: dict[str, str] = {
    "whole": "a whole number",
    "number": "a number",
    "flag": "true or false",
    "text": "a text",
    "choice": "a text",
    "texts": "a list of texts",
    "options": "an object of names and plain values",
}
_SCHEMA_TYPES: dict[str, str] = {
    "whole": "integer",
    "number": "number",
    "flag": "boolean",
    "text": "string",
    "choice": "string",
    "texts": "array",
    "options": "object",
}
_MOST_TEXT = 4096
_MOST_TEXTS = 1024


@dataclass(frozen=True, slots=True)
class Field:
    """One setting. `least` and `most` belong to the range, `above` and `below` bound it from outside."""

    name: str
    kind: FieldKind
    default: object
    help: str
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    choices: tuple[str, ...] = ()
    optional: bool = False

    def range_text(self) -> str:
        """Give the range in words, as it stands in help texts and in messages."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        low = f"from {_show_limit(self.least)}" if self.least is not None else ""
        low = f"above {_show_limit(self.above)}" if self.above is not None else low
        high = f"to {_show_limit(self.most)}" if self.most is not None else ""
        high = f"below {_show_limit(self.below)}" if self.below is not None else high
        limits = " ".join(part for part in (low, high) if part)
        return f"{_NOUNS[self.kind]} {limits}".strip()

    def help_text(self) -> str:
        """Give the help text with the range and the default."""
        shown = "none" if self.default is None or self.default in ("", ()) else self.default
        return f"{self.help} ({self.range_text()}; default {shown})"

    def check(self, value: object, place: str) -> Any:
        """Give the value in its own type, or a RecipeError that names the place and the range."""
        if value is None and self.optional:
            return None
        if self.kind == "texts":
            return self._check_texts(value, place)
        if self.kind == "options":
            return check_scalars(value, place)
        if self.kind in ("whole", "number"):
            return self._check_number(value, place)
        if self.kind == "flag":
            if not isinstance(value, bool):
                raise self._refuse(value, place)
            return value
        if not isinstance(value, str) or (self.choices and value not in self.choices):
            raise self._refuse(value, place)
        return check_text(value, place)

    def from_text(self, text: str, place: str) -> Any:
        """Give the value that a person typed on a command line."""
        try:
            if self.kind == "whole":
                return self.check(int(text), place)
            if self.kind == "number":
                return self.check(float(text), place)
        except ValueError:
            raise self._refuse(text, place) from None
        if self.kind == "flag":
            words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
            return self.check(words.get(text.strip().lower(), text), place)
        if self.kind == "texts":
            return self.check([part.strip() for part in text.split(",") if part.strip()], place)
        return self.check(text, place)

    def schema(self) -> dict[str, object]:
        """Give the setting as a JSON schema."""
        kind = _SCHEMA_TYPES[self.kind]
        schema: dict[str, object] = {"type": [kind, "null"] if self.optional else kind, "description": self.help}
        limits = {
            "minimum": self.least,
            "maximum": self.most,
            "exclusiveMinimum": self.above,
            "exclusiveMaximum": self.below,
        }
        schema.update({key: limit for key, limit in limits.items() if limit is not None})
        if self.choices:
            schema["enum"] = list(self.choices)
        if self.kind == "texts":
            schema["items"] = {"type": "string", "minLength": 1}
        if self.kind == "options":
            schema["additionalProperties"] = {"type": ["string", "number", "boolean"]}
        default = self.default
        if isinstance(default, tuple):
            default = list(cast("tuple[object, ...]", default))
        schema["default"] = default
        return schema

    def _check_number(self, value: object, place: str) -> float | int:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._refuse(value, place)
        if self.kind == "whole" and not isinstance(value, int):
            raise self._refuse(value, place)
        try:
            number = value if self.kind == "whole" else float(value)
        except OverflowError:
            raise self._refuse(value, place) from None
        if not math.isfinite(number):
            raise self._refuse(value, place)
        fits = (
            (self.least is None or number >= self.least)
            and (self.most is None or number <= self.most)
            and (self.above is None or number > self.above)
            and (self.below is None or number < self.below)
        )
        if not fits:
            raise self._refuse(value, place)
        return number

    def _check_texts(self, value: object, place: str) -> tuple[str, ...]:
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise self._refuse(value, place)
        items = cast("Sequence[object]", value)
        if len(items) > _MOST_TEXTS:
            raise RecipeError(f"{place}: {len(items)} texts are too many; give at most {_MOST_TEXTS}.")
        for index, item in enumerate(items):
            if not isinstance(item, str) or not item:
                raise RecipeError(f"{place}[{index}]: {show(item)} is not a text of at least one character.")
            check_text(item, f"{place}[{index}]")
        return tuple(cast("Sequence[str]", items))

    def _refuse(self, value: object, place: str) -> RecipeError:
        return RecipeError(f"{place}: {show(value)} is not possible here; give {self.range_text()}.")


def _show_limit(limit: float) -> str:
    return str(int(limit)) if float(limit).is_integer() else f"{limit:g}"


def show(value: object) -> str:
    """Give a value in a message, cut when it is long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def check_text(value: str, place: str) -> str:
    """Give a text that can be stored: not too long, no half characters, no NUL."""
    if len(value) > _MOST_TEXT:
        raise RecipeError(f"{place}: a text of {len(value)} characters is too long; give at most {_MOST_TEXT}.")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise RecipeError(f"{place}: {show(value)} holds half a character (a lone surrogate).") from None
    if "\0" in value:
        raise RecipeError(f"{place}: {show(value)} holds a NUL character.")
    return value


def check_scalars(value: object, place: str) -> dict[str, Scalar]:
    """Give an object of names and plain values; what they mean is for the receiver to check."""
    if not isinstance(value, Mapping):
        raise RecipeError(f"{place}: {show(value)} is not possible here; give {_NOUNS['options']}.")
    checked: dict[str, Scalar] = {}
    for key, item in cast("Mapping[object, object]", value).items():
        if not isinstance(key, str) or not key:
            raise RecipeError(f"{place}: the name {show(key)} is not a text of at least one character.")
        check_text(key, f"{place}.{key[:40]!r}")
        if isinstance(item, str):
            check_text(item, f"{place}.{key}")
        elif not isinstance(item, bool | int | float):
            raise RecipeError(
                f"{place}.{key}: {show(item)} is not a plain value; give a number, a text, true or false."
            )
        elif not isinstance(item, bool) and not _is_finite(item):
            raise RecipeError(f"{place}.{key}: {show(item)} is not a finite number.")
        elif isinstance(item, int) and abs(item) > LARGEST_INTEGER:
            raise RecipeError(f"{place}.{key}: the whole number {show(item)} is larger than 2^53.")
        checked[key] = item
    return checked


def _is_finite(value: int | float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def check_options(fields: Sequence[Field], given: object, place: str, owner: str) -> dict[str, Scalar]:
    """Give the options of one kind, with the defaults filled in, in the order of the table."""
    if not isinstance(given, Mapping):
        raise RecipeError(f"{place}: {show(given)} is not possible here; give {_NOUNS['options']}.")
    options = cast("Mapping[object, object]", given)
    known = {field.name for field in fields}
    for key in options:
        if key not in known:
            names = ", ".join(sorted(known)) or "none"
            raise RecipeError(f"{place}: {owner} has no option {show(key)}; its options are: {names}.")
    return {
        field.name: field.check(options.get(field.name, field.default), f"{place}.{field.name}") for field in fields
    }


def entry(default: object, kind: FieldKind, help: str, **limits: Any) -> Any:
    """Give a dataclass field that carries its own declaration; its name is the attribute's."""
    declared = Field("", kind, default, help, **limits)
    if kind == "options":
        return dataclasses.field(default_factory=dict[str, Scalar], metadata={"declared": declared})
    return dataclasses.field(default=default, metadata={"declared": declared})


def declared_fields(record: type) -> tuple[Field, ...]:
    """Give the declarations of a record, in order; parts that are records themselves are not among them."""
    return tuple(
        dataclasses.replace(item.metadata["declared"], name=item.name)
        for item in dataclasses.fields(record)
        if "declared" in item.metadata
    )
