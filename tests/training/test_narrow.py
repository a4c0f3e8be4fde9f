"""Forward passes in 16 bits: narrow indeed, learning as well, with weights in float32, resumed to the same bits."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from small_zoo import draw_small
from torch import Tensor

from inkcap.drawing import Drawing
from inkcap.engine import build, initialise
from inkcap.exchange import export_safetensors
from inkcap.network import as_plain, check
from inkcap.recipes import DataSpec, LossSpec, OptimiserSpec, Recipe, RecipeError
from inkcap.training import StopRequest, resume, train
from inkcap.training.engines import narrow
from inkcap.training.engines.choice import AS_DRAWN, CHANNELS_LAST, Choice
from inkcap.training.errors import TrainingError
from inkcap.training.facts import facts_of
from inkcap.training.fingerprints import fingerprint
from inkcap.training.jobs import plan_job
from inkcap.zoo.lenet import lenet_for_digits
from inkcap.zoo.perceptrons import mlp

MOONS = DataSpec("moons", {"n": 120})


def weights(run: Any) -> dict[str, Tensor]:
    return load_file(run.path / "weights.safetensors")


def scaler_of(run: Any) -> dict[str, Any]:
    newest = max((run.path / "checkpoints").iterdir())
    return json.loads((newest / "progress.json").read_text())["scaler"]


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_lenet_learns_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: str) -> None:
    seen: Counter[torch.dtype] = Counter()
    convolve = torch.nn.functional.conv2d

    def watched(*arguments: Any) -> Tensor:
        made = convolve(*arguments)
        if torch.is_grad_enabled():
            seen[made.dtype] += 1
        return made

    monkeypatch.setattr(torch.nn.functional, "conv2d", watched)
    recipe = Recipe(DataSpec("digits"), epochs=4, precision=precision)
    result = train(lenet_for_digits(), recipe, tmp_path)
    # Two convolutions a step; the look at what the losses reach, before the first step, is as drawn.
    assert seen == {getattr(torch, precision): 2 * result.steps, torch.float32: 2}
    assert result.values["val_accuracy"] > 0.93
    assert not result.notes
    learnt = weights(result.run)
    exported = export_safetensors(lenet_for_digits(), tmp_path / "lenet.safetensors", learnt)
    assert exported.proof.outputs < 1e-5
    for file in (learnt, load_file(tmp_path / "lenet.safetensors")):
        assert {value.dtype for value in file.values()} == {torch.float32}
    assert result.run.recipe().precision == precision
    exact = train(lenet_for_digits(), Recipe(DataSpec("digits"), epochs=4, engine="eager"), tmp_path)
    assert abs(result.values["loss"] - exact.values["loss"]) < 0.05


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_a_run_goes_on_to_the_same_bits(tmp_path: Path, precision: str) -> None:
    recipe = Recipe(MOONS, epochs=4, batch=16, precision=precision)
    drawing = mlp((2, 6, 4, 2), "small")
    whole = train(drawing, recipe, tmp_path)
    paused = train(drawing, recipe, tmp_path, stop=StopRequest(2))
    again = resume(paused.run, tmp_path)
    assert "to the same bits" in " ".join(again.notes)
    first, second = weights(whole.run), weights(again.run)
    assert all(torch.equal(first[name], second[name]) for name in first)
    exact = weights(train(drawing, Recipe(MOONS, epochs=4, batch=16, engine="eager"), tmp_path).run)
    assert not all(torch.equal(first[name], exact[name]) for name in first)
    if precision == "float16":
        assert scaler_of(whole.run)["_growth_tracker"] == scaler_of(again.run)["_growth_tracker"] == 24


def test_a_step_whose_gradients_overflow_is_left_out(tmp_path: Path) -> None:
    # Gradients of this loss are far beyond the largest number of float16, until the scale has come down.
    recipe = Recipe(
        MOONS,
        losses=(LossSpec("", "auto", 1e5),),
        optimiser=OptimiserSpec("adam", 0.01),
        epochs=4,
        batch=16,
        precision="float16",
    )
    result = train(mlp((2, 6, 4, 2), "small"), recipe, tmp_path)
    scale = scaler_of(result.run)["scale"]
    assert 0 < scale < 2.0**16
    skipped = int(16 - torch.tensor(scale).log2().item())
    newest = max((result.run.path / "checkpoints").iterdir())
    steps = {float(v) for n, v in load_file(newest / "state.safetensors").items() if n.endswith("/step")}
    assert steps == {24.0 - skipped}
    assert all(torch.isfinite(value).all() for value in weights(result.run).values())


@pytest.mark.parametrize("name", ["capsnet_sabour", "emcaps_A32", "gpt_small", "vit_b_16", "mask_rcnn_r50_fpn_tv"])
def test_networks_of_the_zoo_go_forwards_and_back(name: str) -> None:
    from inkcap.zoo import NETWORKS

    name = next(known for known in NETWORKS if known.startswith(name))
    network = check(draw_small(name)).network
    module = build(network)
    initialise(module, network, 0)
    generator = torch.Generator().manual_seed(1)
    inputs = [
        torch.zeros(2, *given.shape, dtype=torch.int64)
        if "int" in given.dtype
        else torch.rand(2, *given.shape, generator=generator)
        for given in facts_of(network).inputs
    ]
    with torch.autocast("cpu", torch.bfloat16):
        made = module(*inputs)
    outputs = [made] if isinstance(made, Tensor) else list(made)
    sum(value.float().square().mean() for value in outputs if value.requires_grad).backward()
    gradients = [p.grad for p in module.parameters() if p.grad is not None]
    assert gradients
    assert {gradient.dtype for gradient in gradients} == {torch.float32}
    assert all(torch.isfinite(gradient).all() for gradient in gradients)


@pytest.mark.parametrize("engine", ["explicit", "compiled", "plain"])
def test_other_engines_refuse(engine: str) -> None:
    with pytest.raises(RecipeError, match=f"the steps of {engine} are written out in the types that are drawn"):
        Recipe(MOONS, engine=engine, precision="bfloat16")


def test_a_switch_is_refused() -> None:
    with pytest.raises(RecipeError, match="leave out the switch to explicit"):
        Recipe(MOONS, precision="float16", switch_engine="explicit@5")
    with pytest.raises(RecipeError, match="one of as-drawn, bfloat16, float16"):
        Recipe(MOONS, precision="float8")


def neurons() -> Drawing:
    drawing = Drawing("neurons")
    drawing.add("x", "0D-data")
    drawing.add("y", "0D-identical")
    drawing.connect("x", "y")
    return drawing


@pytest.mark.parametrize(
    ("drawing", "device", "words"),
    [
        (mlp((2, 4, 2), "wide", "float64"), "cpu", "for drawings in float32, and this one uses float64"),
        (mlp((2, 4, 2), "half", "float16"), "cpu", "for drawings in float32, and this one uses float16"),
        (neurons(), "cpu", "not for plain neurons"),
        (mlp((2, 4, 2), "here"), "mps", "on cpu and cuda, not on mps; give as-drawn"),
        (mlp((2, 4, 2), "here"), "cuda", "this device has no bfloat16; give float16"),
    ],
)
def test_what_cannot_be_narrow_is_refused(
    monkeypatch: pytest.MonkeyPatch, drawing: Drawing, device: str, words: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: False)
    network = as_plain(check(drawing).network)
    with pytest.raises(TrainingError, match=words):
        narrow.check_precision(Recipe(MOONS, precision="bfloat16"), network, torch.device(device))
    narrow.check_precision(Recipe(MOONS), network, torch.device(device))


def test_refusals_come_before_a_folder(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"recipe\.precision: bfloat16 is for drawings in float32"):
        train(mlp((2, 4, 2), "wide", "float64"), Recipe(MOONS, precision="bfloat16"), tmp_path)
    assert not (tmp_path / "runs").exists()


def test_matrix_units_get_channels_last() -> None:
    assert narrow.narrow_choice("cuda", True, 2) == Choice("eager", CHANNELS_LAST, 2)
    assert narrow.narrow_choice("cuda", False, 2) == Choice("eager", AS_DRAWN, 2)
    assert narrow.narrow_choice("cpu", True, 2) == Choice("eager", AS_DRAWN, 2)


def test_another_precision_is_another_recipe(tmp_path: Path) -> None:
    drawing = mlp((2, 6, 4, 2), "small")
    paused = train(drawing, Recipe(MOONS, epochs=4, batch=16), tmp_path, stop=StopRequest(2))
    # A run of before has no word on precision in its recipe, and goes on.
    path = paused.run.path / "recipe.json"
    told = json.loads(path.read_text())
    assert told.pop("precision") == "as-drawn"
    path.write_text(json.dumps(told))
    assert "to the same bits" in " ".join(resume(paused.run, tmp_path).notes)
    other = train(drawing, Recipe(MOONS, epochs=4, batch=16), tmp_path, stop=StopRequest(2))
    path = other.run.path / "recipe.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "precision": "bfloat16"}))
    with pytest.raises(TrainingError, match="not what the checkpoint was made with"):
        resume(other.run, tmp_path)
    plan = plan_job(drawing, Recipe(MOONS, epochs=4, batch=16), tmp_path)
    digests = [
        fingerprint(replace(plan, material=replace(plan.material, recipe=recipe)), {})["recipe"]
        for recipe in (
            plan.recipe,
            replace(plan.recipe, switch_engine="explicit@3"),
            replace(plan.recipe, precision="float16"),
        )
    ]
    assert digests[0] == digests[1] != digests[2]
