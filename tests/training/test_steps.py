"""Optimisers that go down and schedules that give the rates of their namesakes in torch."""

import pytest
import torch
from torch.optim import lr_scheduler

from inkcap.recipes import OPTIMISERS, OptimiserSpec, ScheduleSpec
from inkcap.training.optimisers import make_optimiser
from inkcap.training.schedules import RateSchedule


@pytest.mark.parametrize("kind", list(OPTIMISERS))
def test_each_optimiser_lowers_a_loss(kind: str) -> None:
    weight = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
    optimiser = make_optimiser(OptimiserSpec(kind), [weight])
    losses: list[float] = []
    for _ in range(50):
        optimiser.zero_grad(set_to_none=True)
        loss = (weight**2).sum()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 1e-3


def test_options_reach_the_optimiser() -> None:
    weight = [torch.nn.Parameter(torch.zeros(1))]
    assert make_optimiser(OptimiserSpec("amsgrad"), weight).defaults["amsgrad"] is True
    assert make_optimiser(OptimiserSpec("nesterov", 0.5), weight).defaults["nesterov"] is True
    assert make_optimiser(OptimiserSpec("nesterov", 0.5, {"momentum": 0.0}), weight).defaults["nesterov"] is False
    assert make_optimiser(OptimiserSpec("momentum"), weight).defaults["momentum"] == 0.9
    assert make_optimiser(OptimiserSpec("sgd"), weight).defaults["momentum"] == 0
    assert make_optimiser(OptimiserSpec("rmsprop", 0, {"centred": True}), weight).defaults["centered"] is True
    assert make_optimiser(OptimiserSpec("adam", 0, {"beta1": 0.5}), weight).defaults["betas"] == (0.5, 0.999)
    assert make_optimiser(OptimiserSpec("adamw"), weight).defaults["weight_decay"] == 0.01


def test_nesterov_differs_from_momentum_differs_from_sgd() -> None:
    ends: list[float] = []
    for kind in ("sgd", "momentum", "nesterov"):
        weight = torch.nn.Parameter(torch.tensor([1.0]))
        optimiser = make_optimiser(OptimiserSpec(kind, 0.1), [weight])
        for _ in range(2):
            optimiser.zero_grad()
            (weight**2).sum().backward()
            optimiser.step()
        ends.append(weight.item())
    # By hand: v₁ = 2, w₁ = 0.8 (Nesterov 1 − 0.1·(2 + 0.9·2) = 0.62).
    assert ends[0] == pytest.approx(0.64)
    assert ends[1] == pytest.approx(0.8 - 0.1 * (0.9 * 2 + 1.6))
    assert ends[2] == pytest.approx(0.62 - 0.1 * (1.24 + 0.9 * (0.9 * 2 + 1.24)))


def _pair() -> tuple[torch.optim.Optimizer, torch.optim.Optimizer]:
    return tuple(torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1) for _ in range(2))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("spec", "theirs", "per_epoch"),
    [
        (ScheduleSpec("step", {"every": 2, "factor": 0.5}), lambda o: lr_scheduler.StepLR(o, 2, 0.5), True),
        (ScheduleSpec("exponential", {"factor": 0.9}), lambda o: lr_scheduler.ExponentialLR(o, 0.9), True),
        (ScheduleSpec("cosine"), lambda o: lr_scheduler.CosineAnnealingLR(o, 30), False),
        (ScheduleSpec("one-cycle"), lambda o: lr_scheduler.OneCycleLR(o, 0.1, 30, cycle_momentum=False), False),
    ],
)
def test_rates_are_those_of_torch(spec: ScheduleSpec, theirs: object, per_epoch: bool) -> None:
    mine, other = _pair()
    schedule = RateSchedule(spec, mine, steps_per_epoch=5, epochs=6)
    reference = theirs(other)  # type: ignore[operator]
    for step in range(30):
        schedule.before_step(step)
        assert schedule.rate == pytest.approx(other.param_groups[0]["lr"], rel=1e-6, abs=1e-12), step
        other.step()
        if (not per_epoch or step % 5 == 4) and step < 29:
            reference.step()


def test_a_plateau_waits_and_warms_up() -> None:
    optimiser, _ = _pair()
    spec = ScheduleSpec("plateau", {"patience": 1, "factor": 0.5, "floor": 0.3, "warm_up": 1.0})
    schedule = RateSchedule(spec, optimiser, steps_per_epoch=2, epochs=9)
    schedule.before_step(0)
    assert schedule.rate == pytest.approx(0.05)
    schedule.before_step(1)
    assert schedule.rate == pytest.approx(0.1)
    rates: list[float] = []
    for epoch in range(1, 7):
        schedule.before_step(2 * epoch)
        schedule.after_epoch(1.0, 2 * epoch)
        rates.append(schedule.rate)
    assert rates == pytest.approx([0.1, 0.1, 0.05, 0.05, 0.03, 0.03])
    optimiser, _ = _pair()
    waiting = RateSchedule(ScheduleSpec("plateau", {"patience": 0, "warm_up": 3.0}), optimiser, 1, 9)
    for epoch, value in enumerate((1.0, 2.0, 3.0), start=1):
        waiting.before_step(epoch - 1)
        waiting.after_epoch(value, epoch)
    assert waiting.rate == pytest.approx(0.1)
    waiting.after_epoch(4.0, 4)
    assert waiting.rate == pytest.approx(0.05)
    optimiser, _ = _pair()
    rising = RateSchedule(ScheduleSpec("plateau", {"patience": 0}), optimiser, 1, 5, mode="max")
    rising.after_epoch(0.5, 1)
    rising.after_epoch(0.9, 2)
    assert rising.rate == 0.1
    rising.after_epoch(0.8, 3)
    assert rising.rate == 0.05
