"""Small pictures of drawings for the start screen: from their files, without opening them; large ones are sketched."""

from __future__ import annotations

import random
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from inkcap.drawing import Drawing, DrawingError, load_drawing
from inkcap.network import check
from inkcap.network.picture import picture_of
from inkcap.network.plain import survey
from inkcap.studio.columns import in_columns, layer_by_layer
from inkcap.symbols import capsule_symbol

LARGE = 300
"""Above so many vertices nothing of a capsule can be read in a small picture."""
MOST_DOTS = 4_000
MOST_LINES = 1_500
MOST_KEPT = 600
WIDE, HIGH = 320.0, 180.0
EDGE = 8.0
GROUP_INK = "#5f6676"

Point = tuple[float, float]


class Sketches:
    """The small pictures that were made, by drawing, state of its file and theme; one is made at a time."""

    def __init__(self) -> None:
        """Keep none yet."""
        self._kept: OrderedDict[tuple[str, str, bool], str] = OrderedDict()
        self._making = threading.Lock()

    def small(self, id: str, path: Path, dark: bool) -> str:
        """Give the small picture of a file as SVG."""
        try:
            state = path.stat()
        except OSError as error:
            raise DrawingError(f"{path.name}: cannot be read: {error.strerror}") from None
        key = (id, f"{state.st_mtime_ns} {state.st_size}", dark)
        with self._making:
            if key not in self._kept:
                self._kept[key] = small_picture(load_drawing(path), dark)
                while len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)
            return self._kept[key]


def small_picture(drawing: Drawing, dark: bool) -> str:
    """Draw a drawing for a tile: as it is, or as dots and lines where it is large."""
    if drawing.plain is not None or len(drawing.capsules) + len(drawing.uses) > LARGE:
        return sketch(drawing, dark)
    return picture_of(check(drawing), "dark" if dark else "light")


def sketch(drawing: Drawing, dark: bool) -> str:
    """Draw vertices as dots in the ink of their symbols, and a sample of the lines."""
    symbols, places, ends = _graph(drawing)
    points = _fitted(places)
    chance = random.Random(0)  # noqa: S311
    lines = ends if len(ends) <= MOST_LINES else chance.sample(ends, MOST_LINES)
    shown = range(len(points)) if len(points) <= MOST_DOTS else sorted(chance.sample(range(len(points)), MOST_DOTS))
    by_symbol: dict[str, list[Point]] = {}
    for i in shown:
        by_symbol.setdefault(symbols[i], []).append(points[i])
    size = 4.0 if len(points) < 600 else 2.2
    strokes = "".join(f"M{_at(points[a])}L{_at(points[b])}" for a, b in lines)
    ink = "#e9e7df" if dark else "#1d2130"
    dots = "".join(
        f'<path d="{"".join(f"M{_at(p)}h0" for p in found)}" stroke="{_ink(symbol)}"/>'
        for symbol, found in by_symbol.items()
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDE:.0f}" height="{HIGH:.0f}" '
        f'viewBox="0 0 {WIDE:.0f} {HIGH:.0f}">'
        f'<path d="{strokes}" fill="none" stroke="{ink}" stroke-opacity=".13" stroke-width=".6"/>'
        f'<g fill="none" stroke-linecap="round" stroke-width="{size}">{dots}</g></svg>'
    )


def _graph(drawing: Drawing) -> tuple[list[str], list[Point], list[tuple[int, int]]]:
    """Give the symbols and places of all vertices, and the ends of all lines by their numbers."""
    vertices = [*drawing.capsules, *drawing.uses]
    symbols = [capsule.symbol for capsule in drawing.capsules.values()] + [""] * len(drawing.uses)
    joined = [(c.back, c.front) for c in drawing.connections.values()]
    if drawing.plain is not None:
        facts = survey(drawing.plain, drawing.dtype, tuple(drawing.capsules), joined)
        neurons = list(drawing.plain.symbol) + symbols[: len(drawing.capsules)]
        return neurons, in_columns(facts.levels, 1.0), list(zip(drawing.plain.back, drawing.plain.front, strict=True))
    number = {id: i for i, id in enumerate(vertices)}
    stated = drawing.positions
    if all(id in stated for id in vertices):
        places = [(stated[id].x, stated[id].y) for id in vertices]
    else:
        places = list(layer_by_layer(vertices, joined, 1.0).values())
    return symbols, places, [(number[a], number[b]) for a, b in joined]


def _fitted(places: Sequence[Point]) -> list[Point]:
    left, top = min((x for x, _ in places), default=0.0), min((y for _, y in places), default=0.0)
    width = max((x for x, _ in places), default=0.0) - left or 1.0
    height = max((y for _, y in places), default=0.0) - top or 1.0
    across, down = (WIDE - 2 * EDGE) / width, (HIGH - 2 * EDGE) / height
    return [(EDGE + (x - left) * across, EDGE + (y - top) * down) for x, y in places]


def _at(point: Point) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"


def _ink(symbol: str) -> str:
    return capsule_symbol(symbol).glyph.ink if symbol else GROUP_INK
