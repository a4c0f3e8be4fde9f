"""The generation theorem and its converse: C26 to C28, D1 to D6, random and large graphs, what has no derivation."""

from __future__ import annotations

import itertools
import random
import time
import tracemalloc
from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from timing import times_longer

from inkcap.theory import (
    Cyclic,
    DerivationError,
    Graph,
    Neuron,
    NotConnected,
    Step,
    TheoryError,
    convergence,
    count_derivations,
    derive,
    derive_edges,
    growth,
    induced_net,
    list_networks,
    neuron,
    replay,
    replay_edges,
    replay_net,
    variable,
    verify,
)

RULES = ("four", "three", "two")


def graph_of(text: str) -> Graph:
    """Vertices before the bar in drawing order, edges behind it."""
    vertices, _, edges = text.partition("|")
    return Graph.of(vertices.split(), [tuple(edge.split(">")) for edge in edges.split()])


GOLDEN = {
    "D1": ("x1", 1, ["variable: x1"]),
    "D2": ("x1 h1 | x1>h1", 1, ["variable: x1", "neuron: h1 ← {x1}"]),
    "D3": (
        "x1 h1 h2 h3 | x1>h1 x1>h2 h1>h3 h2>h3",
        2,
        ["variable: x1", "neuron: h1 ← {x1}", "growth: h2 ← {x1}", "growth: h3 ← {h1, h2}"],
    ),
    "D4": (
        "x1 x2 h1 h2 h3 | x1>h1 x2>h2 h1>h3 h2>h3",
        1,
        [
            "variable: x1",
            "neuron: h1 ← {x1}",
            "variable: x2",
            "neuron: h2 ← {x2}",
            "convergence (K = 2): h3 ← {h1} ∪ {h2}",
        ],
    ),
    "D5": (
        "x1 x2 h1 h2 | x1>h1 h1>h2 x2>h2",
        1,
        ["variable: x1", "neuron: h1 ← {x1}", "variable: x2", "convergence (K = 2): h2 ← {h1} ∪ {x2}"],
    ),
    "D6": ("x1 h1 h2 | x1>h1 x1>h2", 2, ["variable: x1", "neuron: h1 ← {x1}", "growth: h2 ← {x1}"]),
    "star": (
        "x1 x2 x3 x4 h1 | x1>h1 x2>h1 x3>h1 x4>h1",
        1,
        [*(f"variable: x{i}" for i in range(1, 5)), "neuron: h1 ← {x1, x2, x3, x4}"],
    ),
}


@pytest.mark.parametrize("case", GOLDEN)
def test_golden_derivations(case: str) -> None:
    text, count, steps = GOLDEN[case]
    graph = graph_of(text)
    assert [str(step) for step in derive(graph)] == steps
    assert count_derivations(graph) == count
    for rules in RULES:
        verify(derive(graph, rules), graph)


def test_the_star_without_the_rule_of_neuron() -> None:
    star = graph_of(GOLDEN["star"][0])
    for rules in ("three", "two"):
        assert str(derive(star, rules)[-1]) == "convergence (K = 4): h1 ← {x1} ∪ {x2} ∪ {x3} ∪ {x4}"


def test_fewer_rules_make_the_same() -> None:
    diamond = graph_of(GOLDEN["D3"][0])
    assert [step.rule for step in derive(diamond, "three")] == ["variable", "growth", "growth", "growth"]
    assert [step.rule for step in derive(diamond, "two")] == ["variable", *["convergence"] * 3]
    four = derive(diamond)
    assert list(four.by("two")) == list(derive(diamond, "two"))
    assert four.counts() == {"variable": 1, "neuron": 1, "growth": 2}
    assert repr(four) == "<Derivation: 4 steps by four rules, 4 edges>"


def test_equal_edges_count_once() -> None:
    graph = Graph.of(["x", "h"], [("x", "h"), ("x", "h")])
    assert [str(s) for s in derive(graph)] == ["variable: x", "neuron: h ← {x}"]


