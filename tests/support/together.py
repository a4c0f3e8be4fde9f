"""Trainings by two workers: a small network, what is compared of its runs, and the workers' processes."""

import os
import random
import threading
import time

from processes import command_of, descendants

from inkcap.drawing import Drawing
from inkcap.recipes import DataSpec, OptimiserSpec, Recipe
from inkcap.training import Listener

EPOCHS = 100
KEPT = ("weights.safetensors", "best.safetensors")


def small_drawing():
    """Draw a network in double precision, with random numbers in every step."""
    drawing = Drawing("small")
    drawing.add("x", "1D-data", dimension=2, dtype="float64")
    drawing.then("a", "1D-tanh", dimension=12)
    drawing.then("y", "1D-softmax", dimension=2)
    return drawing


def small_recipe(**changes):
    settings = {"batch": 15, "epochs": EPOCHS, "seed": 3, "workers": 2, "threads": 1, "checkpoint": 0.05}
    data = DataSpec("moons", {"n": 151})
    return Recipe(data=data, optimiser=OptimiserSpec("adam", 0.01), **{**settings, **changes})


def curve(run):
    """Give the values of every line of a run's log."""
    return [(line.kind, line.epoch, line.step, dict(line.values)) for line in run.metrics().records]


def learnt(run):
    """Give the bytes of all that a run has learnt."""
    return {name: (run.path / name).read_bytes() for name in KEPT}


def whole(run):
    """Tell that a run's folder holds no file that was being written."""
    names = [path.name for path in run.path.rglob("*")]
    return not [name for name in names if name.startswith(".") or name.endswith((".tmp", "~"))]


def workers_of(driver):
    """Give the processes of the workers that train for a process."""
    return [pid for pid, _ in descendants(driver) if "RayTrainWorker" in command_of(pid)]


class Hearing(Listener):
    """Remembers what it hears."""

    def __init__(self):
        self.starts, self.steps, self.epochs, self.pauses, self.ends = [], [], [], [], []

    def on_start(self, event):
        self.starts.append(event)

    def on_step(self, event):
        self.steps.append(event)

    def on_epoch(self, event):
        self.epochs.append(event)

    def on_pause(self, event):
        self.pauses.append(event)

    def on_end(self, event):
        self.ends.append(event)


class Killing(Hearing):
    """Kills one of the workers at a random moment after each of their starts, so often.

    The moment is a part of a second, while they still load what there is, or some epochs, while they train.
    """

    def __init__(self, kills, seed):
        super().__init__()
        self.left, self.killed = kills, 0
        self.luck = random.Random(seed)  # noqa: S311
        self.wait = None

    def on_start(self, event):
        super().on_start(event)
        self._plan()

    def on_pause(self, event):
        super().on_pause(event)
        self._plan()

    def on_epoch(self, event):
        super().on_epoch(event)
        if self.wait is not None:
            self.wait -= 1
            if self.wait <= 0:
                self.wait = None
                self._kill(0)

    def _plan(self):
        if not self.left:
            return
        self.left -= 1
        if self.luck.random() < 1 / 3:
            threading.Thread(target=self._kill, args=(self.luck.uniform(0, 0.2),), daemon=True).start()
        else:
            self.wait = self.luck.randint(1, 8)

    def _kill(self, after):
        time.sleep(after)
        workers = workers_of(os.getpid())
        if workers:
            os.kill(self.luck.choice(workers), 9)
            self.killed += 1
