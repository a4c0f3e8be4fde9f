"""A loss that is no number ends the run at its step, and the first capsule and the samples are named."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from inkcap.drawing import Drawing
from inkcap.recipes import DataSpec, LossSpec, OptimiserSpec, Recipe, layout, list_runs
from inkcap.recipes.checkpoints import newest_checkpoint
from inkcap.structures.errors import RunFailure
from inkcap.training import Listener, StartEvent, checkpoints, jobs, train
from inkcap.training.memory import Needs


def _drawn(middle: str = "relu") -> Drawing:
    drawing = Drawing("growing")
    drawing.add("x", "1D-data", dimension=2)
    drawing.then("a", "1D-identical", dimension=6)
    drawing.then("b", f"1D-{middle}", dimension=5)
    drawing.then("c", "1D-identical", dimension=4)
    drawing.then("y", "1D-identical", dimension=1)
    return drawing


def _table(folder: Path, extreme: int | None = None) -> None:
    rows = [f"{i % 7}.5,{i % 5},{i % 3}.25" for i in range(40)]
    if extreme is not None:
        rows[extreme] = "3e38,3e38,1"
    (folder / "t.csv").write_text("\n".join(["u,v,y", *rows]))


def _recipe(**changes: object) -> Recipe:
    settings: dict[str, object] = {"batch": 4, "epochs": 3, "validation": 0.0, "threads": 1}
    return Recipe(DataSpec("t.csv", normalise="none"), **{**settings, **changes})  # type: ignore[arg-type]


def _failure(folder: Path, drawing: Drawing, recipe: Recipe) -> str:
    with pytest.raises(RunFailure) as caught:
        train(drawing, recipe, folder)
    return str(caught.value)


@pytest.mark.parametrize("engine", ["eager", "explicit"])
def test_an_extreme_sample_and_the_first_capsule_are_named(tmp_path: Path, engine: str) -> None:
    _table(tmp_path, extreme=17)
    words = _failure(tmp_path, _drawn(), _recipe(engine=engine))
    assert "the loss became" in words
    assert "not finite; the batch was lines" in words
    # A line of the file: the header is the first, and lines are counted from 1.
    assert "19" in words.split("the batch was ")[1]
    run = list_runs(tmp_path)[0][0]
    assert run.record.state == "failed"
    last = run.metrics().records[-1]
    assert f"at step {last.step} of the run" in words


def test_the_first_capsule_is_the_one_where_it_goes_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _table(tmp_path)
    initialise = jobs.initialise

    def huge(module: torch.nn.Module, network: object, seed: int) -> None:
        initialise(module, network, seed)  # type: ignore[arg-type]
        with torch.no_grad():
            dict(module.named_parameters())["c.weight"].fill_(3e38)

    monkeypatch.setattr(jobs, "initialise", huge)
    words = _failure(tmp_path, _drawn("sigmoid"), _recipe())
    assert "at step 1 of the run" in words
    assert "the output of the capsule c is the first that is not finite" in words


def test_a_rate_that_is_too_high_leaves_the_last_finite_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _table(tmp_path)
    monkeypatch.setattr(checkpoints, "LEAST_PAUSE", 0.0)
    monkeypatch.setattr(checkpoints, "SHARE", 1e9)
    loss = (LossSpec(kind="mean-squared-error"),)
    words = _failure(tmp_path, _drawn(), _recipe(optimiser=OptimiserSpec("sgd", 10.0), checkpoint=1e-6, losses=loss))
    assert "not finite" in words
    assert "lines " in words
    run = list_runs(tmp_path)[0][0]
    newest, problems = newest_checkpoint(run.path / layout.CHECKPOINTS)
    assert newest is not None
    assert not problems
    tensors = checkpoints.read_snapshot(newest).tensors
    assert all(torch.isfinite(value).all() for name, value in tensors.items() if name.startswith("module/"))


def test_memory_is_estimated_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _table(tmp_path)
    monkeypatch.setattr("inkcap.training.needs.available_memory", lambda: 100)
    heard: list[StartEvent] = []

    class Hearing(Listener):
        def on_start(self, event: StartEvent) -> None:
            heard.append(event)
            raise MemoryError

    with pytest.raises(RunFailure, match=r"out of memory; the training needs about .* a batch of 4 .* 100 B were free"):
        train(_drawn(), _recipe(), tmp_path, Hearing())
    (warning,) = [note for note in heard[0].notes if "of memory are free" in note]
    # 18 + 35 + 24 + 5 weights of 4 bytes; when the way back has passed the second layer, the first has no gradient yet.
    # Adam has two numbers for each, and counts its steps for each of 8 tensors.
    assert "weights and gradients 584 B, optimiser 688 B" in warning
    # Then there are of 4 samples 2 values and a target, the loss's term, 6 values of the first layer, and the gradients
    # of those and of the 5 behind them.
    assert "a batch of 4 336 B" in warning


def test_an_error_of_another_kind_is_not_called_one_of_memory() -> None:
    needs = Needs(1, 1, 1, 1, None)
    assert needs.failure(RuntimeError("shapes do not fit")) == ""
    assert needs.warning() == ""
    assert "out of memory" in needs.failure(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"))
