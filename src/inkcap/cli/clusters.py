"""A cluster as commands name it: by its address, or as one that is started for them."""

LOCAL = "local"
"""In place of an address: a cluster of this machine alone, started for the command."""


def address_of(cluster: str) -> str:
    """Give the address of a cluster that is there, or nothing for one that is to be started here."""
    return "" if cluster == LOCAL else cluster
