"""Progress of a training on a terminal, and line by line where there is none."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from inkcap.cli.output import number, say
from inkcap.recipes.measures import said_once, value_text
from inkcap.training import EndEvent, EpochEvent, Listener, PauseEvent, PretrainingEvent, StartEvent, StepEvent


@contextmanager
def watch(*, quiet: bool) -> Generator[Listener, None, None]:
    """Give a listener that shows a training as it goes."""
    if quiet:
        yield Listener()
    elif not sys.stdout.isatty():
        yield Discreet(LineListener())
    else:
        console = Console()
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
        )
        with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console) as progress:
            yield Discreet(BarListener(progress))


def hush() -> None:
    """Give what is still to be printed away: nobody reads it any more, and that is no reason to fail."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, sys.stdout.fileno())
        finally:
            os.close(nowhere)


class Discreet(Listener):
    """Hands everything on to a listener that prints, until printing fails; the training goes on without a word."""

    def __init__(self, inner: Listener) -> None:
        """Begin to listen."""
        self.inner: Listener | None = inner

    def _tell(self, print_it: Callable[[Listener], None]) -> None:
        if self.inner is None:
            return
        try:
            print_it(self.inner)
            sys.stdout.flush()
        except OSError:
            self.inner = None
            hush()

    def on_start(self, event: StartEvent) -> None:
        """Hand the start on."""
        self._tell(lambda inner: inner.on_start(event))

    def on_pretraining(self, event: PretrainingEvent) -> None:
        """Hand the epoch of pre-training on."""
        self._tell(lambda inner: inner.on_pretraining(event))

    def on_step(self, event: StepEvent) -> None:
        """Hand the steps on."""
        self._tell(lambda inner: inner.on_step(event))

    def on_epoch(self, event: EpochEvent) -> None:
        """Hand the epoch on."""
        self._tell(lambda inner: inner.on_epoch(event))

    def on_pause(self, event: PauseEvent) -> None:
        """Hand the pause on."""
        self._tell(lambda inner: inner.on_pause(event))

    def on_end(self, event: EndEvent) -> None:
        """Hand the end on."""
        self._tell(lambda inner: inner.on_end(event))


def counted(count: int, word: str) -> str:
    """Write a number with its noun: 1 epoch, 20 epochs."""
    return f"{number(count)} {word}{'' if count == 1 else 's'}"


def _values(event: EpochEvent) -> str:
    shown = [f"loss {event.values['loss']:.4f}"]
    for name, value in said_once(event.values).items():
        if name.startswith("val_"):
            shown.append(value_text(name, value))
    return " · ".join(shown)


def _pretraining(event: PretrainingEvent) -> str:
    done = counted(event.epochs, "epoch")
    return f"pre-trained layer {event.layer}/{event.layers} ({event.capsule}) for {done}: error {event.error:.4f}"


class LineListener(Listener):
    """Prints one line an epoch."""

    def __init__(self) -> None:
        """Wait for the run to begin."""
        self.epochs = 0

    def on_start(self, event: StartEvent) -> None:
        """Print what begins."""
        self.epochs = event.epochs
        say(_start(event))

    def on_pretraining(self, event: PretrainingEvent) -> None:
        """Print the error of a layer when it is trained."""
        if event.epoch == event.epochs:
            say(_pretraining(event))

    def on_epoch(self, event: EpochEvent) -> None:
        """Print the values of the epoch."""
        say(f"epoch {event.epoch}/{self.epochs}: {_values(event)}{' *' if event.best else ''}")

    def on_pause(self, event: PauseEvent) -> None:
        """Print that the run waits, or goes on."""
        say(_pause(event))


class BarListener(Listener):
    """Shows a bar with live loss, and the epochs above it."""

    def __init__(self, progress: Progress) -> None:
        """Wait for the run to begin."""
        self.progress = progress
        self.task: TaskID | None = None
        self.start: StartEvent | None = None

    def on_start(self, event: StartEvent) -> None:
        """Start the bar."""
        self.start = event
        self.progress.console.print(_start(event), highlight=False, markup=False)
        self.task = self.progress.add_task("epoch 1", total=event.epochs * event.steps_per_epoch, rate="")

    def on_pretraining(self, event: PretrainingEvent) -> None:
        """Say at the bar which layer is trained, and print its error when it is."""
        if self.task is not None:
            where = f"layer {event.layer}/{event.layers}, epoch {event.epoch}/{event.epochs}"
            self.progress.update(self.task, description=f"pre-training {where} · error {event.error:.4f}")
        if event.epoch == event.epochs:
            self.progress.console.print(_pretraining(event), highlight=False, markup=False)

    def on_step(self, event: StepEvent) -> None:
        """Move the bar."""
        if self.task is not None and self.start is not None:
            text = f"epoch {event.epoch}/{self.start.epochs} · loss {event.loss:.4f}"
            self.progress.update(self.task, completed=event.step, description=text, rate=f"rate {event.rate:.2g}")

    def on_epoch(self, event: EpochEvent) -> None:
        """Print the values of the epoch above the bar."""
        if self.task is not None and self.start is not None:
            speed = self.start.training_samples / max(event.seconds, 1e-9)
            line = f"epoch {event.epoch}/{self.start.epochs}: {_values(event)} · {number(int(speed))} samples/s"
            self.progress.console.print(line + (" *" if event.best else ""), highlight=False, markup=False)
            text = f"epoch {event.epoch}/{self.start.epochs} · loss {event.values['loss']:.4f}"
            self.progress.update(self.task, completed=event.step, description=text)

    def on_pause(self, event: PauseEvent) -> None:
        """Print above the bar that the run waits, or goes on."""
        self.progress.console.print(_pause(event), highlight=False, markup=False)


def _pause(event: PauseEvent) -> str:
    return event.reason or "there is room again: the training goes on"


def _start(event: StartEvent) -> str:
    held = f", {number(event.validation_samples)} for validation" if event.validation_samples else ""
    engine = "" if event.engine == "eager" else f", {event.engine}"
    samples = f"{counted(event.training_samples, 'sample')}{held}"
    threads = counted(event.threads, "thread")
    who = threads if event.workers == 1 else f"{event.workers} workers of {threads}"
    return f"{event.run}: {samples}; {event.device}, {who}{engine} (* = best so far)"


Fetch = Callable[[str, int, int], None]


@contextmanager
def fetching(*, quiet: bool) -> Generator[Fetch | None, None, None]:
    """Give a listener for downloads: one line a file, so that a long wait is explained."""
    if quiet:
        yield None
        return
    seen: set[str] = set()

    def hear(name: str, done: int, total: int) -> None:
        if name not in seen:
            seen.add(name)
            say(f"fetching {name} ({total / 1e6:.1f} MB)")

    yield hear
