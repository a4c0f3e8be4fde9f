"""What goes wrong with a benchmark that was asked for."""

from inkcap.structures import InkcapError


class BenchError(InkcapError):
    """A benchmark that cannot be run as it was asked for."""
