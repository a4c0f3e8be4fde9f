"""A run's files held still, so that they can be sent while the training goes on and replaces them."""

import os
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from inkcap.recipes import layout
from inkcap.recipes.checkpoints import list_checkpoints
from inkcap.recipes.frames import list_frames
from inkcap.remote.versions import LOGS, RECORDS, WEIGHTS, is_known

_HIDDEN = ".publishing-"
_TRIES = 5


@dataclass(frozen=True)
class Staged:
    """The files of a run at a moment, by their paths in its folder; of logs, only so many bytes."""

    folder: Path
    files: dict[str, Path]
    logs: dict[str, tuple[Path, int]]

    def drop(self) -> None:
        """Let the files go."""
        shutil.rmtree(self.folder, ignore_errors=True)


def stage(run: Path) -> Staged:
    """Hold the files of a run: by a second name each, which costs nothing, or by a copy where there are none."""
    hidden = run / f"{_HIDDEN}{secrets.token_hex(4)}"
    hidden.mkdir()
    try:
        files = _hold_checkpoint(run, hidden)
        for path in (*RECORDS, *WEIGHTS, *(f"{layout.FRAMES}/{frame.name}" for frame in list_frames(run).values())):
            # Not each run has each of them, and frames come and go.
            with suppress(FileNotFoundError):
                files[path] = _hold(run / path, hidden, path)
        logs = {name: (run / name, _whole_lines(run / name)) for name in LOGS if (run / name).is_file()}
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        raise
    return Staged(hidden, files, logs)


def tidy_stages(run: Path) -> None:
    """Take away what a killed process has held."""
    for path in run.glob(f"{_HIDDEN}*"):
        shutil.rmtree(path, ignore_errors=True)


def _hold_checkpoint(run: Path, hidden: Path) -> dict[str, Path]:
    """Hold the newest checkpoint, which the training may take away at any moment for a newer one."""
    for _ in range(_TRIES):
        newest = next(iter(list_checkpoints(run / layout.CHECKPOINTS)), None)
        if newest is None:
            break
        place = f"{layout.CHECKPOINTS}/{newest.name}"
        with suppress(FileNotFoundError):
            paths = [f"{place}/{name}" for name in sorted(os.listdir(newest))]
            return {path: _hold(run / path, hidden, path) for path in paths if is_known(path)}
    return {}


def _hold(path: Path, hidden: Path, name: str) -> Path:
    held = hidden / name.replace("/", "~")
    with suppress(FileExistsError):
        try:
            os.link(path, held)
        except FileNotFoundError:
            raise
        except OSError:
            shutil.copyfile(path, held)
    return held


def _whole_lines(path: Path) -> int:
    """Give how many bytes of a log are whole lines; it grows at its end and nowhere else."""
    with open(path, "rb") as file:
        end = file.seek(0, os.SEEK_END)
        while end > 0:
            start = max(0, end - 65536)
            file.seek(start)
            found = file.read(end - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
    return 0
