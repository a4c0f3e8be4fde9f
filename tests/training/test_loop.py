"""The loop: what it learns, what it tells, and when and how it stops."""

import math
import os
import signal
import threading
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from inkcap.recipes import OptimiserSpec, ScheduleSpec
from inkcap.structures.errors import RunFailure
from inkcap.training.batches import Batches
from inkcap.training.events import EpochEvent, Listener, StepEvent
from inkcap.training.loop import fit
from inkcap.training.scores import OutputScore
from inkcap.training.session import Course
from inkcap.training.stopping import StopRequest, listening_for_signals

Make = Callable[..., Course]


def test_it_learns_and_tells(make_course: Make) -> None:
    course = make_course(epochs=20)
    outcome = fit(course)
    epochs = course.keeper.epochs  # type: ignore[attr-defined]
    assert outcome.epochs == 20
    assert outcome.steps == 80
    assert outcome.reason == "all 20 epochs done"
    assert not outcome.interrupted
    assert epochs[-1][2]["loss"] < 0.5 * epochs[0][2]["loss"]
    assert epochs[-1][2]["val_accuracy"] > 0.8
    assert set(epochs[0][2]) == {"loss", "rate", "val_loss", "val_accuracy"}
    losses = [values["val_loss"] for _, _, values, _ in epochs]
    assert outcome.best_value == min(losses)
    assert outcome.best_epoch == losses.index(min(losses)) + 1
    assert [best for *_, best in epochs].index(True) == 0
    assert [event.epoch for event in course.listener.epochs] == list(range(1, 21))  # type: ignore[attr-defined]
    steps = course.keeper.steps  # type: ignore[attr-defined]
    assert [step for _, step, _ in steps] == list(range(1, 81))


def test_a_step_is_that_of_a_loop_written_by_hand(make_course: Make) -> None:
    course = make_course(epochs=3, clip=0.5)
    fit(course)
    other = make_course(epochs=3)
    module = other.module
    optimiser = torch.optim.Adam(module.parameters(), lr=0.05, fused=True)
    x, y = other.training.inputs[0], other.training.targets[0]
    for epoch in (1, 2, 3):
        for numbers in other.order(epoch).split(16):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(module(x[numbers]), y[numbers]).backward()
            torch.nn.utils.clip_grad_norm_(module.parameters(), 0.5)
            optimiser.step()
    for mine, theirs in zip(course.module.parameters(), module.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_the_same_course_gives_the_same_bits(make_course: Make) -> None:
    weights: list[list[Tensor]] = []
    logs: list[object] = []
    for _ in range(2):
        course = make_course()
        fit(course)
        weights.append([value.clone() for value in course.module.parameters()])
        logs.append((course.keeper.steps, course.keeper.epochs))  # type: ignore[attr-defined]
    assert all(torch.equal(a, b) for a, b in zip(*weights, strict=True))
    assert logs[0] == logs[1]


def test_a_loss_that_is_not_finite_stops_the_run(make_course: Make) -> None:
    class Growing(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))
            self.calls = 0

        def forward(self, x: Tensor) -> Tensor:
            self.calls += self.training
            return x[:, :3] * self.weight * (math.nan if self.calls > 6 else 1.0)

    course = make_course(Growing(), epochs=50)
    with pytest.raises(RunFailure) as caught:
        fit(course)
    for word in ("nan", "step 7", "epoch 2", "rate 0.05", "lower rate", "clip"):
        assert word in str(caught.value)
    _, step, values = course.keeper.steps[-1]  # type: ignore[attr-defined]
    assert step == 7
    assert math.isnan(values["loss"])


def test_the_step_is_found_within_a_stride(make_course: Make) -> None:
    class Late(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))
            self.calls = 0

        def forward(self, x: Tensor) -> Tensor:
            self.calls += 1
            return x[:, :3] * self.weight * (math.inf if self.calls == 34 else 1.0)

    course = make_course(Late(), batch=1, clip=1.0)
    with pytest.raises(RunFailure, match=r"step 34 .*smaller clip"):
        fit(course)


