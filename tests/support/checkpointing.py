"""Small checkpoints whose content is known."""

from collections.abc import Iterator

from inkcap.recipes.checkpoints import Pieces


def files_of(step: int) -> dict[str, Pieces]:
    """Give the files of a checkpoint: one of several pieces, an empty one, and one of text."""

    def large() -> Iterator[bytes]:
        yield b"head" * 10
        yield step.to_bytes(8, "little") * 500

    return {"state": large, "best": lambda: iter([b""]), "progress.json": lambda: iter([b"{}", str(step).encode()])}


def content_of(step: int) -> dict[str, bytes]:
    """Give the same files as they should lie on disk."""
    return {name: b"".join(bytes(piece) for piece in pieces()) for name, pieces in files_of(step).items()}
