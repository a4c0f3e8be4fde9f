"""The four rules: C11 to C17, and what each of them refuses."""

from __future__ import annotations

import itertools
import math

import pytest

from inkcap.theory import (
    ACTIVATIONS,
    Cyclic,
    DerivationError,
    Graph,
    Net,
    Neuron,
    NotConnected,
    RuleError,
    Rules,
    TheoryError,
    WeightingConnection,
    convergence,
    growth,
    induced_net,
    neuron,
    variable,
)


def subsets(names):
    return [s for r in range(1, len(names) + 1) for s in itertools.combinations(names, r)]


def test_rule_of_variable() -> None:
    net = variable("x1")
    assert (net.S, net.H, net.W) == (("x1",), (), ())
    assert [str(y) for y in net.Y] == ["y_x1 = x1"]
    graph = net.graph()
    assert (len(graph.vertices), len(graph.edges)) == (1, 0)


def test_rule_of_neuron() -> None:
    net = neuron("h1", ["x1", "x2"], f="relu", b=0.5, w=[2, -1])
    assert net.S == ("x1", "x2")
    assert (Neuron("h1", "relu", 0.5),) == net.H
    assert (WeightingConnection("x1", "h1", 2), WeightingConnection("x2", "h1", -1)) == net.W
    assert net.evaluate({"x1": 1, "x2": 2}) == {"x1": 1, "x2": 2, "h1": 0.5}


def test_y_has_an_output_for_every_vertex() -> None:
    net = growth(neuron("h1", ["x1", "x2"]), "h2", ["x1", "h1"], f="tanh", b=0.5, w=[2, -1])
    assert [y.vertex for y in net.Y] == ["x1", "x2", "h1", "h2"]
    assert str(net.Y[-1]) == "y_h2 = tanh(2·y_x1 + -1·y_h1 + 0.5)"


def test_figure_4_to_figure_6_by_growth() -> None:
    assert len({neuron("h", s) for s in subsets(["x1", "x2", "x3"])}) == 7
    first = neuron("h1", ["x1"])
    assert (len(first.graph().vertices), len(first.graph().edges)) == (2, 1)
    second = [growth(first, "h2", N) for N in subsets(first.vertices)]
    assert [set(net.graph().predecessors["h2"]) for net in second] == [{"x1"}, {"h1"}, {"x1", "h1"}]
    third = {growth(net, "h3", N) for net in second for N in subsets(net.vertices)}
    assert len(third) == 21
    assert len({growth(second[0], "h3", N) for N in subsets(second[0].vertices)}) == 7


@pytest.mark.parametrize(("sizes", "count"), [((2, 2), 9), ((1, 2), 3), ((2, 3), 21)])
def test_the_number_of_convergences(sizes, count) -> None:
    nets = []
    for k, size in enumerate(sizes):
        net = variable(f"x{k}")
        for j in range(1, size):
            net = growth(net, f"h{k}.{j}", [net.vertices[-1]])
        nets.append(net)
    choices = itertools.product(*(subsets(net.vertices) for net in nets))
    assert len({convergence(nets, "h", A) for A in choices}) == count


def test_neuron_is_variables_and_convergence() -> None:
    names = ["x1", "x2", "x3", "x4"]
    converged = convergence([variable(x) for x in names], "h1", [[x] for x in names], f="tanh", b=1, w=[1, 2, 3, 4])
    assert converged == neuron("h1", names, f="tanh", b=1, w=[1, 2, 3, 4])
    assert set(converged.Y) == set(neuron("h1", names, f="tanh", b=1, w=[1, 2, 3, 4]).Y)


def test_growth_is_convergence_of_one() -> None:
    net = neuron("h1", ["x1"])
    assert convergence([net], "h2", [["x1", "h1"]]) == growth(net, "h2", ["h1", "x1"])


