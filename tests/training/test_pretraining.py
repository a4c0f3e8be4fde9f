"""Layer-wise pre-training: the golden numbers of one machine, and what a stack of them is worth."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import pytest
import torch

from inkcap.drawing import Drawing
from inkcap.network import check
from inkcap.recipes import DataSpec, LossSpec, Recipe, RecipeError
from inkcap.training import train
from inkcap.training.errors import TrainingError
from inkcap.training.pretraining import Machine, diverge, find_stack


def machine() -> Machine:
    return Machine(
        torch.tensor([[0.5, -0.5], [0.25, 1.0]], dtype=torch.float64),
        torch.tensor([0.1, -0.1], dtype=torch.float64),
        torch.tensor([0.0, 0.2], dtype=torch.float64),
    )


def test_one_step_of_contrastive_divergence_is_golden() -> None:
    rbm, v = machine(), torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    first = rbm.up(v)
    again = rbm.down(first)
    assert first[0].tolist() == pytest.approx([0.6224593312018546, 0.425557483188341], rel=1e-14)
    assert again[0].tolist() == pytest.approx([0.5494505458072676, 0.6180246618799646], rel=1e-14)
    assert rbm.up(again)[0].tolist() == pytest.approx([0.6056901280863006, 0.6325796053557776], rel=1e-14)
    found = diverge(rbm, v)
    assert found.weight.flatten().tolist() == pytest.approx(
        [0.2896625597347629, 0.07798627375906309, -0.3743314366145684, -0.39094979671216595], rel=1e-13
    )


def test_free_energies_are_golden() -> None:
    states = torch.tensor(list(itertools.product((0.0, 1.0), repeat=2)), dtype=torch.float64)
    energies = machine().energy(states)
    golden = [-1.4912860499415372, -2.1892218872168745, -1.628432228648634, -2.240057055000358]
    assert energies.tolist() == pytest.approx(golden, rel=1e-14)
    assert math.fsum(torch.exp(-energies).tolist()) == pytest.approx(27.860815250100096, rel=1e-14)


def autoencoder(*sizes: int, code: str = "identical", last: str = "sigmoid") -> Drawing:
    drawing = Drawing("autoencoder")
    drawing.add("x", "1D-data", dimension=sizes[0])
    ups = [*sizes, *sizes[-2::-1]]
    for i, size in enumerate(ups[1:], 1):
        kind = code if i == len(sizes) - 1 else last if i == len(ups) - 1 else "sigmoid"
        drawing.then(f"h{i}", f"1D-{kind}", "full", dimension=size)
    return drawing


def recipe(last: str, pretrain: int, **more: object) -> Recipe:
    data = DataSpec("digits", feed=f"{last}=x")
    losses = (LossSpec(last, "mean-squared-error"),)
    return Recipe(data, losses, epochs=15, pretrain=pretrain, threads=1, **more)  # pyright: ignore[reportArgumentType]


def test_pretraining_helps_a_deep_autoencoder(tmp_path) -> None:
    drawing = autoencoder(64, 48, 32, 16, 6)
    plain = train(drawing, recipe("h8", 0), tmp_path)
    helped = train(drawing, recipe("h8", 20), tmp_path)
    # Without it the mean squared error stays that of the mean image; seen: 0.0746 and 0.0305.
    assert helped.best_value < 0.6 * plain.best_value
    summary = json.loads((helped.run.path / "summary.json").read_text(encoding="utf-8"))
    told = summary["pretraining"]
    assert [(one["capsule"], one["visible"], one["hidden"]) for one in told] == [
        ("h1", 64, 48), ("h2", 48, 32), ("h3", 32, 16), ("h4", 16, 6),
    ]  # fmt: skip
    assert all(len(one["errors"]) == 20 and one["errors"][-1] < one["errors"][0] for one in told)
    short = [train(drawing, replace(recipe("h8", 2), epochs=1), tmp_path).values for _ in range(2)]
    assert short[0] == short[1]


def test_a_stack_is_half_of_an_autoencoder_or_all_layers_but_the_last() -> None:
    layers = find_stack(check(autoencoder(8, 5, 3)).network)
    assert [(layer.capsule, layer.mirror) for layer in layers] == [
        ("h1", ("h3-h4.weight", "h4.bias")),
        ("h2", ("h2-h3.weight", "h3.bias")),
    ]
    speech = Drawing("speech")
    speech.add("x", "2D-data", height=2, width=4, channels=1)
    speech.then("flat", "1D-identical", "reshaping")
    for name in ("h1", "h2"):
        speech.then(name, "1D-sigmoid", "full", dimension=6)
    speech.then("y", "1D-softmax", "full", dimension=3)
    assert [layer.capsule for layer in find_stack(check(speech).network)] == ["h1", "h2"]


def test_what_cannot_be_pretrained_is_told(tmp_path, run) -> None:
    rectified = autoencoder(8, 5, 3, code="relu")
    with pytest.raises(
        TrainingError, match="h2 is a relu capsule; the layers of a stack are sigmoid or identical ones"
    ):
        find_stack(check(rectified).network)
    with pytest.raises(RecipeError, match="leave init_from out"):
        train(autoencoder(64, 8, 4), recipe("h4", 2, init_from="other"), tmp_path)
    run("new", "lenet", "--from", "lenet-digits")
    answer = run("train", "lenet.inkcap.json", "--data", "digits", "--pretrain", "3", "--quiet")
    assert answer.code == 2
    assert "no stack to train layer by layer" in answer.err
    autoencoder(64, 8, 4).save(tmp_path / "ae.inkcap.json")
    options = ("--data", "digits", "--feed", "h4=x", "--loss", "mean-squared-error", "--normalise", "standard")
    answer = run("train", "ae.inkcap.json", *options, "--pretrain", "2", "--quiet")
    assert answer.code == 1
    assert "with normalise unit" in answer.err
