"""A worker that loads poisoned data one after the other under limits, and says what became of each, line by line."""

from __future__ import annotations

import json
import resource
import shutil
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path

import numpy as np
from poisoned import poisons

from inkcap.structures import InkcapError
from inkcap.training.data import load, validate

PATIENCE = 10
"""Seconds of the processor for one set, and of the clock five times that."""
RUN = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "subprocess.Popen",
    "pickle.find_class",
    "ctypes.dlopen",
    "os.startfile",
)


class Hangs(BaseException):
    """It took too long."""


def _hangs(*_: object) -> None:
    raise Hangs


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if event in RUN:
        raise SystemExit(f"{event} {arguments!r:.200}")


def outcome(spec: str, folder: Path) -> tuple[str, str]:
    """Load data and check them as a training does; tell what came of it, in which words."""
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    signal.setitimer(signal.ITIMER_REAL, 5 * PATIENCE)
    try:
        dataset = load(spec, {}, folder)
        return "loaded", "; ".join(validate(dataset))
    except InkcapError as error:
        return "refused", str(error)
    except Hangs:
        return "hangs", traceback.format_exc()
    except Exception:
        return "crashed", traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def main(place: Path, every: int, columns: int, most: int) -> None:
    """Try each of them, or every so-many-th."""
    signal.signal(signal.SIGPROF, _hangs)
    signal.signal(signal.SIGALRM, _hangs)
    warnings.simplefilter("error")
    np.random.default_rng()
    chosen = poisons(columns)[::every]
    first = True
    for number, poison in enumerate(chosen):
        folder = place / str(number)
        folder.mkdir()
        spec = poison.make(folder)
        if first:
            load("iris", {}, folder)
            sys.addaudithook(_watch)
            # What is needed for making them is not what is needed for reading them: the limit is of what is held now.
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + most, resource.RLIM_INFINITY))
            first = False
        start = time.process_time()
        what, words = outcome(spec, folder)
        seconds = time.process_time() - start
        ran = (folder / "canary").exists() or Path("canary").exists()
        shutil.rmtree(folder, ignore_errors=True)
        told = {"name": poison.name, "must": poison.must, "spec": spec, "what": what, "words": words}
        print(json.dumps({**told, "seconds": seconds, "ran": ran}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
