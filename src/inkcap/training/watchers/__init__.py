"""Watching a training by other tools, on request: TensorBoard and MLflow hear what the run's own log holds.

They stand beside the training: whatever happens to them, it goes on, and the run's folder stays the truth.
"""

import importlib.util
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inkcap.recipes import RunFolder, RunFolderError
from inkcap.recipes.strict import expect_object, parse
from inkcap.training.errors import TrainingError
from inkcap.training.watchers.beside import Beside, Watcher

FILE = "watching.json"
"""Who watches a run, so that they do when it goes on."""


@dataclass(frozen=True)
class Watching:
    """Who is to watch: TensorBoard, by files in the run's folder, and MLflow, at a URI or in a folder."""

    tensorboard: bool = False
    mlflow: str = ""

    def check(self) -> None:
        """Refuse what is not installed, before anything is trained."""
        wanted = (("tensorboard", bool(self.tensorboard)), ("mlflow", bool(self.mlflow)))
        for name, asked in wanted:
            if asked and importlib.util.find_spec(name) is None:
                raise TrainingError(f"--{name}: the package is not installed; install it: pip install 'inkcap[{name}]'")

    def joined(self, later: "Watching | None") -> "Watching":
        """Give who watches a run that goes on: those who did, and those who are asked for now."""
        if later is None:
            return self
        return Watching(self.tensorboard or later.tensorboard, later.mlflow or self.mlflow)

    def keep(self, folder: RunFolder) -> None:
        """Note in the folder who watches."""
        if self != Watching():
            folder.write_json(FILE, {"tensorboard": self.tensorboard, "mlflow": self.mlflow})

    def start(self, folder: RunFolder, facts: Mapping[str, Any], counts: Mapping[str, int]) -> list[Beside]:
        """Begin to watch; `counts` are the lines of each log that are there already."""
        made: list[Watcher] = []
        if self.tensorboard:
            from inkcap.training.watchers.tensorboard import EventFiles

            made.append(EventFiles(folder.path, facts))
        if self.mlflow:
            from inkcap.training.watchers.mlflow import Tracking

            made.append(Tracking(folder.path, tracking_uri(self.mlflow), facts))
        return [Beside(watcher, folder.path, counts) for watcher in made]


def stored_watching(folder: RunFolder) -> Watching:
    """Read who watched a run; nobody where that cannot be read."""
    with suppress(OSError, RunFolderError):
        given = expect_object(parse((folder.path / FILE).read_bytes(), FILE, RunFolderError), FILE, RunFolderError)
        board, uri = given.get("tensorboard"), given.get("mlflow")
        return Watching(board is True, uri if isinstance(uri, str) else "")
    return Watching()


def tracking_uri(given: str) -> str:
    """Give the URI of a tracking server, or of a folder of this machine."""
    if "://" in given:
        return given
    # MLflow asks those who still keep runs in a folder to say so.
    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
    return Path(given).absolute().as_uri()


def written(recipe: Mapping[str, Any]) -> str:
    """Write a recipe as people read it."""
    return json.dumps(recipe, indent=2, ensure_ascii=False)


def flat(value: Mapping[str, Any], path: str = "") -> dict[str, str | int | float | bool]:
    """Give the fields of a recipe by their paths: optimiser.rate, data.name, losses.0.kind."""
    found: dict[str, str | int | float | bool] = {}
    for name, inner in value.items():
        key = f"{path}.{name}" if path else name
        if isinstance(inner, Mapping):
            found |= flat(inner, key)  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(inner, list | tuple):
            found |= flat({str(i): one for i, one in enumerate(inner)}, key)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        elif isinstance(inner, str | int | float | bool):
            found[key] = inner
    return {name: value for name, value in found.items() if name not in ("format", "version")}