def test_a_derivation_is_a_sequence_of_steps() -> None:
    derivation = derive(graph_of(GOLDEN["D4"][0]))
    assert len(derivation) == 5
    assert derivation[-1] == Step("convergence", "h3", (("h1",), ("h2",))) == list(derivation)[4]
    assert derivation[1:3] == (Step("neuron", "h1", (("x1",),)), Step("variable", "x2"))


def test_a_long_step_is_shortened() -> None:
    names = [f"x{i}" for i in range(9)]
    step = Step("neuron", "h", tuple((name,) for name in names))
    assert step.text(3) == "neuron: h ← {x0, x1, x2, … 6 more}"
    assert Step("convergence", "h", step.parts).text(2) == "convergence (K = 9): h ← {x0} ∪ {x1} ∪ … 7 more parts"
    joined = Step("convergence", "h", (("a", "b"), ("c", "d", "e")))
    assert joined.text(3) == "convergence (K = 2): h ← {a, b} ∪ {c, … 2 more}"


# Random graphs ---------------------------------------------------------------------------------------------------


def random_columns(seed: int, count: int, extra: int, shuffled: bool = True) -> tuple[array[int], array[int]]:
    """A connected acyclic graph: a random tree and more edges, all of them along one random order."""
    chance = random.Random(seed)  # noqa: S311
    rank = list(range(count))
    chance.shuffle(rank)
    name = list(range(count))
    if shuffled:
        chance.shuffle(name)
    pairs = [(chance.randrange(v), v) for v in range(1, count)]
    more = ((int(chance.random() * count), int(chance.random() * count)) for _ in range(extra))
    pairs.extend((a, b) for a, b in more if a != b)
    ends = [(a, b) if rank[a] < rank[b] else (b, a) for a, b in pairs]
    return array("i", (name[a] for a, _ in ends)), array("i", (name[b] for _, b in ends))


@given(st.integers(0, 10**9), st.integers(1, 40), st.integers(0, 60), st.sampled_from(RULES))
def test_every_connected_acyclic_graph_is_derived(seed: int, count: int, extra: int, rules) -> None:
    backs, fronts = random_columns(seed, count, extra)
    graph = Graph.of(map(str, range(count)), zip(map(str, backs), map(str, fronts), strict=True))
    derivation = derive(graph, rules)
    assert replay(derivation).same_as(graph)
    verify(derivation, graph)
    used = {step.rule for step in derivation}
    assert (
        used
        <= {
            "four": {"variable", "neuron", "growth", "convergence"},
            "three": {"variable", "growth", "convergence"},
            "two": {"variable", "convergence"},
        }[rules]
    )


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**9), st.integers(1000, 4000), st.floats(0, 3), st.sampled_from(RULES))
def test_graphs_of_thousands_of_vertices(seed: int, count: int, density: float, rules) -> None:
    backs, fronts = random_columns(seed, count, int(density * count))
    again = replay_edges(derive_edges(count, backs, fronts, rules))
    assert set(zip(*again, strict=True)) == set(zip(backs, fronts, strict=True))
    assert len(again[0]) == len(set(zip(backs, fronts, strict=True)))


def by_the_proof(graph: Graph) -> list[tuple[str, frozenset[frozenset[str]]]]:
    """The proof, word for word: take the last sink away, split, recurse."""
    if len(graph.vertices) == 1:
        return [(graph.vertices[0], frozenset())]
    last = graph.outputs[-1]
    rest = Graph(tuple(v for v in graph.vertices if v != last), tuple(e for e in graph.edges if e[1] != last))
    entering = set(graph.predecessors[last])
    steps = []
    for part in rest.parts():
        steps += by_the_proof(Graph(part, tuple(e for e in rest.edges if e[0] in part)))
    parts = frozenset(frozenset(entering & set(part)) for part in rest.parts())
    assert all(parts)
    return [*steps, (last, parts)]


@given(st.integers(0, 10**9), st.integers(1, 14), st.integers(0, 12))
def test_the_algorithm_does_what_the_proof_says(seed: int, count: int, extra: int) -> None:
    backs, fronts = random_columns(seed, count, extra)
    graph = Graph.of(map(str, range(count)), zip(map(str, backs), map(str, fronts), strict=True))
    found = [(step.vertex, frozenset(map(frozenset, step.parts))) for step in derive(graph)]
    assert found == by_the_proof(graph)


