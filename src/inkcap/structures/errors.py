"""The errors that a person may see."""

import difflib
from collections.abc import Iterable


class InkcapError(Exception):
    """A mistake that the user can mend: the message names the thing, the place, the numbers and the next step."""


class RunFailure(InkcapError):
    """A run that started and could not go on, through no mistake in the command that started it."""


def nearest(wrong: str, known: Iterable[str], most: int = 3, likeness: float = 0.6) -> list[str]:
    """Give the known names that come near a wrong one, the nearest first, whatever their case."""
    by_lower_case = {name.lower(): name for name in known}
    near = difflib.get_close_matches(wrong.lower(), list(by_lower_case), most, likeness)
    return [by_lower_case[name] for name in near]
