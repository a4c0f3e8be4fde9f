"""Exports: made by a process of their own in a folder of the studio, and kept there until they were fetched."""

from __future__ import annotations

import asyncio
import re
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inkcap.structures.errors import InkcapError
from inkcap.studio.helper import Helper

PATIENCE = 900.0
"""Seconds that an export may take: ONNX of a network of a hundred layers takes minutes."""
AT_ONCE = 2
KEPT = 6
"""How many exports are kept for those who fetch them late."""
TOKEN = re.compile(r"[0-9a-f]{32}")


class ExportRefused(InkcapError):
    """An export that cannot be made now, or that is not there any more."""


@dataclass(frozen=True)
class Made:
    """An export: its token, its files, how it was proven, and what a person should know."""

    token: str
    files: tuple[Path, ...]
    told: str
    notes: tuple[str, ...]


class Exports:
    """The exports of a studio, newest last."""

    def __init__(self, folder: Path) -> None:
        """Keep them in a folder of their own; what a studio before left there goes."""
        self._folder = folder / "exports"
        self._running = 0
        shutil.rmtree(self._folder, ignore_errors=True)

    async def make(self, stem: str, **question: Any) -> Made:
        """Let a process of its own make an export, and end the process."""
        if self._running >= AT_ONCE:
            raise ExportRefused(f"{AT_ONCE} exports are being made: wait until one of them is there")
        token = secrets.token_hex(16)
        place = self._folder / token
        await asyncio.to_thread(place.mkdir, parents=True)
        helper = Helper(PATIENCE)
        self._running += 1
        try:
            answer = await helper.ask("export", folder=str(place), stem=stem, **question)
        except BaseException:
            await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)
            raise
        finally:
            self._running -= 1
            await helper.stop()
        await asyncio.to_thread(self._tidy)
        files = tuple(sorted(place.iterdir(), key=lambda path: answer["files"].index(path.name)))
        return Made(token, files, answer["told"], tuple(answer["notes"]))

    def find(self, token: str, name: str) -> Path:
        """Find a file of an export; a name is only compared with those that are there."""
        place = self._folder / token
        known = place.iterdir() if TOKEN.fullmatch(token) and place.is_dir() else ()
        found = next((path for path in known if path.name == name), None)
        if found is None:
            raise ExportRefused("This export is not there any more: make it again.")
        return found

    def _tidy(self) -> None:
        made = sorted((path for path in self._folder.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)
        for old in made[:-KEPT]:
            shutil.rmtree(old, ignore_errors=True)
