"""Models from elsewhere: their bytes go to a process of their own, and come back as a drawing with weights.

The server never looks into them. The process hands them on to one that has little memory, time and disk, and no
network; what that leaves is a drawing file, which is read as strictly as every other.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inkcap.drawing import SUFFIX
from inkcap.structures.errors import InkcapError
from inkcap.studio.helper import Helper

PATIENCE = 180.0
"""Seconds that an import may take: reading and running have limits of their own, comparing comes on top."""
AT_ONCE = 2
MODEL = "model.onnx"


class ImportRefused(InkcapError):
    """A model that cannot be taken now, or that nobody waits for any more."""


@dataclass(frozen=True)
class Brought:
    """What an import left: the drawing, its weights where it has some, and what is told of both."""

    drawing: Path
    weights: Path | None
    told: dict[str, Any]


class Imports:
    """The imports of a studio: each in a folder of its own, which goes with it."""

    def __init__(self, folder: Path) -> None:
        """Keep them in a folder of their own; what a studio before left there goes."""
        self._folder = folder / "imports"
        self._running = 0
        shutil.rmtree(self._folder, ignore_errors=True)

    @asynccontextmanager
    async def place(self) -> AsyncGenerator[Path]:
        """Give a folder for one import, while it lasts."""
        if self._running >= AT_ONCE:
            raise ImportRefused(f"{AT_ONCE} models are being imported: wait until one of them is there")
        place = self._folder / secrets.token_hex(16)
        self._running += 1
        try:
            await asyncio.to_thread(place.mkdir, parents=True)
            yield place
        finally:
            self._running -= 1
            await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)


async def read_model(name: str, place: Path) -> Brought:
    """Let a process of its own make a drawing of the model in a folder, and end the process."""
    helper = Helper(PATIENCE)
    try:
        told = await helper.ask("import", model=str(place / MODEL), name=name, drawing=str(place / f"model{SUFFIX}"))
    finally:
        await helper.stop()
    drawing, *weights = map(Path, told["files"])
    return Brought(drawing, next(iter(weights), None), told)
