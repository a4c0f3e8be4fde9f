"""Commands of Inkcap that outlive the process that starts them: a training, a sweep."""

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

OUT, ERRORS = "out.txt", "errors.txt"
LONGEST_WORDS = 2_000
TRACE = "Traceback (most recent call last):"


def start_apart(command: Sequence[str], workspace: Path, folder: Path) -> subprocess.Popen[bytes]:
    """Start a command of Inkcap in a session of its own; what it says goes into files of the folder."""
    with open(folder / OUT, "wb") as out, open(folder / ERRORS, "wb") as errors:
        # Neither Ctrl-C in this terminal nor the end of this process reaches another session.
        return subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "inkcap", *command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            env={**os.environ, "OMP_WAIT_POLICY": "passive"},
            cwd=workspace,
            start_new_session=True,
        )


def complaint(folder: Path) -> str:
    """Give what a command that was started with this folder had to complain about, in its last words."""
    with suppress(OSError):
        text = (folder / ERRORS).read_text(encoding="utf-8", errors="replace").strip().removeprefix("inkcap: ")
        # Of a fault of Inkcap itself the last line says what it is.
        return f"{TRACE}\n{text.splitlines()[-1]}" if TRACE in text else text[-LONGEST_WORDS:]
    return ""
