"""A sweep on disk: what was to be tried, and a log of what became of it, from which all else is read."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from inkcap.drawing import Drawing, load_drawing, to_text
from inkcap.recipes import Recipe, recipe_from_text, recipe_to_text
from inkcap.recipes.fields import show
from inkcap.recipes.layout import now, slug
from inkcap.recipes.lines import seal, unseal, whole_lines
from inkcap.recipes.liveness import has_ended, own_process
from inkcap.recipes.strict import dump, expect_names, expect_object, parse, sealed, unsealed
from inkcap.structures.atomic import make_folder, sync_folder, write_atomic
from inkcap.sweeps.errors import SweepError
from inkcap.sweeps.space import Space, read_space

FORMAT = "inkcap-sweep"
VERSION = 1

SWEEPS = "sweeps"
SWEEP = "sweep.json"
DRAWING = "drawing.inkcap.json"
RECIPE = "recipe.json"
LOG = "trials.jsonl"
TRIALS = "trials"

Method = Literal["grid", "random", "halving", "guided"]
METHODS: tuple[Method, ...] = ("grid", "random", "halving", "guided")

TrialState = Literal["waiting", "running", "reached", "done", "stopped", "interrupted", "failed", "impossible"]
TRIAL_STATES: tuple[TrialState, ...] = (
    "waiting",
    "running",
    "reached",
    "done",
    "stopped",
    "interrupted",
    "failed",
    "impossible",
)
"""A trial that has reached a rung waits for the others; one that is stopped came too late in its rank to go on."""
OPEN: tuple[TrialState, ...] = ("waiting", "running", "reached")

SweepState = Literal["running", "finished", "stopped", "interrupted"]

NAME = re.compile(r"[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*")
_LONGEST_NAME = 80


@dataclass(frozen=True)
class SweepPlan:
    """The content of sweep.json, which never changes: what is varied, how, and with how much of the machine.

    `source` is the drawing of the studio that it was started from, if any.
    """

    name: str
    drawing: str
    method: Method
    space: Mapping[str, Any]
    trials: int
    seed: int
    factor: int
    at_once: int
    threads: int
    created: str = ""
    source: str = ""


@dataclass(frozen=True)
class Trial:
    """One point of the space, and what became of it.

    `values` are those of the place; `value` is the best of what decides, `scores` are the last values that the run has
    measured. `rung` counts from 0. `pid` and `process` are those of the process that trains it.
    """

    number: int
    values: Mapping[str, Any]
    state: TrialState = "waiting"
    reason: str = ""
    run: str = ""
    rung: int = 0
    epochs: int = 0
    value: float | None = None
    best_epoch: int = 0
    monitor: str = ""
    scores: Mapping[str, float | None] = field(default_factory=dict[str, "float | None"])
    pid: int = 0
    process: str = ""


@dataclass(frozen=True)
class Line:
    """One line of the log: trials that were proposed, how one stands, whom a rung lets go on, how the sweep stands."""

    seq: int
    kind: Literal["proposed", "trial", "rung", "sweep"]
    body: Mapping[str, Any]


@dataclass(frozen=True)
class Sweep:
    """A sweep as its record tells it."""

    path: Path
    plan: SweepPlan
    trials: Mapping[int, Trial]
    state: SweepState
    reason: str
    finished: str
    pid: int
    process: str
    lines: int
    end: int
    note: str
    decided: int
    """How many rungs are decided."""

    def space(self) -> Space:
        """Read the space with the drawing and the recipe that the sweep keeps."""
        return read_space(dict(self.plan.space), self.drawing(), self.recipe(), f"{self.plan.name}/{SWEEP}: space")

    def drawing(self) -> Drawing:
        """Give the drawing that all trials begin with."""
        return load_drawing(self.path / DRAWING)

    def recipe(self) -> Recipe:
        """Give the recipe that all trials begin with."""
        return recipe_from_text(_read(self.path / RECIPE), f"{self.plan.name}/{RECIPE}")

    def trial_folder(self, number: int) -> Path:
        """Give the folder of a trial's drawing, recipe and words."""
        return self.path / TRIALS / f"{number:04d}"

    def tag(self, number: int) -> str:
        """Give the mark of a trial in the record of its run."""
        return f"{self.plan.name}/{number}"


def create_sweep(workspace: Path, plan: SweepPlan, space: Space) -> Sweep:
    """Make the folder of a sweep; one of that name must not be there."""
    folder = workspace / SWEEPS / plan.name
    try:
        make_folder(folder.parent)
        folder.mkdir()
    except FileExistsError:
        # One that was killed before it was whole is no sweep yet.
        if not (folder / SWEEP).is_file() and folder.is_dir():
            return _write_sweep(folder, plan, space)
        raise SweepError(
            f"{plan.name}: there is a sweep of that name already; go on with it by --resume {plan.name}, "
            "or give another --name."
        ) from None
    except OSError as problem:
        raise SweepError(f"{folder}: could not be made ({problem.strerror}); check the workspace.") from None
    return _write_sweep(folder, plan, space)


