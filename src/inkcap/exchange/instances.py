"""Instances: every copy of a group that a drawing uses, with the capsules inside and its arguments' values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from inkcap.drawing import Drawing
from inkcap.drawing.arguments import Value, evaluate, is_expression
from inkcap.drawing.groups import COPY, Group, Use

ROOT = ""
"""The path of the drawing itself."""


@dataclass(frozen=True)
class Instance:
    """One copy of a group: where it is, what it is a copy of, and with which numbers."""

    path: str
    """What stands before the ids of everything inside, with a dot at its end."""
    parent: str
    use: Use
    group: Group
    number: int
    values: Mapping[str, Value]

    @property
    def title(self) -> str:
        """The name by which the drawing knows it."""
        return self.path[:-1]

    @property
    def row(self) -> str:
        """The path of the use, which all of its copies have in common."""
        return f"{self.parent}{self.use.id}"


@dataclass
class Instances:
    """All instances by their paths, and where every capsule is."""

    by_path: dict[str, Instance] = field(default_factory=dict[str, Instance])
    home: dict[str, str] = field(default_factory=dict[str, str])
    """The instance of every capsule inside of one."""
    doors: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """The capsules of an instance that connections from outside enter."""


def find_instances(drawing: Drawing) -> Instances:
    """Find every copy of every group that a well-formed drawing uses, in the order of drawing."""
    found = Instances()
    _walk(drawing, drawing.uses.values(), ROOT, {}, found)
    return found


def _walk(
    drawing: Drawing, uses: Iterable[Use], parent: str, outside: Mapping[str, Value], found: Instances
) -> dict[str, set[str]]:
    """Go into uses; give the doors of each."""
    entered: dict[str, set[str]] = {}
    for use in uses:
        group = drawing.groups[use.group]
        given = {k: evaluate(v, outside) if is_expression(v) else v for k, v in use.arguments.items()}
        for number in range(use.repeat):
            path = f"{parent}{use.id}." if use.repeat == 1 else f"{parent}{use.id}.{number}."
            values: dict[str, Value] = {**group.arguments, **given, COPY: number}
            found.by_path[path] = Instance(path, parent, use, group, number, values)
            found.home.update({f"{path}{capsule.id}": path for capsule in group.capsules})
            inner = _walk(drawing, group.uses, path, values, found)
            doors: set[str] = set()
            for id in group.inputs.values():
                doors |= inner.get(id, {f"{path}{id}"})
            found.doors[path] = doors
            entered.setdefault(use.id, set()).update(doors)
    return entered
