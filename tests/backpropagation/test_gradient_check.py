"""The check of gradients: it passes over the catalogue and over random drawings, and sees what is wrong."""

from __future__ import annotations

import dataclasses

import pytest
from drawn import draw_capsule, draw_connection, random_drawings
from hypothesis import given, settings

from inkcap.drawing import Drawing
from inkcap.engine.gradient_check import check_gradients
from inkcap.engine.rules import RULES
from inkcap.network import check
from inkcap.structures import FLOATING
from inkcap.symbols import CAPSULES, CONNECTIONS, CapsuleSymbol
from inkcap.zoo import draw
from inkcap.zoo.flexible import layered_figure_15, skip_figure_16

SAMPLES = [
    pytest.param(symbol, case, id=f"{symbol.id}-{i}")
    for symbol in [*CAPSULES.values(), *CONNECTIONS.values()]
    for i, case in enumerate(symbol.samples)
]


@pytest.mark.parametrize(("symbol", "case"), SAMPLES)
def test_every_sample_of_the_catalogue_passes(symbol, case) -> None:
    drawing = draw_capsule(symbol, case) if isinstance(symbol, CapsuleSymbol) else draw_connection(symbol, case)
    found = check_gradients(check(drawing).network, numbers=12)
    assert all(one.passed for one in found), found
    if case.dtype in FLOATING:
        assert sum(one.compared for one in found) > 0


@settings(max_examples=15, deadline=None)
@given(random_drawings())
def test_random_drawings_pass(drawing: Drawing) -> None:
    found = check_gradients(check(drawing).network, numbers=4)
    assert all(one.passed for one in found), found


@pytest.mark.parametrize("figure", [layered_figure_15, skip_figure_16])
def test_layered_and_skip_networks_of_the_paper_pass(figure) -> None:
    """Figures 15 and 16: 13 capsules, two inputs and three outputs, with and without a connection that skips."""
    network = check(figure()).network
    assert len(network.capsules) == 13
    found = check_gradients(network, numbers=4)
    assert {one.symbol for one in found} == {"data", "relu", "identical", "full"}
    assert all(one.passed for one in found), found


@pytest.mark.parametrize("name", ["tanh", "matmul"])
def test_a_wrong_rule_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = Drawing("wrong")
    drawing.add("x", "1D-data", dimension=3)
    drawing.then("h", "1D-tanh", "full", dimension=4)
    drawing.then("o", "1D-identical", "full", dimension=2)
    # Tied, so that no layer takes the product's place.
    drawing.connect("x", "h", "full", tie="t", id="again")
    drawing.connect("x", "h", "full", tie="t", id="more")
    network = check(drawing).network
    assert all(one.passed for one in check_gradients(network))
    right = RULES[name]

    def wrong(page, call):
        return [part and f"({part}) * 1.001" for part in right.backward(page, call)]

    monkeypatch.setitem(RULES, name, dataclasses.replace(right, backward=wrong))
    assert not all(one.passed for one in check_gradients(network))


def test_kinks_are_told_and_left_out() -> None:
    """Of equal zeros behind a ReLU none is a maximum of its own: a difference there has no meaning."""
    found = {one.symbol: one for one in check_gradients(check(draw("lenet-digits")).network)}
    assert found["downsampling"].left_out > 0
    assert found["downsampling"].compared > 0
    assert all(one.passed for one in found.values())
    assert found["full"].to_json()["passed"] is True


def test_concatenations_volumes_and_items_pass_together() -> None:
    drawing = Drawing("linear", "float64")
    drawing.add("x", "2D-data", channels=2, height=4, width=4)
    drawing.then("up", "2D-tanh", "transposed-convolution", kernels=2, kernel=2, stride=2)
    drawing.then("pooled", "2D-downsampling", kind="L2", window=2)
    drawing.add("conv", "2D-tanh")
    drawing.connect("x", "conv", "convolution", kernels=3, kernel=3, same=True)
    drawing.add("both", "2D-tanh")
    for back in ("pooled", "conv"):
        drawing.connect(back, "both", "inject")
    drawing.add("volume", "3D-tanh", depth=5, channels=1, height=4, width=4)
    drawing.connect("both", "volume", "reshaping")
    drawing.then("deep", "3D-tanh", "convolution", kernels=2, kernel=[2, 3, 3])
    drawing.then("most", "3D-downsampling", window=[1, 2, 2])
    drawing.add("rows", "2D-identical", channels=1, height=4, width=2)
    drawing.connect("most", "rows", "reshaping")
    drawing.then("items", "2D-tanh", "full", width=3)
    drawing.then("y", "1D-identical", "reshaping")
    drawing.then("out", "1D-identical", "full", dimension=2)
    report = check(drawing)
    assert report.well_formed, report.diagnostics
    found = check_gradients(report.network, numbers=12)
    assert all(one.passed for one in found), found
