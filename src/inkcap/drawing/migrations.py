"""Migrations: how a file of an older format becomes one of this format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from inkcap.drawing.codec import DrawingError

FORMAT = 1
"""The format that this version writes."""

Document = dict[str, Any]


@dataclass(frozen=True)
class Migration:
    """One step from a format to the next, with cases (before, after) that the tests replay."""

    source: int
    summary: str
    migrate: Callable[[Document], Document]
    cases: tuple[tuple[Document, Document], ...]


MIGRATIONS: tuple[Migration, ...] = ()
"""In order of source; format 1 is the first, so there is none yet."""


def migrate(document: Document, migrations: tuple[Migration, ...] = MIGRATIONS, target: int = FORMAT) -> Document:
    """Bring a document to the target format, step by step."""
    version = document.get("format")
    if isinstance(version, bool) or not isinstance(version, int):
        raise DrawingError(f"must be the format number, {target} today, not {version!r}", "format")
    if version > target:
        raise DrawingError(
            f"the file has format {version}, this version reads up to {target}; it was saved by a newer Inkcap: "
            "upgrade with 'pip install --upgrade inkcap'",
            "format",
        )
    steps = {migration.source: migration for migration in migrations}
    while version < target:
        if version not in steps:
            raise DrawingError(f"there is no way from format {version} to {target}", "format")
        document = {**steps[version].migrate(document), "format": version + 1}
        version += 1
    return document


def untested(migrations: tuple[Migration, ...] = MIGRATIONS) -> list[str]:
    """Name the migrations that have no case, or whose cases do not hold."""
    faults: list[str] = []
    for migration in migrations:
        if not migration.cases:
            faults.append(f"the migration from format {migration.source} has no case")
        for before, after in migration.cases:
            if migrate(before, (migration,), migration.source + 1) != after:
                faults.append(f"a case of the migration from format {migration.source} does not hold")
    return faults
