"""A fork server: torch is imported once, children train for real and are killed at random moments until they finish.

Run as a program of its own: ``python killing.py FOLDER KILLS SEED``. It prints one line of JSON: the runs, the kills,
the polite stops, the lives that ended at a checkpoint of an earlier one, and what differed.
"""

from __future__ import annotations

import json
import os
import random
import select
import shutil
import signal
import sys
import time
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

FILES = ("weights.safetensors", "best.safetensors", "metrics.jsonl")


def drawings() -> list[tuple[Any, dict[str, Any]]]:
    """Give networks in which everything that a training remembers is alive, with what their recipes change."""
    from inkcap.drawing import Drawing
    from inkcap.recipes import DataSpec, OptimiserSpec, ScheduleSpec
    from inkcap.zoo.games import small_q_network

    found: list[tuple[Any, dict[str, Any]]] = []
    # The last one changes its engine in the middle of its third epoch of six.
    plateau = ScheduleSpec("plateau", {"patience": 1})
    for hidden, changes in (
        ("tanh", {"optimiser": OptimiserSpec("adam", 0.02), "schedule": ScheduleSpec("cosine", {"warm_up": 1})}),
        ("stochastic-binary", {"optimiser": OptimiserSpec("nesterov", 0.02), "engine": "explicit", "workers": 2}),
        ("relu", {"optimiser": OptimiserSpec("rmsprop", 0.005), "schedule": plateau, "switch_engine": "explicit@25"}),
    ):
        drawing = Drawing(f"killed-{hidden.split('-')[0]}")
        drawing.add("x", "1D-data", dimension=2)
        drawing.then("a", f"1D-{hidden}", dimension=12)
        drawing.then("b", "1D-tanh", dimension=8)
        drawing.then("y", "1D-softmax", dimension=2)
        drawing.wear("a", "batch-norm")
        drawing.wear("b", "dropout", probability=0.3)
        found.append((drawing, changes))
    # One that plays: the moves of an epoch are made with the weights of its start.
    game = DataSpec("grid-world", {"n": 200, "size": "3x3", "walls": 1, "pits": 1, "falling": 3})
    found.insert(1, (small_q_network(input=(3, 3, 4), width=3, hidden=8), {"data": game, "monitor": "solved"}))
    return found


def recipe_of(changes: dict[str, Any], seed: int) -> Any:
    from inkcap.recipes import DataSpec, Recipe

    data = DataSpec("moons", {"n": 200}, augment="noise=0.1")
    settings = {"data": data, "batch": 16, "epochs": 6, "seed": seed, "threads": 1, "checkpoint": 0.005}
    return Recipe(**{**settings, **changes})


def live(folder: Path, number: int, seed: int, told: int) -> None:
    """Live one life: train, or go on with what there is."""
    import numpy as np
    import torch

    from inkcap.recipes import RunFolder, list_runs
    from inkcap.training import Listener, StartEvent, checkpoints, resume, train

    # So often that a kill is likely to hit a checkpoint while it is being written.
    checkpoints.LEAST_PAUSE, checkpoints.SHARE = 0.0, 1e9
    garbage = int.from_bytes(os.urandom(4), "little")
    torch.manual_seed(garbage)
    np.random.seed(garbage)
    random.seed(garbage)

    class Telling(Listener):
        def on_start(self, event: StartEvent) -> None:
            os.write(told, b"s")

    drawing, changes = drawings()[number]
    runs, _ = list_runs(folder)
    begun = [run for run in runs if (run.path / "data.json").is_file()]
    if begun:
        RunFolder.open(begun[0].path)
        resume(begun[0], folder, Telling())
    else:
        for path in (folder / "runs").glob("*"):
            # A life that ended before its run.json was there has left a folder that is no run.
            shutil.rmtree(path)
        train(drawing, recipe_of(changes, seed), folder, Telling())


