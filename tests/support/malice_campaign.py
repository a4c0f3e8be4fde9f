"""One malicious file through one door, judged: nothing of it runs, nothing outside is read, one clear line is said."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from limited_forks import Campaign
from malicious import SECRET, TOUCHED, WORD, malicious_files

RUNS = frozenset({"os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.putenv"}) | {
    *("subprocess.Popen", "pty.spawn", "socket.connect", "webbrowser.open", "urllib.Request", "shutil.copyfile"),
    *("code.__new__", "pickle.find_class", "function.__new__"),
}
"""What the interpreter reports when something is started, sent, copied or looked up for a pickle."""
FINE = ("torch", "collections", "numpy", "_codecs", "builtins")
"""Modules in which a reader of weights may look; that it calls nothing there but makers of tensors, torch tells."""


class Malice(AssertionError):
    """Something ran, was read, or was said that must not be."""


class Watch:
    """Listens to what the interpreter does while it is armed; nothing that a file does can silence it."""

    def __init__(self, folder: Path) -> None:
        self.armed, self.seen = False, list[str]()
        self._folder = str(folder)
        sys.addaudithook(self._hear)

    def _hear(self, event: str, given: tuple[Any, ...]) -> None:
        if not self.armed:
            return
        if event == "pickle.find_class" and str(given[0]).partition(".")[0] in FINE:
            return
        if event in ("code.__new__", "function.__new__"):
            # dataclasses and lazy imports make code of their own; a pickle gets at code through find_class alone.
            return
        if event in RUNS or (event == "open" and self._folder in str(given[0])):
            self.seen.append(f"{event} {given[:2]!r:.200}")


def _pt(content: bytes, name: str, desk: Path) -> None:
    from inkcap.exchange.importing.child import read_pickled

    read_pickled(content, desk, name)


def _onnx(content: bytes, name: str, desk: Path) -> None:
    from inkcap.exchange.importing.child import read_onnx_file

    read_onnx_file(content, desk, name)


def _weights(content: bytes, name: str, desk: Path) -> None:
    """A run's weights, or a file of weights, that were replaced: `--init`, exports and predictions read them so."""
    from inkcap.training.weights import weights_by_name

    (desk / "w.safetensors").write_bytes(content)
    weights_by_name(desk, "w.safetensors")


def _checkpoint(content: bytes, name: str, desk: Path) -> None:
    """A checkpoint whose files were replaced by one who knows how to seal them: a resume reads it so."""
    from inkcap.recipes.checkpoints import newest_checkpoint, write_checkpoint
    from inkcap.training.checkpoints import BEST, PROGRESS, TENSORS, read_snapshot

    run = desk / "run"
    run.mkdir()
    write_checkpoint(run, 1, {key: lambda: iter([content]) for key in (TENSORS, BEST, PROGRESS)})
    stored, problems = newest_checkpoint(run)
    assert stored is not None, problems
    read_snapshot(stored)


def _frame(content: bytes, name: str, desk: Path) -> None:
    from inkcap.recipes.frames import keep_frame, list_frames
    from inkcap.training.frames import read_frame_weights

    keep_frame(desk, 1, content)
    read_frame_weights(list_frames(desk)[1])


def _data(ending: str, content: bytes, name: str, desk: Path) -> None:
    """Data to train on, to look into or to predict for."""
    from inkcap.training.data import load

    given = ending or Path(name).suffix
    (desk / f"data{given}").write_bytes(content)
    load(f"data{given}", {}, desk)


def _command(content: bytes, name: str, desk: Path) -> None:
    """The command import, which takes ONNX alone, by the file's own name."""
    from inkcap.cli.importing import import_model

    (desk / name).write_bytes(content)
    if not name.endswith(".onnx"):
        import_model(str(desk / name))


DOORS: dict[str, Callable[[bytes, str, Path], None]] = {
    "import --weights": _pt,
    "import": _onnx,
    "command": _command,
    "weights": _weights,
    "resume": _checkpoint,
    "frame": _frame,
    "data": partial(_data, ""),
    "data as npz": partial(_data, ".npz"),
    "data as npy": partial(_data, ".npy"),
    "data as csv": partial(_data, ".csv"),
}


class MaliceCampaign(Campaign):
    """Every file through every door; a case's number tells both."""

    seconds = 5.0
    room = 2**31 - 2**28
    doors = DOORS

    def prepare(self) -> None:
        """Load what the doors need, and make the files."""
        import torch

        import inkcap.cli.importing
        import inkcap.exchange.importing.model
        import inkcap.exchange.importing.onnx_reader
        import inkcap.training.checkpoints
        import inkcap.training.data
        import inkcap.training.frames  # noqa: F401

        torch.set_num_threads(1)
        self.folder = Path(tempfile.mkdtemp(prefix="inkcap-canary-"))
        (self.folder / SECRET).write_text(WORD)
        self.files = list(malicious_files(self.folder))
        # The first zip and the first refusal load modules of their own.
        with contextlib.suppress(Exception), tempfile.TemporaryDirectory() as desk:
            _pt(self.files[1][1], "warm", Path(desk))

    def enter(self) -> None:
        """Listen to the interpreter."""
        self.watch = Watch(self.folder)

    def case(self, seed: int, number: int) -> str:
        """Open a file through a door, and look around."""
        from inkcap.structures import InkcapError

        name, content = self.files[number // len(self.doors)]
        door = list(self.doors)[number % len(self.doors)]
        said, end = io.StringIO(), "read as numbers"
        with tempfile.TemporaryDirectory(prefix="inkcap-malice-") as desk, contextlib.redirect_stdout(said):
            self.watch.seen.clear()
            self.watch.armed = True
            try:
                self.doors[door](content, name, Path(desk))
            except InkcapError as refusal:
                end = "refused"
                said.write(str(refusal))
            finally:
                self.watch.armed = False
            self._judge(f"{name} through {door}", said.getvalue(), Path(desk))
        return end

    def _judge(self, what: str, said: str, desk: Path) -> None:
        if self.watch.seen:
            raise Malice(f"{what}: {self.watch.seen}")
        if (self.folder / TOUCHED).exists() or sorted(os.listdir(self.folder)) != [SECRET]:
            raise Malice(f"{what}: the canary was touched")
        if WORD in said or any(WORD.encode() in path.read_bytes() for path in desk.rglob("*") if path.is_file()):
            raise Malice(f"{what}: the secret was read")
        if "\n" in said.strip() or not said.isprintable() or len(said) > 1000 or "Traceback" in said:
            raise Malice(f"{what}: not one clear line: {said[:300]!r}")


campaign = MaliceCampaign()
