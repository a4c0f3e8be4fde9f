"""What goes wrong around a training: losses that do not fit, full disks, killed processes, damaged folders."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from inkcap.drawing import Drawing
from inkcap.recipes import (
    DataSpec,
    LossSpec,
    MetricWriter,
    OptimiserSpec,
    Recipe,
    RunFolder,
    RunFolderError,
    layout,
    list_runs,
)
from inkcap.recipes.runfolder import KILLED
from inkcap.structures.errors import RunFailure
from inkcap.training import RunResult, StopRequest, TrainingError, evaluate, predict, train
from inkcap.training.samples import read_samples
from inkcap.training.stopping import ignoring_signals, listening_for_signals

FAST = OptimiserSpec("adam", 0.05)


def _layers(first: int, last: str, size: int, dtype: str = "float32") -> Drawing:
    drawing = Drawing("small", dtype)
    drawing.add("x", "1D-data", dimension=first)
    drawing.then("h", "1D-tanh", dimension=8)
    drawing.then("y", f"1D-{last}", dimension=size)
    return drawing


def _iris(workspace: Path, epochs: int = 1, dtype: str = "float32") -> RunResult:
    return train(
        _layers(4, "softmax", 3, dtype), Recipe(DataSpec("iris"), epochs=epochs, optimiser=FAST, threads=1), workspace
    )


@pytest.mark.parametrize("kind", ["cross-entropy", "binary-cross-entropy"])
def test_a_loss_that_does_not_fit_measured_targets_is_refused(tmp_path: Path, kind: str) -> None:
    with pytest.raises(TrainingError, match=r"25 to 346.*mean-squared-error"):
        train(_layers(10, "sigmoid", 1), Recipe(DataSpec("diabetes"), losses=(LossSpec(kind=kind),)), tmp_path)
    assert list_runs(tmp_path) == ((), ())


def test_a_step_that_stops_every_gradient_is_refused(tmp_path: Path) -> None:
    drawing = Drawing("step")
    drawing.add("x", "1D-data", dimension=4)
    drawing.then("y", "1D-step", dimension=3)
    with pytest.raises(TrainingError, match=r"nothing can be learnt.*step capsule y"):
        train(drawing, Recipe(DataSpec("iris"), losses=(LossSpec(kind="mean-squared-error"),)), tmp_path)
    assert list_runs(tmp_path) == ((), ())


def test_half_precision_learns_with_adam(tmp_path: Path) -> None:
    result = _iris(tmp_path, 30, "float16")
    assert result.values["val_accuracy"] > 0.8
    assert any("float32" in note for note in result.notes)


def test_a_log_that_cannot_be_closed_fails_the_run_and_keeps_the_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    close = MetricWriter.close

    def full(log: MetricWriter) -> None:
        close(log)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("inkcap.recipes.metrics.MetricWriter.close", full)
    with pytest.raises(RunFailure, match=r"small-iris-0001: metrics.*No space left"):
        _iris(tmp_path)
    run = list_runs(tmp_path)[0][0]
    assert run.record.state == "failed"
    assert evaluate(run).values["loss"] < 2


def test_a_run_json_that_cannot_be_replaced_is_written_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: str) -> None:
        raise OSError(28, "No space left on device")

    run = RunFolder.create(tmp_path, "a", "b")
    monkeypatch.setattr("inkcap.recipes.runfolder.write_atomic", full)
    run.mark_failed("the disk is full")
    assert json.loads((run.path / layout.RUN).read_text())["state"] == "failed"
    with pytest.raises(RunFolderError, match="No space"):
        RunFolder.create(tmp_path, "c", "d")
    assert [path.name for path in (tmp_path / layout.RUNS).iterdir()] == [run.id]


def test_a_run_whose_process_is_gone_is_shown_as_interrupted(tmp_path: Path) -> None:
    run = _iris(tmp_path).run
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    run.update(state="running", pid=process.pid, weights_sha256="", best_sha256="", finished="", reason="")
    found = RunFolder.open(run.path)
    assert (found.record.state, found.record.reason) == ("interrupted", KILLED)
    assert evaluate(found).values["loss"] < 2
    for name in (layout.BEST, layout.WEIGHTS):
        (run.path / name).unlink()
    with pytest.raises(RunFolderError, match="ended before its first checkpoint; train again"):
        evaluate(found)
    run.update(state="running", pid=os.getpid())
    assert RunFolder.open(run.path).record.state == "running"


def test_a_number_that_another_process_has_now_is_not_mistaken(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path, "a", "b")
    machine, boot, start = run.record.process.split(":")
    if not start:
        pytest.skip("this platform does not tell when a process started")
    run.update(process=f"{machine}:{boot}:{int(start) - 1}")
    assert RunFolder.open(run.path).record.state == "interrupted"
    run.update(process=f"elsewhere:{boot}:{int(start) - 1}")
    assert RunFolder.open(run.path).record.state == "created"


def test_presses_while_saving_are_not_heard() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    try:
        with ignoring_signals():
            os.kill(os.getpid(), signal.SIGTERM)
        request = StopRequest()
        with listening_for_signals(request):
            for _ in range(4):
                os.kill(os.getpid(), signal.SIGTERM)
            assert heard == [signal.SIGTERM]
        request = StopRequest()
        request.saving = True
        with listening_for_signals(request):
            os.kill(os.getpid(), signal.SIGTERM)
        assert not request.wanted
        assert heard == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


DAMAGE: list[tuple[str, Any]] = [
    ("manifest", "x"),
    ("inputs", "x"),
    ("inputs", []),
    ("inputs.x", []),
    ("preparation.inputs.x.offset", [1.0, 2.0]),
    ("preparation.inputs.x.scale", []),
    ("preparation.inputs.x.scale", [1e300] * 4),
    ("preparation.inputs.x.offset", [1e300] * 4),
    ("targets", {}),
    ("classes.y", "x"),
    ("split", []),
]


def test_a_damaged_folder_gets_one_clear_error(tmp_path: Path) -> None:
    run = _iris(tmp_path).run.update(version=1)
    whole = (run.path / layout.DATA).read_text()
    samples = np.zeros((1, 4), np.float32)
    for place, value in DAMAGE:
        data = json.loads(whole)
        # Without its check sum, as in a run of version 1: each value is looked at by itself.
        del data["check"]
        *path, last = place.split(".")
        part = data
        for name in path:
            part = part[name]
        part[last] = value
        (run.path / layout.DATA).write_text(json.dumps(data))
        for ask in (lambda: predict(run, samples), lambda: evaluate(run)):
            with pytest.raises(RunFolderError, match=r"small-iris-0001/data.json: damaged \(.*train the run again"):
                ask()
    (run.path / layout.DATA).write_text(json.dumps({**json.loads(whole), "split": []}))
    with pytest.raises(RunFolderError, match=r"small-iris-0001/data.json: the check sum differs"):
        evaluate(run)
    (run.path / layout.DATA).write_text(whole)
    run.write_recipe(replace(run.recipe(), losses=()))
    with pytest.raises(RunFolderError, match=r"recipe.json: damaged \(losses"):
        evaluate(run)


def test_predictions_refuse_what_is_no_array_of_numbers(tmp_path: Path) -> None:
    run = _iris(tmp_path).run
    for samples, words in (
        (np.array([[1, np.nan, 2, 3]]), "sample 0: a value is not a finite"),
        (np.array([[1, 2, 3, 4], [1, np.inf, 2, 3]]), "sample 1"),
        (np.array([["a", "b", "c", "d"]]), "no type of numbers"),
        ([[1, 2], [1]], "differ in their shapes"),
    ):
        with pytest.raises(TrainingError, match=words):
            predict(run, samples)  # type: ignore[arg-type]
    with pytest.raises(TrainingError, match="best or last"):
        predict(run, np.zeros((1, 4)), weights="worst")  # type: ignore[arg-type]


def test_the_columns_of_a_table_feed_several_neurons(tmp_path: Path) -> None:
    drawing = Drawing("neurons")
    for name in ("a", "b"):
        drawing.add(name, "0D-data")
    drawing.add("y", "0D-identical")
    for name in ("a", "b"):
        drawing.connect(name, "y")
    rows = np.random.default_rng(0).normal(size=(60, 2))
    for header, words in (("b,a", "by their names"), ("u,v", "")):
        lines = [f"{header},y", *(f"{u:.3f},{v:.3f},{u - v:.3f}" for u, v in rows)]
        (tmp_path / "t.csv").write_text("\n".join(lines))
        result = train(drawing, Recipe(DataSpec("t.csv"), epochs=60, batch=16, optimiser=FAST), tmp_path)
        assert any("by their names" in note for note in result.notes) == bool(words)
        assert evaluate(result.run).values["mae"] < 0.5
        samples = read_samples(result.run, "1,0")
        (values,) = samples.values()
        assert values.tolist() == [[0, 1] if header == "b,a" else [1, 0]]
        assert predict(result.run, samples).outputs["y"].values.item() > 0.3


def test_images_of_mixed_sizes_are_resized_by_the_recipe(tmp_path: Path) -> None:
    for name, shade in (("dark", 20), ("light", 200)):
        (tmp_path / "images" / name).mkdir(parents=True)
        for number in range(4):
            Image.new("L", (8 + number, 9), shade).save(tmp_path / "images" / name / f"{number}.png")
    drawing = Drawing("pictures")
    drawing.add("x", "2D-data", height=8, width=8, channels=1)
    drawing.then("f", "1D-identical", "reshaping")
    drawing.then("y", "1D-softmax", "full", dimension=2)
    result = train(drawing, Recipe(DataSpec("images", resize="8x8"), epochs=1, validation=0.25), tmp_path)
    assert evaluate(result.run).samples == 2
