"""Layout: nothing lies on anything else, lines lead where they should, and it takes little time."""

from __future__ import annotations

import random
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from timing import least, times_longer

from inkcap.drawing import Box, Drawing
from inkcap.drawing.layout import layout
from inkcap.theory import Graph


def graph_of(count: int, edges: list[tuple[int, int]]) -> Graph:
    return Graph.of([f"v{i}" for i in range(count)], [(f"v{a}", f"v{b}") for a, b in edges])


def large_graph(count: int, seed: int = 1) -> Graph:
    chance = random.Random(seed)  # noqa: S311
    edges = {(max(0, i - chance.randint(1, 20)), i) for i in range(1, count)}
    while len(edges) < count * 3 // 2:
        back = chance.randrange(count - 1)
        edges.add((back, min(count - 1, back + chance.randint(1, 40))))
    return graph_of(count, sorted(edges))


def corners(placed, box: Box) -> tuple[float, float, float, float]:
    x, y = placed
    return x - box.left, y - box.above, x + box.right, y + box.below


def overlap(a, b) -> bool:
    return a[0] < b[2] - 0.01 and b[0] < a[2] - 0.01 and a[1] < b[3] - 0.01 and b[1] < a[3] - 0.01


@pytest.mark.parametrize("direction", ["right", "down"])
def test_a_chain_is_a_straight_line(direction):
    found = layout(graph_of(9, [(i, i + 1) for i in range(8)]), direction=direction)
    along, across = (0, 1) if direction == "right" else (1, 0)
    places = list(found.positions.values())
    assert len({place[across] for place in places}) == 1
    steps = {round(b[along] - a[along], 6) for a, b in pairwise(places)}
    assert len(steps) == 1
    assert steps.pop() > 0


def test_the_main_line_of_residual_blocks_is_straight_and_shortcuts_run_above():
    found = layout(graph_of(7, [(0, 1), (1, 2), (2, 3), (0, 3), (3, 4), (4, 5), (5, 6), (3, 6)]))
    assert len({y for _, y in found.positions.values()}) == 1
    main = found.positions["v0"][1]
    assert found.bends["v0→v3"]
    assert all(y < main - 28 for _, y in (*found.bends["v0→v3"], *found.bends["v3→v6"]))


def test_branches_of_an_inception_module_lie_evenly_about_its_ends():
    edges = [(0, 1), (0, 2), (0, 3), (0, 4), (2, 5), (3, 6), (4, 7), (1, 8), (5, 8), (6, 8), (7, 8)]
    found = layout(graph_of(9, edges))
    heights = [found.positions[f"v{i}"][1] for i in (1, 2, 3, 4)]
    assert heights == sorted(heights)
    assert found.positions["v0"][1] == found.positions["v8"][1] == pytest.approx(sum(heights) / 4)


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_boxes_never_overlap_and_long_lines_pass_beside_them(data):
    count = data.draw(st.integers(1, 14))
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    edges = data.draw(st.lists(pairs, max_size=24, unique=True))
    direction = data.draw(st.sampled_from(["right", "down"]))
    graph = graph_of(count, edges)
    side = st.integers(4, 60)
    sizes = {v: Box(*(float(data.draw(side)) for _ in range(4))) for v in graph.vertices}
    found = layout(graph, sizes, direction)
    boxes = {v: corners(found.positions[v], sizes[v]) for v in graph.vertices}
    assert not [pair for pair in combinations(boxes, 2) if overlap(boxes[pair[0]], boxes[pair[1]])]
    for left, top, right, bottom in boxes.values():
        assert min(left, top) >= -0.01
        assert right <= found.width + 0.01
        assert bottom <= found.height + 0.01
    for id, run in found.bends.items():
        back, front = id.split("→")
        for x, y in run if back != front else ():
            inside = [v for v, b in boxes.items() if b[0] < x < b[2] and b[1] < y < b[3] and v not in (back, front)]
            assert not inside, (id, inside)


def test_the_same_graph_gives_the_same_layout():
    graph = large_graph(150)
    assert layout(graph) == layout(large_graph(150))


def test_a_cycle_and_a_loop_are_laid_out_and_their_lines_are_kept_apart():
    found = layout(graph_of(3, [(0, 1), (1, 2), (2, 0), (1, 1), (1, 0)]))
    assert len({x for x, _ in found.positions.values()}) == 3
    assert all(found.bends[id] for id in ("v2→v0", "v1→v1", "v1→v0"))


def test_two_connections_between_two_capsules_take_different_ways():
    drawing = Drawing("twice")
    drawing.add("a", "1D-data", dimension=3)
    drawing.add("b", "1D-relu")
    for id in ("one", "two", "three"):
        drawing.connect("a", "b", "transfer", id=id)
    bends = layout(drawing).bends
    assert len({bends["one"], bends["two"], bends["three"]}) == 3


def test_parts_that_are_not_connected_lie_side_by_side():
    found = layout(graph_of(40, []))
    assert found.width > found.height > 56
    assert len(set(found.positions.values())) == 40


def test_stored_positions_are_kept_and_the_rest_comes_below():
    drawing = Drawing("placed")
    drawing.add("a", "1D-data", dimension=3)
    drawing.then("b", "1D-relu", "transfer")
    drawing.then("c", "1D-relu", "transfer")
    drawing.move("a", -300, 40)
    drawing.move("b", 100, -60)
    found = layout(drawing)
    (ax, ay), (bx, by) = found.positions["a"], found.positions["b"]
    assert (bx - ax, by - ay) == (400, -100)
    assert found.positions["c"][1] > max(ay, by)
    free = layout(drawing, stored=False)
    assert len({y for _, y in free.positions.values()}) == 1


def test_an_input_that_enters_late_lies_just_before_it_enters():
    found = layout(graph_of(6, [(0, 1), (1, 2), (2, 3), (3, 4), (5, 4)]))
    assert found.positions["v5"][0] == found.positions["v3"][0]


def test_nothing_is_laid_out_as_nothing():
    assert layout(Graph((), ())).positions == {}
    assert layout(Drawing("empty")).width == 0


def test_a_thousand_capsules_take_about_a_second_and_time_grows_about_linearly():
    few, many = large_graph(1000), large_graph(3000)
    assert len(few.edges) == 1500
    assert least(lambda: layout(few), 5) < 5
    assert times_longer(lambda: layout(few), lambda: layout(many), 9) < 9, "three times as many took the square of that"


def test_a_network_where_everything_is_connected_to_everything_before_it_stays_quick():
    graph = graph_of(120, [(a, b) for b in range(120) for a in range(b)])
    assert least(lambda: layout(graph), 10) < 10
