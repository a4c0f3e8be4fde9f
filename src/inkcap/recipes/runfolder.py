"""A run folder: made once, written by one process, read by many."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from inkcap.recipes import layout
from inkcap.recipes.errors import RunFolderError
from inkcap.recipes.layout import RunRecord
from inkcap.recipes.metrics import MetricLog, read_log
from inkcap.recipes.record import Recipe
from inkcap.recipes.strict import dump, expect_object, parse
from inkcap.recipes.text import recipe_from_text, recipe_to_text
from inkcap.structures.atomic import sync_folder, write_atomic

WeightsName = Literal["best", "last"]

_TRIES = 10_000


@dataclass(frozen=True)
class RunFolder:
    """One run on disk. `record` is what run.json said when the folder was opened or last written by this object."""

    path: Path
    record: RunRecord

    @property
    def id(self) -> str:
        """The run's id, such as lenet-digits-0001."""
        return self.record.id

    @classmethod
    def open(cls, path: Path | str) -> "RunFolder":
        """Open and checks a run folder; a damaged or foreign one gets one error that says what is wrong."""
        folder = Path(path)
        if not folder.is_dir():
            raise RunFolderError(f"{folder.name}: there is no such run folder; list the runs to see what there is.")
        if not (folder / layout.RUN).is_file():
            raise RunFolderError(f"{folder.name}: this folder holds no {layout.RUN}, so it is no run of Inkcap.")
        record = layout.parse_run(_read(folder / layout.RUN), f"{folder.name}/{layout.RUN}")
        if record.state != "created":
            for name in (layout.DRAWING, layout.RECIPE, layout.ENVIRONMENT, layout.DATA):
                if not (folder / name).is_file():
                    raise RunFolderError(f"{folder.name}: {name} is missing; the run is damaged, train it again.")
        return cls(folder, record)

    @classmethod
    def create(cls, workspace: Path | str, drawing: str, data: str) -> "RunFolder":
        """Make the next free folder of this drawing and data; two processes never get the same one."""
        runs = Path(workspace) / layout.RUNS
        try:
            runs.mkdir(parents=True, exist_ok=True)
            number = layout.next_number(runs, drawing, data)
            for candidate in range(number, number + _TRIES):
                folder = runs / layout.run_name(drawing, data, candidate)
                try:
                    folder.mkdir(exist_ok=False)
                except FileExistsError:
                    continue
                sync_folder(runs)
                record = RunRecord(id=folder.name, drawing=drawing, created=layout.now(), pid=os.getpid())
                made = cls(folder, record)
                made.write_text(layout.RUN, record.to_text())
                return made
        except OSError as problem:
            raise RunFolderError(
                f"{runs}: no run folder could be made ({problem.strerror}); check the workspace."
            ) from None
        raise RunFolderError(
            f"{runs}: the numbers {number} to {number + _TRIES - 1} are all taken; tidy the folder up."
        )

    def update(self, **changes: Any) -> "RunFolder":
        """Write run.json anew with some values changed."""
        record = replace(self.record, **changes)
        self.write_text(layout.RUN, record.to_text())
        return RunFolder(self.path, record)

    def write_text(self, name: str, text: str) -> None:
        """Write one of the folder's files as a whole."""
        try:
            write_atomic(self.path / name, text)
        except OSError as problem:
            raise RunFolderError(f"{self.id}/{name}: could not be written ({problem.strerror}).") from None

    def write_json(self, name: str, value: object) -> None:
        """Write one of the folder's files from plain values."""
        self.write_text(name, dump(value))

    def write_recipe(self, recipe: Recipe) -> None:
        """Write recipe.json."""
        self.write_text(layout.RECIPE, recipe_to_text(recipe))

    def drawing_text(self) -> str:
        """Give the text of the drawing that was trained."""
        try:
            return _read(self.path / layout.DRAWING).decode("utf-8")
        except UnicodeDecodeError:
            raise RunFolderError(f"{self.id}/{layout.DRAWING}: not UTF-8; the run is damaged.") from None

    def recipe(self) -> Recipe:
        """Give the recipe, with the losses that were chosen."""
        return recipe_from_text(_read(self.path / layout.RECIPE), f"{self.id}/{layout.RECIPE}")

    def environment(self) -> Mapping[str, object]:
        """Where it ran and with what."""
        return self._object(layout.ENVIRONMENT)

    def data(self) -> Mapping[str, object]:
        """Give the manifest of the data, the fitted preparation, the classes and the split."""
        return self._object(layout.DATA)

    def summary(self) -> Mapping[str, object]:
        """Give what came out; empty before the run has ended."""
        return self._object(layout.SUMMARY) if (self.path / layout.SUMMARY).is_file() else {}

    def metrics(self) -> MetricLog:
        """Give the metrics as far as they can be trusted."""
        return read_log(self.path / layout.METRICS)

    def weights_file(self, which: WeightsName = "best") -> Path:
        """Give the file of the best or the last weights, its check sum compared; the best fall back to the last."""
        choices = {"best": (layout.BEST, self.record.best_sha256), "last": (layout.WEIGHTS, self.record.weights_sha256)}
        name, expected = choices[which]
        if which == "best" and not expected:
            name, expected = choices["last"]
        path = self.path / name
        if not expected:
            return self._unsealed()
        if not path.is_file():
            raise RunFolderError(f"{self.id}: {name} is missing; the run is damaged, train it again.")
        found = sha256_of(path)
        if found != expected:
            raise RunFolderError(
                f"{self.id}: {name} has the check sum {found[:12]}… in place of {expected[:12]}…; "
                "the file was changed or damaged, train the run again or fetch a whole copy."
            )
        return path

    def _unsealed(self) -> Path:
        # A run that still runs, or that was killed, has no check sums; each file it left was written as a whole.
        for name in (layout.BEST, layout.WEIGHTS):
            if self.record.state == "running" and (self.path / name).is_file():
                return self.path / name
        raise RunFolderError(f"{self.id}: the run is {self.record.state} and has no weights; train it first.")

    def _object(self, name: str) -> Mapping[str, object]:
        place = f"{self.id}/{name}"
        return expect_object(parse(_read(self.path / name), place, RunFolderError), place, RunFolderError)


