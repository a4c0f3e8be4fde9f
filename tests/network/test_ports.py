"""Ports: what enters where, what is inferred through them, and symbols that gather and have parameters."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from inkcap.drawing import Drawing, from_text
from inkcap.engine import (
    build,
    initialise,
    named_weights,
    run_backwards,
    run_on_numpy,
    run_on_torch,
    source_of,
    weights_of,
)
from inkcap.network import check
from inkcap.operations import vocabulary as op
from inkcap.program import lower_to_steps
from inkcap.symbols import CAPSULES, CapsuleSymbol, Glyph, Port, Sample
from inkcap.symbols.symbol import Refusal, Weight


def decoder() -> Drawing:
    """The decoder of CapsNet: ten capsules of sixteen numbers, the label's one kept."""
    drawing = Drawing("decoder")
    drawing.add("digits", "2D-data", height=10, width=16, channels=1)
    drawing.add("label", "1D-data", dimension=10)
    drawing.add("mask", "2D-mask")
    drawing.connect("digits", "mask")
    drawing.connect("label", "mask", port="label")
    drawing.add("dec1", "1D-relu", dimension=512)
    drawing.connect("mask", "dec1")
    drawing.then("dec2", "1D-relu", dimension=1024)
    drawing.then("recon", "1D-sigmoid", dimension=784)
    return drawing


def test_the_decoder_of_capsnet_counts_as_in_its_table() -> None:
    report = check(decoder())
    assert report.well_formed, report.diagnostics
    assert report.parameters == 1_411_344
    mask = report.capsules["mask"]
    assert (mask.total_input.sizes, mask.ports["label"].sizes, mask.output.sizes) == ((1, 10, 16), (10,), (160,))
    assert report.classification.kind == "layered"
    program = lower_to_steps(report.network)
    assert {"mask", "mask.label"} <= program.total_inputs.keys()
    described = report.to_json()["structures"]
    assert described["capsules"]["mask"]["ports"]["label"]["dimension"] == 10
    assert described["connections"]["label-mask"]["port"] == "label"


def test_the_mask_keeps_the_labels_group() -> None:
    drawing = Drawing("mask", "float64")
    drawing.add("x", "2D-data", height=3, width=2, channels=1)
    drawing.add("t", "1D-data", dimension=3)
    drawing.add("y", "2D-mask")
    drawing.connect("x", "y")
    drawing.connect("t", "y", port="label")
    module = build(check(drawing).network)
    x = torch.arange(1.0, 7.0, dtype=torch.float64).reshape(1, 1, 3, 2).requires_grad_()
    scores = torch.tensor([[0.2, 0.9, 0.1]], dtype=torch.float64, requires_grad=True)
    y = module(x, scores)
    assert y.tolist() == [[0, 0, 3, 4, 0, 0]]
    y.sum().backward()
    assert x.grad.flatten().tolist() == [0, 0, 1, 1, 0, 0]
    assert scores.grad is None
    one_hot = torch.tensor([[0.0, 0.0, 1.0]], dtype=torch.float64)
    assert module(x, one_hot).tolist() == [[0, 0, 0, 0, 5, 6]]


def test_a_gate_is_a_product_of_sums() -> None:
    drawing = Drawing("gate", "float64")
    for id, size in (("a", 2), ("b", 2), ("c", 3)):
        drawing.add(id, "1D-data", dimension=size)
    drawing.add("p", "1D-product")
    drawing.connect("a", "p", "transfer")
    drawing.connect("b", "p", "transfer")
    drawing.connect("c", "p", "full", port="by")
    drawing.connect("a", "p", "transfer", port="by")
    report = check(drawing)
    # The height of the full connection follows from the other port.
    assert report.connections["c-p"].weights["weight"].structure.sizes == (2, 3)
    assert report.capsules["p"].bias is None
    module = build(report.network)
    with torch.no_grad():
        named_weights(module)["c-p.weight"].copy_(torch.tensor([[1.0, 0, 0], [0, 1, 1]]))
    a, b, c = (torch.tensor([v], dtype=torch.float64) for v in ([1.0, 2], [3.0, 4], [5.0, 6, 7]))
    assert module(a, b, c).tolist() == [[(1 + 3) * (5 + 1), (2 + 4) * (13 + 2)]]


