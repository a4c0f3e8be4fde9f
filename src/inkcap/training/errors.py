"""The mistakes that stop a training before it starts."""

from inkcap.structures.errors import InkcapError


class TrainingError(InkcapError):
    """A drawing, a recipe and data that do not go together."""
