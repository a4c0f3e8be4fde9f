"""A fork server: torch is imported once, children train for real and are killed again and again until they finish.

Run as a program of its own: ``python killing.py FOLDER KILLS SEED KIND…``. It prints one line of JSON: the runs, the
kills, how many of them came before the first step and how many while checkpoints were being written, the polite stops,
what differed from runs that nobody stopped, and what did so in a last run that forgets its random numbers: it must.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import random
import select
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from killed_kinds import Kind, kinds, write_images

FORGETFUL = 8
"""How often a run that forgets its random numbers may come to the same all the same: its kills may hit no epoch."""
LONGEST = 60
"""So often a run is killed at most; then it may come to its end."""
TIMES = ("milliseconds", "megabytes")
"""What signals measure of the machine, and not of the network."""


@dataclass(frozen=True)
class Life:
    """A child that trains, and the end of the pipe by which it tells that it begins, and that it saves."""

    child: int
    heard: int

    def hear(self, tells: int) -> int:
        """Wait for so many of its words; give how many there were before it ended."""
        for count in range(tells):
            if not select.select([self.heard], [], [], 120)[0] or not os.read(self.heard, 1):
                return count
        return tells


def live(folder: Path, kind: Kind, seed: int, told: int, forgets: bool) -> None:
    """Live one life: train, or go on with what there is."""
    import numpy as np
    import torch

    from inkcap.recipes import list_runs
    from inkcap.training import Listener, StartEvent, checkpoints, resume, running, snapshots, train

    # So often that a kill is likely to hit a checkpoint while it is being written.
    checkpoints.LEAST_PAUSE, checkpoints.SHARE = 0.0, 1e9
    garbage = int.from_bytes(os.urandom(4), "little")
    torch.manual_seed(garbage)
    np.random.seed(garbage)
    random.seed(garbage)
    write = checkpoints.write_checkpoint

    def telling(*given: Any) -> Path:
        os.write(told, b"c")
        return write(*given)

    checkpoints.write_checkpoint = telling
    if forgets:
        snapshots.restore_random = running.restore_random = lambda *given: None

    class Telling(Listener):
        def on_start(self, event: StartEvent) -> None:
            os.write(told, b"s")

    runs, _ = list_runs(folder)
    begun = [run for run in runs if (run.path / "data.json").is_file()]
    if begun:
        resume(begun[0], folder, Telling())
    else:
        # A life that ended before it had described its run has left a folder that is no run yet.
        shutil.rmtree(folder / "runs", ignore_errors=True)
        train(kind.drawing, kind.recipe(seed), folder, Telling())


def fork_life(folder: Path, kind: Kind, seed: int, forgets: bool = False) -> Life:
    """Fork a child that lives one life."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return Life(child, reading)
    os.close(reading)
    code = 1
    try:
        live(folder, kind, seed, writing, forgets)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def end(life: Life, luck: random.Random, count: Counter[str]) -> int:
    """Let a life come to some moment of it, end it there, and give how it ended."""
    chance = luck.random()
    if chance < 0.15:
        # Somewhere in the beginning: reading, checking, claiming.
        time.sleep(luck.uniform(0.0, 0.05))
        when = "early"
    elif chance < 0.25:
        # Just when it begins.
        life.hear(1)
        when = "early"
    else:
        # While it saves, or in the steps after that.
        life.hear(1 + luck.choice((1, 2, 2, 3, 4)))
        time.sleep(luck.uniform(0.0, 0.004))
        when = "saving"
    polite = luck.random() < 0.05
    done, status = os.waitpid(life.child, os.WNOHANG)
    if not done:
        os.kill(life.child, signal.SIGTERM if polite else signal.SIGKILL)
        _, status = os.waitpid(life.child, 0)
    os.close(life.heard)
    if os.WIFSIGNALED(status):
        count["kills"] += 1
        count[when] += 1
    return status


def lives(
    folder: Path, kind: Kind, seed: int, luck: random.Random, most: int, count: Counter[str], forgets: bool = False
) -> dict[str, str]:
    """Kill one run again and again until it finishes, or as often as is allowed; give all that it came to."""
    folder.mkdir(parents=True)
    write_images(folder)
    begun = count["kills"]
    while True:
        life = fork_life(folder, kind, seed, forgets)
        if count["kills"] - begun >= most:
            _, status = os.waitpid(life.child, 0)
            os.close(life.heard)
        else:
            status = end(life, luck, count)
        if not os.WIFSIGNALED(status) and os.waitstatus_to_exitcode(status) != 0:
            raise RuntimeError(f"{kind.drawing.name}: a life ended with {os.waitstatus_to_exitcode(status)}")
        # A kill may come after the run's last word.
        if state_of(folder) == "finished":
            break
        count["stops"] += not os.WIFSIGNALED(status)
    found = all_state(folder)
    shutil.rmtree(folder)
    return found


