"""Where the canvas puts what has no place of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from inkcap.drawing import Box, Drawing
from inkcap.drawing.layout import Layout, Spacing, arrange, layout, parts_of
from inkcap.drawing.layout_layers import Wire
from inkcap.studio.columns import layer_by_layer

NODE = Box(46.0, 46.0, 34.0, 68.0)
"""The room of a capsule on the canvas: its glyph, and under it name, title and structure."""
SPACING = Spacing(neighbours=26.0, layers=64.0, lines=18.0, parts=56.0, widest=1320.0)
MOST = 1_000
"""Above so many vertices they are set in columns, layer by layer: nobody follows a line among so many."""
PITCH = 112.0
MOST_BENT = 600
"""Above so many vertices, lines whose ends were all placed run straight: no layout is made for bends alone."""


def layout_of(drawing: Drawing, *, stored: bool = True) -> dict[str, Any]:
    """Lay a drawing out: places for what states none, and the bends of the lines among vertices that lie so."""
    vertices, wires = parts_of(drawing)
    if not vertices:
        return {"positions": {}, "bends": {}}
    if len(vertices) > MOST:
        ends = [(wire.back, wire.front) for wire in wires]
        columns = layer_by_layer(vertices, ends, PITCH)
        free = [id for id in vertices if not stored or id not in drawing.positions]
        return {"positions": {id: _moved(columns[id]) for id in free}, "bends": {}}
    if stored and all(id in drawing.positions for id in vertices):
        return _bends_alone(drawing)
    found = layout(drawing, dict.fromkeys(vertices, NODE), stored=stored, spacing=SPACING)
    shift = _shift(drawing, found.positions) if stored else (0.0, 0.0)
    placed = set(drawing.positions) if stored else set[str]()
    positions = {id: _moved(point, shift) for id, point in found.positions.items() if id not in placed}
    ends = {wire.id: (wire.back, wire.front) for wire in wires}
    free = {id: run for id, run in found.bends.items() if run and not any(end in placed for end in ends[id])}
    return {"positions": positions, "bends": {id: [_moved(p, shift) for p in run] for id, run in free.items()}}


def _bends_alone(drawing: Drawing) -> dict[str, Any]:
    """Give the layout of a drawing whose vertices all have places: its lines bend where these are the layout's own.

    Whoever paints them sees that by the distance of both ends from where the layout has them.
    """
    vertices, wires = parts_of(drawing)
    if len(vertices) > MOST_BENT:
        return {"positions": {}, "bends": {}}
    found = _anew(tuple(vertices), tuple(wires))
    bends = {id: [_moved(point) for point in run] for id, run in found.bends.items() if run}
    return {"positions": {id: _moved(point) for id, point in found.positions.items()}, "bends": bends}


@lru_cache(maxsize=32)
def _anew(vertices: tuple[str, ...], wires: tuple[Wire, ...]) -> Layout:
    # Most edits change no vertex and no line: then this is known.
    return arrange(vertices, wires, dict.fromkeys(vertices, NODE), spacing=SPACING)


def _shift(drawing: Drawing, positions: Mapping[str, Sequence[float]]) -> tuple[float, float]:
    """Tell how far the layout, which begins at the origin, lies from what has its place."""
    for id, (x, y) in positions.items():
        if id in drawing.positions:
            return drawing.positions[id].x - x, drawing.positions[id].y - y
    return 0.0, 0.0


def _moved(point: Sequence[float], shift: tuple[float, float] = (0.0, 0.0)) -> list[float]:
    return [round(point[0] + shift[0], 1), round(point[1] + shift[1], 1)]
