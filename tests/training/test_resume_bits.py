"""Going on from every step gives, to the bit, all that a training which never stopped comes to.

Every source of random numbers is put elsewhere first. What is compared is everything that a checkpoint holds, the
lines of the log among it: a running mean, for example, shows in no loss. That the comparison would see each piece, if
it were forgotten, is proved by forgetting it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from standing import Stand, Training, garbage

from inkcap.drawing import Drawing, make_group
from inkcap.recipes import OPTIMISERS, DataSpec, OptimiserSpec, Recipe, ScheduleSpec
from inkcap.training.session import Session
from inkcap.zoo.games import small_q_network
from inkcap.zoo.perceptrons import mlp

MOONS = DataSpec("moons", {"n": 60})
GAME = DataSpec("grid-world", {"n": 60, "size": "2x3", "walls": 1, "pits": 1, "falling": 2})


def _drawn(dtype: str = "float32", wear: bool = True, hidden: str = "tanh") -> Drawing:
    drawing = Drawing("alive", dtype)
    drawing.add("x", "1D-data", dimension=2)
    drawing.then("a", f"1D-{hidden}", dimension=6)
    drawing.then("b", "1D-tanh", dimension=5)
    drawing.then("y", "1D-softmax", dimension=2)
    if wear:
        drawing.wear("a", "batch-norm")
        drawing.wear("b", "dropout", probability=0.3)
    return drawing


def _neurons() -> Drawing:
    drawing = Drawing("neurons")
    for name in ("u", "v"):
        drawing.add(name, "0D-data")
    for name in ("h", "i", "j"):
        drawing.add(name, "0D-tanh")
        for back in ("u", "v"):
            drawing.connect(back, name)
    drawing.add("y", "0D-identical")
    for back in ("h", "i", "j"):
        drawing.connect(back, "y")
    return drawing


def _player() -> Drawing:
    drawing = small_q_network(input=(2, 3, 4), width=3, hidden=8)
    drawing.wear("c2", "batch-norm")
    drawing.wear("h", "dropout", probability=0.3)
    return drawing


def _grouped() -> Drawing:
    """Two hidden layers as a group, one of which wears a norm and dropout."""
    drawing = _drawn()
    make_group(drawing, ["a", "b"], "both")
    return drawing


def _recipe(**changes: Any) -> Recipe:
    settings: dict[str, Any] = {"batch": 16, "epochs": 3, "seed": 5, "optimiser": OptimiserSpec("adam", 0.05)}
    return Recipe(**{"data": MOONS, **settings, **changes})


def _table(folder: Path) -> DataSpec:
    rows = [f"{i % 7}.5,{i % 5}.5,{(i % 7) - (i % 5) / 2}" for i in range(60)]
    (folder / "t.csv").write_text("\n".join(["u,v,y", *rows]))
    return DataSpec("t.csv")


CASES: dict[str, tuple[Drawing, dict[str, Any]]] = {
    **{f"optimiser {kind}": (_drawn(), {"optimiser": OptimiserSpec(kind)}) for kind in OPTIMISERS},
    "momentum, centred": (
        _drawn(),
        {"optimiser": OptimiserSpec("rmsprop", 0.01, {"momentum": 0.9, "centred": True})},
    ),
    "plain descent with decay": (_drawn(), {"optimiser": OptimiserSpec("sgd", 0.1, {"weight_decay": 0.01})}),
    "step": (_drawn(), {"schedule": ScheduleSpec("step", {"every": 1, "factor": 0.5})}),
    "exponential": (_drawn(), {"schedule": ScheduleSpec("exponential", {"factor": 0.7})}),
    "cosine, warm-up": (_drawn(), {"schedule": ScheduleSpec("cosine", {"warm_up": 1.5})}),
    "one-cycle": (_drawn(), {"schedule": ScheduleSpec("one-cycle")}),
    "plateau, warm-up": (
        _drawn(),
        {
            "schedule": ScheduleSpec("plateau", {"patience": 0, "threshold": 0.9, "factor": 0.5, "warm_up": 0.5}),
            "epochs": 5,
        },
    ),
    "early stop": (_drawn(), {"early_stop": 1, "epochs": 9, "optimiser": OptimiserSpec("adam", 0.5)}),
    "augmentation": (_drawn(), {"data": DataSpec("moons", {"n": 60}, augment="noise=0.2")}),
    "two loaders": (_drawn(), {"data": DataSpec("moons", {"n": 60}, augment="noise=0.2"), "loaders": 2}),
    "stochastic": (_drawn(hidden="stochastic-binary"), {}),
    "universal": (_drawn(), {"engine": "explicit"}),
    "universal, stochastic": (_drawn(hidden="stochastic-binary"), {"engine": "explicit", "clip": 0.5}),
    "compiled, stochastic": (_drawn(hidden="stochastic-binary"), {"engine": "compiled", "clip": 0.5}),
    "many steps in a call": (mlp((2, 6, 4, 2), "small", last="softmax"), {"engine": "plain"}),
    "many steps in a call, moving rate": (
        mlp((2, 6, 2), "small"),
        {"engine": "plain", "schedule": ScheduleSpec("cosine"), "optimiser": OptimiserSpec("momentum", 0.05)},
    ),
    # Of nine steps in three epochs: in the middle of one, at its end, and where a run is gone on from.
    "eager, then explicit": (_drawn(), {"switch_engine": "explicit@5"}),
    "explicit, then eager": (_drawn(), {"engine": "explicit", "switch_engine": "eager@3"}),
    "eager, then compiled": (_drawn(hidden="stochastic-binary"), {"switch_engine": "compiled@5"}),
    "compiled, then eager": (_drawn(), {"engine": "compiled", "switch_engine": "eager@4"}),
    "narrow by bfloat16": (_drawn(), {"precision": "bfloat16"}),
    "narrow by float16": (_drawn(), {"precision": "float16", "clip": 0.5}),
    "float16": (_drawn("float16", wear=False), {}),
    "float16, momentum": (_drawn("float16", wear=False), {"optimiser": OptimiserSpec("momentum", 0.05)}),
    "float64": (_drawn("float64"), {}),
    "groups computed again": (_grouped(), {"recompute": ("all",)}),
    "frozen": (_drawn(), {"freeze": ("a.*",)}),
    "no validation": (_drawn(), {"validation": 0.0}),
    "accuracy": (_drawn(), {"monitor": "accuracy"}),
    "plain": (_neurons(), {}),
    "played": (small_q_network(input=(2, 3, 4), width=3, hidden=8), {"data": GAME, "monitor": "reward"}),
    "played, dropout": (_player(), {"data": GAME, "engine": "explicit"}),
}


def _training(name: str, folder: Path) -> Training:
    drawing, changes = CASES[name]
    if name == "plain":
        changes = {**changes, "data": _table(folder)}
    return Training.of(drawing, _recipe(**changes), folder)


@pytest.mark.parametrize("name", CASES)
def test_every_step_is_one_to_go_on_from(tmp_path: Path, name: str) -> None:
    training = _training(name, tmp_path)
    assert (training.plan.network.plain is not None) == (name == "plain")
    whole = training.run()
    assert whole.last is not None
    wanted = whole.last.digest()
    assert len(whole.stands) >= 9
    # A run ends in the same way from any of its steps, so the last and a spread of the others are gone on from; all
    # of them are for the networks where most can be forgotten.
    chosen = whole.stands if name in ("plateau, warm-up", "stochastic") else whole.stands[1::4] + whole.stands[-1:]
    # The very last one too: a run may be killed between its last step and its last word.
    for stand in [*chosen, whole.last]:
        again = training.run(stand).last
        assert again is not None
        assert again.digest() == wanted, f"{name}: going on from step {stand.snapshot.step} gives other bits"


def test_however_many_loaders_the_bits_are_the_same(tmp_path: Path) -> None:
    alone, together = (_training(name, tmp_path).run().last for name in ("augmentation", "two loaders"))
    assert alone is not None
    assert together is not None
    assert alone.digest() == together.digest()


def _without_random(session: Session) -> None:
    garbage()


def _fresh_weights(session: Session) -> None:
    with torch.no_grad():
        for parameter in session.course.module.parameters():
            parameter.mul_(1.0 + 2.0**-20)


def _fresh_means(session: Session) -> None:
    for path, buffer in session.course.module.named_buffers():
        if "mean" in path:
            buffer.zero_()


def _fresh_groups(session: Session) -> None:
    for group in session.optimiser.param_groups:
        group["lr"] *= 1.0 + 2.0**-40


def _narrow_copies(session: Session) -> None:
    wide = [p for group in session.optimiser.param_groups for p in group["params"]]
    for own, copy in zip(session.course.parameters, wide, strict=True):
        copy.data.copy_(own.data.to(copy.dtype))


Forget = Callable[[Stand], Stand]
Twist = Callable[[Session], None]

FORGOTTEN: dict[str, tuple[str, Forget | None, Twist | None]] = {
    "the weights": ("optimiser adam", None, _fresh_weights),
    "the running means": ("no validation", None, _fresh_means),
    "what the optimiser remembers": ("optimiser adam", lambda s: s.changed("optimiser/"), None),
    "the sum of squares": ("optimiser adagrad", lambda s: s.changed("optimiser/"), None),
    "the momentum": ("optimiser momentum", lambda s: s.changed("optimiser/"), None),
    "the rate in the groups": ("plateau, warm-up", None, _fresh_groups),
    "the wide copies": ("float16", None, _narrow_copies),
    "the random numbers": ("optimiser adam", None, _without_random),
    "the random numbers of stochastic neurons": ("universal, stochastic", None, _without_random),
    "the batches that are done": ("optimiser adam", lambda s: s.changed(batches=0), None),
    "the epoch": ("optimiser adam", lambda s: s.changed(epoch=1), None),
    "the step": ("one-cycle", lambda s: s.changed(step=0), None),
    "the sum of the losses": ("optimiser adam", lambda s: s.changed(sum=0.0), None),
    "how many losses": ("optimiser adam", lambda s: s.changed(count=0), None),
    "the best value": ("accuracy", lambda s: s.changed(best_value=-1.0), None),
    "the best epoch": ("early stop", lambda s: s.changed(best_epoch=0), None),
    "the plateau": (
        "plateau, warm-up",
        lambda s: s.changed(schedule={**s.snapshot.progress["schedule"], "best": {"$number": "inf"}}),
        None,
    ),
    "the plateau's count": (
        "plateau, warm-up",
        lambda s: s.changed(schedule={**s.snapshot.progress["schedule"], "last_epoch": 0}),
        None,
    ),
    "the scale of the loss": (
        "narrow by float16",
        lambda s: s.changed(scaler={**s.snapshot.progress["scaler"], "_growth_tracker": 0}),
        None,
    ),
    "what was played": ("played", lambda s: s.changed("played/"), None),
    "the frozen means": ("frozen", lambda s: s.changed("frozen/"), None),
}


@pytest.mark.parametrize("what", FORGOTTEN)
def test_whatever_is_forgotten_shows(tmp_path: Path, what: str) -> None:
    name, forget, twist = FORGOTTEN[what]
    training = _training(name, tmp_path)
    whole = training.run()
    assert whole.last is not None
    # In the middle of an epoch, some of everything having been done; the last one for what only shows at the end.
    stands = [s for s in whole.stands if s.snapshot.progress["epoch"] > 1 and s.snapshot.progress["batches"] == 1]
    stand = stands[-1 if what == "the best epoch" else 0]
    again = training.run(forget(stand) if forget else stand, twist).last
    assert again is not None
    assert again.digest() != whole.last.digest()


def test_losses_that_wait_to_be_told_are_kept(tmp_path: Path) -> None:
    training = Training.of(_drawn(), _recipe(data=DataSpec("moons", {"n": 400}), batch=10, epochs=2), tmp_path)
    whole = training.run()
    stand = whole.stands[40]
    assert len(stand.snapshot.tensors["pending"]) > 0
    again = training.run(stand).last
    assert again is not None
    assert whole.last is not None
    assert again.digest() == whole.last.digest()
    tensors = {**stand.snapshot.tensors, "pending": torch.zeros(0)}
    lost = training.run(Stand(replace(stand.snapshot, tensors=tensors), stand.lines)).last
    assert lost is not None
    assert lost.digest() != whole.last.digest()
