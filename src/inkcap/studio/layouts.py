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


def layout_of(drawing: Drawing, boxes: Mapping[str, Box] | None = None, *, stored: bool = True) -> dict[str, Any]:
    """Lay a drawing out: places for what states none, and the bends of the lines among what lies as it was laid out."""
    vertices, wires = parts_of(drawing)
    if not vertices:
        return {"positions": {}, "bends": {}}
    if len(vertices) > MOST:
        ends = [(wire.back, wire.front) for wire in wires]
        columns = layer_by_layer(vertices, ends, PITCH)
        free = [id for id in vertices if not stored or id not in drawing.positions]
        return {"positions": {id: _moved(columns[id], (0, 0)) for id in free}, "bends": {}}
    if stored and all(id in drawing.positions for id in vertices):
        return _as_laid_out(drawing)
    sizes = dict.fromkeys(vertices, NODE) | dict(boxes or {})
    found = layout(drawing, sizes, stored=stored, spacing=SPACING)
    shift = _shift(drawing, found.positions) if stored else (0.0, 0.0)
    placed = set(drawing.positions) if stored else set[str]()
    positions = {id: _moved(point, shift) for id, point in found.positions.items() if id not in placed}
    ends = {wire.id: (wire.back, wire.front) for wire in wires}
    free = {id: run for id, run in found.bends.items() if run and not any(end in placed for end in ends[id])}
    return {"positions": positions, "bends": {id: [_moved(p, shift) for p in run] for id, run in free.items()}}


def _as_laid_out(drawing: Drawing) -> dict[str, Any]:
    """Give the bends where a person has kept, or asked for, the places that the layout finds."""
    vertices, wires = parts_of(drawing)
    if len(vertices) > MOST_BENT:
        return {"positions": {}, "bends": {}}
    found = _anew(tuple(vertices), tuple(wires))
    shift = _shift(drawing, found.positions)
    kept: dict[str, list[float]] = {}
    for id, point in found.positions.items():
        x, y = _moved(point, shift)
        if abs(drawing.positions[id].x - x) + abs(drawing.positions[id].y - y) < 1:
            kept[id] = [x, y]
    bent = (w.id for w in wires if found.bends[w.id] and w.back in kept and w.front in kept)
    return {"positions": kept, "bends": {id: [_moved(p, shift) for p in found.bends[id]] for id in bent}}


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


def _moved(point: Sequence[float], shift: tuple[float, float]) -> list[float]:
    return [round(point[0] + shift[0], 1), round(point[1] + shift[1], 1)]
