"""TensorBoard and MLflow hear of a run what its log holds, each point once, and never hurt it."""

import importlib.util
import threading
import time

import pytest

from inkcap.drawing import Drawing
from inkcap.recipes import DataSpec, OptimiserSpec, Recipe, layout, read_log
from inkcap.training import EpochEvent, Listener, StopRequest, TrainingError, Watching, resume, train
from inkcap.training.watchers import beside, stored_watching
from inkcap.training.watchers.beside import Beside, Line

FILES = (layout.WEIGHTS, layout.BEST, layout.METRICS)


def drawn():
    drawing = Drawing("watched")
    drawing.add("x", "1D-data", dimension=2)
    drawing.then("h", "1D-tanh", dimension=6)
    drawing.then("y", "1D-softmax", dimension=2)
    return drawing


def recipe(**changes):
    settings = {"batch": 16, "epochs": 4, "threads": 1, "optimiser": OptimiserSpec("adam", 0.02), "signals": True}
    return Recipe(DataSpec("moons", {"n": 100}), **{**settings, **changes})


class StopAfter(Listener):
    def __init__(self, epoch):
        self.stop, self.epoch = StopRequest(), epoch

    def on_epoch(self, event: EpochEvent) -> None:
        if event.epoch == self.epoch:
            self.stop.stop("enough")


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The run that nobody watches."""
    return train(drawn(), recipe(), tmp_path_factory.mktemp("plain"))


def stop_and_resume(workspace, watching):
    listener = StopAfter(2)
    part = train(drawn(), recipe(), workspace, listener, stop=listener.stop, watching=watching)
    assert (part.state, stored_watching(part.run)) == ("interrupted", watching)
    return part, resume(part.run)


def expected(run):
    """Every point of the run's own logs."""
    found = {}
    for name in (layout.METRICS, layout.SIGNALS):
        for record in read_log(run.path / name).records:
            place = "signals" if name == layout.SIGNALS else record.kind
            for key, value in record.values.items():
                found.setdefault(f"{place}/{key}", []).append((record.step, pytest.approx(value, rel=1e-6)))
    return found


def test_event_files_hold_every_point_once_also_after_a_resume(tmp_path, plain):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    _, rest = stop_and_resume(tmp_path, Watching(tensorboard=True))
    assert not any("tensorboard" in note for note in rest.notes)
    read = EventAccumulator(str(rest.run.path / "tensorboard"), size_guidance={"scalars": 0})
    read.Reload()
    wanted = expected(rest.run)
    assert {"step/loss", "step/rate", "epoch/val_accuracy"} <= set(wanted)
    assert any(name.startswith("signals/") for name in wanted)
    assert set(read.Tags()["scalars"]) == set(wanted)
    for name, points in wanted.items():
        assert [(event.step, event.value) for event in read.Scalars(name)] == points
    assert "recipe/text_summary" in read.Tags()["tensors"]
    text = read.Tensors("recipe/text_summary")[0].tensor_proto.string_val[0].decode()
    assert '"optimiser"' in text
    # It was only looked at: the bits are those of a run that nobody watched.
    for name in FILES:
        assert (rest.run.path / name).read_bytes() == (plain.run.path / name).read_bytes()


def test_mlflow_hears_parameters_metrics_tags_and_artifacts_each_point_once(tmp_path, plain):
    folder = tmp_path / "tracked"
    part, rest = stop_and_resume(tmp_path, Watching(mlflow=str(folder)))
    assert not any("mlflow" in note for note in (*part.notes, *rest.notes)), rest.notes
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=folder.as_uri())
    (run,) = client.search_runs([client.get_experiment_by_name("watched").experiment_id])
    assert (run.info.status, run.data.tags["inkcap.run"]) == ("FINISHED", rest.run.id)
    assert (run.data.params["optimiser.rate"], run.data.params["data.name"]) == ("0.02", "moons")
    for name, points in expected(rest.run).items():
        assert [(metric.step, metric.value) for metric in client.get_metric_history(run.info.run_id, name)] == points
    kept = {file.path for file in client.list_artifacts(run.info.run_id)}
    assert {layout.DRAWING, layout.RECIPE, layout.SUMMARY, layout.BEST} <= kept
    for name in FILES:
        assert (rest.run.path / name).read_bytes() == (plain.run.path / name).read_bytes()


def test_a_server_that_is_away_is_told_once_and_costs_nothing(tmp_path, plain, monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    # The port of the discard service, where nobody listens.
    result = train(drawn(), recipe(), tmp_path, watching=Watching(mlflow="http://127.0.0.1:9"))
    (note,) = (note for note in result.notes if note.startswith("mlflow:"))
    assert "the training went on without it" in note or "did not finish" in note
    assert result.state == "finished"
    assert (result.run.path / layout.BEST).read_bytes() == (plain.run.path / layout.BEST).read_bytes()


def test_what_is_not_installed_is_said_before_anything_is_trained(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for watching, name in ((Watching(tensorboard=True), "tensorboard"), (Watching(mlflow="x"), "mlflow")):
        with pytest.raises(TrainingError, match=rf"--{name}: .*pip install 'inkcap\[{name}\]'"):
            train(drawn(), recipe(), tmp_path, watching=watching)
    assert not (tmp_path / "runs").exists()


def test_a_watcher_that_hangs_or_breaks_holds_nobody(tmp_path, monkeypatch):
    monkeypatch.setattr(beside, "FAREWELL", 0.05)
    hanging = threading.Event()

    class Hanging:
        name = "hanging"

        def begin(self):
            hanging.wait(20)

        def hear(self, lines):
            pass

        def end(self, state):
            pass

    class Breaking(Hanging):
        name = "breaking"

        def begin(self):
            raise RuntimeError("no such thing\nand more")

    stuck, broken = Beside(Hanging(), tmp_path, {}), Beside(Breaking(), tmp_path, {})
    begun = time.monotonic()
    for number in range(1, 60_000):
        stuck.tell(Line(layout.METRICS, number, "step", 1, number, {"loss": 1.0}))
    broken.close("finished")
    stuck.close("finished")
    assert time.monotonic() - begun < 5
    assert "too slow" in stuck.problem
    assert broken.problem == "breaking: no such thing; the training went on without it"
    hanging.set()
