"""Writes one checkpoint as a program of its own, so that its system calls can be made to fail: FOLDER STEP."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from inkcap.recipes.checkpoints import Pieces, write_checkpoint


def files_of(step: int) -> dict[str, Pieces]:
    """Give the files of a checkpoint: one of several pieces, an empty one, and one of text."""

    def large() -> Iterator[bytes]:
        yield b"head" * 10
        yield step.to_bytes(8, "little") * 500

    return {"state": large, "best": lambda: iter([b""]), "progress.json": lambda: iter([b"{}", str(step).encode()])}


def content_of(step: int) -> dict[str, bytes]:
    """Give the same files as they should lie on disk."""
    return {name: b"".join(bytes(piece) for piece in pieces()) for name, pieces in files_of(step).items()}


def main() -> None:
    """Write, and say nothing: any word would be one more call."""
    folder, step = Path(sys.argv[1]), int(sys.argv[2])
    # A call that nothing else makes here: what comes after it belongs to the checkpoint.
    os.getppid()
    try:
        write_checkpoint(folder, step, files_of(step))
    except OSError as problem:
        os._exit(problem.errno)
    os._exit(0)


if __name__ == "__main__":
    main()