def test_ports_go_through_the_file_and_undo() -> None:
    drawing = decoder()
    text = drawing.to_text()
    assert '"port": "label"' in text
    assert from_text(text) == drawing
    assert drawing.propose("mask", "dec1") == "full"
    drawing.change("label-mask", cast="float32")
    assert drawing.connections["label-mask"].port == "label"


def test_messages_name_the_ports() -> None:
    drawing = decoder()
    drawing.remove("label-mask")
    (found,) = [d for d in check(drawing).errors if d.rule == "no-input"]
    assert "the port label" in found.message
    drawing.connect("label", "mask", "transfer", port="labels")
    told = {d.rule: d.message for d in check(drawing).errors}
    assert "its ports are in and label" in told["unknown-port"]
    drawing.undo()
    drawing.connect("dec1", "mask", "transfer", port="label")
    assert "cycle" in {d.rule for d in check(drawing).errors}


def gather(u, given, attributes):
    """Sums what was gathered, each channel by a gain of its own."""
    return op.bias(op.scale(u, given["gain"], per="channel"), given["offset"], per="element")


GATHER = CapsuleSymbol(
    id="gather",
    title="gather",
    family="ports",
    ranks=(2,),
    glyph=Glyph("M0 0H.1", "#000000", "#ffffff"),
    formula="Y = γ·U + o",
    forward=gather,
    ports=(Port("in", "Votes, one behind another.", "gathers"),),
    parameters=lambda shapes, attributes: {
        "gain": Weight(shapes["in"][:1], initialiser="ones"),
        "offset": Weight(shapes["in"], initialiser="normal"),
    },
    samples=(Sample({}, (1, 2, 2)),),
    refusals=(Refusal({}, (1, 2, 2), "no-input"),),
)


@pytest.fixture
def gathered(monkeypatch: pytest.MonkeyPatch) -> Drawing:
    """A symbol of three fields more: a port that gathers, and two parameters, for votes from two capsules."""
    monkeypatch.setitem(CAPSULES, "gather", GATHER)
    drawing = Drawing("votes", "float64")
    drawing.add("a", "2D-data", height=3, width=2, channels=4)
    drawing.add("b", "2D-data", height=3, width=2, channels=1)
    drawing.add("g", "2D-gather")
    drawing.connect("a", "g", "transfer")
    drawing.connect("b", "g", "convolution", kernels=2, kernel=1)
    return drawing


def test_a_gathering_port_keeps_its_sources_apart(gathered: Drawing) -> None:
    report = check(gathered)
    assert report.well_formed, report.diagnostics
    g = report.capsules["g"]
    assert (g.total_input.sizes, g.bias, g.output.sizes) == ((6, 3, 2), None, (6, 3, 2))
    assert [w.name for w in report.network.weights.values()] == ["b-g.weight", "g.gain", "g.offset"]
    assert report.parameters == 2 + 6 + 36
    network = report.network
    module = build(network)
    initialise(module, network, 0)
    program = lower_to_steps(network)
    inputs = [torch.randn(2, c, 3, 2, dtype=torch.float64) for c in (4, 1)]
    values = dict(zip(program.inputs.values(), inputs, strict=True))
    values |= {program.weights[name]: value for name, value in weights_of(module).items()}
    computed = run_on_torch(program.trace.steps, values)
    torch.testing.assert_close(module(*inputs), computed[program.outputs["g"]])
    by_numpy = run_on_numpy(program.trace.steps, {n: v.numpy() for n, v in values.items()})
    np.testing.assert_allclose(by_numpy[program.outputs["g"]], computed[program.outputs["g"]].numpy())
    assert "torch.cat((a, " in source_of(network)
    module(*inputs).sum().backward()
    ones = torch.ones_like(computed[program.outputs["g"]])
    ours = run_backwards(program.trace.steps, computed, {program.outputs["g"]: ones})
    for name, parameter in named_weights(module).items():
        torch.testing.assert_close(ours[program.weights[name]], parameter.grad)


def test_a_gathering_port_refuses_other_sizes(gathered: Drawing) -> None:
    gathered.change("b", height=4)
    assert "structure-mismatch" in {d.rule for d in check(gathered).errors}
