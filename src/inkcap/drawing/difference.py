"""The difference between two drawings, as one edit that leads from the one to the other."""

from __future__ import annotations

from inkcap.drawing.document import Drawing
from inkcap.drawing.edits import KINDS, Edit, Patch, Put, Record, Remove


def difference(old: Drawing, new: Drawing, label: str) -> Edit:
    """Write what is different as one edit; applied to the old drawing it gives the new one, its order too."""
    gone: list[Patch] = []
    put: list[Patch] = []
    for kind in (record.kind for record in KINDS):
        before = {record.id: record for record in old.records(kind)}
        after = {record.id: record for record in new.records(kind)}
        if kind == "meta":
            put += [Put(record) for id, record in after.items() if record != before[id]]
            continue
        removed, placed = _of_kind(kind, before, after)
        gone += removed
        put += placed
    return Edit(label, (*gone, *put))


def _of_kind(kind: str, before: dict[str, Record], after: dict[str, Record]) -> tuple[list[Patch], list[Patch]]:
    kept = [id for id in before if id in after]
    if kept != [id for id in after if id in before]:
        # Those that are in another order are all taken away and set anew: rare, and simple enough to be right.
        kept = []
    staying = set(kept)
    removed: list[Patch] = [Remove(kind, id) for id in before if id not in staying]
    placed: list[Patch] = []
    for index, (id, record) in enumerate(after.items()):
        if id not in staying:
            # All before it stand already, so its own place is its index.
            placed.append(Put(record, index))
        elif before[id] is not record and before[id] != record:
            placed.append(Put(record))
    return removed, placed
