"""Computational graphs: C6 and C7, Figure 3."""

from __future__ import annotations

import math

import pytest

from inkcap.theory import ComputationalGraph, ComputationError, Vertex

FIGURE_3 = ComputationalGraph(
    ("x1", "x2", "x3"),
    (
        Vertex("x4", "/", ((2, "x2"), (3, "x3"))),
        Vertex("x5", "−", ((-1, "x1"), (2, "x4"))),
        Vertex("x6", "+", ((3, "x1"), (1, "x2"))),
        Vertex("x7", "×", ((2, "x6"), (0.5, "x5"))),
        Vertex("x8", "sin", ((0.3, "x7"),)),
    ),
)


def test_the_papers_point() -> None:
    values = FIGURE_3.evaluate({"x1": 2, "x2": 0, "x3": 3})
    assert [values[f"x{i}"] for i in range(4, 8)] == [0, -2, 6, -12]
    assert math.isclose(values["x8"], 0.44252044329485246, abs_tol=1e-12)
    slopes = FIGURE_3.gradient("x8", {"x1": 2, "x2": 0, "x3": 3})
    assert [slopes[f"x{i}"] for i in (1, 2, 3)] == pytest.approx([3.22833029880293, 1.255461782867806, 0], abs=1e-12)


def test_a_point_that_sees_the_sign() -> None:
    point = {"x1": 1, "x2": 3, "x3": 2}
    values = FIGURE_3.evaluate(point)
    assert [values[f"x{i}"] for i in range(4, 8)] == [1, -3, 6, -18]
    assert values["x8"] == pytest.approx(0.7727644875559877, abs=1e-12)
    slopes = FIGURE_3.gradient("x8", point)
    expected = [-2.8561179417418527, -1.332855039479531, 1.142447176696741]
    assert [slopes[f"x{i}"] for i in (1, 2, 3)] == pytest.approx(expected, abs=1e-12)


def test_roles_and_counts() -> None:
    assert len(FIGURE_3.graph.vertices) == 8
    assert len(FIGURE_3.graph.edges) == 9
    assert FIGURE_3.graph.inputs == ("x1", "x2", "x3")
    assert FIGURE_3.graph.outputs == ("x8",)


def test_division_by_zero_is_reported() -> None:
    with pytest.raises(ComputationError, match="x4: division by zero"):
        FIGURE_3.evaluate({"x1": 1, "x2": 1, "x3": 0})


def test_it_is_no_neural_network() -> None:
    assert FIGURE_3.offenders() == ("x4", "x7")
    assert not FIGURE_3.is_neural_network
    linear = ComputationalGraph(("a", "b"), (Vertex("c", "−", ((1, "a"), (2, "b"))), Vertex("d", "sin", ((1, "c"),))))
    assert linear.is_neural_network


@pytest.mark.parametrize(
    ("vertices", "message"),
    [
        ((Vertex("c", "mod", ((1, "a"),)),), "no function 'mod'"),
        ((Vertex("c", "/", ((1, "a"),)),), "takes 2 arguments, not 1"),
        ((Vertex("c", "+", ((1, "z"),)),), "'z' is no vertex"),
        ((Vertex("c", "+", ((1, "d"),)), Vertex("d", "+", ((1, "c"),))), "form a cycle"),
        ((Vertex("a", "+", ((1, "a"),)),), "one name"),
    ],
)
def test_bad_graphs_are_refused(vertices, message) -> None:
    with pytest.raises(ComputationError, match=message):
        ComputationalGraph(("a",), vertices).evaluate({"a": 1})


def test_derivatives_agree_with_differences() -> None:
    names = ("sin", "cos", "exp", "tanh", "sigmoid", "relu")
    graph = ComputationalGraph(("a",), tuple(Vertex(n, n, ((0.7, "a"),)) for n in names))
    for name in names:
        up, down = (graph.evaluate({"a": 0.4 + e})[name] for e in (1e-6, -1e-6))
        assert graph.gradient(name, {"a": 0.4})["a"] == pytest.approx((up - down) / 2e-6, rel=1e-6)
