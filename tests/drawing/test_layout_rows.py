"""Long layouts are broken into rows like text: nothing overlaps, nothing is lost, and short ones stay as they are."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkcap.drawing import Drawing
from inkcap.drawing.layout import Box, Spacing, layout

NODE = Box(46.0, 46.0, 34.0, 56.0)
SPACING = Spacing(26.0, 64.0, 18.0, 56.0, 1000.0)


def chain(length: int, skips: tuple[tuple[int, int], ...] = ()) -> Drawing:
    drawing = Drawing("chain")
    drawing.add("v0", "1D-data", dimension=2)
    for i in range(1, length):
        drawing.add(f"v{i}", "1D-ReLU", dimension=2)
        drawing.connect(f"v{i - 1}", f"v{i}", "full")
    for back, front in skips:
        drawing.connect(f"v{back}", f"v{front}", "transfer")
    return drawing


def rows_of(drawing: Drawing):
    found = layout(drawing, dict.fromkeys(drawing.capsules, NODE), spacing=SPACING)
    return found, sorted({round(y) for _, y in found.positions.values()})


def test_a_short_drawing_is_one_row():
    _, rows = rows_of(chain(6))
    assert len(rows) == 1


@pytest.mark.parametrize("length", [8, 20, 90])
def test_a_long_chain_is_about_as_wide_as_it_may_be(length):
    found, rows = rows_of(chain(length))
    assert len(rows) > 1
    assert found.width <= max(1000.0, 1.5 * found.height) + 60
    sizes = [sum(1 for _, y in found.positions.values() if round(y) == row) for row in rows]
    assert max(sizes) - min(sizes) <= 1


def test_a_line_to_the_next_row_goes_around_its_end_and_between_the_rows():
    drawing = chain(12)
    found, (first, second) = rows_of(drawing)
    broken = next(c for c in drawing.connections.values() if len(found.bends[c.id]) == 4)
    (x1, y1), (x2, y2), (x3, y3), (x4, y4) = found.bends[broken.id]
    assert y1 == pytest.approx(first, abs=1)
    assert y4 == pytest.approx(second, abs=1)
    assert x1 == x2 > max(x + NODE.right for x, _ in found.positions.values())
    assert x3 == x4 < min(x - NODE.left for x, _ in found.positions.values())
    assert y2 == y3
    assert first + NODE.below < y2 < second - NODE.above


@given(st.integers(5, 40), st.sets(st.tuples(st.integers(0, 38), st.integers(2, 5)), max_size=6))
def test_no_two_capsules_overlap_and_every_line_stays_inside(length, steps):
    skips = tuple((back, back + step) for back, step in sorted(steps) if back + step < length)
    drawing = chain(length, skips)
    found, _ = rows_of(drawing)
    assert set(found.positions) == set(drawing.capsules)
    assert set(found.bends) == set(drawing.connections)
    for (x1, y1), (x2, y2) in combinations(found.positions.values(), 2):
        assert abs(x1 - x2) >= 91 or abs(y1 - y2) >= 89
    for run in found.bends.values():
        assert all(-0.01 <= x <= found.width + 0.01 and -0.01 <= y <= found.height + 0.01 for x, y in run)


@given(st.integers(8, 30))
def test_rows_read_from_left_to_right_and_from_top_to_bottom(length):
    found, _ = rows_of(chain(length))
    for i, j in pairwise(range(length)):
        (x1, y1), (x2, y2) = found.positions[f"v{i}"], found.positions[f"v{j}"]
        assert x1 < x2 if round(y1) == round(y2) else (y2 > y1 and x2 < x1)
