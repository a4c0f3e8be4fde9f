"""Another id for a thing, wherever the drawing speaks of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from inkcap.drawing import Drawing, DrawingError, Edit, Position, Put, difference


def rename(drawing: Drawing, old: str, new: str) -> None:
    """Give a capsule, use, connection, note or group another id; its place in the order stays."""
    if old == new:
        return
    work = drawing.copy()
    for kind in ("capsule", "use", "connection", "note", "group"):
        if any(record.id == old for record in drawing.records(kind)):
            break
    else:
        raise DrawingError(f"there is no {old!r}; nothing was renamed")
    family = ("capsule", "use") if kind in ("capsule", "use") else (kind,)
    if any(record.id == new for name in family for record in drawing.records(name)):
        raise DrawingError(f"there is a {kind} {new!r} already; choose another id")
    puts = [Put(renamed(record, kind, old, new)) for name in NAMED for record in drawing.records(name)]
    puts += [Put(Position(new if p.id == old else p.id, p.x, p.y)) for p in drawing.positions.values()]
    work = Drawing(drawing.name, drawing.dtype, drawing.arguments)
    work.apply(Edit("rename", (*puts, *(Put(renamed(record, kind, old, new)) for record in drawing.records("plain")))))
    drawing.apply(difference(drawing, work, f"rename {old} to {new}"))


NAMED = ("group", "capsule", "use", "connection", "note")


def renamed(record: Any, kind: str, old: str, new: str) -> Any:
    """Give a record as it is when the thing of this kind has its new id."""
    vertex = kind in ("capsule", "use")
    if record.kind == kind and record.id == old:
        record = replace(record, id=new)
    if vertex and record.kind == "connection":
        back, front = (new if end == old else end for end in (record.back, record.front))
        record = replace(record, back=back, front=front)
    if vertex and record.kind == "plain":
        spans = {
            name: {new if id == old else id: span for id, span in getattr(record, name).items()}
            for name in ("reads", "writes")
        }
        record = replace(record, **spans)
    if kind == "group" and record.kind == "use" and record.group == old:
        record = replace(record, group=new)
    if kind == "group" and record.kind == "group":
        record = replace(record, uses=tuple(replace(u, group=new) if u.group == old else u for u in record.uses))
    return record