@given(st.integers(0, 10**9), st.integers(1, 30))
def test_a_derivation_regenerates_the_induced_network(seed: int, count: int) -> None:
    backs, fronts = random_columns(seed, count, count)
    graph = Graph.of(map(str, range(count)), zip(map(str, backs), map(str, fronts), strict=True))
    chance = random.Random(seed)  # noqa: S311
    neurons = {v: Neuron(v, "tanh", chance.random()) for v in (*graph.hidden, *graph.outputs)}
    strengths = {edge: chance.uniform(-1, 1) for edge in graph.edges}
    made, induced = replay_net(derive(graph), neurons, strengths), induced_net(graph, neurons, strengths)
    assert made == induced
    values = {x: chance.random() for x in graph.inputs}
    assert made.evaluate(values) == pytest.approx(induced.evaluate(values))


def test_a_network_of_thousands_of_vertices_is_regenerated_soon() -> None:
    backs, fronts = random_columns(4, 5000, 5000)
    graph = Graph.of(map(str, range(5000)), zip(map(str, backs), map(str, fronts), strict=True))
    start = time.process_time()
    assert replay_net(derive(graph)) == induced_net(graph)
    assert time.process_time() - start < 5


@given(st.integers(0, 10**9), st.integers(1, 40))
def test_every_derivation_makes_a_connected_acyclic_graph(seed: int, count: int) -> None:
    """The converse, by the rules themselves and by the replay of the same steps."""
    chance = random.Random(seed)  # noqa: S311
    nets, steps = [], []

    def choose(net):
        return chance.sample(net.vertices, chance.randint(1, len(net.vertices)))

    for i in range(count):
        kind = chance.choice(["variable", "growth", "convergence", "neuron"])
        if kind == "variable" or not nets:
            nets.append(variable(f"v{i}"))
            steps.append(Step("variable", f"v{i}"))
        elif kind == "growth":
            net = nets.pop(chance.randrange(len(nets)))
            N = choose(net)
            nets.append(growth(net, f"v{i}", N))
            steps.append(Step("growth", f"v{i}", (tuple(N),)))
        else:
            joined = [nets.pop(chance.randrange(len(nets))) for _ in range(chance.randint(1, len(nets)))]
            if kind == "neuron" and not any(net.H for net in joined):
                nets.append(neuron(f"v{i}", [net.S[0] for net in joined]))
                steps.append(Step("neuron", f"v{i}", tuple(net.S for net in joined)))
                continue
            A = [choose(net) for net in joined]
            nets.append(convergence(joined, f"v{i}", A))
            steps.append(Step("convergence", f"v{i}", tuple(map(tuple, A))))
    last = convergence(nets, "last", [net.S[:1] for net in nets])
    steps.append(Step("convergence", "last", tuple(net.S[:1] for net in nets)))
    graph = last.graph()
    assert graph.cycle() is None
    assert len(graph.parts()) == 1
    assert len(set(graph.edges)) == len(graph.edges)
    assert set(graph.inputs) == set(last.S)
    assert replay(steps).same_as(graph)
    verify(derive(graph), graph)


# What has no derivation ------------------------------------------------------------------------------------------


def test_a_cycle_is_named() -> None:
    with pytest.raises(Cyclic, match="b→c→d→b form a cycle") as error:
        derive(graph_of("x b c d o | x>b b>c c>d d>b d>o"))
    assert error.value.cycle == ("b", "c", "d")
    with pytest.raises(Cyclic, match="a→a form"):
        derive(graph_of("a b | a>b a>a"))
    with pytest.raises(Cyclic, match=r"0, 1, 2, 3, 4, 5, … 994 more \(in this order\)"):
        derive_edges(1000, range(1000), [*range(1, 1000), 0])


def test_parts_are_named() -> None:
    with pytest.raises(NotConnected, match=r"in 2 parts, \{a, c\}; \{b, d\};") as error:
        derive(graph_of("a b c d | a>c b>d"))
    assert error.value.parts == (("a", "c"), ("b", "d"))
    with pytest.raises(NotConnected, match=r"in 5 parts, \{0\}; \{1\}; \{2\}; and 2 more"):
        derive_edges(5, [], [])


