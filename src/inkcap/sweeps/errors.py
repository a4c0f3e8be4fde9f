"""The mistakes that a sweep can hold."""

from inkcap.structures.errors import InkcapError


class SweepError(InkcapError):
    """A sweep that cannot be begun or gone on with as it stands."""
