"""The training loop: as plain as one written by hand, with everything else between the steps or after the epochs."""

import math
import time
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from inkcap.recipes import Recipe
from inkcap.structures.errors import RunFailure
from inkcap.training.engines.many import ManySteps
from inkcap.training.events import EpochEvent
from inkcap.training.scores import measure
from inkcap.training.session import Course, Outcome, Session


def _advice(recipe: Recipe) -> str:
    lower = f"try a lower rate than {recipe.optimiser.rate:g}"
    if recipe.clip == 0:
        return f"{lower}, or clip the gradient (clip 1, for example)."
    return f"{lower}, or a smaller clip than {recipe.clip:g}; if it stays so, look for extreme values in the data."


def fit(course: Course, outcome: Outcome | None = None) -> Outcome:
    """Train from the start until the epochs are over, nothing gets better any more, or a stop is wanted.

    The outcome is filled in as the training goes on, so one that was handed in tells how far a broken one came.
    """
    return go_on(Session(course, outcome))


def go_on(session: Session) -> Outcome:
    """Train on from where a session stands."""
    course, outcome = session.course, session.outcome
    saver = course.saver
    while not (over := _over(session)):
        epoch, begun = session.epoch, time.monotonic()
        if course.stop.pauses(outcome.epochs, course.recipe.epochs):
            return _interrupted(session)
        course.module.train()
        _run_epoch(session)
        course.settle()
        found = None if course.stop.wanted else _after_epoch(session)
        if found is None:
            return _interrupted(session)
        value = found["val_" + course.monitor] if course.validation is not None else found["loss"]
        better = value > outcome.best_value if session.mode == "max" else value < outcome.best_value
        best = outcome.best_epoch == 0 or better
        if best:
            outcome.best_epoch, outcome.best_value = epoch, value
        outcome.epochs, outcome.values = epoch, found
        course.keeper.epoch(epoch, outcome.steps, found, best)
        course.keeper.pace(session.pace)
        seconds = time.monotonic() - begun
        course.listener.on_epoch(EpochEvent(epoch, outcome.steps, found, best, seconds, session.pace.last))
        session.schedule.after_epoch(value, outcome.steps)
        session.next_epoch()
        if not _over(session):
            saver.after_epoch(session)
    outcome.reason = over
    saver.at_end(session)
    return outcome


def _interrupted(session: Session) -> Outcome:
    """End where the session stands; it can be gone on with."""
    session.outcome.interrupted, session.outcome.reason = True, session.course.stop.reason
    session.course.saver.at_end(session)
    return session.outcome


def _over(session: Session) -> str:
    """Say why the training is over, or nothing; asked first, since one that is over may have lacked its last word."""
    outcome, recipe = session.outcome, session.course.recipe
    waited = outcome.epochs - max(outcome.best_epoch, outcome.waiting_since)
    if recipe.early_stop and waited >= recipe.early_stop:
        return f"{session.course.monitor} did not get better for {recipe.early_stop} epochs"
    return f"all {recipe.epochs} epochs done" if session.epoch > recipe.epochs else ""


def _run_epoch(session: Session) -> None:
    """Take the steps of one epoch that are not done yet."""
    if session.many is not None:
        _run_epoch_in_calls(session, session.many)
        return
    course, schedule, pulse = session.course, session.schedule, session.pulse
    outcome, saver, epoch, stop = session.outcome, course.saver, session.epoch, course.stop
    take_step, turn = session.take_step, course.turn
    # Elsewhere than on the processor each look at a number would make the device wait: there losses wait for a look.
    here = course.training.device.type == "cpu"
    pending, stride, step = pulse.pending, pulse.stride, outcome.steps
    before, clock = step - session.batches, time.monotonic
    order = course.order(epoch)
    watch = course.watch
    last = before + course.training.steps if watch is not None else -1
    for inputs, targets in session.pace.over(session.coming(order), epoch):
        schedule.before_step(step)
        if watch is not None and step + 1 == last:
            watch.before_last_step()
        if turn is not None and step == turn.after:
            take_step = session.turned(turn)
        loss = take_step(inputs, targets)
        if here and not math.isfinite(loss.item()):
            outcome.steps, session.batches = step, step - before
            _fail(session, order, step + 1, loss.item(), (inputs, targets))
        step += 1
        if watch is not None and step == last:
            watch.after_last_step()
        pending.append(loss)
        if len(pending) >= stride:
            outcome.steps = step
            _look(session, order, step)
            pending = pulse.pending
        if clock() >= saver.due:
            outcome.steps, session.batches = step, step - before
            saver.after_step(session)
        if stop.wanted:
            break
    outcome.steps, session.batches = step, step - before
    if stop.wanted:
        # Before the losses are told: the run that goes on tells them where one that never stopped would.
        saver.at_end(session)
    _look(session, order, step)


