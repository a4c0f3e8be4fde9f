"""Lines without arrows: C57, and the only-one rule against brute force."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from inkcap.theory import Graph
from inkcap.theory.orientation import orient


def valid(vertices, data, edges) -> bool:
    graph = Graph.of(vertices, edges)
    return graph.cycle() is None and set(graph.inputs) == set(data)


def brute_force(vertices, data, arrows, lines) -> list[tuple]:
    ways = itertools.product(*[((a, b), (b, a)) for a, b in lines])
    return [way for way in ways if valid(vertices, data, [*arrows, *way])]


def test_c57_a_chain_is_unambiguous() -> None:
    found = orient(["d", "r", "i"], {"d"}, [], [("r", "d"), ("i", "r")])
    assert found.edges == {0: ("d", "r"), 1: ("r", "i")}
    assert found.ambiguous == ()


def test_c57_a_triangle_needs_an_arrow() -> None:
    lines = [("d", "a"), ("d", "b"), ("a", "b")]
    assert orient(["d", "a", "b"], {"d"}, [], lines).ambiguous == (2,)
    assert orient(["d", "a", "b"], {"d"}, [("b", "a")], lines[:2]).ambiguous == ()


def test_a_line_that_no_data_reach_is_told() -> None:
    assert orient(["d", "a", "b", "c"], {"d"}, [("d", "a")], [("b", "c")]).unreached == (0,)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_against_every_orientation(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 5))
    vertices = [f"v{i}" for i in range(count)]
    sources = set(vertices[: data.draw(st.integers(1, count - 1))])
    pairs = [(a, b) for i, a in enumerate(vertices) for b in vertices[i + 1 :] if not (a in sources and b in sources)]
    chosen = data.draw(st.lists(st.sampled_from(pairs), unique=True, max_size=7)) if pairs else []
    kinds = data.draw(st.lists(st.sampled_from(["line", "arrow", "back"]), min_size=len(chosen), max_size=len(chosen)))
    lines = [p for p, k in zip(chosen, kinds, strict=True) if k == "line"]
    arrows = [
        p if k == "arrow" or p[0] in sources else (p[1], p[0])
        for p, k in zip(chosen, kinds, strict=True)
        if k != "line"
    ]
    ways = brute_force(vertices, sources, arrows, lines)
    found = orient(vertices, sources, arrows, lines)
    if not ways:
        return
    assert found.unreached == ()
    assert tuple(found.edges[i] for i in range(len(lines))) in ways
    assert (len(ways) == 1) == (found.ambiguous == ())
