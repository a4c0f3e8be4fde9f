"""What can be wrong with storage, and with what lies there."""

from inkcap.structures.errors import InkcapError, RunFailure


class RemoteError(InkcapError):
    """Storage that cannot be used as it was given, cannot be reached, or holds something else than it should."""


class TakenOver(RemoteError):
    """Another machine goes on with a run, so this one may not publish it any more."""


class NotPublished(RunFailure):
    """A run that is whole on this machine and not wholly where it was to be published."""