def _run_epoch_in_calls(session: Session, many: ManySteps) -> None:
    """Take the steps of one epoch that are not done yet, as many in one call as nobody wants to look between."""
    course, pulse, outcome = session.course, session.pulse, session.outcome
    saver, watch, batch = course.saver, course.watch, course.training.batch
    order = course.order(session.epoch)
    before = outcome.steps - session.batches
    last = before + course.training.steps - 1
    while (step := outcome.steps) <= last and not course.stop.wanted:
        session.schedule.before_step(step)
        count = pulse.stride - len(pulse.pending) if session.schedule.is_still(step) else 1
        count = min(count, last + 1 - step if watch is None or step == last else last - step)
        if watch is not None and step == last:
            watch.before_last_step()
        rows = order[(step - before) * batch : (step - before + count) * batch]
        many.load()
        losses = many.take(rows)
        fine = np.isfinite(losses)
        if not fine.all():
            _fail_in_call(session, many, order, losses)
        many.store(count)
        if watch is not None and step == last:
            watch.after_last_step()
        pulse.pending += torch.from_numpy(losses).unbind()
        outcome.steps, session.batches = step + count, step + count - before
        if len(pulse.pending) >= pulse.stride:
            _look(session, order, outcome.steps)
        if time.monotonic() >= saver.due:
            saver.after_step(session)
    if course.stop.wanted:
        saver.at_end(session)
    _look(session, order, outcome.steps)


def _fail_in_call(session: Session, many: ManySteps, order: Tensor, losses: NDArray[np.float64]) -> None:
    """End the run at the first loss of a call that is not finite, with the weights as they were before that step."""
    course, batch = session.course, session.course.training.batch
    good = int(np.isfinite(losses).argmin())
    first = session.batches * batch
    many.load()
    if good:
        many.take(order[first : first + good * batch])
        many.store(good)
        session.pulse.pending += torch.from_numpy(losses[:good]).unbind()
        session.outcome.steps += good
        session.batches += good
    failing = course.training.shuffled(order, session.epoch, session.batches)
    _fail(session, order, session.outcome.steps + 1, float(losses[good]), next(failing))


def _look(session: Session, order: Tensor, step: int) -> None:
    found = session.pulse.look(session.epoch, step, session.schedule.rate)
    if found is not None:
        _fail(session, order, *found, None)


def _fail(
    session: Session,
    order: Tensor,
    step: int,
    loss: float,
    batch: tuple[Sequence[Tensor], Sequence[Tensor]] | None,
) -> None:
    """End the run at a loss that is not finite, with what can be said about it."""
    course, rate, epoch = session.course, session.schedule.rate, session.epoch
    words = ""
    if batch is not None:
        session.pulse.look(epoch, step - 1, rate)
        course.keeper.step(epoch, step, {"loss": loss, "rate": rate})
        if course.explain is not None:
            words = course.explain(*batch, order, session.batches)
    raise RunFailure(
        f"the loss became {loss} at step {step} of the run, in epoch {epoch}, at the learning rate {rate:g}; "
        f"{words}{_advice(course.recipe)}"
    )


def _after_epoch(session: Session) -> dict[str, float] | None:
    """Measure the validation part and see that the weights are finite; None when a stop was wanted."""
    course, pulse, epoch = session.course, session.pulse, session.epoch
    sound = all(bool(torch.isfinite(parameter).all()) for parameter in course.parameters)
    if not (sound if course.parts is None else all(course.parts.gathered(sound))):
        raise RunFailure(f"a weight is no longer finite after epoch {epoch}; {_advice(course.recipe)}")
    found = {"loss": pulse.sum / pulse.count if pulse.count else math.nan, "rate": session.schedule.rate}
    if course.validation is None:
        return found
    parts, validation = course.parts, course.validation
    batches = validation.in_order() if parts is None else parts.in_order(validation)
    measured = measure(course.module, course.loss, course.scores(), batches, course.stop, parts)
    if measured is None:
        return None
    if not math.isfinite(measured["loss"]):
        raise RunFailure(f"the validation loss is {measured['loss']} after epoch {epoch}; {_advice(course.recipe)}")
    if course.solve is not None:
        measured |= course.solve()
    return found | {f"val_{name}": value for name, value in measured.items()}
