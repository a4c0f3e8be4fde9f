"""The errors that a person may see."""

import difflib
import re
from collections.abc import Iterable

LONGEST_WORD = 120
"""Letters of a name that a message shows: a file may have names of thousands."""
MOST_LETTERS = 900


class InkcapError(Exception):
    """A mistake that the user can mend: the message names the thing, the place, the numbers and the next step."""


class RunFailure(InkcapError):
    """A run that started and could not go on, through no mistake in the command that started it."""


def nearest(wrong: str, known: Iterable[str], most: int = 3, likeness: float = 0.6) -> list[str]:
    """Give the known names that come near a wrong one, the nearest first, whatever their case."""
    by_lower_case = {name.lower(): name for name in known}
    near = difflib.get_close_matches(wrong.lower(), list(by_lower_case), most, likeness)
    return [by_lower_case[name] for name in near]


def one_line(words: str) -> str:
    """Write out what cannot be seen, and leave out the middle of what is too long: names come from files."""
    seen = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in words)
    return _shortened(re.sub(rf"\S{{{LONGEST_WORD + 1},}}", lambda found: _shortened(found[0], LONGEST_WORD), seen))


def _shortened(text: str, most: int = MOST_LETTERS) -> str:
    half = most // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"
