"""Drawings of neurons, drawn one by one or held in columns, check, compute and train on the compiled kernels."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from inkcap.drawing import FIXED, Drawing, Edit, Plain, Put, from_text, save_drawing, to_text
from inkcap.engine import build, initialise, load_weights, named_weights, run_on_torch, weights_of
from inkcap.engine.plain.drawn import PlainDrawn
from inkcap.network import NotWellFormed, as_plain, check
from inkcap.program import lower_to_steps
from inkcap.recipes import DataSpec, Recipe
from inkcap.structures import InkcapError
from inkcap.training import evaluate, predict, train
from inkcap.zoo.flexible import plain_mlp


def with_plain(drawing: Drawing, plain: Plain) -> Drawing:
    drawing.apply(Edit("plain", (Put(plain),)))
    return drawing


def columns(**changes: Any) -> Plain:
    """Two data neurons, one ReLU, one identical output that also sees the first data neuron."""
    plain = Plain(
        ("data", "data", "relu", "identical"), (0, 0, 0.5, -1), (0, 1, 2, 0), (2, 2, 3, 3), (1.0, -1.0, 2.0, 3.0)
    )
    return replace(plain, **changes)


MIXED = Plain(
    ("data",) * 16 + ("relu",) * 16 + ("data",) * 4 + ("identical",) * 3,
    (0.0,) * 16 + (0.1,) * 16 + (0.0,) * 4 + (0.1, 0.2, 0.3),
    (*range(16), *((32, 33, 34, 35) * 3), 16),
    (*range(16, 32), *(36,) * 4, *(37,) * 4, *(38,) * 4, 36),
    (0.7,) * 16 + (0.1, -0.2, 0.3, 0.4, -0.5, 0.6, 0.7, 0.8, 0.9, -1.0, 1.1, 1.2) + (2.0,),
    (0,) * 16 + (-1,) * 12 + (FIXED,),
    (-1,) * 16 + (0,) * 16 + (-1,) * 4 + (-1, -1, FIXED),
    {"image": (0, 16), "pool": (32, 4)},
    {"pool": (16, 16), "out": (36, 3)},
)
"""A tied scale and a tied bias before pooling, a full layer after it, one fixed connection past the pooling."""


def mixed() -> Drawing:
    drawing = Drawing("mixed", dtype="float64")
    drawing.add("image", "2D-data", height=4, width=4, channels=1)
    drawing.add("pool", "2D-downsampling", height=4, width=4, channels=1, window=[2, 2])
    drawing.add("out", "1D-softmax", dimension=3)
    return with_plain(drawing, MIXED)


def test_a_block_computes_what_its_columns_say() -> None:
    network = check(with_plain(Drawing("block", dtype="float64"), columns())).network
    module = build(network)
    initialise(module, network, 0)
    x = torch.tensor([[1.0, 2.0], [3.0, 1.0]], dtype=torch.float64)
    assert module(x).tolist() == [[2 * 0 + 3 - 1], [2 * 2.5 + 9 - 1]]
    assert {name: value.tolist() for name, value in weights_of(module).items()} == {
        "plain.weight": [1, -1, 2, 3],
        "plain.bias": [0.5, -1],
    }


def test_a_blocks_report_counts_what_is_in_it() -> None:
    report = check(with_plain(Drawing("block"), columns(tie=(0, -1, 0, FIXED), weight=(2, -1, 2, 3))))
    assert report.well_formed
    told = report.to_json()
    assert told["capsules"], told["connections"] == (4, 4)
    assert told["parameters"] == 2 + 2
    assert told["frozen_parameters"] == 1
    assert told["depth"] == 2
    assert told["kind"] == "skip"
    assert told["inputs"] == ["n0", "n1"]
    assert told["outputs"] == ["n3"]
    assert told["hidden"] == ["n2"]


def test_a_mixed_drawing_computes_like_the_same_network_by_hand() -> None:
    drawing = from_text(to_text(mixed()))
    assert drawing.plain == MIXED
    report = check(drawing)
    assert report.well_formed, report.diagnostics
    assert (report.parameters, report.frozen_parameters) == (1 + 12 + 1 + 2, 1)
    module = build(report.network)
    initialise(module, report.network, 0)
    x = torch.randn(7, 1, 4, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    scale, bias = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (0.7, 0.1))
    h = torch.relu(scale * x + bias)
    full = torch.tensor(MIXED.weight[16:28], dtype=torch.float64).reshape(3, 4)
    u = torch.nn.functional.max_pool2d(h, 2).flatten(1) @ full.T + torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64)
    u = u + torch.stack([2 * h[:, 0, 0, 0], *(torch.zeros(7, dtype=torch.float64),) * 2], 1)
    y = torch.softmax(u, 1)
    answer = module(x)
    assert torch.allclose(answer, y, rtol=0, atol=1e-12)
    seed = torch.randn(7, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    (answer * seed).sum().backward()
    (y * seed).sum().backward()
    gradient = {name: weight.grad for name, weight in named_weights(module).items()}
    assert gradient["plain.weight"] is not None
    assert gradient["plain.bias"] is not None
    assert float(gradient["plain.weight"][0]) == pytest.approx(float(scale.grad or 0), abs=1e-12)
    assert float(gradient["plain.bias"][0]) == pytest.approx(float(bias.grad or 0), abs=1e-12)


@st.composite
def neuron_drawings(draw: st.DrawFn) -> Drawing:
    """Any connected network of neurons, with biases, ties, fixed connections and several ends."""
    drawing = Drawing("neurons", dtype="float64")
    inputs, count = draw(st.integers(1, 3)), draw(st.integers(1, 7))
    names = [drawing.add(f"x{i}", "data neuron") for i in range(inputs)]
    strength = st.floats(-2, 2).map(lambda value: round(value, 3))
    for i in range(count):
        face = draw(st.sampled_from(["relu", "identical", "sigmoid", "tanh"]))
        bias = draw(st.sampled_from(["none", "full"]))
        name = drawing.add(f"h{i}", f"{face} neuron", bias=bias, b=draw(strength))
        backs = draw(st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True))
        # The first neuron sees every input, so that the network is connected.
        for back in names if i == 0 else {names[-1]: None, **dict.fromkeys(backs)}:
            tie = draw(st.sampled_from(["", "", "a", "b"]))
            how = {"tie": tie} if tie else {"trainable": draw(st.booleans())}
            number = {"": draw(strength), "a": 0.5, "b": -0.25}[tie]
            drawing.connect(back, name, "amplifying", strength=number, **how)
        names.append(name)
    return drawing


@settings(max_examples=40, deadline=None)
@given(neuron_drawings())
def test_neurons_in_columns_compute_what_they_compute_one_by_one(drawing: Drawing) -> None:
    network = check(drawing).network
    plain = as_plain(network)
    assert plain.plain is not None
    module = build(plain)
    assert isinstance(module, PlainDrawn)
    initialise(module, plain, 0)
    x = torch.randn(5, len(network.inputs), dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    program = lower_to_steps(network)
    values = {program.inputs[id]: x[:, i] for i, id in enumerate(network.inputs)}
    starts = {name: float(record.start or 0) for name, record in network.weights.items()}
    values |= {number: torch.tensor(starts[name], dtype=torch.float64) for name, number in program.weights.items()}
    computed = run_on_torch(program.trace.steps, values)
    expected = torch.stack([computed[program.outputs[id]] for id in network.outputs], 1)
    assert torch.allclose(module(x), expected, rtol=0, atol=1e-12)
    assert sum(w.numel() for w in named_weights(module).values()) == check(drawing).parameters


@pytest.mark.parametrize(
    ("changes", "rule", "words"),
    [
        ({"back": (0, 1, 2, 3), "front": (2, 2, 3, 2)}, "cycle", "n2, n3"),
        ({"front": (2, 2, 3, 0), "back": (0, 1, 2, 1)}, "data-has-input", "n0"),
        ({"symbol": ("data", "relu", "relu", "identical")}, "no-input", "n1"),
        ({"front": (2, 2, 2, 2), "back": (0, 1, 0, 0)}, "disconnected", "n3"),
        ({"bias": (1, 0, 0, 0)}, "data-has-input", "no bias"),
        ({"tie": (0, 0, -1, -1)}, "tie-mismatch", "shares tie 0"),
        ({"bias_tie": (-1, -1, 0, 0)}, "tie-mismatch", "shares tie 0"),
        ({"reads": {"nobody": (0, 2)}}, "no-input", "nobody"),
    ],
)
def test_what_is_wrong_with_a_block_is_named(changes: dict[str, Any], rule: str, words: str) -> None:
    report = check(with_plain(Drawing("block"), columns(**changes)))
    found = [d for d in report.errors if d.rule == rule]
    assert found, report.diagnostics
    assert words in found[0].message
    with pytest.raises(NotWellFormed, match=rule):
        _ = report.network


@pytest.mark.parametrize(
    ("changes", "rule", "words"),
    [
        ({"reads": {"image": (0, 15), "pool": (32, 4)}}, "structure-mismatch", "16"),
        ({"writes": {"pool": (16, 16), "out": (36, 2)}}, "structure-mismatch", "3 elements"),
        ({"reads": {"image": (0, 16), "pool": (31, 4)}}, "data-has-input", "n31"),
        ({"reads": {"image": (0, 16)}}, "no-input", "n32"),
        ({"writes": {"pool": (16, 16)}}, "disconnected", "n36"),
    ],
)
def test_what_is_wrong_with_a_mixed_drawing_is_named(changes: dict[str, Any], rule: str, words: str) -> None:
    report = check(with_plain(mixed(), replace(MIXED, **changes)))
    found = [d for d in report.errors if d.rule == rule]
    assert found, report.diagnostics
    assert any(words in d.message for d in found)


def test_only_real_numbers_can_be_columns() -> None:
    report = check(with_plain(Drawing("block", dtype="int64"), columns()))
    assert [d.rule for d in report.errors] == ["not-floating"]


def test_columns_are_not_printed(tmp_path: Path) -> None:
    from inkcap.engine import source_of

    with pytest.raises(InkcapError, match="inkcap contract"):
        source_of(check(mixed()).network)


def test_figure_22_learns_the_moons(tmp_path: Path) -> None:
    """An MLP drawn neuron by neuron trains, is measured and asked like any other drawing."""
    result = train(plain_mlp([2, 6, 4, 2], "fig22"), Recipe(DataSpec("moons"), epochs=40), tmp_path)
    assert result.values["val_accuracy"] > 0.95
    assert evaluate(result.run).values["accuracy"] > 0.95
    answer = predict(result.run, {"x1": np.array([1.0, 0.0]), "x2": np.array([-0.5, 1.0])})
    same = predict(result.run, np.array([[1.0, -0.5], [0.0, 1.0]]))
    assert np.array_equal(answer.outputs["outputs"].values, same.outputs["outputs"].values)
    assert same.outputs["outputs"].labels is not None
    with pytest.raises(InkcapError, match="cpu"):
        train(plain_mlp([2, 6, 4, 2], "fig22"), Recipe(DataSpec("moons"), device="cuda"), tmp_path)


def test_a_mixed_drawing_trains_and_is_asked(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    images = rng.random((90, 1, 4, 4)).astype(np.float32)
    np.savez(tmp_path / "tiny.npz", x=images, y=(images.reshape(90, -1).argmax(1) % 3).astype(np.int64))
    result = train(mixed(), Recipe(DataSpec("tiny.npz", {"channels": "first"}), epochs=2, batch=16), tmp_path)
    before = {"plain.weight": MIXED.weight[16]}
    module = build(check(mixed()).network)
    from inkcap.training.weights import read_weights

    learnt = read_weights(result.run.weights_file("last"))
    load_weights(module, learnt)
    assert float(learnt["plain.weight"][1]) != before["plain.weight"]
    assert predict(result.run, images[:2]).samples == 2


def test_columns_go_to_the_neurons_of_their_names(tmp_path: Path) -> None:
    drawing = Drawing("line")
    for name in ("b", "a"):
        drawing.add(name, "data neuron")
    drawing.add("y", "identical neuron")
    for name in ("b", "a"):
        drawing.connect(name, "y", "amplifying")
    rows = "\n".join(f"{a},{b},{3 * a - b}" for a in range(-5, 6) for b in range(-5, 6))
    (tmp_path / "line.csv").write_text(f"a,b,y\n{rows}\n")
    result = train(drawing, Recipe(DataSpec("line.csv", {"target": "y"}), epochs=1), tmp_path)
    assert any("by their names" in note for note in result.notes)


def test_no_gradient_passes_step_neurons(tmp_path: Path) -> None:
    drawing = Drawing("steps")
    for i in (1, 2):
        drawing.add(f"x{i}", "data neuron")
    drawing.add("y", "step neuron")
    for i in (1, 2):
        drawing.connect(f"x{i}", "y", "amplifying")
    with pytest.raises(InkcapError, match="step capsule y"):
        train(drawing, Recipe(DataSpec("moons"), epochs=1), tmp_path)


def test_a_million_connections_go_from_the_file_to_the_first_answer(tmp_path: Path) -> None:
    """Read, checked, derived and compiled: the aim is 10 s, a busy machine gets five times that."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
    try:
        from plain_journey import journey, random_block
    finally:
        sys.path.pop(0)
    save_drawing(with_plain(Drawing("million"), random_block(1_000_000)), tmp_path / "million.inkcap.json")
    times = journey(tmp_path / "million.inkcap.json")
    assert sum(times.values()) < 50, times
