"""How much of a training's time goes by waiting for data, for every bundled set with a usual network.

Run it as ``python benchmarks/input.py``. Each set is trained as it is, and varied at random where that suits it, by
the very loop that `inkcap train` runs; ``--loaders 0`` is the usual choice. `making` is the processor time of an
epoch's order and batches, made in the thread that trains, as a share of the epoch's steps with them: what would be
waited if nothing were made beside the steps, whatever else runs on the machine. `waiting` is the share by the clock.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import torch

from inkcap.drawing import Drawing
from inkcap.recipes import DataSpec, Recipe
from inkcap.training.allocator import kept_memory
from inkcap.training.environment import steady
from inkcap.training.jobs import make_course, make_job, plan_job
from inkcap.training.loop import go_on
from inkcap.training.session import Session
from inkcap.training.stopping import StopRequest
from inkcap.zoo import draw, mlp

PICTURES = "shift=1,rotate=10,flip=horizontal,noise=0.05"
PLACED = "shift=2,flip=horizontal,noise=0.05"
NOISE = "noise=0.05"
LONG = 10_000
"""Epochs enough for whatever is made for several of them at a time."""
CASES: tuple[tuple[str, str, str], ...] = (
    ("digits", "", "lenet-digits"),
    ("digits", PICTURES, "lenet-digits"),
    ("iris", "", "mlp 4-16-3"),
    ("iris", NOISE, "mlp 4-16-3"),
    ("wine", "", "mlp 13-16-3"),
    ("wine", NOISE, "mlp 13-16-3"),
    ("breast-cancer", "", "mlp 30-16-2"),
    ("breast-cancer", NOISE, "mlp 30-16-2"),
    ("diabetes", "", "mlp 10-16-1"),
    ("diabetes", NOISE, "mlp 10-16-1"),
    ("moons", "", "mlp 2-16-16-2"),
    ("moons", NOISE, "mlp 2-16-16-2"),
    ("circles", "", "mlp 2-16-16-2"),
    ("spirals", "", "mlp 2-16-16-2"),
    ("sentences", "", "gpt_small"),
    ("grid-world", "", "dqn_small"),
    ("shapes", "", "ssd_narrow"),
    ("shapes", PLACED, "ssd_narrow"),
)


def network(name: str) -> Drawing:
    """Draw a network of the zoo, or one of full connections by its sizes."""
    kind, _, sizes = name.partition(" ")
    if kind != "mlp":
        return draw(kind)
    dimensions = tuple(map(int, sizes.split("-")))
    return mlp(dimensions, "mlp", last="identical" if dimensions[-1] == 1 else "softmax")


def making(session: Session, least: float = 0.5) -> float:
    """Give the processor time of making batches as a share of all that the steps with them take."""
    course, take_step, clock = session.course, session.take_step, time.process_time
    course.training = replace(course.training, loaders=0)
    begun, made, steps = clock(), 0.0, 0.0
    while not steps or clock() < begun + least:
        session.samples()
        start = clock()
        batches = list(session.coming(course.order(session.epoch)))
        middle = clock()
        for inputs, targets in batches:
            take_step(inputs, targets).item()
        made, steps = made + middle - start, steps + clock() - middle
        session.next_epoch()
    return made / (made + steps)


def measure(data: str, augment: str, name: str, epochs: int, loaders: int, folder: Path) -> tuple[float, float, int]:
    """Train, and give the share of the time that was waited, the share of making, and the loaders."""
    options = {"size": "64x64", "n": 320} if data == "shapes" else {}
    recipe = Recipe(DataSpec(data, options, augment=augment), epochs=epochs, loaders=loaders)
    if data == "shapes":
        recipe = replace(recipe, batch=16)
    plan = plan_job(network(name), recipe, folder)
    with steady(0, 0, plan.device) as threads, kept_memory():
        session = Session(make_course(make_job(plan, threads, None, StopRequest())))
        go_on(session)
        longer = plan_job(network(name), replace(recipe, epochs=LONG), folder)
        made = making(Session(make_course(make_job(longer, threads, None, StopRequest()))))
        return session.pace.share, made, session.course.training.loaders


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=0, help="epochs of each training; 0 = many for small sets")
    parser.add_argument("--loaders", type=int, default=0, help="threads that prepare batches; 0 = choose")
    arguments = parser.parse_args()
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads\n")
    print(f"{'data':<15} {'network':<15} {'varied':<44} {'loaders':>7} {'making':>8} {'waiting':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for data, augment, name in CASES:
            epochs = arguments.epochs or (50 if name.startswith("mlp") else 4)
            waited, made, used = measure(data, augment, name, epochs, arguments.loaders, Path(folder))
            print(f"{data:<15} {name:<15} {augment or '–':<44} {used:>7} {made:>8.1%} {waited:>8.1%}", flush=True)


if __name__ == "__main__":
    main()
