"""Graphs: order, cycles, parts, and the classification of C38 (L1 to L12)."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkcap.theory import Graph, classify

CASES = {
    "L1": ("x1", "layered", [["x1"]]),
    "L2": ("x>h", "layered", [["x"], ["h"]]),
    "L3": ("x>h1 h1>h2 h2>h3 h3>o", "layered", [["x"], ["h1"], ["h2"], ["h3"], ["o"]]),
    "L4": ("a>b b>c c>d d>e e>f f>g", "layered", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["g"]]),
    "L5": ("x>h1 x>h2 h1>h3 h2>h3", "layered", [["x"], ["h1", "h2"], ["h3"]]),
    "L6": ("x>a x>o a>o", "skip edge", None),
    "L7": ("x>o1 x>o2", "layered", [["x"], ["o1", "o2"]]),
    "L8": ("x>h h>o1 x>o2", "unequal outputs", None),
    "L9": ("x>h1 h1>h2 h2>o1 h1>o2", "unequal outputs", None),
    "L10": ("x1>h h>o x2>o", "late input", None),
    "L11": ("x1>h x2>h h>o", "layered", [["x1", "x2"], ["h"], ["o"]]),
    "L12": ("x1>a a>b b>c c>o x2>c", "late input", None),
}


def graph_of(text: str) -> Graph:
    edges = [tuple(edge.split(">")) for edge in text.split() if ">" in edge]
    vertices = dict.fromkeys(v for e in edges for v in e) if edges else [text]
    return Graph.of(vertices, edges)


@pytest.mark.parametrize("case", CASES)
def test_classification_of_the_claims(case: str) -> None:
    text, expected, layers = CASES[case]
    result = classify(graph_of(text))
    if layers is None:
        assert result.kind == "skip"
        assert result.witness is not None
        assert result.witness.reason == expected
        assert str(result.witness)
    else:
        assert result.kind == "layered"
        assert [list(layer) for layer in result.layers] == layers
        assert result.witness is None


def test_depth_counts_layers_without_the_input() -> None:
    assert graph_of("x1").depth == 0
    assert graph_of("x>h").depth == 1
    assert graph_of("x>h1 h1>h2 h2>h3 h3>o").depth == 4


def test_a_cycle_is_named_in_order() -> None:
    graph = graph_of("x>a a>b b>c c>a c>o")
    cycle = graph.cycle()
    assert cycle is not None
    assert set(cycle) == {"a", "b", "c"}
    assert all((a, b) in graph.edges for a, b in zip(cycle, (*cycle[1:], cycle[0]), strict=True))
    assert graph.order == ("x",)


def test_parts_are_weakly_connected() -> None:
    graph = Graph.of("abcde", [("a", "b"), ("c", "b"), ("d", "e")])
    assert graph.parts() == (("a", "b", "c"), ("d", "e"))


def test_an_edge_to_nowhere_is_refused() -> None:
    with pytest.raises(ValueError, match="no vertex"):
        Graph.of("ab", [("a", "z")])


def is_layered_by_brute_force(graph: Graph) -> bool:
    """The paper's definition, tried on every assignment of the hidden vertices to layers."""
    inputs, outputs = set(graph.inputs), set(graph.outputs)
    hidden = [v for v in graph.vertices if v not in inputs | outputs]
    for count in range(len(hidden) + 1):
        for places in itertools.product(range(1, count + 1), repeat=len(hidden)) if hidden else [()]:
            level = dict(zip(hidden, places, strict=True)) | dict.fromkeys(inputs, 0)
            level |= dict.fromkeys(outputs, count + 1)
            if all(level[b] == level[a] + 1 for a, b in graph.edges):
                return True
    return False


@given(st.integers(2, 6), st.data())
def test_layered_is_the_papers_definition(size: int, data: st.DataObject) -> None:
    names = [f"v{i}" for i in range(size)]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    edges = data.draw(st.lists(st.sampled_from(pairs), unique=True))
    graph = Graph.of(names, edges)
    if len(graph.parts()) > 1:
        return
    assert (classify(graph).kind == "layered") == is_layered_by_brute_force(graph)


@given(st.integers(1, 30), st.data())
def test_order_is_topological_and_whole(size: int, data: st.DataObject) -> None:
    names = [f"v{i}" for i in range(size)]
    shuffled = data.draw(st.permutations(names))
    pairs = [(a, b) for i, a in enumerate(shuffled) for b in shuffled[i + 1 :]]
    edges = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    graph = Graph.of(names, edges)
    place = {v: i for i, v in enumerate(graph.order)}
    assert len(place) == size
    assert all(place[a] < place[b] for a, b in edges)
    assert graph.cycle() is None
    assert all(graph.levels[b] > graph.levels[a] for a, b in edges)
