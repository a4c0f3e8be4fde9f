"""Structure inference in both directions."""

from __future__ import annotations

import pytest
from drawn import random_drawings
from hypothesis import given, settings
from hypothesis import strategies as st
from timing import times_longer

from inkcap.drawing import Drawing, from_text
from inkcap.network import check
from inkcap.structures import AXES
from inkcap.zoo import draw


def convolution(back, front, **attributes) -> Drawing:
    drawing = Drawing("x")
    drawing.add("a", "2D-data", **dict(zip(("height", "width", "channels"), back, strict=True)))
    drawing.add("b", "2D-relu", **dict(zip(("height", "width", "channels"), front, strict=True)))
    drawing.connect("a", "b", "convolution", **attributes)
    return drawing


def test_the_kernel_follows_from_both_ends() -> None:
    report = check(convolution((28, 28, 1), (24, 24, 32)))
    assert report.well_formed
    attributes = report.connections["a-b"].attributes
    assert (attributes["kernels"], attributes["kernel"], attributes["channels"]) == (32, (5, 5), 1)
    assert report.parameters == 832


def test_the_kernel_follows_with_padding_and_dilation() -> None:
    report = check(convolution((28, 28, 1), (26, 28, 4), padding=[1, 1], dilation=[2, 1]))
    assert report.connections["a-b"].attributes["kernel"] == (3, 3)


def test_a_strided_kernel_is_not_guessed() -> None:
    report = check(convolution((28, 28, 1), (12, 12, 32), stride=2))
    assert [d.rule for d in report.errors] == ["missing-attribute"]


def test_sizes_run_backwards_from_the_output() -> None:
    drawing = Drawing("x")
    drawing.add("a", "2D-data", channels=3)
    drawing.then("b", "2D-relu", "convolution", kernels=8, kernel=3)
    drawing.then("c", "2D-downsampling", "transfer", window=2)
    drawing.then("d", "2D-tanh", "transfer", height=13, width=6)
    report = check(drawing)
    assert report.well_formed, report.diagnostics
    assert report.capsules["a"].output.shape == (3, 28, 14)
    assert report.capsules["b"].output.shape == (8, 26, 12)


def test_reshaping_fills_one_gap() -> None:
    drawing = Drawing("x")
    drawing.add("a", "1D-data", dimension=24)
    drawing.then("b", "2D-relu", "reshaping", height=2, channels=3)
    report = check(drawing)
    assert report.well_formed, report.diagnostics
    assert report.capsules["b"].output.shape == (3, 2, 4)


def test_reshaping_tells_a_vector_behind() -> None:
    drawing = Drawing("x")
    drawing.add("a", "1D-data")
    drawing.then("b", "2D-relu", "reshaping", height=2, width=4, channels=3)
    report = check(drawing)
    assert report.well_formed, report.diagnostics
    assert report.capsules["a"].output.shape == (24,)


def test_full_takes_its_matrix_from_its_ends_and_the_ends_from_the_matrix() -> None:
    drawing = Drawing("x")
    drawing.add("a", "1D-data")
    drawing.then("b", "1D-relu", "full", height=6, width=2)
    report = check(drawing)
    assert report.well_formed, report.diagnostics
    assert report.capsules["a"].output.shape == (2,)
    assert report.capsules["b"].output.shape == (6,)


def test_a_drawing_with_errors_still_gets_what_can_be_inferred() -> None:
    drawing = draw("lenet")
    drawing.change("g", dimension=None)
    drawing.connect("h", "g", "full")
    report = check(drawing)
    assert not report.well_formed
    assert report.capsules["f"].output.shape == (1024,)
    assert report.capsules["h"].output.shape == (10,)
    assert report.connections["a-b"].multiply_adds == 460_800


@settings(max_examples=80, deadline=None)
@given(random_drawings(), st.data())
def test_stating_what_is_inferred_changes_nothing(drawing: Drawing, data: st.DataObject) -> None:
    report = check(drawing)
    assert report.well_formed, report.diagnostics
    stated = from_text(drawing.to_text())
    for capsule in report.capsules.values():
        shape = capsule.total_input.sizes
        reading = (*shape[1:], shape[0]) if len(shape) > 1 else shape
        stated.change(capsule.id, **dict(zip(AXES[capsule.rank], reading, strict=True)))
    again = check(stated)
    assert again.well_formed, again.diagnostics
    assert again.parameters == report.parameters
    assert {i: c.output for i, c in again.capsules.items()} == {i: c.output for i, c in report.capsules.items()}


def chain(count: int) -> Drawing:
    capsules = [{"id": "c0", "symbol": "data", "rank": 2, "attributes": {"height": 16, "width": 16, "channels": 3}}]
    capsules += [{"id": f"c{i}", "symbol": "relu", "rank": 2} for i in range(1, count)]
    at = {"kernels": 8, "kernel": [3, 3], "padding": [1, 1]}
    connections = [
        {"id": f"e{i}", "symbol": "convolution", "back": f"c{i - 1}", "front": f"c{i}", "attributes": at}
        for i in range(1, count)
    ]
    import json

    return from_text(json.dumps({"format": 1, "name": "chain", "capsules": capsules, "connections": connections}))


def test_cost_grows_linearly_with_the_drawing() -> None:
    small, large = chain(300), chain(2400)
    assert check(small).well_formed
    assert check(large).well_formed
    assert times_longer(lambda: check(small), lambda: check(large), 20) < 20


@pytest.mark.parametrize("backwards", [False, True])
def test_a_long_chain_of_unknowns_is_solved(backwards: bool) -> None:
    drawing = Drawing("x")
    drawing.add("c0", "1D-data", **({} if backwards else {"dimension": 7}))
    for i in range(1, 400):
        drawing.then(f"c{i}", "1D-relu", "transfer", **({"dimension": 7} if backwards and i == 399 else {}))
    report = check(drawing)
    assert report.well_formed
    assert report.capsules["c0"].output.shape == report.capsules["c399"].output.shape == (7,)


def test_lines_without_arrows_get_their_direction() -> None:
    """C57: data—ReLU—identical, drawn the wrong way round, computes as y = w·x along the chain."""
    drawing = Drawing("x", "float64")
    drawing.add("i", "identical neuron", bias="none")
    drawing.add("r", "relu neuron", bias="none")
    drawing.add("d", "data neuron")
    drawing.connect("i", "r", arrow=False, strength=1)
    drawing.connect("r", "d", arrow=False, strength=2.5)
    report = check(drawing)
    assert report.well_formed, report.diagnostics
    assert (report.inputs, report.outputs) == (("d",), ("i",))
    assert report.connections["r-d"].back == "d"
    assert report.drawing is drawing
    drawing.change("r-d", arrow=True)
    assert [d.rule for d in check(drawing).errors] != []
