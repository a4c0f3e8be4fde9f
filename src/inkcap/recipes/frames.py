"""Frames: the weights that a run had after its epochs, each a file whose name tells the epoch and its check sum.

All of them together stay within a budget: where there would be too many, every second one is dropped, so that those
that are left lie evenly over the run. The newest is always there.
"""

import hashlib
import re
from contextlib import suppress
from pathlib import Path

from inkcap.recipes.errors import RunFolderError
from inkcap.recipes.layout import FRAMES
from inkcap.structures.atomic import remove_temporaries, write_atomic

BUDGET = 64 * 10**6
"""Bytes that all frames of a run may take."""
LARGEST = 32 * 10**6
"""Weights that are larger are kept as the best and the last alone."""
MOST = 128

_NAME = re.compile(r"(\d{6,9})-([0-9a-f]{16})\.safetensors")


def kept_epochs(newest: int, size: int) -> frozenset[int]:
    """Tell which frames a run keeps when its newest is that of an epoch and each takes so many bytes."""
    if size > LARGEST:
        return frozenset()
    most, stride = max(2, min(MOST, BUDGET // max(size, 1))), 1
    while newest // stride + 1 + bool(newest % stride) > most:
        stride *= 2
    return frozenset((*range(0, newest + 1, stride), newest))


def list_frames(run: Path) -> dict[int, Path]:
    """Give the frames that lie in a run's folder, by their epochs."""
    found: dict[int, Path] = {}
    try:
        paths = sorted((run / FRAMES).iterdir())
    except OSError:
        return found
    for path in paths:
        named = _NAME.fullmatch(path.name)
        if named is not None:
            found[int(named[1])] = path
    return found


def keep_frame(run: Path, epoch: int, content: bytes) -> None:
    """Write a frame and drop those that the budget has no place for any more."""
    wanted = kept_epochs(epoch, len(content))
    if not wanted:
        return
    folder = run / FRAMES
    folder.mkdir(exist_ok=True)
    write_atomic(folder / f"{epoch:06d}-{_sum(content)}.safetensors", content)
    _drop(run, [other for other in list_frames(run) if other not in wanted])


def drop_frames_after(run: Path, epoch: int) -> None:
    """Drop the frames of epochs that a run which goes on has still before it, and what a kill left half-written."""
    _drop(run, [other for other in list_frames(run) if other > epoch])
    remove_temporaries(run / FRAMES)


def read_frame(path: Path) -> bytes:
    """Read a frame and compare its check sum."""
    place = f"{path.parent.parent.name}/{FRAMES}/{path.name}"
    named = _NAME.fullmatch(path.name)
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise RunFolderError(f"{place}: cannot be read ({problem.strerror}); choose another epoch.") from None
    if named is None or _sum(content) != named[2]:
        raise RunFolderError(f"{place}: the file was changed or damaged; choose another epoch.")
    return content


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _drop(run: Path, epochs: list[int]) -> None:
    frames = list_frames(run)
    for epoch in epochs:
        with suppress(OSError):
            frames[epoch].unlink(missing_ok=True)
