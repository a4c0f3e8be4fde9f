"""Going on with a changed drawing: which weights are kept, what the optimiser still remembers, what is said."""

from dataclasses import replace

import pytest
import torch

from inkcap.drawing import Drawing
from inkcap.recipes import DataSpec, OptimiserSpec, Recipe, RecipeError, layout
from inkcap.recipes.checkpoints import newest_checkpoint
from inkcap.training import EpochEvent, Listener, StopRequest, resume, train
from inkcap.training.borrowing import learning_names, recall, renamed, renamings
from inkcap.training.checkpoints import read_snapshot
from inkcap.training.jobs import make_course, make_job, plan_job
from inkcap.training.session import Session


def drawn(hidden=6, second="b"):
    drawing = Drawing("changing")
    drawing.add("x", "1D-data", dimension=2)
    drawing.then("a", "1D-tanh", dimension=12)
    drawing.then(second, "1D-tanh", dimension=hidden)
    drawing.then("y", "1D-softmax", dimension=2)
    drawing.wear("a", "batch-norm")
    return drawing


def recipe(**changes):
    settings = {"batch": 16, "epochs": 3, "threads": 1, "optimiser": OptimiserSpec("adam", 0.02)}
    return Recipe(DataSpec("moons", {"n": 100}), **{**settings, **changes})


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    workspace = tmp_path_factory.mktemp("borrowing")
    return workspace, train(drawn(), recipe(), workspace).run


def job_of(workspace, drawing, chosen):
    job = make_job(plan_job(drawing, chosen, workspace), 1, None, StopRequest())
    return job, Session(make_course(job))


@pytest.mark.parametrize("kind", ["adam", "nesterov", "rmsprop", "adagrad", "nadam"])
def test_the_optimiser_remembers_what_it_did_of_every_weight_that_is_kept(tmp_path, kind):
    run = train(drawn(), recipe(optimiser=OptimiserSpec(kind, 0.01), epochs=2), tmp_path).run
    chosen = recipe(optimiser=OptimiserSpec(kind, 0.01), init_from=run.id, init_memory=True)
    job, session = job_of(tmp_path, drawn(hidden=7), chosen)
    names = learning_names(job.module, job.learning)
    recall(session, names, job.memory)
    stored, _ = newest_checkpoint(run.path / layout.CHECKPOINTS)
    snapshot = read_snapshot(stored)
    before = {name: number for number, name in enumerate(snapshot.progress["learning"])}
    assert set(job.borrowed.remembered) == {n for n in names if n in before and n in job.borrowed.taken}
    assert len(job.borrowed.remembered) >= 4
    changed = {name for name in names if name.startswith(("a-b", "b.", "b-y"))} - {"y.bias"}
    assert set(dict(job.borrowed.left)) == changed
    for name, parameter in zip(names, job.learning, strict=True):
        found = dict(session.optimiser.state.get(parameter, {}))
        if name not in job.borrowed.remembered:
            # One that begins anew remembers nothing of before: at most the noughts that its optimiser begins with.
            assert all(not value.any() for value in found.values() if isinstance(value, torch.Tensor) and value.dim())
            continue
        prefix = f"optimiser/{before[name]}/"
        wanted = {key.removeprefix(prefix): v for key, v in snapshot.tensors.items() if key.startswith(prefix)}
        assert wanted
        assert all(torch.equal(found[key], value) for key, value in wanted.items()), name


def test_weights_of_a_renamed_capsule_are_kept_and_the_words_tell_all(first):
    workspace, run = first
    chosen = recipe(init_from=run.id, init_memory=True, init_renamed="b=c, a-b=a-c, b-y=c-y", epochs=1)
    found = train(drawn(second="c"), chosen, workspace).borrowed
    assert found.left == ()
    assert {"c.bias", "a-c.weight"} <= set(found.remembered)
    lines = found.lines()
    assert lines[1] == f"with what the optimiser remembers of {len(found.remembered)} of them"
    plain = train(drawn(second="c"), replace(chosen, init_renamed=""), workspace)
    assert dict(plain.borrowed.left)["c.bias"] == "the other run has no such weight"
    assert plain.run.summary()["init_from"]["left"]["b.bias"] == "this drawing has no such weight"
    assert renamed("b.part.scale", renamings(" b = c ,")) == "c.part.scale"
    with pytest.raises(RecipeError, match="not of the form OLD=NEW"):
        train(drawn(), replace(chosen, init_renamed="b"), workspace)


def test_another_optimiser_remembers_nothing_and_says_so(first):
    workspace, run = first
    chosen = recipe(init_from=run.id, init_memory=True, optimiser=OptimiserSpec("sgd", 0.1), epochs=1)
    found = train(drawn(), chosen, workspace)
    assert found.borrowed.forgotten == "the optimiser was adam and is sgd"
    assert "without what the optimiser remembers: the optimiser was adam and is sgd" in found.borrowed.lines()
    assert found.run.summary()["init_from"]["forgotten"]


def test_a_run_that_went_on_with_a_changed_drawing_is_resumed_to_the_same_bits(first):
    workspace, run = first
    chosen = recipe(init_from=run.id, init_memory=True, epochs=3)
    whole = train(drawn(hidden=8), chosen, workspace)
    stop = StopRequest()

    class Stopping(Listener):
        def on_epoch(self, event: EpochEvent) -> None:
            stop.stop("enough")

    part = train(drawn(hidden=8), chosen, workspace, Stopping(), stop=stop)
    rest = resume(part.run)
    assert (part.state, rest.state) == ("interrupted", "finished")
    for name in (layout.WEIGHTS, layout.BEST, layout.METRICS):
        assert (whole.run.path / name).read_bytes() == (rest.run.path / name).read_bytes()
    assert rest.borrowed == whole.borrowed
    assert rest.borrowed.remembered