def fork_life(folder: Path, number: int, seed: int) -> tuple[int, int]:
    """Fork a child that lives one life; give its number and the end of a pipe that tells when it begins."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    os.close(reading)
    code = 1
    try:
        live(folder, number, seed, writing)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def lives(folder: Path, number: int, seed: int, luck: random.Random, most: int) -> dict[str, int]:
    """Kill one run again and again until it finishes, or as often as is allowed."""
    count = {"kills": 0, "stops": 0, "early": 0}
    while True:
        child, reading = fork_life(folder, number, seed)
        if most == 0 or count["kills"] >= most:
            wait_for(child, reading)
            return count
        if luck.random() < 0.15:
            # Somewhere in the beginning: reading, checking, claiming.
            time.sleep(luck.uniform(0.0, 0.15))
            count["early"] += 1
        else:
            select.select([reading], [], [], 60)
            time.sleep(luck.uniform(0.0, 0.12))
        polite = luck.random() < 0.1
        done, status = os.waitpid(child, os.WNOHANG)
        if not done:
            os.kill(child, signal.SIGTERM if polite else signal.SIGKILL)
            _, status = os.waitpid(child, 0)
        os.close(reading)
        if os.WIFSIGNALED(status):
            count["kills"] += 1
        elif os.waitstatus_to_exitcode(status) != 0:
            raise RuntimeError(f"a life ended with {os.waitstatus_to_exitcode(status)}")
        # A kill may come after the run's last word.
        if state_of(folder) == "finished":
            return count
        count["stops"] += not os.WIFSIGNALED(status)


def wait_for(child: int, reading: int) -> None:
    _, status = os.waitpid(child, 0)
    os.close(reading)
    if os.waitstatus_to_exitcode(status) != 0:
        raise RuntimeError(f"a life that nobody ended ended with {status}")


def state_of(folder: Path) -> str:
    found = [json.loads(path.read_text()) for path in (folder / "runs").glob("*-0001/run.json")]
    return str(found[0]["state"]) if found else ""


def all_state(folder: Path) -> dict[str, Any]:
    """Give all that a finished run came to: weights, log, and everything in its last checkpoint but the time."""
    from inkcap.recipes.checkpoints import newest_checkpoint

    (path,) = (folder / "runs").glob("*-0001")
    newest, problems = newest_checkpoint(path / "checkpoints")
    assert newest is not None
    assert not problems
    progress = json.loads(newest.files["progress.json"])
    del progress["seconds"]
    found: dict[str, Any] = {name: (path / name).read_bytes() for name in FILES}
    found |= {f"checkpoint {name}": newest.files[name] for name in ("state.safetensors", "best.safetensors")}
    return found | {"progress": progress, "step": newest.step}


def main(folder: Path, wanted: int, seed: int) -> None:
    """Run the campaign."""
    import torch

    from inkcap.training import resume, train

    # All that is imported or compiled on the way is so once, for all children; one thread leaves none behind.
    torch.set_num_threads(1)
    for number, (drawing, changes) in enumerate(drawings()):
        warm = folder / f"warm-{number}"
        result = train(drawing, replace(recipe_of(changes, seed), epochs=1, switch_engine=""), warm)
        resume(result.run, warm, epochs=2)
    luck = random.Random(seed)  # noqa: S311
    total = {"runs": 0, "kills": 0, "stops": 0, "early": 0}
    differing: list[str] = []
    whole: dict[int, dict[str, Any]] = {}
    while total["kills"] < wanted:
        number = total["runs"] % len(drawings())
        if number not in whole:
            place = folder / f"whole-{number}"
            place.mkdir(parents=True)
            lives(place, number, seed, luck, 0)
            whole[number] = all_state(place)
        place = folder / f"killed-{total['runs']}"
        place.mkdir(parents=True)
        count = lives(place, number, seed, luck, 40)
        found = all_state(place)
        differing += [f"run {total['runs']}: {name}" for name in found if found[name] != whole[number][name]]
        total["runs"] += 1
        for name, many in count.items():
            total[name] += many
    print(json.dumps({**total, "differing": differing}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