@given(st.integers(0, 10**9), st.integers(2, 40), st.integers(0, 30))
def test_random_cycles_and_parts_are_named(seed: int, count: int, extra: int) -> None:
    backs, fronts = random_columns(seed, count, extra)
    twice = ([*backs, *(b + count for b in backs)], [*fronts, *(f + count for f in fronts)])
    with pytest.raises(NotConnected) as parts:
        derive_edges(2 * count, *twice)
    assert [set(part) for part in parts.value.parts] == [
        set(map(str, range(count))),
        set(map(str, range(count, 2 * count))),
    ]
    with pytest.raises(Cyclic) as error:
        derive_edges(count, [*backs, fronts[-1]], [*fronts, backs[-1]])
    cycle = [int(v) for v in error.value.cycle]
    edges = {*zip(backs, fronts, strict=True), (fronts[-1], backs[-1])}
    assert all(pair in edges for pair in zip(cycle, (*cycle[1:], cycle[0]), strict=True))
    assert len(set(cycle)) == len(cycle)


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: derive(Graph.of([], [])), "the graph is empty"),
        (lambda: derive(Graph.of(["a", "a"], [])), "two vertices are named a"),
        (lambda: derive(graph_of("a"), "five"), "no set of rules 'five'; there are four, three, two"),
        (lambda: derive_edges(2, [0], []), "1 back ends and 0 front ends"),
        (lambda: derive_edges(2, [0], [2]), "front end 2 is no vertex; vertices are numbered from 0 to 1"),
        (lambda: derive_edges(2, [-1], [1]), "back end -1 is no vertex"),
        (lambda: derive_edges(2, [0], [1], "four", ["a"]), "2 vertices and 1 names"),
    ],
)
def test_bad_graphs_are_refused(attempt, message: str) -> None:
    with pytest.raises(DerivationError) as error:
        attempt()
    assert message in str(error.value)


V1, V2, H1 = Step("variable", "x1"), Step("variable", "x2"), Step("neuron", "h1", (("x1",),))


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([], "has no step"),
        ([V1, V2], "ends with 2 networks, whose last vertices are x1, x2"),
        ([V1, V1], "step 2, variable of x1: x1 is not new"),
        ([V1, Step("variable", "x2", (("x1",),))], "nothing enters a variable"),
        ([H1], "step 1, neuron of h1: there is no vertex x1 yet"),
        ([V1, H1, Step("neuron", "h2", (("h1",),))], "a neuron takes variables alone, and h1 is none"),
        ([V1, V2, Step("growth", "h", (("x1",), ("x2",)))], "takes one network, not 2"),
        ([V1, V2, Step("growth", "h", (("x1", "x2"),))], "A_1 is not inside one network"),
        ([V1, H1, Step("convergence", "h2", (("x1",), ("h1",)))], "A_1 and A_2 lie in one network"),
        ([V1, Step("convergence", "h", (("x1",), ()))], "A_2 is empty"),
        ([V1, Step("convergence", "h")], "K = 0"),
        ([V1, Step("growth", "h", (("x1", "x1"),))], "names a vertex twice"),
        ([V1, Step("growth", "x1", (("x1",),))], "x1 is not new"),
        ([V1, Step("grafting", "h", (("x1",),))], "there is no such rule"),
    ],
)
def test_a_replay_refuses_what_no_rule_allows(steps, message: str) -> None:
    with pytest.raises(DerivationError) as error:
        replay(steps)
    assert message in str(error.value)


def test_verify_names_the_difference() -> None:
    diamond = graph_of(GOLDEN["D3"][0])
    steps = list(derive(diamond))
    with pytest.raises(DerivationError, match="does not make the vertex h3"):
        verify(steps[:-1], diamond)
    with pytest.raises(DerivationError, match="does not make the edge h2→h3"):
        verify([*steps[:-1], Step("growth", "h3", (("h1",),))], diamond)
    with pytest.raises(DerivationError, match="makes in excess the edge x1→h3"):
        verify([*steps[:-1], Step("growth", "h3", (("h1", "h2", "x1"),))], diamond)


