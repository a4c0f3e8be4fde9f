"""Engines: whatever computes the steps, they come to the same weights; the choice is made before and kept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from inkcap.drawing import Drawing
from inkcap.engine import build, initialise
from inkcap.engine.rewrites import TRACEABLE
from inkcap.network import check
from inkcap.recipes import OPTIMISERS, DataSpec, LossSpec, OptimiserSpec, Recipe, recipe_from_json, recipe_to_json
from inkcap.structures.errors import RunFailure
from inkcap.training import Listener, PauseEvent, StopRequest, resume, train
from inkcap.training.engines import choosing, compiling, remembered
from inkcap.training.engines.choice import CHANNELS_LAST, Choice
from inkcap.training.engines.choosing import Case, choose
from inkcap.training.engines.whole import WholeStep
from inkcap.training.facts import facts_of
from inkcap.training.losses import total_loss, wanted_returns
from inkcap.training.optimisers import make_optimiser
from inkcap.zoo.lenet import lenet_for_digits
from inkcap.zoo.perceptrons import mlp

MOONS = DataSpec("moons", {"n": 120})
OPTIONS: dict[str, dict[str, Any]] = {
    "sgd": {"weight_decay": 0.1},
    "momentum": {"weight_decay": 0.01},
    "nesterov": {"weight_decay": 0.01},
    "adagrad": {"rate_decay": 0.1},
    "rmsprop": {"momentum": 0.5, "centred": True},
    "adam": {"weight_decay": 0.01},
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep what is remembered out of the user's own folder."""
    path = tmp_path / "engines.json"
    monkeypatch.setattr(remembered, "engines_file", lambda: path)
    return path


def small(dtype: str = "float64", last: str = "softmax") -> Drawing:
    return mlp((2, 6, 4, 2), "small", dtype, last=last)


def trained(folder: Path, drawing: Drawing, **settings: Any) -> dict[str, torch.Tensor]:
    recipe = Recipe(**{"data": MOONS, "epochs": 3, "batch": 16, **settings})
    result = train(drawing, recipe, folder)
    assert not result.notes, result.notes
    return load_file(result.run.path / "weights.safetensors")