def _write_sweep(folder: Path, plan: SweepPlan, space: Space) -> Sweep:
    plan = replace(plan, created=now(), space=space.to_json())
    write_atomic(folder / DRAWING, to_text(space.drawing))
    write_atomic(folder / RECIPE, recipe_to_text(space.recipe))
    # The last one makes it a sweep.
    write_atomic(folder / SWEEP, dump(sealed({"format": FORMAT, "version": VERSION, **dataclasses.asdict(plan)})))
    sync_folder(folder.parent)
    return open_sweep(folder)


def open_sweep(path: Path) -> Sweep:
    """Read the record of a sweep."""
    if not (path / SWEEP).is_file():
        raise SweepError(f"{path.name}: there is no such sweep; 'inkcap sweeps' lists those there are.")
    plan = _read_plan(path)
    data = _read(path / LOG) if (path / LOG).is_file() else b""
    lines, end, note = whole_lines(data, f"{path.name}/{LOG}", 1, _decode)
    trials: dict[int, Trial] = {}
    told: Mapping[str, Any] = {"state": "interrupted", "reason": "", "when": "", "pid": 0, "process": ""}
    decided = 0
    for line in lines:
        if line.kind == "proposed":
            proposed = [Trial(**told) for told in line.body["trials"]]
            trials.update({trial.number: trial for trial in proposed})
        elif line.kind == "trial":
            trial = Trial(**line.body)
            trials[trial.number] = trial
        elif line.kind == "rung":
            trials.update(_after_rung(trials, line.body["rung"], line.body["promoted"]))
            decided = line.body["rung"] + 1
        else:
            told = line.body
    state, reason = cast("SweepState", told["state"]), cast("str", told["reason"])
    if state == "running" and has_ended(told["pid"], told["process"]):
        state, reason = "interrupted", "the process ended without a word"
    finished = told["when"] if state != "running" else ""
    process = (told["pid"], told["process"])
    return Sweep(path, plan, trials, state, reason, finished, *process, len(lines), end, note, decided)


def _after_rung(trials: Mapping[int, Trial], rung: int, going: list[int]) -> dict[int, Trial]:
    """Let the better ones of a rung go on, and stop the others there."""
    found: dict[int, Trial] = {}
    for number, trial in trials.items():
        if trial.state == "reached" and trial.rung == rung:
            if number in going:
                found[number] = replace(trial, state="waiting", rung=rung + 1)
            else:
                reason = f"others were better after {trial.epochs} epoch{'' if trial.epochs == 1 else 's'}"
                found[number] = replace(trial, state="stopped", reason=reason)
    return found


class SweepLog:
    """Adds to the log of a sweep; each line is on the disk before anything follows from it."""

    def __init__(self, sweep: Sweep) -> None:
        """Go on after the last line that can be trusted; what is torn behind it is cut off."""
        self._seq = sweep.lines
        try:
            self._file = open(sweep.path / LOG, "ab", buffering=0)  # noqa: SIM115 - closed by close()
            self._file.truncate(sweep.end)
            # Lines that last are of no use in a file whose name does not.
            sync_folder(sweep.path)
        except OSError as problem:
            raise SweepError(f"{sweep.plan.name}/{LOG}: cannot be written ({problem.strerror}).") from None

    def proposed(self, trials: list[Trial]) -> None:
        """Write what is to be tried: one line, so that a sweep which was killed has all of it or nothing."""
        self._write("proposed", {"trials": [dataclasses.asdict(trial) for trial in trials]})

    def trial(self, trial: Trial) -> None:
        """Write how a trial stands."""
        self._write("trial", dataclasses.asdict(trial))

    def rung(self, rung: int, promoted: tuple[int, ...]) -> None:
        """Write which trials a rung lets go on: one line, so that it is decided wholly or not at all."""
        self._write("rung", {"rung": rung, "promoted": list(promoted)})

    def sweep(self, state: SweepState, reason: str = "") -> None:
        """Write how the sweep stands."""
        mark = {"pid": os.getpid(), "process": own_process()}
        self._write("sweep", {"state": state, "reason": reason, "when": now(), **mark})

    def _write(self, kind: str, body: Mapping[str, Any]) -> None:
        line = memoryview(seal({"seq": self._seq + 1, "kind": kind, **body}))
        try:
            while line:
                line = line[self._file.write(line) :]
            os.fsync(self._file.fileno())
        except OSError as problem:
            raise SweepError(
                f"{LOG}: could not be written ({problem.strerror}); make room, and go on with --resume."
            ) from None
        self._seq += 1

    def close(self) -> None:
        """Take no more."""
        self._file.close()


