"""Groups in the checks: what stands in the way of opening them, and edits that reach into a group."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from inkcap.drawing import Capsule, Connection, Drawing, Edit, Flattened, Group, Put, Remove
from inkcap.network.diagnostics import Diagnostic

Part = TypeVar("Part", Capsule, Connection)


def problems_of(flattened: Flattened) -> list[Diagnostic]:
    """Say what stood in the way of opening the groups."""
    return [Diagnostic(p.rule, p.where, p.message, p.numbers) for p in flattened.problems]


def reaching_in(diagnostic: Diagnostic, drawing: Drawing, flattened: Flattened) -> Diagnostic:
    """Let a diagnostic's edit change the group, and so all its uses, where what it mends stands inside of one.

    An edit that would have to change an expression, or to add something to a group, is left out.
    """
    if diagnostic.fix is None:
        return diagnostic
    groups: dict[str, Group] = {}
    patches: list[Put | Remove] = []
    for patch in diagnostic.fix.patches:
        id = patch.record.id if isinstance(patch, Put) else patch.id
        origin = flattened.origins.get(id)
        if origin is None:
            if _touches_inside(patch, drawing):
                return replace(diagnostic, fix=None)
            patches.append(patch)
            continue
        group = _changed(groups.get(origin[0], drawing.groups[origin[0]]), origin[1], patch, flattened.drawing)
        if group is None:
            return replace(diagnostic, fix=None)
        groups[origin[0]] = group
    if not groups:
        return diagnostic
    label = f"{diagnostic.fix.label}, in every use of {' and '.join(groups)}"
    return replace(diagnostic, fix=Edit(label, (*(Put(group) for group in groups.values()), *patches)))


def _touches_inside(patch: Put | Remove, drawing: Drawing) -> bool:
    """Tell whether a patch of a record that is drawn outside speaks of capsules that are inside of groups."""
    if isinstance(patch, Remove):
        return False
    record = patch.record
    if isinstance(record, Connection):
        old = drawing.connections.get(record.id)
        ends = {end for end in (record.back, record.front) if "." in end}
        return bool(ends) or (old is not None and (old.back in drawing.uses or old.front in drawing.uses))
    return False


def _changed(group: Group, id: str, patch: Put | Remove, flat: Drawing) -> Group | None:
    if isinstance(patch, Remove):
        return replace(group, connections=tuple(c for c in group.connections if c.id != id))
    record = patch.record
    if isinstance(record, Capsule):
        inner = next(c for c in group.capsules if c.id == id)
        made = _with_attributes(inner, record, flat.capsules[record.id])
        same = (inner.symbol, inner.rank, inner.wears) == (record.symbol, record.rank, record.wears)
        if made is None or not same:
            return None
        return replace(group, capsules=tuple(made if c.id == id else c for c in group.capsules))
    if isinstance(record, Connection):
        line = next(c for c in group.connections if c.id == id)
        old = flat.connections[record.id]
        if (record.back, record.front) != (old.back, old.front):
            return None
        if record.symbol != line.symbol:
            new = replace(line, symbol=record.symbol, attributes=dict(record.attributes))
        else:
            new = _with_attributes(line, record, old)
        return (
            None
            if new is None
            else replace(group, connections=tuple(new if c.id == id else c for c in group.connections))
        )
    return None


def _with_attributes(inner: Part, wanted: Part, now: Part) -> Part | None:
    """Give the inner record the attributes that change; None where one of them is an expression."""
    names = {*wanted.attributes, *now.attributes}
    changed = {name for name in names if wanted.attributes.get(name) != now.attributes.get(name)}
    if any(str(inner.attributes.get(name, "")).startswith("=") for name in changed):
        return None
    kept = {name: value for name, value in inner.attributes.items() if name not in changed}
    return replace(inner, attributes=kept | {n: wanted.attributes[n] for n in changed if n in wanted.attributes})