def alike(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor], tolerance: float = 1e-10) -> None:
    assert first.keys() == second.keys()
    for name, weight in first.items():
        torch.testing.assert_close(second[name], weight, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("clip", [0.0, 0.3])
@pytest.mark.parametrize("kind", OPTIMISERS)
def test_every_update_rule_is_that_of_torch(kind: str, clip: float) -> None:
    network = check(mlp((4, 5, 3), "m", "float64")).network
    facts = facts_of(network)
    spec = OptimiserSpec(kind, 0.05, OPTIONS.get(kind, {}))
    recipe = Recipe(
        DataSpec("any"), losses=(LossSpec(facts.outputs[0].name, "cross-entropy"),), optimiser=spec, clip=clip
    )
    loss_of, generator, found = total_loss(facts, recipe), torch.Generator().manual_seed(0), []
    batches = [
        (torch.randn(8, 4, dtype=torch.float64, generator=generator), torch.randint(0, 3, (8,), generator=generator))
        for _ in range(5)
    ]
    for whole in (False, True):
        module = build(network, dict(wanted_returns(facts, recipe)))
        initialise(module, network, 0)
        parameters = list(module.parameters())
        optimiser = make_optimiser(spec, parameters)
        step = WholeStep(network, module, facts, recipe, optimiser) if whole else None
        for x, y in batches:
            if step is not None:
                step.set_rate()
                with torch.no_grad():
                    step.function(1, 1)(*step.values([x], [y]))
                continue
            optimiser.zero_grad()
            loss_of((module(x),), (y,)).backward()
            if clip:
                torch.nn.utils.clip_grad_norm_(parameters, clip)
            optimiser.step()
        found.append((parameters, [optimiser.state.get(p, {}) for p in parameters]))
    for by_torch, by_us in zip(found[0][0], found[1][0], strict=True):
        torch.testing.assert_close(by_us, by_torch, rtol=1e-8, atol=1e-8)
    for theirs, ours in zip(found[0][1], found[1][1], strict=True):
        # What is remembered has the same names and values, so that a checkpoint of one suits the other.
        kept = {name: value for name, value in theirs.items() if value is not None}
        assert kept.keys() == ours.keys()
        for name, value in kept.items():
            torch.testing.assert_close(ours[name], value, rtol=1e-6, atol=1e-8)


def test_a_normalised_network_with_maxima_is_compiled() -> None:
    drawing = Drawing("normalised", "float64")
    drawing.add("x", "2D-data", height=4, width=4, channels=1)
    drawing.then("a", "2D-relu", "convolution", kernels=4, kernel=3, padding=1, bias="none")
    drawing.wear("a", "batch-norm")
    drawing.then("b", "2D-downsampling", window=4)
    drawing.then("e", "1D-identical", "reshaping")
    drawing.then("y", "1D-softmax", "full", dimension=3)
    network = check(drawing).network
    facts = facts_of(network)
    recipe = Recipe(DataSpec("any"), losses=(LossSpec("y", "cross-entropy"),), optimiser=OptimiserSpec("sgd", 0.1))
    generator, found = torch.Generator().manual_seed(0), []
    x = torch.randn(6, 1, 4, 4, dtype=torch.float64, generator=generator).to(memory_format=torch.channels_last)
    y = torch.randint(0, 3, (6,), generator=generator)
    for compiled in (False, True):
        module = build(network, dict(wanted_returns(facts, recipe)))
        initialise(module, network, 0)
        optimiser = make_optimiser(recipe.optimiser, list(module.parameters()))
        step = WholeStep(network, module, facts, recipe, optimiser, TRACEABLE)
        step.set_rate()
        take, values = step.function(1, 1), step.values([x], [y])
        with torch.no_grad():
            (compiling.compile_step(take, values) if compiled else take)(*values)
        found.append(module.state_dict())
    alike(*found)


def test_all_engines_come_to_the_same_weights(tmp_path: Path) -> None:
    eager = trained(tmp_path, small(), engine="eager")
    for engine in ("explicit", "compiled", "plain"):
        alike(eager, trained(tmp_path, small(), engine=engine))


@pytest.mark.parametrize("loss", ["cross-entropy", "mean-squared-error", "binary-cross-entropy"])
@pytest.mark.parametrize("kind", ["sgd", "momentum", "adam"])
def test_many_steps_in_a_call_are_the_steps_one_by_one(tmp_path: Path, kind: str, loss: str) -> None:
    last = {"cross-entropy": "softmax", "mean-squared-error": "identical", "binary-cross-entropy": "sigmoid"}[loss]
    drawing = mlp((4, 5, 3), "m", "float64", last=last)
    settings = {"data": DataSpec("iris"), "losses": (LossSpec("", loss),), "optimiser": OptimiserSpec(kind, 0.02)}
    alike(
        *(trained(tmp_path, drawing, engine=engine, epochs=2, **settings) for engine in ("eager", "plain")),
        tolerance=1e-9,
    )


def test_pictures_channels_last_come_to_the_same_weights(tmp_path: Path) -> None:
    drawing = lenet_for_digits()
    recipe = Recipe(DataSpec("digits"), epochs=1, batch=128)
    as_drawn = load_file(train(drawing, recipe, tmp_path).run.path / "weights.safetensors")
    for engine in ("eager", "explicit"):
        choice = Choice(engine, CHANNELS_LAST, 1)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("inkcap.training.engines.settling.choose", lambda case, c=choice: choosing.Chosen(c))
            result = train(drawing, recipe, tmp_path)
        assert result.run.environment()["layout"] == CHANNELS_LAST
        alike(as_drawn, load_file(result.run.path / "weights.safetensors"), tolerance=1e-4)


def _case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> Case:
    """Catch the case of a run just before its choice."""
    caught: list[Case] = []

    def catch(case: Case) -> choosing.Chosen:
        caught.append(case)
        return choosing.Chosen(Choice("eager", threads=1))

    with monkeypatch.context() as patch:
        patch.setattr("inkcap.training.engines.settling.choose", catch)
        train(
            settings.pop("drawing", lenet_for_digits()),
            Recipe(**{"data": DataSpec("digits"), "epochs": 1, **settings}),
            tmp_path,
        )
    return caught[0]


def test_a_short_run_begins_at_once_and_a_long_one_is_measured_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    case = _case(tmp_path, monkeypatch)
    assert case.work < choosing.WORTH_MEASURING
    assert choose(case).choice == Choice("eager", threads=case.threads)
    assert not own_cache.exists()
    told: list[str] = []
    long = replace(case, course=replace(case.course, recipe=replace(case.course.recipe, epochs=2000)), tell=told.append)
    monkeypatch.setattr(choosing, "WORTH_COMPILING", 1e12)
    before = [p.clone() for p in case.course.module.parameters()], torch.get_rng_state()
    chosen = choose(long).choice
    assert told == ["finding the fastest way to compute"]
    assert all(torch.equal(a, b) for a, b in zip(before[0], case.course.module.parameters(), strict=True))
    assert torch.equal(before[1], torch.get_rng_state())
    assert chosen.engine in ("eager", "explicit")
    monkeypatch.setattr(choosing, "_fastest", lambda case: pytest.fail("it was measured again"))
    assert choose(long).choice == chosen
    own_cache.write_text("{ not json")
    with pytest.raises(pytest.fail.Exception):
        choose(long)


def test_what_is_faster_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = _case(tmp_path, monkeypatch)
    monkeypatch.setattr(choosing, "WORTH_MEASURING", 0.0)
    warm = choosing.Trial.warm

    def slow_eager(trial: Any) -> None:
        warm(trial)
        if trial.choice.engine == "eager":
            take = trial._take
            trial._take = lambda *batch: [take(*batch) for _ in range(4)][-1]

    monkeypatch.setattr(choosing.Trial, "warm", slow_eager)
    assert choose(case).choice.engine == "explicit"


def test_without_a_compiler_it_says_so_once_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (choosing, compiling):
        monkeypatch.setattr(module, "has_compiler", lambda: False)
    result = train(small(), Recipe(MOONS, epochs=1, engine="compiled"), tmp_path)
    assert result.notes == (compiling.NO_COMPILER,)
    assert result.run.environment()["engine"] == "explicit"


def test_what_cannot_be_compiled_says_why_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise compiling.CompileFailure("the step cannot be compiled (Because: of something)")

    monkeypatch.setattr("inkcap.training.engines.steppers.compile_step", fail)
    result = train(small(), Recipe(MOONS, epochs=1, engine="compiled"), tmp_path)
    (note,) = result.notes
    assert note == "the step cannot be compiled (Because: of something); its steps are computed one by one."
    assert result.run.environment()["engine"] == "explicit"


def test_a_network_that_is_not_plain_says_so(tmp_path: Path) -> None:
    result = train(lenet_for_digits(), Recipe(DataSpec("digits"), epochs=1, engine="plain"), tmp_path)
    assert "up to 4,000 connections" in result.notes[0]
    assert result.run.environment()["engine"] == "eager"


@pytest.mark.parametrize("engine", ["explicit", "plain"])
def test_a_run_goes_on_with_its_engine(tmp_path: Path, engine: str) -> None:
    recipe = Recipe(MOONS, epochs=4, batch=16, engine=engine)
    whole = train(small("float32"), recipe, tmp_path)
    paused = train(small("float32"), recipe, tmp_path, stop=StopRequest(2))
    again = resume(paused.run, tmp_path)
    assert "to the same bits" in " ".join(again.notes)
    ends = [load_file(result.run.path / "weights.safetensors") for result in (whole, again)]
    assert all(torch.equal(ends[0][name], ends[1][name]) for name in ends[0])
    assert again.run.environment()["engine"] == engine


def test_resuming_where_it_cannot_be_compiled_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paused = train(small("float32"), Recipe(MOONS, epochs=2, engine="explicit"), tmp_path, stop=StopRequest(1))
    newest = max((paused.run.path / "checkpoints").iterdir())
    progress = newest / "progress.json"
    # What a machine with a compiler would have kept.
    told = json.loads(progress.read_text())
    assert told["fingerprint"]["environment"]["engine"] == "explicit"
    from inkcap.training.engines.settling import stored_choice

    monkeypatch.setattr("inkcap.training.engines.switching.has_compiler", lambda: False)
    kept = {**told["fingerprint"]["environment"], "engine": "compiled"}
    assert stored_choice(kept, 1, torch.device("cpu")).engine == "explicit"


@pytest.mark.parametrize("engine", ["eager", "explicit", "compiled", "plain"])
def test_nothing_moves_where_the_loss_is_not_finite(tmp_path: Path, engine: str) -> None:
    rows = [f"{i % 7},{i % 5},{i % 11 / 3}" for i in range(64)]
    rows[40] = "3e38,3e38,1.5"
    (tmp_path / "t.csv").write_text("\n".join(["u,v,y", *rows]))
    recipe = Recipe(
        DataSpec("t.csv", normalise="none"),
        losses=(LossSpec("", "mean-squared-error"),),
        optimiser=OptimiserSpec("sgd", 0.001),
        batch=1,
        epochs=2,
        validation=0.0,
        engine=engine,
    )
    with pytest.raises(RunFailure) as caught:
        train(mlp((2, 4, 1), "m", "float32", last="identical"), recipe, tmp_path)
    assert "the loss became" in str(caught.value)
    (folder,) = (tmp_path / "runs").iterdir()
    weights = load_file(folder / "weights.safetensors")
    assert all(torch.isfinite(value).all() for value in weights.values())


class Heard(Listener):
    def __init__(self) -> None:
        self.pauses: list[PauseEvent] = []

    def on_pause(self, event: PauseEvent) -> None:
        self.pauses.append(event)


def test_compiling_is_told(tmp_path: Path) -> None:
    heard = Heard()
    train(small("float32"), Recipe(MOONS, epochs=1, engine="compiled"), tmp_path, heard)
    assert [event.waiting for event in heard.pauses] == [True, False]
    assert "compiling the step" in heard.pauses[0].reason


def test_recipes_of_earlier_versions_are_read() -> None:
    for old, new in (("universal", "explicit"), ("autograd", "eager")):
        given = {"format": "inkcap-recipe", "version": 1, "data": {"name": "moons"}, "algorithm": old}
        assert recipe_from_json(given).engine == new
    # Loaders were called workers before there were any that share a batch.
    first = recipe_from_json({"format": "inkcap-recipe", "version": 1, "data": {"name": "moons"}, "workers": 3})
    assert (first.loaders, first.workers) == (3, 1)
    assert recipe_from_json({**recipe_to_json(first), "workers": 2}).workers == 2