@dataclass(frozen=True)
class DamagedRun:
    """A folder among the runs that could not be opened, and why."""

    path: Path
    problem: str


def list_runs(workspace: Path | str) -> tuple[tuple[RunFolder, ...], tuple[DamagedRun, ...]]:
    """Give the runs of a workspace from the oldest to the newest, and apart from them the folders that are damaged."""
    folder = Path(workspace) / layout.RUNS
    if not folder.is_dir():
        return (), ()
    whole: list[RunFolder] = []
    damaged: list[DamagedRun] = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or not path.is_dir():
            continue
        try:
            whole.append(RunFolder.open(path))
        except RunFolderError as problem:
            damaged.append(DamagedRun(path, str(problem)))
    return tuple(sorted(whole, key=lambda run: (run.record.created, run.id))), tuple(damaged)


def find_run(workspace: Path | str, name: str | Path) -> RunFolder:
    """Give a run by its id in the workspace, or by the path of its folder."""
    inside = Path(workspace) / layout.RUNS / name
    if Path(name).name == str(name) and inside.is_dir():
        return RunFolder.open(inside)
    if Path(name).is_dir():
        return RunFolder.open(name)
    known = ", ".join(run.id for run in list_runs(workspace)[0][-10:]) or "none"
    raise RunFolderError(f"{name}: there is no such run; the latest runs of the workspace are: {known}.")


def sha256_of(path: Path) -> str:
    """Give the check sum of a file, read in pieces."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise RunFolderError(f"{path.parent.name}/{path.name}: cannot be read ({problem.strerror}).") from None