def state_of(folder: Path) -> str:
    """Give what the run's own record says."""
    found = [json.loads(path.read_text()) for path in (folder / "runs").glob("*-0001/run.json")]
    return str(found[0]["state"]) if found else ""


def all_state(folder: Path) -> dict[str, str]:
    """Give the check sums of all that a finished run came to, its time and its places in the machine left out."""
    from inkcap.recipes import RunFolder
    from inkcap.recipes.checkpoints import newest_checkpoint

    (path,) = (folder / "runs").glob("*-0001")
    run = RunFolder.open(path)
    newest, problems = newest_checkpoint(path / "checkpoints")
    assert newest is not None
    assert not problems
    progress, summary = json.loads(newest.files["progress.json"]), dict(run.summary())
    del progress["seconds"], summary["seconds"], summary["pace"]
    found: dict[str, object] = {
        f"checkpoint {name}": content for name, content in newest.files.items() if name != "progress.json"
    }
    names = (
        "weights.safetensors",
        "best.safetensors",
        "metrics.jsonl",
        "drawing.inkcap.json",
        "recipe.json",
        "data.json",
    )
    found |= {name: (path / name).read_bytes() for name in names}
    found |= {f"frame {frame.name}": frame.read_bytes() for frame in (path / "frames").glob("*")}
    found |= {"progress": progress, "step": newest.step, "summary": summary}
    found["signals"] = [
        repr(
            replace(
                signals, capsules={id: replace(one, **dict.fromkeys(TIMES)) for id, one in signals.capsules.items()}
            )
        )
        for signals in run.signals()
    ]
    # The engine is part of what the bits depend on, the process is not.
    found["environment"] = run.environment()
    return {name: _digest(value) for name, value in found.items()}


def _digest(value: object) -> str:
    content = value if isinstance(value, bytes) else json.dumps(value, sort_keys=True).encode()
    return hashlib.sha256(content).hexdigest()


def warm(folder: Path, chosen: dict[str, Kind], seed: int) -> None:
    """Import and compile all that a life needs, once for all children; one thread leaves none behind."""
    import torch

    from inkcap.training import resume, train

    torch.set_num_threads(1)
    for number, kind in enumerate(chosen.values()):
        place = folder / f"warm-{number}"
        place.mkdir(parents=True)
        write_images(place)
        # No second epoch: what was learnt in the parent must not be what the children know.
        result = train(kind.drawing, replace(kind.recipe(seed), epochs=1, switch_engine=""), place)
        resume(result.run, place, epochs=2)
        shutil.rmtree(place)
    gc.collect()
    # What is never looked at again by the collector stays shared with the children.
    gc.freeze()


def differences(known: dict[str, str], found: dict[str, str]) -> list[str]:
    """Name the parts of two states that are not the same."""
    return sorted(part for part in {*known, *found} if found.get(part) != known.get(part))


def main(folder: Path, wanted: int, seed: int, names: list[str]) -> None:
    """Run the campaign over some kinds, each in its turn."""
    every = kinds()
    chosen = {name: every[name] for name in names or every}
    warm(folder, chosen, seed)
    luck = random.Random(seed)  # noqa: S311
    count: Counter[str] = Counter({"runs": 0, "kills": 0, "stops": 0, "early": 0, "saving": 0})
    # All in one place, which the record of data from a file names.
    whole = {name: lives(folder / "work", kind, seed, luck, 0, Counter()) for name, kind in chosen.items()}
    differing: list[str] = []
    while count["kills"] < wanted:
        name = list(chosen)[count["runs"] % len(chosen)]
        found = lives(folder / "work", chosen[name], seed, luck, LONGEST, count)
        differing += [f"run {count['runs']}, {name}: {part}" for part in differences(whole[name], found)]
        count["runs"] += 1
    # The first one has dropout: without its random numbers it cannot come to the same.
    name = next(iter(chosen))
    planted: list[str] = []
    while not planted and count["forgetful"] < FORGETFUL:
        count["forgetful"] += 1
        forgetful = lives(folder / "work", chosen[name], seed, luck, LONGEST, Counter(), forgets=True)
        planted = differences(whole[name], forgetful)
    print(json.dumps({**count, "kinds": len(whole), "differing": differing, "planted": planted}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
