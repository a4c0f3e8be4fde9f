"""n-m networks: the table of C22, children, layered ones, and which need convergence (C23)."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkcap.theory import (
    EnumerationError,
    Graph,
    NotConnected,
    classify,
    count_networks,
    list_children,
    list_networks,
    needs_convergence,
)

SENSES = (("order", "fixed"), ("labels", "fixed"), ("isomorphism", "fixed"), ("isomorphism", "free"))
TABLE = {
    (1, 1): ((1, 1, 1, 1), (1, 1, 1, 1), (1, 1, 1, 1)),
    (1, 2): ((3, 5, 3, 3), (3, 5, 3, 3), (2, 3, 2, 2)),
    (1, 3): ((21, 79, 16, 16), (21, 79, 16, 16), (4, 13, 4, 4)),
    (2, 1): ((1, 1, 1, 1), (1, 1, 1, 1), (1, 1, 1, 1)),
    (2, 2): ((7, 13, 7, 5), (13, 21, 11, 7), (6, 7, 4, 3)),
    (2, 3): ((105, 439, 80, 49), (255, 883, 158, 89), (28, 49, 12, 9)),
}
"""Networks by growth, by all rules, and the layered of these; each up to order, labels, isomorphism (fixed, free)."""


@pytest.mark.parametrize("sizes", TABLE)
def test_the_table(sizes) -> None:
    for (rules, layered), expected in zip(
        (("growth", False), ("all", False), ("all", True)), TABLE[sizes], strict=True
    ):
        counted = tuple(count_networks(*sizes, rules, *sense, layered) for sense in SENSES)
        listed = [list(list_networks(*sizes, rules, *sense, layered)) for sense in SENSES]
        assert counted == tuple(map(len, listed)) == expected


@pytest.mark.parametrize(
    ("sizes", "growth", "every"),
    [
        ((2, 4), (3255, 38_257, 1712, 948), (8913, 84_753, 3766, 1982)),
        ((1, 4), (315, 3377, 164, 164), (315, 3377, 164, 164)),
        ((3, 2), (15, 29, 15, 7), (45, 71, 36, 13)),
    ],
)
def test_larger_networks(sizes, growth, every) -> None:
    for rules, expected in (("growth", growth), ("all", every)):
        assert tuple(count_networks(*sizes, rules, *sense) for sense in SENSES) == expected


def test_formulae_and_lists_agree() -> None:
    for sizes in itertools.product((1, 2, 3), (0, 1, 2, 3)):
        for rules, sense in itertools.product(("growth", "all"), ("order", "labels")):
            assert count_networks(*sizes, rules, sense) == len(set(list_networks(*sizes, rules, sense)))
    assert count_networks(1, 5) == count_networks(1, 5, "all") == 9765 == sum(1 for _ in list_networks(1, 5))
    assert count_networks(1, 5, "all", "labels") == 362_431
    assert count_networks(1, 5, "all", "isomorphism") == 3341


def test_the_papers_lists_in_the_papers_order() -> None:
    found = [graph.predecessors["h2"] for graph in list_networks(1, 2)]
    assert found == [["x1"], ["h1"], ["x1", "h1"]]
    found = [graph.predecessors["h2"] for graph in list_networks(2, 2)]
    assert found == [["x1"], ["x2"], ["x1", "x2"], ["h1"], ["x1", "h1"], ["x2", "h1"], ["x1", "x2", "h1"]]
    assert [graph.vertices for graph in list_networks(1, 0)] == [("x1",)]
    assert next(list_networks(2, 1)) == Graph(("x1", "x2", "h1"), (("x1", "h1"), ("x2", "h1")))


def test_children_of_1_2_networks() -> None:
    parents = list(list_networks(1, 2))
    assert [len(list(list_children(parent))) for parent in parents] == [7, 7, 7]
    classes = [list(list_children(parent, "isomorphism")) for parent in parents]
    assert list(map(len, classes)) == [5, 7, 7]


def test_children_of_2_2_networks() -> None:
    parents = list(list_networks(2, 2))
    assert [len(list(list_children(parent))) for parent in parents] == [15] * 7
    fixed = [len(list(list_children(parent, "isomorphism"))) for parent in parents]
    assert fixed == [15, 15, 11, 15, 15, 15, 15]
    free = [len(list(list_children(parent, "isomorphism", "free"))) for parent in parents]
    assert free == [15, 15, 8, 11, 15, 15, 11]


def test_children_need_a_network() -> None:
    with pytest.raises(NotConnected):
        list_children(Graph.of(["a", "b"], []))
    with pytest.raises(EnumerationError, match="it is one of order, labels, isomorphism"):
        list_children(Graph.of(["a"], []), "shape")


# Isomorphism against brute force ---------------------------------------------------------------------------------


def all_forms(graph: Graph, inputs: int, free: bool) -> set[frozenset[tuple[str, str]]]:
    xs, hs = graph.vertices[:inputs], graph.vertices[inputs:]
    forms = set()
    for new_xs in itertools.permutations(xs) if free else [xs]:
        for new_hs in itertools.permutations(hs):
            name = dict(zip((*xs, *hs), (*new_xs, *new_hs), strict=True))
            forms.add(frozenset((name[a], name[b]) for a, b in graph.edges))
    return forms


@pytest.mark.parametrize(("sizes", "free"), [*itertools.product([(1, 3), (2, 3), (3, 2)], [False, True])])
def test_classes_part_the_labelled_networks(sizes, free: bool) -> None:
    for rules in ("growth", "all"):
        labelled = {frozenset(graph.edges) for graph in list_networks(*sizes, rules, "labels")}
        covered: set[frozenset[tuple[str, str]]] = set()
        for graph in list_networks(*sizes, rules, "isomorphism", "free" if free else "fixed"):
            forms = all_forms(graph, sizes[0], free)
            assert not forms & covered
            covered |= forms
        assert covered == labelled


def all_graphs(inputs: int, neurons: int) -> list[Graph]:
    """Every connected acyclic graph with these inputs, found without any of our enumeration."""
    xs = [f"x{i + 1}" for i in range(inputs)]
    hs = [f"h{j + 1}" for j in range(neurons)]
    pairs = [(a, b) for b in hs for a in (*xs, *hs) if a != b]
    graphs = (Graph((*xs, *hs), edges) for r in range(len(pairs) + 1) for edges in itertools.combinations(pairs, r))
    return [g for g in graphs if g.inputs == tuple(xs) and g.cycle() is None and len(g.parts()) == 1]


@pytest.mark.parametrize("sizes", [(1, 2), (1, 3), (2, 2), (3, 2), (2, 3)])
def test_all_rules_make_every_connected_acyclic_graph(sizes) -> None:
    found = {frozenset(graph.edges) for graph in list_networks(*sizes, "all", "labels")}
    wanted = all_graphs(*sizes)
    assert found == {frozenset(graph.edges) for graph in wanted}
    layered = {frozenset(graph.edges) for graph in list_networks(*sizes, "all", "labels", layered=True)}
    assert layered == {frozenset(g.edges) for g in wanted if classify(g).kind == "layered"}


# Convergence -----------------------------------------------------------------------------------------------------


def test_figure_10_and_the_smallest_network_need_convergence() -> None:
    figure = Graph.of(["x1", "x2", "h1", "h2", "h3"], [("x1", "h1"), ("x2", "h2"), ("h1", "h3"), ("h2", "h3")])
    answer = needs_convergence(figure)
    assert (answer.needed, answer.first) == (True, None)
    assert answer.reason.endswith("there is none: h1 lacks x2; h2 lacks x1; h3 lacks x1, x2")
    smallest = Graph.of(["x1", "x2", "h1", "h2"], [("x1", "h1"), ("h1", "h2"), ("x2", "h2")])
    assert needs_convergence(smallest)
    both = Graph.of(["x1", "x2", "h1", "h2"], [*smallest.edges, ("x1", "h2")])
    assert "h2 also has h1" in needs_convergence(both).reason


def test_what_needs_none() -> None:
    assert not needs_convergence(Graph.of(["x1"], []))
    star = Graph.of(["x1", "x2", "h1", "h2"], [("x1", "h1"), ("x1", "h2"), ("x2", "h2")])
    answer = needs_convergence(star)
    assert (bool(answer), answer.first) == (False, "h2")
    assert answer.reason == "exactly the inputs {x1, x2} enter h2: the rule of neuron makes it, and all others grow"
    with pytest.raises(NotConnected):
        needs_convergence(Graph.of(["a", "b"], []))


@pytest.mark.parametrize("sizes", [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (3, 1), (3, 2)])
def test_the_decision_against_brute_force(sizes) -> None:
    """Without convergence: the rule of neuron on all inputs, then growth, under every naming of the neurons."""
    grown = set().union(*(all_forms(graph, sizes[0], False) for graph in list_networks(*sizes)))
    for graph in list_networks(*sizes, "all", "labels"):
        assert needs_convergence(graph).needed == (frozenset(graph.edges) not in grown)


@pytest.mark.parametrize(
    ("sizes", "ordered", "fixed", "free"),
    [((2, 2), 6, 4, 2), ((2, 3), 150, 78, 40), ((3, 2), 30, None, None), ((1, 3), 0, 0, 0)],
)
def test_how_many_need_convergence(sizes, ordered, fixed, free) -> None:
    assert count_networks(*sizes, "all") - count_networks(*sizes, "growth") == ordered
    for expected, inputs_are in ((fixed, "fixed"), (free, "free")):
        found = sum(bool(needs_convergence(g)) for g in list_networks(*sizes, "all", "isomorphism", inputs_are))
        assert expected is None or found == expected


# Limits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1), "inputs: 0, neurons: 1; a network has one input at least"),
        ((1, -1), "inputs: 1, neurons: -1;"),
        ((40, 40), "80 vertices; they are counted up to 64"),
        ((1, 7), "the 1-7 networks would be sought among 78 129 765 candidates, and 1 000 000 are allowed"),
        ((1, 7, "all", "isomorphism"), "candidates"),
        ((5, 5, "all", "isomorphism", "free"), "candidates"),
        ((30, 30, "all", "labels"), "about 10^"),
        ((1, 1, "grafting"), "rules cannot be 'grafting'; it is one of growth, all"),
        ((1, 1, "all", "taste"), "up_to cannot be 'taste'"),
        ((1, 1, "all", "order", "loose"), "inputs_are cannot be 'loose'"),
    ],
)
def test_what_cannot_be_listed_is_refused_at_once(arguments, message: str) -> None:
    with pytest.raises(EnumerationError) as error:
        list_networks(*arguments)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@given(st.integers(1, 12), st.integers(0, 12))
def test_counts_by_formula_have_no_such_limit(inputs: int, neurons: int) -> None:
    ordered = count_networks(inputs, neurons)
    assert count_networks(inputs, neurons, "growth", "labels") >= ordered
    assert count_networks(inputs, neurons, "all") >= ordered
    assert count_networks(inputs, neurons, "all", "labels") >= count_networks(inputs, neurons, "all")


def test_many_interchangeable_inputs_are_no_burden() -> None:
    assert count_networks(40, 1, "growth", "isomorphism", "free") == 1
    assert count_networks(12, 1, "all", "isomorphism", "free") == 1
