"""Options of a source: their declaration, and reading them from the text typed on a command line."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inkcap.training.data.errors import DataError
from inkcap.training.data.wording import listing, near_matches

_YES = {"yes", "true", "on", "1", ""}
_NO = {"no", "false", "off", "0"}
_LARGEST_SIDE = 16384


@dataclass(frozen=True)
class Option:
    """One option of a source: its name, its value when not given, and a line of help."""

    name: str
    default: str
    help: str


def parse_size(text: str, what: str = "resize") -> tuple[int, int]:
    """Read HEIGHTxWIDTH, such as 28x28, as (height, width)."""
    match = re.fullmatch(r"\s*(\d{1,6})\s*[x×X]\s*(\d{1,6})\s*", text)
    if match is None:
        raise DataError(f"{what}={text}: a size is written HEIGHTxWIDTH. Write for example {what}=28x28.")
    height, width = int(match[1]), int(match[2])
    if not (1 <= height <= _LARGEST_SIDE and 1 <= width <= _LARGEST_SIDE):
        raise DataError(f"{what}={text}: each side must lie between 1 and {_LARGEST_SIDE}. Choose a size within that.")
    return height, width


class OptionValues:
    """The options given to one source, each checked when it is read."""

    def __init__(self, source: str, declared: Sequence[Option], given: Mapping[str, str]) -> None:
        """Take the given texts and refuse names that the source does not declare."""
        names = [option.name for option in declared]
        for name in given:
            if name not in names:
                known = f"It takes: {listing(names)}." if names else "It takes no options."
                raise DataError(
                    f"{source} has no option called {name}.{near_matches(name, names)} {known} Correct or drop it."
                )
        self._source = source
        self._values = {option.name: given.get(option.name, option.default) for option in declared}
        self._given = frozenset(given)

    def was_given(self, name: str) -> bool:
        """Tell whether the option was typed, rather than left at its default."""
        return name in self._given

    def text(self, name: str) -> str:
        """Give the option's text without surrounding blanks."""
        return self._values[name].strip()

    def names(self, name: str) -> list[str]:
        """Read a list separated by semicolons."""
        return [part.strip() for part in self._values[name].split(";") if part.strip()]

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """Read one of a few words."""
        value = self.text(name).lower()
        if value not in choices:
            raise self._error(name, f"must be one of {listing(choices)}.{near_matches(value, choices)}")
        return value

    def flag(self, name: str) -> bool:
        """Read yes or no."""
        value = self.text(name).lower()
        if value in _YES and (value or self.was_given(name)):
            return True
        if value in _NO or not value:
            return False
        raise self._error(name, "must be yes or no")

    def integer(self, name: str, low: int, high: int) -> int:
        """Read a whole number within limits."""
        try:
            value = int(self.text(name))
        except ValueError:
            raise self._error(name, f"must be a whole number from {low} to {high}") from None
        if not low <= value <= high:
            raise self._error(name, f"must lie between {low} and {high}")
        return value

    def number(self, name: str, low: float, high: float) -> float:
        """Read a number within limits."""
        try:
            value = float(self.text(name))
        except ValueError:
            raise self._error(name, f"must be a number from {low:g} to {high:g}") from None
        if not (math.isfinite(value) and low <= value <= high):
            raise self._error(name, f"must lie between {low:g} and {high:g}")
        return value

    def size(self, name: str) -> tuple[int, int] | None:
        """Read HEIGHTxWIDTH, or None when nothing was given."""
        value = self.text(name)
        return parse_size(value, name) if value else None

    def _error(self, name: str, rule: str) -> DataError:
        return DataError(f"{self._source}: {name}={self._values[name]} {rule}. Correct the option {name}.")
