"""A switch of engines in mid-run: at the step that the recipe names, kept with the run, replayed when it goes on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from inkcap.drawing import Drawing
from inkcap.recipes import OPTIMISERS, DataSpec, OptimiserSpec, Recipe, RecipeError, RunFolder
from inkcap.training import Listener, PauseEvent, StopRequest, resume, train
from inkcap.training.engines import compiling, remembered, settling, steppers, switching
from inkcap.training.engines.choice import Choice, Switch
from inkcap.training.engines.recording import Recording
from inkcap.training.engines.settling import stored_choice
from inkcap.training.errors import TrainingError
from inkcap.zoo.games import small_q_network
from inkcap.zoo.perceptrons import mlp

MOONS = DataSpec("moons", {"n": 120})


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "engines_file", lambda: tmp_path / "engines.json")


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the whole step stand for what is compiled of it."""
    monkeypatch.setattr(steppers, "compile_step", lambda step, values: step)


def small(dtype: str = "float32") -> Drawing:
    return mlp((2, 6, 4, 2), "small", dtype)


def recipe(**settings: Any) -> Recipe:
    return Recipe(**{"data": MOONS, "epochs": 4, "batch": 16, **settings})


def weights(run: RunFolder) -> dict[str, Tensor]:
    return load_file(run.path / "weights.safetensors")


def same(first: dict[str, Tensor], second: dict[str, Tensor]) -> bool:
    return all(torch.equal(first[name], second[name]) for name in first)


