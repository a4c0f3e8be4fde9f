"""The mistakes that keep work from a cluster."""

from inkcap.structures.errors import InkcapError


class ClusterError(InkcapError):
    """A cluster that cannot be started, joined or asked for so much."""