# How many derivations --------------------------------------------------------------------------------------------


def count_plainly(graph: Graph) -> int:
    if len(graph.vertices) == 1:
        return 1
    total = 0
    for sink in graph.outputs:
        rest = Graph(tuple(v for v in graph.vertices if v != sink), tuple(e for e in graph.edges if e[1] != sink))
        ways = 1
        for part in rest.parts():
            ways *= count_plainly(Graph(part, tuple(e for e in rest.edges if e[0] in part)))
        total += ways
    return total


@pytest.mark.parametrize(("inputs", "neurons"), [(1, 3), (2, 2), (2, 3), (3, 2)])
def test_derivations_are_counted_as_defined(inputs: int, neurons: int) -> None:
    for graph in list_networks(inputs, neurons, "all"):
        assert count_derivations(graph) == count_plainly(graph)


def test_derivations_of_random_graphs_are_counted_as_defined() -> None:
    for seed in range(40):
        backs, fronts = random_columns(seed, 7, seed % 5)
        graph = Graph.of(map(str, range(7)), set(zip(map(str, backs), map(str, fronts), strict=True)))
        assert count_derivations(graph) == count_plainly(graph)


def test_counting_has_a_limit_that_is_told() -> None:
    fan = Graph.of(["x", *map(str, range(19))], [("x", str(i)) for i in range(19)])
    assert count_derivations(fan) == 121_645_100_408_832_000
    larger = Graph.of([*fan.vertices, "h"], [*fan.edges, ("x", "h")])
    with pytest.raises(TheoryError, match="up to 20 vertices, and the graph has 21"):
        count_derivations(larger)


def test_the_hardest_graphs_within_the_limit_are_counted_soon() -> None:
    names = [f"v{i}" for i in range(20)]
    core = names[:5]
    sets = [s for r in range(1, 6) for s in itertools.combinations(core, r)][:15]
    edges = [*itertools.pairwise(core), *((back, names[5 + i]) for i, s in enumerate(sets) for back in s)]
    start = time.process_time()
    assert count_derivations(Graph.of(names, edges)) > 10**9
    assert time.process_time() - start < 15


# Large graphs ----------------------------------------------------------------------------------------------------


def test_a_million_edges_are_derived_in_seconds() -> None:
    count, edges = 100_000, 1_000_000
    backs, fronts = random_columns(1, count, edges - count + 1)
    start = time.process_time()
    derivation = derive_edges(count, backs, fronts)
    took = time.process_time() - start
    assert took < 20
    again = replay_edges(derivation)
    distinct = {back * count + front for back, front in zip(backs, fronts, strict=True)}
    assert {back * count + front for back, front in zip(*again, strict=True)} == distinct
    assert len(again[0]) == len(distinct)


def test_time_grows_about_linearly() -> None:
    few, many = ((count, *random_columns(2, count, 4 * count)) for count in (4_000, 32_000))
    assert times_longer(lambda: derive_edges(*few), lambda: derive_edges(*many), 32) < 32


@pytest.mark.parametrize("shape", ["chain", "tree", "comb"])
def test_deep_graphs_need_no_recursion(shape: str) -> None:
    count = 60_000
    numbers = range(1, count)
    backs = {"chain": [v - 1 for v in numbers], "tree": list(numbers), "comb": [v - 1 for v in numbers]}[shape]
    fronts = {"chain": list(numbers), "tree": [(v - 1) // 2 for v in numbers], "comb": list(numbers)}[shape]
    if shape == "comb":
        # A spine to every vertex of which an input of its own converges.
        backs += range(count, 2 * count - 1)
        fronts += numbers
        count = 2 * count - 1
    derivation = derive_edges(count, backs, fronts)
    again = replay_edges(derivation)
    assert sorted(zip(*again, strict=True)) == sorted(zip(backs, fronts, strict=True))


def test_memory_stays_near_that_of_the_columns() -> None:
    count = 3_000
    columns = random_columns(3, count, 9 * count)
    tracemalloc.start()
    derivation = derive_edges(count, *columns)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(derivation) == count
    assert peak < 40 * len(columns[0])