class Heard(Listener):
    def __init__(self) -> None:
        self.pauses: list[PauseEvent] = []

    def on_pause(self, event: PauseEvent) -> None:
        self.pauses.append(event)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give the engines of all steps, in their order."""
    engines: list[str] = []
    make = settling.make_stepper

    def made(choice: Choice, *rest: Any) -> Callable[..., Tensor]:
        take = make(choice, *rest)

        def counted(*batch: Any) -> Tensor:
            engines.append(choice.engine)
            return take(*batch)

        return counted

    monkeypatch.setattr(settling, "make_stepper", made)
    return engines


@pytest.mark.parametrize("switch", ["explicit@9", "explicit@12", "compiled@9"])
def test_a_run_that_goes_on_switches_where_it_would_have(tmp_path: Path, taken: list[str], switch: str) -> None:
    engine, _, after = switch.partition("@")
    whole = train(small(), recipe(switch_engine=switch), tmp_path)
    everything = ["eager"] * int(after) + [engine] * (24 - int(after))
    assert taken == everything
    told = whole.run.environment()
    assert told["engine"] == "eager"
    assert told["switch"] == Switch(int(after), engine, tuple(told["switch"]["rewrites"])).to_json()
    # Six steps an epoch: before the switch, and after it or, for step 12, at it.
    for epochs in (1, 2):
        taken.clear()
        paused = train(small(), recipe(switch_engine=switch), tmp_path, stop=StopRequest(epochs))
        again = resume(paused.run, tmp_path)
        assert "to the same bits" in " ".join(again.notes)
        assert same(weights(whole.run), weights(again.run)), f"paused after {epochs} epochs"
        assert taken == everything


def test_the_switch_is_told_when_it_comes(tmp_path: Path) -> None:
    heard = Heard()
    train(small(), recipe(switch_engine="compiled@9"), tmp_path, heard)
    first, *others = [(event.reason, event.waiting) for event in heard.pauses]
    assert first[0].startswith("from here on: compiled, ")
    assert not first[1]
    assert others == [(compiling.COMPILING, True), ("computing: compiled", False)]


@pytest.mark.parametrize("kind", OPTIMISERS)
def test_what_the_optimiser_remembers_goes_on(tmp_path: Path, uncompiled: None, kind: str) -> None:
    settings: dict[str, Any] = {"optimiser": OptimiserSpec(kind, 0.02), "clip": 0.5}
    eager = weights(train(small("float64"), recipe(engine="eager", **settings), tmp_path).run)
    for engine, switch in (("eager", "compiled@9"), ("compiled", "eager@9"), ("compiled", "explicit@9")):
        switched = train(small("float64"), recipe(engine=engine, switch_engine=switch, **settings), tmp_path)
        assert switched.run.environment()["engine"] == engine
        for name, weight in weights(switched.run).items():
            torch.testing.assert_close(weight, eager[name], rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"switch_engine": "compiled"}, "give ENGINE@STEP, such as compiled@500"),
        ({"switch_engine": "compiled@-3"}, "give ENGINE@STEP, such as compiled@500"),
        ({"switch_engine": "compiled@²"}, "give ENGINE@STEP, such as compiled@500"),
        ({"switch_engine": "explicit@0"}, "give explicit as engine, or a step above 0"),
        (
            {"switch_engine": "quick@5"},
            "there is no engine 'quick' to switch to; give one of eager, explicit, compiled",
        ),
        ({"switch_engine": "auto@5"}, "there is no engine 'auto' to switch to"),
        ({"switch_engine": "plain@5"}, "plain takes many steps in one call"),
        ({"switch_engine": "explicit@5", "engine": "plain"}, "the engine plain keeps all steps"),
        ({"switch_engine": "eager@5"}, "the run begins with eager already"),
        ({"switch_engine": "explicit@5", "engine": "explicit"}, "the run begins with explicit already"),
    ],
)
def test_a_switch_that_cannot_be_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(RecipeError) as caught:
        recipe(**settings)
    assert words in str(caught.value)
    assert str(caught.value).startswith("recipe.switch_engine: ")


def test_a_switch_beyond_the_last_step_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingError) as caught:
        train(small(), recipe(switch_engine="explicit@24"), tmp_path)
    assert "the run has 24 steps in all, 6 in each of 4 epochs" in str(caught.value)
    assert "give a step below 24" in str(caught.value)
    assert not (tmp_path / "runs").exists()
    train(small(), recipe(switch_engine="explicit@23"), tmp_path)


@pytest.mark.parametrize(
    ("drawing", "data", "words"),
    [
        (small("float16"), MOONS, "its weights have 16 bits"),
        (
            small_q_network(input=(2, 3, 4), width=3, hidden=8),
            DataSpec("grid-world", {"n": 60, "size": "2x3", "walls": 1, "pits": 1, "falling": 2}),
            "its samples are played",
        ),
    ],
)
def test_what_cannot_be_compiled_cannot_be_switched_to(
    tmp_path: Path, drawing: Drawing, data: DataSpec, words: str
) -> None:
    with pytest.raises(TrainingError) as caught:
        train(drawing, recipe(data=data, switch_engine="compiled@3"), tmp_path)
    assert f"this run cannot be compiled, since {words}; give explicit@3." in str(caught.value)


def test_without_a_compiler_the_switch_is_to_explicit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switching, "has_compiler", lambda: False)
    result = train(small(), recipe(switch_engine="compiled@9"), tmp_path)
    assert result.notes == (compiling.NO_COMPILER,)
    assert result.run.environment()["switch"]["engine"] == "explicit"
    kept = {**Choice("compiled", switch=Switch(4, "eager")).to_json()}
    assert stored_choice(kept, 1, torch.device("cpu")) == Choice("explicit", threads=1, switch=Switch(4, "eager"))
    kept = {**Choice("eager", switch=Switch(4, "compiled")).to_json()}
    assert stored_choice(kept, 1, torch.device("cpu")) == Choice(threads=1, switch=Switch(4, "explicit"))


def test_what_fails_to_compile_in_mid_run_is_told_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise compiling.CompileFailure("the step cannot be compiled (Because: of something)")

    monkeypatch.setattr(steppers, "compile_step", fail)
    heard = Heard()
    result = train(small(), recipe(switch_engine="compiled@9"), tmp_path, heard)
    assert result.steps == 24
    assert "(Because: of something); its steps are computed one by one." in heard.pauses[-1].reason


def replayed(run: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
    """Record as a GPU does: nothing is computed now, and the result lies always in the same place."""
    result = torch.full((), torch.nan)

    def again() -> None:
        result.copy_(run())

    return again, result


def test_recorded_steps_are_the_steps_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uncompiled: None
) -> None:
    drawing = small()
    drawing.wear("b", "dropout", probability=0.3)
    # Of 58 samples eight are left for a last, smaller batch.
    settings: dict[str, Any] = {"data": DataSpec("moons", {"n": 64}), "validation": 0.1, "epochs": 3, "batch": 10}
    plain = train(drawing, recipe(engine="compiled", **settings), tmp_path)
    replays: list[Recording] = []

    class Counted(Recording):
        def __call__(self, *batch: Tensor) -> Tensor:
            replays.append(self)
            return super().__call__(*batch)

    monkeypatch.setattr(steppers, "can_record", lambda device: True)
    monkeypatch.setattr(steppers, "Recording", partial(Counted, record=replayed))
    recorded = train(drawing, recipe(engine="compiled", **settings), tmp_path)
    assert same(weights(plain.run), weights(recorded.run))
    # In the run every whole batch but the first is replayed; trials before it have recordings of their own.
    assert replays.count(replays[-1]) == 3 * 5 - 1
    assert [dict(r.values) for r in plain.run.metrics().records] == [
        dict(r.values) for r in recorded.run.metrics().records
    ]


def test_settings_of_the_compiler() -> None:
    assert compiling.inductor_settings("cpu") == {"fallback_random": True}
    on_gpu = compiling.inductor_settings("cuda")
    assert on_gpu["fallback_random"] is True
    assert on_gpu["deterministic"] is True
    assert on_gpu["triton.cudagraphs"] is False
    from torch._inductor import config

    with config.patch(on_gpu):  # torch knows these names
        assert config.deterministic
