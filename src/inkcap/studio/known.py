"""The zoo as the start screen shows it: the one place that knows how the zoo is registered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any

from inkcap.drawing import Drawing
from inkcap.network import Report, check
from inkcap.network.picture import picture_of
from inkcap.structures.atomic import write_atomic
from inkcap.structures.errors import InkcapError
from inkcap.studio.catalogue import catalogue
from inkcap.studio.models import ZooEntry
from inkcap.zoo import NETWORKS, draw

COUNTED = ("parameters", "multiply_adds", "capsules", "connections", "kind")


def draw_known(name: str) -> Drawing:
    """Draw a network of the zoo by any of its names."""
    return draw(name)


@lru_cache(maxsize=8)
def _checked(name: str) -> Report:
    return check(draw(name))


@lru_cache(maxsize=256)
def known_picture(name: str, dark: bool) -> str:
    """Draw the picture of a network of the zoo."""
    return picture_of(_checked(name), "dark" if dark else "light")


FIRST = (
    *("lenet-digits", "lenet_fig21_32-64-512", "alexnet_torchvision", "resnet18"),
    *("ssd_narrow", "unet_narrow", "googlenet_tv_main", "capsnet-digits", "densenet121", "mlp-figure-22"),
)
"""What most people look for comes first; the rest follows in the order of the zoo, as the paper tells it."""


class Zoo:
    """The list of known networks, with counts that are made once for a version of Inkcap and kept."""

    def __init__(self, folder: Path) -> None:
        """Read the counts that were made before."""
        self._file = folder / "zoo.json"
        self._key = f"{catalogue()['version']} {len(NETWORKS)}"
        self._counts: dict[str, dict[str, Any]] = {}
        self._counting: threading.Thread | None = None
        self._process: subprocess.Popen[str] | None = None
        try:
            kept = json.loads(self._file.read_text(encoding="utf-8"))
            if kept["key"] == self._key:
                self._counts = kept["counts"]
        except (OSError, ValueError, KeyError, TypeError):
            self._counts = {}

    def entries(self, search: str = "", patience: float = 1.0) -> list[ZooEntry]:
        """List what fits a search; whatever is not counted yet is counted meanwhile."""
        if self._counting is None and any(name not in self._counts for name in NETWORKS):
            self._counting = threading.Thread(target=self._count, daemon=True)
            self._counting.start()
        if self._counting is not None:
            self._counting.join(patience)
        words = search.lower().split()
        found = [self._entry(name, NETWORKS[name]) for name in (*FIRST, *(n for n in NETWORKS if n not in FIRST))]
        return [entry for entry in found if all(word in _searched(entry) for word in words)]

    def _count(self) -> None:
        known = set(self._counts)
        # A process of its own, behind all others: counting takes seconds, and whoever draws must not wait for it.
        command = [sys.executable, "-c", "from inkcap.studio.known import count_all; count_all()"]
        asked = " ".join(name for name in NETWORKS if name not in known)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        try:
            with subprocess.Popen(  # noqa: S603
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", env=environment
            ) as process:
                self._process = process
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(asked)
                process.stdin.close()
                for line in process.stdout:
                    told = json.loads(line)
                    self._counts[told.pop("name")] = told
            write_atomic(self._file, json.dumps({"key": self._key, "counts": self._counts}))
        except (OSError, ValueError):
            # Counting again next time is all that is lost.
            return

    def stop(self) -> None:
        """End the counting."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
        if self._counting is not None:
            self._counting.join()

    def _entry(self, name: str, record: Any) -> ZooEntry:
        counts = self._counts.get(name, {})
        return ZooEntry(
            name=name,
            aliases=list(getattr(record, "aliases", ())),
            title=getattr(record, "title", None) or counts.get("title") or name,
            reference=str(getattr(record, "reference", "")),
            **{key: counts.get(key) for key in COUNTED},  # pyright: ignore[reportArgumentType]
        )


def count_all() -> None:
    """Count the networks that are named on the standard input, a line of JSON for each."""
    if hasattr(os, "nice"):
        os.nice(10)
    for name in sys.stdin.read().split():
        try:
            report = check(draw(name))
        except InkcapError:
            continue
        told = report.outline()
        counts = {**{key: told[key] for key in COUNTED}, "title": report.drawing.name}
        sys.stdout.write(json.dumps({"name": name, **counts}) + "\n")
        sys.stdout.flush()


def _searched(entry: ZooEntry) -> str:
    return " ".join((entry.name, *entry.aliases, entry.title, entry.reference)).lower()