def test_a_weight_that_is_not_finite_stops_the_run(make_course: Make) -> None:
    course = make_course()

    def spoil() -> None:
        next(course.module.parameters()).data.fill_(math.inf)

    course.settle = spoil
    with pytest.raises(RunFailure, match="weight is no longer finite after epoch 1"):
        fit(course)


def test_batches_know_their_samples_and_their_epoch() -> None:
    seen: list[tuple[list[int], int]] = []

    def finish(inputs: tuple[Tensor, ...], numbers: Tensor, epoch: int) -> tuple[Tensor, ...]:
        seen.append((numbers.tolist(), epoch))
        return inputs

    values = torch.arange(5.0)
    batches = Batches((values,), (values * 2,), 2, torch.device("cpu"), finish)
    order = torch.tensor([4, 2, 0, 1, 3])
    given = [(inputs[0].tolist(), targets[0].tolist()) for inputs, targets in batches.shuffled(order, 7)]
    assert given == [([4, 2], [8, 4]), ([0, 1], [0, 2]), ([3], [6])]
    assert [(number, epoch) for numbers, epoch in seen for number in numbers] == [(n, 7) for n in (4, 2, 0, 1, 3)]
    seen.clear()
    assert [inputs[0].tolist() for inputs, _ in batches.in_order()] == [[0, 1], [2, 3], [4]]
    assert [number for numbers, _ in seen for number in numbers] == [0, 1, 2, 3, 4]
    assert (batches.samples, batches.steps) == (5, 3)


def test_early_stop(make_course: Make) -> None:
    course = make_course(optimiser=OptimiserSpec("sgd", 1e-12), epochs=50, early_stop=3)
    outcome = fit(course)
    assert outcome.epochs <= 10
    assert outcome.epochs - outcome.best_epoch == 3
    assert "3 epochs" in outcome.reason


def test_without_validation_the_training_loss_decides(make_course: Make) -> None:
    course = make_course(validation=0.0)
    outcome = fit(course)
    assert outcome.best_value == min(values["loss"] for _, _, values, _ in course.keeper.epochs)  # type: ignore[attr-defined]
    assert "val_loss" not in outcome.values


def test_accuracy_is_better_when_higher(make_course: Make) -> None:
    course = make_course(monitor="accuracy", epochs=8, schedule=ScheduleSpec("plateau", {"patience": 0}))
    outcome = fit(course)
    found = [values["val_accuracy"] for _, _, values, _ in course.keeper.epochs]  # type: ignore[attr-defined]
    assert outcome.best_value == max(found)
    assert outcome.best_epoch == found.index(max(found)) + 1


def test_a_stop_finishes_the_step(make_course: Make) -> None:
    course = make_course(epochs=50)

    class Stopper(Listener):
        def on_epoch(self, event: EpochEvent) -> None:
            if event.epoch == 2:
                course.stop.stop("enough")

    course.listener = Stopper()
    outcome = fit(course)
    assert outcome.interrupted
    assert outcome.reason == "enough"
    assert (outcome.epochs, outcome.steps) == (2, 9)


def test_a_stop_during_the_validation_ends_it(make_course: Make) -> None:
    course = make_course(epochs=50)
    scores = course.scores

    def stopping() -> list[OutputScore]:
        course.stop.stop("in the middle")
        return scores()

    course.scores = stopping
    outcome = fit(course)
    assert outcome.interrupted
    assert (outcome.epochs, outcome.steps, outcome.reason) == (0, 4, "in the middle")
    assert course.module.training


def test_signals_become_a_wish_and_the_second_one_is_its_old_self() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    try:
        request = StopRequest()
        with listening_for_signals(request):
            os.kill(os.getpid(), signal.SIGTERM)
            assert request.wanted
            assert request.reason == "stopped by SIGTERM"
            os.kill(os.getpid(), signal.SIGTERM)
        assert heard == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_in_another_thread_signals_are_left_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen: list[object] = []

    def work() -> None:
        with listening_for_signals(StopRequest()):
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


def test_listeners_hear_steps_at_most_ten_times_a_second(make_course: Make) -> None:
    course = make_course(epochs=5)
    fit(course)
    heard: list[StepEvent] = course.listener.steps  # type: ignore[attr-defined]
    assert 1 <= len(heard) < 20
