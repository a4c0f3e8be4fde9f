"""What was refused stays refused: an edit that comes again is not taken because others drew in between."""

from __future__ import annotations

from inkcap.studio.ledger import Refused

MOST = 1_000
"""So many refusals of a drawing are known in their own words; of earlier ones only that they were."""


class Refusals:
    """The numbered edits of one drawing that changed nothing, and why, for as long as the drawing is open.

    A number comes again when its answer was lost with the line, and from a line that its tab has given up already.
    """

    def __init__(self) -> None:
        """Know of none."""
        self._words: dict[tuple[str, int], str] = {}
        self._highest: dict[str, int] = {}

    def note(self, client: str, number: int | None, words: str) -> None:
        """Note that a client's number was refused."""
        if number is None:
            return
        self._words[client, number] = words
        self._highest[client] = max(number, self._highest.get(client, 0))
        if len(self._words) > MOST:
            del self._words[next(iter(self._words))]

    def check(self, client: str, number: int | None, acknowledged: int) -> None:
        """Refuse a number again that came before and is not in the log; a client counts without gaps and in order."""
        if number is None or number > max(acknowledged, self._highest.get(client, 0)):
            return
        words = self._words.get((client, number))
        raise Refused(words or "this edit came before and was refused; why was told then, and is not known any more")
