"""A run folder: made once, written by one process, read by many."""

import hashlib
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

from inkcap.recipes import layout
from inkcap.recipes.elsewhere import Elsewhere
from inkcap.recipes.errors import RunFolderError
from inkcap.recipes.layout import RunRecord
from inkcap.recipes.liveness import has_ended, own_process
from inkcap.recipes.metrics import MetricLog, read_log
from inkcap.recipes.record import Recipe
from inkcap.recipes.signals import EpochSignals, SignalLog, read_signal_log
from inkcap.recipes.strict import dump, expect_object, parse, sealed, unsealed
from inkcap.recipes.text import recipe_from_text, recipe_to_text
from inkcap.structures.atomic import make_folder, sync_folder, write_atomic

WeightsName = Literal["best", "last"]

_TRIES = 10_000

KILLED = "the process ended without a word"
"""The reason of a run that was killed: its run.json still says that it runs."""


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
        if record.state in ("created", "running") and has_ended(record.pid, record.process):
            record = replace(record, state="interrupted", reason=KILLED)
        return cls(folder, record)

    @classmethod
    def create(
        cls,
        workspace: Path | str,
        drawing: str,
        data: str,
        sweep: str = "",
        owner: tuple[int, str] | None = None,
        job: str = "",
        elsewhere: Elsewhere | None = None,
    ) -> "RunFolder":
        """Make the next free folder of this drawing and data; two processes never get the same one.

        `owner` is the number and mark of the process that stands for the run, where it is not this one. Where runs are
        kept elsewhere, too, the name is taken there as well: so two machines never get the same one.
        """
        runs = Path(workspace) / layout.RUNS
        try:
            make_folder(runs)
            known = [path.name for path in runs.iterdir()] + list(elsewhere.names() if elsewhere is not None else ())
            number = layout.next_number(known, drawing, data)
            for candidate in range(number, number + _TRIES):
                folder = runs / layout.run_name(drawing, data, candidate)
                try:
                    folder.mkdir(exist_ok=False)
                except FileExistsError:
                    continue
                if elsewhere is not None and not cls._taken(folder, elsewhere):
                    continue
                sync_folder(runs)
                pid, mark = owner or (os.getpid(), own_process())
                record = RunRecord(
                    folder.name, drawing, created=layout.now(), pid=pid, process=mark, sweep=sweep, job=job
                )
                return cls._described(folder, record)
        except OSError as problem:
            raise RunFolderError(
                f"{runs}: no run folder could be made ({problem.strerror}); check the workspace."
            ) from None
        raise RunFolderError(
            f"{runs}: the numbers {number} to {number + _TRIES - 1} are all taken; tidy the folder up."
        )

    @staticmethod
    def _taken(folder: Path, elsewhere: Elsewhere) -> bool:
        """Take a new folder's name elsewhere; where that cannot be, the folder goes again."""
        taken = False
        try:
            taken = elsewhere.take(folder)
        finally:
            if not taken:
                shutil.rmtree(folder, ignore_errors=True)
        return taken

    @classmethod
    def _described(cls, folder: Path, record: RunRecord) -> "RunFolder":
        """Write the first run.json of a folder; one that cannot hold even that is taken away again."""
        made = cls(folder, record)
        try:
            made.write_text(layout.RUN, record.to_text())
        except RunFolderError:
            made.remove()
            raise
        return made

    def update(self, **changes: Any) -> "RunFolder":
        """Write run.json anew with some values changed."""
        record = replace(self.record, **changes)
        self.write_text(layout.RUN, record.to_text())
        return RunFolder(self.path, record)

    def mark_failed(self, reason: str) -> "RunFolder":
        """Write that the run failed, as well as that can be done: on a full disk in the place of the old run.json."""
        record = replace(self.record, state="failed", reason=reason, finished=layout.now())
        try:
            self.write_text(layout.RUN, record.to_text())
        except RunFolderError:
            with suppress(OSError), open(self.path / layout.RUN, "r+b", buffering=0) as file:
                file.write(record.to_text().encode())
                file.truncate()
        return RunFolder(self.path, record)

    def remove(self) -> None:
        """Take the folder away with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)

    def write_text(self, name: str, text: str) -> None:
        """Write one of the folder's files as a whole."""
        try:
            write_atomic(self.path / name, text)
        except OSError as problem:
            raise RunFolderError(f"{self.id}/{name}: could not be written ({problem.strerror}).") from None

    def write_json(self, name: str, value: Mapping[str, object]) -> None:
        """Write one of the folder's files from plain values, with their check sum."""
        self.write_text(name, dump(sealed(value)))

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
        if not (self.path / layout.SUMMARY).is_file():
            return {}
        summary, place = self._object(layout.SUMMARY), f"{self.id}/{layout.SUMMARY}"
        for name, value in expect_object(summary.get("values", {}), f"{place}: values", RunFolderError).items():
            if value is not None and type(value) not in (int, float):
                raise RunFolderError(f"{place}: the value {name!r} is no number; train the run again.")
        return summary

    def metrics(self) -> MetricLog:
        """Give the metrics as far as they can be trusted; a run that has ended knows how many lines there were."""
        log = read_log(self.path / layout.METRICS)
        return replace(log, note=log.note or self._lacking(layout.METRICS, len(log.records)))

    def signals(self) -> tuple[EpochSignals, ...]:
        """Give the signals of the capsules after each epoch; nothing where the recipe did not ask for them."""
        return self.signal_log().epochs

    def signal_log(self) -> SignalLog:
        """Give the signals as far as they can be trusted, and a word on what was left out."""
        log = read_signal_log(self.path / layout.SIGNALS)
        return replace(log, note=log.note or self._lacking(layout.SIGNALS, len(log.epochs)))

    def _lacking(self, name: str, found: int) -> str:
        """Say that a log has fewer lines than there were when the run ended, if so."""
        with suppress(RunFolderError):
            lines = self.summary().get("lines")
            count = cast("dict[str, object]", lines).get(name) if isinstance(lines, dict) else None
            if isinstance(count, int) and found < count:
                return f"{name}: it has only {found} of {count} lines."
        return ""

    def resumes(self) -> list[dict[str, Any]]:
        """Give when, from where and how exactly the run was gone on with; nothing for one that never stopped."""
        place = f"{self.id}/{layout.RESUMES}"
        if not (self.path / layout.RESUMES).is_file():
            return []
        given = self._object(layout.RESUMES)
        entries = given.get("resumes")
        if given.get("format") != layout.RESUMES_FORMAT or not isinstance(entries, list):
            raise RunFolderError(f"{place}: damaged; take the file away to go on without what it says.")
        return [dict(expect_object(entry, place, RunFolderError)) for entry in cast("list[object]", entries)]

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
            if (self.path / name).is_file():
                return self.path / name
        if self.record.state == "interrupted":
            raise RunFolderError(f"{self.id}: the run was ended before its first checkpoint; train again.")
        if self.record.state == "running":
            raise RunFolderError(f"{self.id}: the run is running and has no weights yet; wait for its first epoch.")
        raise RunFolderError(f"{self.id}: the run is {self.record.state} and has no weights; train it first.")

    def _object(self, name: str) -> Mapping[str, object]:
        place = f"{self.id}/{name}"
        given = expect_object(parse(_read(self.path / name), place, RunFolderError), place, RunFolderError)
        return unsealed(given, place, RunFolderError, needed=self.record.seals)


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
