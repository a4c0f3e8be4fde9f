"""What a run needs of a place beside its workspace where it is kept, too: a storage that several machines share."""

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol


class Elsewhere(Protocol):
    """Another place of a run. It may be slow or gone at any moment: only taking a name or a turn waits for it."""

    def names(self) -> Iterable[str]:
        """Give the ids of the runs that are there."""
        ...

    def take(self, folder: Path) -> bool:
        """Take the name of a new run's folder there, or tell that another machine has it."""
        ...

    def go_on(self, folder: Path) -> None:
        """Take the next turn at a run, or raise where another machine was faster."""
        ...

    def changed(self, folder: Path) -> None:
        """Hear that a checkpoint is whole, or that the run has begun; called in any thread, and over in a moment."""
        ...

    def news(self) -> str:
        """Give what is to be told of the other place, once."""
        ...
