"""What an import can say: that a file is refused, and that an operator has no symbol."""

from inkcap.structures import InkcapError


class ImportRefused(InkcapError):
    """A model that cannot be imported: the message names the node, its operator, the numbers and the next step."""


class NoSymbol(Exception):
    """An operator, or a use of one, for which the catalogue has no symbol; the text says why."""
