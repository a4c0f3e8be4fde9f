"""Going on with runs: from what, to what, what is said, and what is refused."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import torch

from inkcap.drawing import Drawing
from inkcap.recipes import DataSpec, OptimiserSpec, Recipe, RunFolder, ScheduleSpec, layout
from inkcap.recipes.checkpoints import list_checkpoints, newest_checkpoint
from inkcap.structures.errors import InkcapError, RunFailure
from inkcap.training import (
    Listener,
    PauseEvent,
    PretrainingEvent,
    RunResult,
    StepEvent,
    StopRequest,
    TrainingError,
    checkpoints,
    resume,
    train,
    waiting,
)

FILES = (layout.WEIGHTS, layout.BEST, layout.METRICS)


def _drawn() -> Drawing:
    drawing = Drawing("small")
    drawing.add("x", "1D-data", dimension=2)
    drawing.then("h", "1D-tanh", dimension=8)
    drawing.then("y", "1D-softmax", dimension=2)
    drawing.wear("h", "dropout", probability=0.2)
    return drawing


def _recipe(**changes: object) -> Recipe:
    settings = {"batch": 16, "epochs": 4, "threads": 1, "optimiser": OptimiserSpec("adam", 0.02)}
    return Recipe(DataSpec("moons", {"n": 100}), **{**settings, **changes})  # type: ignore[arg-type]


@dataclass
class Stopping(Listener):
    """Asks for the end after a step, and hears of pauses."""

    step: int = 0
    stop: StopRequest = field(default_factory=StopRequest)
    pauses: list[PauseEvent] = field(default_factory=list)

    def on_step(self, event: StepEvent) -> None:
        if self.step and event.step >= self.step:
            self.stop.stop("enough")

    def on_pause(self, event: PauseEvent) -> None:
        self.pauses.append(event)


@pytest.fixture
def stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., RunResult]:
    """Make a run that is stopped after some steps."""
    monkeypatch.setattr("inkcap.training.session._LISTEN_EVERY", 0.0)
    monkeypatch.setattr(checkpoints, "LEAST_PAUSE", 0.0)
    monkeypatch.setattr(checkpoints, "SHARE", 1e9)

    def stop(step: int = 12, drawing: Drawing | None = None, **changes: object) -> RunResult:
        listener = Stopping(step)
        return train(drawing or _drawn(), _recipe(**changes), tmp_path, listener, stop=listener.stop)

    return stop


def _same(one: RunResult, other: RunResult) -> None:
    for name in FILES:
        assert (one.run.path / name).read_bytes() == (other.run.path / name).read_bytes(), name


def test_a_stopped_run_goes_on_and_a_finished_one_for_longer(tmp_path: Path, stopped: Callable[..., RunResult]) -> None:
    whole = train(_drawn(), _recipe(), tmp_path)
    part = stopped()
    assert (part.state, part.steps) == ("interrupted", 12)
    rest = resume(part.run)
    assert (rest.state, rest.steps) == ("finished", whole.steps)
    assert "resumed at step 12, to the same bits" in rest.notes[-1]
    _same(rest, whole)
    with pytest.raises(TrainingError, match=r"is finished \(all 4 epochs done\); give more epochs.*--epochs 8"):
        resume(rest.run.id, tmp_path)
    with pytest.raises(TrainingError, match="4 epochs are done already, and 3 are wanted"):
        resume(rest.run, epochs=3)
    longer = resume(rest.run, epochs=6)
    _same(longer, train(_drawn(), _recipe(epochs=6), tmp_path))
    assert longer.run.recipe().epochs == 6
    assert [(entry["step"], entry["exact"]) for entry in longer.run.resumes()] == [(12, True), (20, True)]
    assert len(list_checkpoints(longer.run.path / layout.CHECKPOINTS)) == 2


def test_a_run_without_a_checkpoint_begins_again(tmp_path: Path, stopped: Callable[..., RunResult]) -> None:
    whole = train(_drawn(), _recipe(), tmp_path)
    part = stopped()
    for path in list_checkpoints(part.run.path / layout.CHECKPOINTS):
        RunFolder(path, part.run.record).remove()
    with pytest.raises(TrainingError, match="no checkpoint to go on from; train from what it learnt: --init-from"):
        resume(part.run)
    part.run.update(state="interrupted", best_sha256="", weights_sha256="")
    _same(resume(part.run), whole)


def test_what_a_killed_process_left_half_written_is_taken_away(stopped: Callable[..., RunResult]) -> None:
    part = resume(stopped(signals=True).run, epochs=5)
    known = {path.name for path in part.run.path.iterdir() if path.is_file()} | {layout.PACE, layout.SHORT}
    assert {layout.SIGNALS, layout.RESUMES, layout.SUMMARY} < known
    for name in known | {"notes.json"}:
        (part.run.path / f".{name}.5ab4f21e.tmp").write_bytes(b"{")
    rest = resume(part.run, epochs=6)
    # Notes are a person's, who may be writing them right now.
    assert [path.name for path in rest.run.path.glob(".*")] == [".notes.json.5ab4f21e.tmp"]


def test_a_damaged_checkpoint_is_told_and_the_one_before_is_used(
    tmp_path: Path, stopped: Callable[..., RunResult]
) -> None:
    whole = train(_drawn(), _recipe(), tmp_path)
    part = stopped(checkpoint=0.000001)
    newest, before = list_checkpoints(part.run.path / layout.CHECKPOINTS)
    content = bytearray((newest / "state.safetensors").read_bytes())
    content[-1] ^= 1
    (newest / "state.safetensors").write_bytes(content)
    rest = resume(part.run)
    assert any(f"{newest.name}/state.safetensors: the check sum differs" in note for note in rest.notes)
    _same(rest, whole)
    (entry,) = rest.run.resumes()
    assert (entry["checkpoint"], entry["exact"], len(entry["damaged"])) == (before.name, True, 1)
    for path in list_checkpoints(rest.run.path / layout.CHECKPOINTS):
        (path / "manifest.json").write_bytes(b"{}")
    with pytest.raises(InkcapError, match=r"No other checkpoint is whole; train again, or .*--init-from"):
        resume(rest.run, epochs=9)
    assert RunFolder.open(rest.run.path).record.state == "finished"


def test_what_differs_is_told_for_good(tmp_path: Path, stopped: Callable[..., RunResult]) -> None:
    part = stopped(schedule=ScheduleSpec("cosine"))
    rest = resume(part.run, threads=2, epochs=5)
    (note,) = [note for note in rest.notes if "resumed" in note]
    for words in ("not to the same bits", "threads 1 → 2", "cosine spreads over 5 epochs in place of 4"):
        assert words in note
    (entry,) = json.loads((rest.run.path / layout.RESUMES).read_text())["resumes"]
    assert not entry["exact"]
    assert entry["reasons"] == ["threads 1 → 2", "the schedule cosine spreads over 5 epochs in place of 4"]


def test_another_version_of_torch_is_told(stopped: Callable[..., RunResult], monkeypatch: pytest.MonkeyPatch) -> None:
    part = stopped()
    version = torch.__version__
    monkeypatch.setattr(torch, "__version__", "99.0")
    monkeypatch.setattr("torch.backends.cpu.get_cpu_capability", lambda: "ABACUS")
    resume(part.run)
    (entry,) = part.run.resumes()
    assert f"torch {version} → 99.0" in entry["reasons"]
    assert any(reason.startswith("cpu_capability") and reason.endswith("ABACUS") for reason in entry["reasons"])


@pytest.mark.usefixtures("stopped")
def test_other_data_recipes_and_drawings_are_refused(tmp_path: Path) -> None:
    rows = [f"{i % 7}.5,{i % 5},{'ab'[i % 2]}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["u,v,y", *rows]))
    listener = Stopping(3)
    part = train(_drawn(), replace(_recipe(), data=DataSpec("t.csv")), tmp_path, listener, stop=listener.stop)
    record = RunFolder.open(part.run.path).record
    (tmp_path / "t.csv").write_text("\n".join(["u,v,y", *rows[:-1], "1,1,a"]))
    with pytest.raises(TrainingError, match=r"the data t.* have changed since the run began"):
        resume(part.run)
    (tmp_path / "t.csv").write_text("\n".join(["u,v,y", *rows]))
    recipe = part.run.recipe()
    part.run.write_recipe(replace(recipe, clip=3.0))
    with pytest.raises(TrainingError, match=r"recipe.json is not what the checkpoint was made with"):
        resume(part.run)
    part.run.write_recipe(recipe)
    text = part.run.drawing_text()
    part.run.write_text(layout.DRAWING, text.replace('"tanh"', '"relu"').replace("1D-tanh", "1D-relu"))
    with pytest.raises(InkcapError, match=r"drawing.inkcap.json is not what the checkpoint was made with"):
        resume(part.run)
    assert RunFolder.open(part.run.path).record == record
    part.run.write_text(layout.DRAWING, text)
    assert resume(part.run).state == "finished"


def test_a_run_that_runs_is_left_alone(stopped: Callable[..., RunResult]) -> None:
    part = stopped()
    part.run.update(state="running", pid=os.getpid(), process="")
    with pytest.raises(TrainingError, match=f"is running in the process {os.getpid()}; stop it first"):
        resume(part.run)


def test_early_stopping_waits_anew_when_it_is_told_to_go_on(tmp_path: Path) -> None:
    result = train(_drawn(), _recipe(early_stop=1, epochs=30, optimiser=OptimiserSpec("sgd", 1e-9)), tmp_path)
    assert "did not get better" in result.reason
    more = resume(result.run, epochs=result.epochs + 5)
    assert more.epochs == result.epochs + 1
    assert "early stopping waits anew" in more.run.resumes()[0]["reasons"][0]


def test_a_full_disk_makes_the_training_wait_and_changes_no_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train(_drawn(), _recipe(), tmp_path)
    monkeypatch.setattr(waiting, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(checkpoints, "LEAST_PAUSE", 0.0)
    monkeypatch.setattr(checkpoints, "SHARE", 1e9)
    write, tries = checkpoints.write_checkpoint, list[int]()

    def full(*given: object, **named: object) -> Path:
        tries.append(1)
        if len(tries) % 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(checkpoints, "write_checkpoint", full)
    listener = Stopping()
    result = train(_drawn(), _recipe(checkpoint=0.001), tmp_path, listener)
    assert result.state == "finished"
    assert len(tries) >= 4
    assert [event.waiting for event in listener.pauses[:2]] == [True, False]
    assert "No space left on device" in listener.pauses[0].reason
    assert "goes on when there is room" in listener.pauses[0].reason
    _same(result, whole)


def test_a_stop_is_heard_while_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "POLL_SECONDS", 30.0)
    monkeypatch.setattr(checkpoints, "LEAST_PAUSE", 0.0)
    monkeypatch.setattr(checkpoints, "SHARE", 1e9)
    write, room = checkpoints.write_checkpoint, [1]

    def full(*given: object, **named: object) -> Path:
        if room:
            room.pop()
            return write(*given, **named)  # type: ignore[arg-type]
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr(checkpoints, "write_checkpoint", full)

    class Impatient(Stopping):
        def on_pause(self, event: PauseEvent) -> None:
            threading.Timer(0.05, self.stop.stop, ("enough",)).start()

    listener = Impatient()
    result = train(_drawn(), _recipe(checkpoint=0.001, epochs=5000), tmp_path, listener, stop=listener.stop)
    assert result.state == "interrupted"
    assert "Disk quota exceeded" in result.notes[-1]
    assert newest_checkpoint(result.run.path / layout.CHECKPOINTS)[0] is not None
    monkeypatch.setattr(checkpoints, "write_checkpoint", write)
    again = Stopping(result.steps + 5)
    assert resume(result.run, listener=again, stop=again.stop).state == "interrupted"


def test_a_full_log_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = train(_drawn(), _recipe(), tmp_path)
    monkeypatch.setattr(waiting, "POLL_SECONDS", 0.01)
    from inkcap.recipes.metrics import MetricWriter

    write, tries = MetricWriter.write, list[int]()

    def full(log: MetricWriter, *given: object) -> object:
        tries.append(1)
        if len(tries) % 3 == 0:
            os.write(log._file.fileno(), b'{"half')
            os.ftruncate(log._file.fileno(), log._end)
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(log, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(MetricWriter, "write", full)
    result = train(_drawn(), _recipe(), tmp_path)
    _same(result, whole)


def test_a_checkpoint_that_cannot_be_written_ends_the_run_with_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "LEAST_PAUSE", 0.0)

    def broken(*given: object) -> Path:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(checkpoints, "write_checkpoint", broken)
    with pytest.raises(RunFailure, match=r"checkpoints: could not be written \(Input/output error\)"):
        train(_drawn(), _recipe(), tmp_path)


def _stacked() -> tuple[Drawing, Recipe]:
    drawing = Drawing("stack")
    drawing.add("x", "1D-data", dimension=64)
    for name, kind, size in (("a", "sigmoid", 16), ("b", "sigmoid", 8), ("y", "softmax", 10)):
        drawing.then(name, f"1D-{kind}", "full", dimension=size)
    return drawing, replace(_recipe(epochs=1, pretrain=1, batch=200), data=DataSpec("digits", normalise="unit"))


@pytest.mark.parametrize("layer", [1, 2])
def test_a_stop_while_layers_are_pretrained_leaves_nothing_half_to_go_on_from(layer: int, tmp_path: Path) -> None:
    drawing, recipe = _stacked()
    whole = train(drawing, recipe, tmp_path)
    stop = StopRequest()

    class Stopping(Listener):
        def on_pretraining(self, event: PretrainingEvent) -> None:
            if event.layer == layer:
                stop.stop("enough for now")

    part = train(drawing, recipe, tmp_path, Stopping(), stop=stop)
    assert (part.state, part.reason, part.steps) == ("interrupted", "enough for now", 0)
    assert list_checkpoints(part.run.path / layout.CHECKPOINTS) == []
    rest = resume(part.run)
    _same(rest, whole)
    assert rest.run.summary()["pretraining"] == whole.run.summary()["pretraining"]


def test_pretraining_is_kept_before_the_first_step(tmp_path: Path, stopped: Callable[..., RunResult]) -> None:
    drawing, recipe = _stacked()
    whole = train(drawing, recipe, tmp_path)
    listener = Stopping(2)
    part = train(drawing, recipe, tmp_path, listener, stop=listener.stop)
    assert [path.name for path in list_checkpoints(part.run.path / layout.CHECKPOINTS)] == ["2", "0"]
    RunFolder(part.run.path / layout.CHECKPOINTS / "2", part.run.record).remove()
    rest = resume(part.run)
    _same(rest, whole)
    assert rest.run.summary()["pretraining"] == whole.run.summary()["pretraining"]
