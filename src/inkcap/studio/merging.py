"""Edits that were made without knowing what another tab did in between: merged field by field, never over it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from inkcap.drawing import DrawingError, Edit, Patch, Put, Record, Remove
from inkcap.drawing.edits import read_record
from inkcap.drawing.merging import merge_values
from inkcap.studio.store import Entry

Key = tuple[str, str]


def rebase(edit: Edit, others: Iterable[Entry], *, yields: bool = False) -> Edit:
    """Give an edit as it should be after what others did since; what they changed and it only repeats stays theirs.

    An edit that says something else of the very same field wins, unless it ``yields``, as an undo does. What another
    removed is not put again.
    """
    changed = _net_changes(others)
    patches: list[Patch] = []
    for patch in edit.patches:
        key = _key(patch)
        if key not in changed:
            patches.append(patch)
            continue
        merged = _merged(patch, *changed[key], yields=yields)
        if merged is not None:
            patches.append(merged)
    return Edit(edit.label, tuple(patches))


def _key(patch: Patch) -> Key:
    return (patch.kind, patch.id) if isinstance(patch, Remove) else (patch.record.kind, patch.record.id)


def _net_changes(entries: Iterable[Entry]) -> dict[Key, tuple[Record | None, Record | None]]:
    """Give every record that was touched as it was before the first touch and after the last."""
    found: dict[Key, tuple[Record | None, Record | None]] = {}
    for entry in entries:
        # The inverse begins with what takes back the last patch, so the first touch of a record stands last in it.
        before = {_key(patch): _record(patch) for patch in entry.inverse.patches}
        after = {_key(patch): _record(patch) for patch in entry.edit.patches}
        for key, record in after.items():
            first = found[key][0] if key in found else before.get(key)
            found[key] = (first, record)
    return found


def _record(patch: Patch) -> Record | None:
    return patch.record if isinstance(patch, Put) else None


def _merged(patch: Patch, before: Record | None, after: Record | None, *, yields: bool) -> Patch | None:
    if isinstance(patch, Remove):
        return patch if after is not None else None
    name = f"{patch.record.kind} {patch.record.id}"
    if after is None:
        if before is None:
            return patch
        if yields:
            return None
        raise DrawingError(f"another tab removed the {name} in the meantime; undo there brings it back")
    if before is None:
        if after == patch.record or yields:
            return None
        if patch.record.kind != "position":
            raise DrawingError(f"another tab drew a {name} in the meantime; choose another id")
        return patch
    value = merge(before.to_json(), patch.record.to_json(), after.to_json(), yields=yields)
    record = read_record(patch.record.kind, patch.record.id, value, name)
    return None if record == after else Put(record, patch.index)


def merge(base: Any, mine: Any, theirs: Any, *, yields: bool = False) -> Any:
    """Merge two changes of one JSON value; where both say something else, mine wins, unless it yields."""
    return merge_values(base, mine, theirs, lambda _, __, one, other: other if yields else one)
