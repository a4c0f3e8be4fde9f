"""A graph that was changed knows the same as one that is looked at alone."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from inkcap.theory.changing import changed
from inkcap.theory.graphs import Graph

FACTS = ("vertices", "edges", "inputs", "outputs", "order", "levels", "predecessors", "successors", "positions")


def lists(graph: Graph, touched: set[str]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    there = touched & graph.known
    return {v: graph.predecessors[v] for v in there}, {v: graph.successors[v] for v in there}


def follow(old: Graph, vertices: list[str], edges: dict[str, tuple[str, str]], before: dict) -> Graph:
    fresh = Graph.of(vertices, edges.values())
    touched = set(vertices) - set(old.vertices)
    for id in edges.keys() | before.keys():
        if edges.get(id) != before.get(id):
            touched |= {*edges.get(id, ()), *before.get(id, ())}
    if list(edges) != list(before):
        # An edge that was set anew stands elsewhere in its ends' lists.
        touched |= {v for v in vertices if v in old.known and lists(old, {v}) != lists(fresh, {v})}
    made = changed(old, fresh.vertices, fresh.edges, *lists(fresh, touched))
    for fact in FACTS:
        assert getattr(made, fact) == getattr(fresh, fact), fact
    assert made.parts() == fresh.parts()
    assert made.cycle() == fresh.cycle()
    if len(fresh.order) == len(fresh.vertices):
        assert made.classification == fresh.classification
    return made


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_changed_graph_is_the_one_that_it_is_alone(data):
    size = data.draw(st.integers(0, 12))
    forwards = data.draw(st.booleans())
    vertices = [f"v{i}" for i in range(size)]
    edges: dict[str, tuple[str, str]] = {}
    graph = Graph.of(vertices, [])
    _ = graph.classification
    count = size
    for turn in range(data.draw(st.integers(1, 25))):
        before, many = dict(edges), data.draw(st.integers(1, 3))
        for step in range(many):
            kind = data.draw(st.sampled_from(["edge", "edge", "edge", "cut", "turn", "add", "between", "remove"]))
            if kind in ("add", "between"):
                place = len(vertices) if kind == "add" else data.draw(st.integers(0, len(vertices)))
                vertices.insert(place, f"v{count}")
                count += 1
            elif kind == "edge" and len(vertices) > 1:
                a, b = data.draw(st.lists(st.sampled_from(vertices), min_size=2, max_size=2, unique=True))
                if forwards and vertices.index(a) > vertices.index(b):
                    a, b = b, a
                items = list(edges.items())
                items.insert(data.draw(st.integers(0, len(items))), (f"e{turn}-{step}", (a, b)))
                edges = dict(items)
            elif kind == "cut" and edges:
                del edges[data.draw(st.sampled_from(list(edges)))]
            elif kind == "turn" and edges:
                id = data.draw(st.sampled_from(list(edges)))
                edges[id] = edges[id][::-1]
            elif kind == "remove" and vertices:
                gone = data.draw(st.sampled_from(vertices))
                vertices.remove(gone)
                edges = {id: ends for id, ends in edges.items() if gone not in ends}
        graph = follow(graph, vertices, edges, before)


def test_a_shortcut_in_a_long_chain_moves_nothing():
    names = [f"v{i}" for i in range(2_000)]
    chain = list(pairwise(names))
    graph = Graph.of(names, chain)
    _ = graph.classification
    more = Graph.of(names, [*chain, ("v500", "v504")])
    made = changed(graph, more.vertices, more.edges, *lists(more, {"v500", "v504"}))
    assert made.order is graph.order
    assert made.levels is graph.levels
    assert made.classification.witness == more.classification.witness
