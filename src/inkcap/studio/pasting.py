"""Pasting: what was copied is the text of a drawing, so it can come from another tab, another drawing or a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from inkcap.drawing import Drawing, DrawingError, Edit, Patch, Position, Put, from_text
from inkcap.drawing.fields import fresh_id

BESIDE = 40.0
"""How far from the original a copy lies when nobody says where."""


def paste(drawing: Drawing, text: str, at: tuple[float, float] | None) -> list[str]:
    """Add everything that a drawing's text holds, under new ids where the old are taken; give the vertices' ids."""
    copied = from_text(text, expressions=drawing.arguments is not None)
    if copied.plain is not None:
        raise DrawingError("neurons in columns cannot be pasted; open that drawing by itself")
    others = {
        id for id, g in drawing.groups.items() if id not in copied.groups or not g.means_the_same(copied.groups[id])
    }
    groups = _names(copied.groups, others)
    vertices = _names((*copied.capsules, *copied.uses), {*drawing.capsules, *drawing.uses})
    # A connection is called after its ends, so that it gets their new names where it had their old ones.
    wanted = {
        c.id: f"{vertices[c.back]}-{vertices[c.front]}" if c.id == f"{c.back}-{c.front}" else c.id
        for c in copied.connections.values()
    }
    lines: dict[str, str] = {}
    for id, name in wanted.items():
        lines[id] = fresh_id(name, {*drawing.connections, *lines.values()})
    notes = _names(copied.notes, set(drawing.notes))
    puts: list[Patch] = [
        Put(replace(g, id=groups[id], uses=tuple(replace(u, group=groups[u.group]) for u in g.uses)))
        for id, g in copied.groups.items()
        if groups[id] not in drawing.groups
    ]
    puts += [Put(replace(c, id=vertices[id])) for id, c in copied.capsules.items()]
    puts += [Put(replace(u, id=vertices[id], group=groups[u.group])) for id, u in copied.uses.items()]
    puts += [
        Put(replace(c, id=lines[c.id], back=vertices[c.back], front=vertices[c.front]))
        for c in copied.connections.values()
    ]
    puts += [Put(replace(note, id=notes[id])) for id, note in copied.notes.items()]
    puts += _places(copied, {**vertices, **notes}, at)
    drawing.apply(Edit("paste", tuple(puts)))
    return [*vertices.values(), *notes.values()]


def _places(copied: Drawing, names: dict[str, str], at: tuple[float, float] | None) -> list[Patch]:
    placed = [p for p in copied.positions.values() if p.id in names]
    if not placed:
        return [Put(Position.near(name, *at)) for name in list(names.values())[:1]] if at else []
    dx = dy = BESIDE
    if at is not None:
        dx, dy = at[0] - min(p.x for p in placed), at[1] - min(p.y for p in placed)
    return [Put(Position.near(names[p.id], round(p.x + dx, 1), round(p.y + dy, 1))) for p in placed]


def _names(ids: Iterable[str], taken: set[str]) -> dict[str, str]:
    named: dict[str, str] = {}
    for id in ids:
        named[id] = fresh_id(id, {*taken, *named.values()})
    return named
