"""Names that a package offers but imports only when they are asked for: a quick command loads nothing heavy."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def later(package: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Make a package's ``__getattr__``: each name with the module that has it."""

    def find(name: str) -> Any:
        if name in names:
            return getattr(import_module(names[name]), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find
