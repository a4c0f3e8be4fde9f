"""What the names of measured values mean: which are shares, and of which more is better."""

_SHARES = ("accuracy", "solved")
_MORE_IS_BETTER = (*_SHARES, "reward")


def is_share(name: str) -> bool:
    """Tell whether a value lies between 0 and 1 and is shown in per cent."""
    return _plain(name) in _SHARES


def more_is_better(name: str) -> bool:
    """Tell whether a higher value is a better one."""
    return _plain(name) in _MORE_IS_BETTER


def _plain(name: str) -> str:
    """Give the name without the part of the data before it and the output behind it."""
    return name.removeprefix("val_").partition(".")[0]
