"""The mistakes that a recipe or a run folder can hold."""

from inkcap.structures.errors import InkcapError


class RecipeError(InkcapError):
    """A recipe that cannot be used as it stands."""


class RunFolderError(InkcapError):
    """A folder that is not a run, or no longer a whole one."""
