"""What an import can say: that a file is refused, and that an operator has no symbol."""

from inkcap.structures import InkcapError
from inkcap.structures.errors import one_line


class ImportRefused(InkcapError):
    """A model that cannot be imported: the message names the node, its operator, the numbers and the next step.

    Whatever names the model has, the message is one line that can be read.
    """

    def __init__(self, words: str) -> None:
        super().__init__(one_line(words))


class NoSymbol(Exception):
    """An operator, or a use of one, for which the catalogue has no symbol; the text says why."""
