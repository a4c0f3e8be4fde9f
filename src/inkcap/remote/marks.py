"""What a run's folder says of its copy in storage: where that is, whose turn it was, and what was fetched."""

from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from inkcap.recipes.errors import RunFolderError
from inkcap.recipes.strict import dump, expect_object, parse
from inkcap.remote.turns import Turn
from inkcap.structures.atomic import write_atomic

FILE = "elsewhere.json"
FORMAT = "inkcap-elsewhere"


@dataclass(frozen=True)
class Mark:
    """The store's URL without secrets, the last turn there when it was looked at, and this folder's own, if any.

    `version` is the manifest that the folder was fetched by, or wholly published by; one that lacks its checkpoint is
    not whole.
    """

    store: str
    turn: int
    mark: str = ""
    version: str = ""
    whole: bool = True

    @property
    def published(self) -> bool:
        """Whether all that the folder holds is in the store."""
        return bool(self.version)

    @property
    def own(self) -> Turn | None:
        """The turn that this folder's training has, or had."""
        return Turn(self.turn, self.mark) if self.mark else None

    def keep(self, folder: Path) -> None:
        """Write it into the folder."""
        write_atomic(folder / FILE, dump({"format": FORMAT, "version": 1, "elsewhere": asdict(self)}))


def read_mark(folder: Path, store: str) -> Mark | None:
    """Read what a folder says of a store; nothing where it says nothing that can be read."""
    with suppress(OSError, RunFolderError, TypeError):
        given = expect_object(parse((folder / FILE).read_bytes(), FILE, RunFolderError), FILE, RunFolderError)
        said: Any = expect_object(given.get("elsewhere"), FILE, RunFolderError)
        found = Mark(**said)
        right = all(type(getattr(found, part.name)) is part.type for part in fields(Mark))
        return found if right and given.get("format") == FORMAT and found.store == store else None
    return None