_SHAPES: Mapping[str, Mapping[str, tuple[type, ...]]] = {
    "trial": {
        "number": (int,),
        "values": (dict,),
        "state": (str,),
        "reason": (str,),
        "run": (str,),
        "rung": (int,),
        "epochs": (int,),
        "value": (float, int, type(None)),
        "best_epoch": (int,),
        "monitor": (str,),
        "scores": (dict,),
        "pid": (int,),
        "process": (str,),
    },
    "proposed": {"trials": (list,)},
    "rung": {"rung": (int,), "promoted": (list,)},
    "sweep": {"state": (str,), "reason": (str,), "when": (str,), "pid": (int,), "process": (str,)},
}


def _decode(line: bytes) -> Line:
    plain = unseal(line)
    seq, kind = plain.pop("seq", None), plain.pop("kind", None)
    if type(seq) is not int or kind not in _SHAPES:
        raise ValueError("an unknown kind")
    _expect_shape(kind, plain)
    for told in plain["trials"] if kind == "proposed" else ():
        _expect_shape("trial", told)
    return Line(seq, kind, plain)


def _expect_shape(kind: str, plain: object) -> None:
    shape = _SHAPES[kind]
    given = cast("dict[str, Any]", plain) if isinstance(plain, dict) else {}
    if set(given) != set(shape):
        raise ValueError("unknown or missing names")
    if not all(type(given[name]) in kinds for name, kinds in shape.items()):
        raise ValueError("a value of a wrong type")
    if kind == "trial" and given["state"] not in TRIAL_STATES:
        raise ValueError(f"the state {given['state']!r}")


def _read_plan(path: Path) -> SweepPlan:
    place = f"{path.name}/{SWEEP}"
    given = unsealed(expect_object(parse(_read(path / SWEEP), place, SweepError), place, SweepError), place, SweepError)
    if given.pop("format", None) != FORMAT or given.pop("version", None) != VERSION:
        raise SweepError(f"{place}: this is no sweep that can be read; it has to be of {FORMAT!r}, version {VERSION}.")
    names = [item.name for item in dataclasses.fields(SweepPlan)]
    expect_names(given, names, names, place, SweepError)
    for name in ("trials", "seed", "factor", "at_once", "threads"):
        if type(given[name]) is not int:
            raise SweepError(f"{place}: {name} {show(given[name])} is not a whole number.")
    for name in ("name", "drawing", "method", "created", "source"):
        if not isinstance(given[name], str):
            raise SweepError(f"{place}: {name} {show(given[name])} is not a text.")
    if given["method"] not in METHODS:
        raise SweepError(f"{place}: the method {show(given['method'])} is not one of {', '.join(METHODS)}.")
    expect_object(given["space"], f"{place}: space", SweepError)
    return SweepPlan(**cast("dict[str, Any]", given))


def list_sweeps(workspace: Path) -> tuple[tuple[Sweep, ...], tuple[tuple[Path, str], ...]]:
    """Give the sweeps of a workspace from the oldest to the newest, and apart from them what cannot be read."""
    folder = workspace / SWEEPS
    whole: list[Sweep] = []
    damaged: list[tuple[Path, str]] = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        # A link leads to what is no sweep of this workspace.
        if path.is_dir() and not path.is_symlink() and not path.name.startswith("."):
            try:
                whole.append(open_sweep(path))
            except SweepError as problem:
                damaged.append((path, str(problem)))
    return tuple(sorted(whole, key=lambda sweep: (sweep.plan.created, sweep.plan.name))), tuple(damaged)


def find_sweep(workspace: Path, name: str) -> Sweep:
    """Give a sweep of a workspace by its name."""
    check_name(name)
    if not (workspace / SWEEPS / name / SWEEP).is_file():
        known = ", ".join(sweep.plan.name for sweep in list_sweeps(workspace)[0][-10:]) or "none"
        raise SweepError(f"{name}: there is no such sweep; the latest of the workspace are: {known}.")
    return open_sweep(workspace / SWEEPS / name)


def check_name(name: str) -> str:
    """Give a name that is safe as a folder's on every platform."""
    if not NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise SweepError(
            f"{name!r} is no name for a sweep; give letters, digits, _ and -, at most {_LONGEST_NAME} of them."
        )
    return name


def free_name(workspace: Path, drawing: str, data: str) -> str:
    """Give the next free name of a sweep of this drawing and this data."""
    stem = f"{slug(drawing, 'drawing')}-{slug(data, 'data')}-sweep"
    number = 1
    while (workspace / SWEEPS / f"{stem}-{number:02d}").exists():
        number += 1
    return f"{stem}-{number:02d}"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise SweepError(f"{path.parent.name}/{path.name}: cannot be read ({problem.strerror}).") from None