ONE, OTHER = neuron("h1", ["x1"]), neuron("h2", ["x2"])
WITHIN = Rules(frozenset({"x1", "x2", "x3"}), ("relu", "tanh"))


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: convergence([ONE, neuron("h2", ["x1"])], "h3", [["h1"], ["h2"]]), "networks 1 and 2 share x1"),
        (lambda: convergence([ONE, ONE], "h3", [["h1"], ["h1"]]), "share x1, h1"),
        (lambda: convergence([ONE, OTHER], "h3", [["h1"], []]), "A_2 is empty"),
        (lambda: convergence([], "h3", []), "K = 0"),
        (lambda: convergence([ONE, OTHER], "h3", [["h1"]]), "2 networks and 1 sets"),
        (lambda: convergence([ONE, OTHER], "h2", [["h1"], ["h2"]]), "h2 is not new"),
        (lambda: convergence([ONE, OTHER], "h3", [["h2"], ["h1"]]), "A_1 is not inside the network: it has no h2"),
        (lambda: growth(ONE, "h2", []), "N is empty"),
        (lambda: growth(ONE, "h2", ["x2"]), "N is not inside the network: it has no x2"),
        (lambda: growth(ONE, "h1", ["x1"]), "h1 is not new"),
        (lambda: growth(ONE, "x1", ["h1"]), "x1 is not new"),
        (lambda: growth(ONE, "h2", ["x1", "x1"]), "x1 is named twice"),
        (lambda: growth(ONE, "h2", ["x1"], w=[1, 2]), "1 connections and 2 strengths"),
        (lambda: growth(ONE, "h2", ["x1"], w=[math.inf]), "strength of x1→h2 must be a real number, not inf"),
        (lambda: growth(ONE, "h2", ["x1"], b=math.nan), "bias must be a real number"),
        (lambda: growth(ONE, "h2", ["x1"], f="softmax"), "no activation function 'softmax'"),
        (lambda: neuron("h1", []), "S is empty"),
        (lambda: neuron("x1", ["x1"]), "x1 is not new"),
        (lambda: WITHIN.neuron("h1", ["x4"]), "x4 is no variable of X"),
        (lambda: WITHIN.variable("z"), "z is no variable"),
        (lambda: WITHIN.growth(ONE, "x3", ["h1"]), "x3 is a variable of X"),
        (lambda: WITHIN.growth(ONE, "h2", ["h1"], f="step"), "no activation function 'step' in F = {relu, tanh}"),
    ],
)
def test_a_broken_condition_is_named(attempt, message: str) -> None:
    with pytest.raises(RuleError) as error:
        attempt()
    assert message in str(error.value)
    assert "rule of" in str(error.value)


def test_a_rule_leaves_what_it_was_given() -> None:
    before = (ONE.S, ONE.H, ONE.W)
    growth(ONE, "h2", ["h1"])
    convergence([ONE, OTHER], "h3", [["h1"], ["h2"]])
    assert before == (ONE.S, ONE.H, ONE.W)
    assert growth(ONE, "h2", ["h1"]) == growth(ONE, "h2", ["h1"]) != growth(ONE, "h2", ["h1"], b=1)
    assert ONE != "net"


@pytest.mark.parametrize(("name", "low", "zero", "high"), [
    ("relu", 0, 0, 2), ("identical", -2, 0, 2), ("step", 0, 1, 1),
    ("sigmoid", 0.11920292202211755, 0.5, 0.8807970779778823), ("tanh", -0.9640275800758169, 0, 0.9640275800758169),
])  # fmt: skip
def test_activations(name: str, low: float, zero: float, high: float) -> None:
    net = neuron("h", ["x"], f=name)
    assert [net.evaluate({"x": x})["h"] for x in (-2, 0, 2)] == pytest.approx([low, zero, high], abs=1e-15)
    assert math.isfinite(ACTIVATIONS[name](-1e300))


def test_evaluation_says_what_it_lacks() -> None:
    with pytest.raises(TheoryError, match="input x1 has no value"):
        ONE.evaluate({})
    with pytest.raises(TheoryError, match="'x2' is no input"):
        ONE.evaluate({"x1": 1, "x2": 1})
    with pytest.raises(TheoryError, match="value of x1 must be a real number"):
        ONE.evaluate({"x1": math.nan})
    with pytest.raises(TheoryError, match="sum of h1 is too large"):
        neuron("h1", ["x1"], w=[1e300]).evaluate({"x1": 1e300})


def test_induced_network() -> None:
    graph = Graph.of(["o", "h", "x1", "x2"], [("h", "o"), ("x1", "h"), ("x2", "h"), ("x1", "o")])
    assert (graph.inputs, graph.hidden, graph.outputs) == (("x1", "x2"), ("h",), ("o",))
    net = induced_net(graph, {"h": Neuron("h", "identical", 1)}, {("x1", "h"): 2, ("h", "o"): -1})
    by_rules = growth(neuron("h", ["x1", "x2"], f="identical", b=1, w=[2, 1]), "o", ["h", "x1"], w=[-1, 1])
    assert net == by_rules
    assert net.evaluate({"x1": 1, "x2": -5}) == {"x1": 1, "x2": -5, "h": -2, "o": 3}


def test_induced_network_of_a_single_vertex_is_the_trivial_one() -> None:
    assert induced_net(Graph.of(["x1"], [])) == variable("x1") == Net(("x1",), (), ())


@pytest.mark.parametrize(
    ("graph", "given", "error", "message"),
    [
        (Graph.of([], []), {}, DerivationError, "empty"),
        (Graph.of(["a", "b"], []), {}, NotConnected, "2 parts"),
        (Graph.of(["a", "b"], [("a", "b"), ("b", "a")]), {}, Cyclic, "a→b→a"),
        (Graph.of(["a", "b"], [("a", "b")]), {"neurons": {"a": Neuron("a")}}, DerivationError, "a is no neuron"),
        (Graph.of(["a", "b"], [("a", "b")]), {"neurons": {"b": Neuron("b", "?")}}, DerivationError, "b: give a neuron"),
        (Graph.of(["a", "b"], [("a", "b")]), {"strengths": {("b", "a"): 1.0}}, DerivationError, "no edge b→a"),
    ],
)
def test_an_induced_network_is_refused(graph, given, error, message) -> None:
    with pytest.raises(error, match=message):
        induced_net(graph, **given)
