"""The errors that a person may see."""


class InkcapError(Exception):
    """A mistake that the user can mend: the message names the thing, the place, the numbers and the next step."""


class RunFailure(InkcapError):
    """A run that started and could not go on, through no mistake in the command that started it."""
