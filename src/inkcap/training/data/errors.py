"""The error for every mistake that lies in the data or in how they were asked for."""

from inkcap.structures.errors import InkcapError


class DataError(InkcapError):
    """Data that cannot be used: the message names the file, the place, the numbers and the next step."""
