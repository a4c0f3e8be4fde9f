"""Every file of a run folder by name, and the record that says what state the run is in."""

import dataclasses
import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, cast

from inkcap.recipes.errors import RunFolderError
from inkcap.recipes.fields import show
from inkcap.recipes.strict import CHECK, dump, expect_names, expect_object, parse, sealed, unsealed

FORMAT = "inkcap-run"
VERSION = 2
"""From 2 on, every file of a run that only Inkcap writes has a check sum; in runs of version 1 it may lack."""

RUNS = "runs"
RUN = "run.json"
DRAWING = "drawing.inkcap.json"
RECIPE = "recipe.json"
ENVIRONMENT = "environment.json"
DATA = "data.json"
METRICS = "metrics.jsonl"
WEIGHTS = "weights.safetensors"
BEST = "best.safetensors"
SUMMARY = "summary.json"
SIGNALS = "signals.jsonl"
CHECKPOINTS = "checkpoints"
FRAMES = "frames"
PACE = "pace.json"
"""How much a run waits for data, while it goes on; in the end the summary tells it."""
RESUMES = "resumes.json"
RESUMES_FORMAT = "inkcap-resumes"
SHORT = "short-of-memory.json"
"""How many processes the kernel has ended for lack of memory while a run went on that was killed."""
WISH = "wish"
"""What was asked of a run from outside, until it has ended by it: to pause, or to stop."""
FILES = (RUN, DRAWING, RECIPE, ENVIRONMENT, DATA, METRICS, WEIGHTS, BEST, SUMMARY, CHECKPOINTS)
WRITTEN = (*FILES, SIGNALS, PACE, RESUMES, SHORT)
"""All that Inkcap may be writing when a run's process is killed; a person's notes are not among it."""

State = Literal["created", "running", "finished", "interrupted", "failed"]
STATES: tuple[State, ...] = ("created", "running", "finished", "interrupted", "failed")
ENDED: tuple[State, ...] = ("finished", "interrupted", "failed")

PAUSED = "paused"
"""The reason of a run that was stopped in order to go on later."""

_ID = re.compile(r"[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*-[0-9]{4,9}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z")
_SHA = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class RunRecord:
    """The content of run.json. Times are UTC; check sums are those of the weight files, empty until there are any.

    `process` tells the process apart from a later one with the same number; `sweep` is the trial that the run is of,
    SWEEP/NUMBER, empty for a run of its own; `job` is what started several workers for it, and starts them again;
    `version` is that of the folder, which a run keeps that is gone on with.
    """

    id: str
    drawing: str
    state: State = "created"
    created: str = ""
    finished: str = ""
    reason: str = ""
    pid: int = 0
    weights_sha256: str = ""
    best_sha256: str = ""
    process: str = ""
    sweep: str = ""
    job: str = ""
    version: int = VERSION

    @property
    def seals(self) -> bool:
        """Whether the run's other files must have their check sums."""
        return self.version > 1

    @property
    def standing(self) -> str:
        """How the run stands: its state, or that it is paused."""
        return PAUSED if (self.state, self.reason) == ("interrupted", PAUSED) else self.state

    def to_text(self) -> str:
        """Give the record as JSON."""
        return dump(sealed({"format": FORMAT, "version": self.version, **dataclasses.asdict(self)}))


def now() -> str:
    """Give the time in UTC, to the microsecond."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def parse_run(text: str | bytes, name: str) -> RunRecord:
    """Give the record of a run.json; `name` stands in the messages."""
    given = expect_object(parse(text, name, RunFolderError), name, RunFolderError)
    if given.get("format") != FORMAT:
        raise RunFolderError(
            f"{name}: the format {show(given.get('format'))} is not {FORMAT!r}; this is no run of Inkcap."
        )
    version = given.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise RunFolderError(f"{name}: version {show(version)} cannot be read; this Inkcap reads 1 to {VERSION}.")
    names = [field.name for field in dataclasses.fields(RunRecord)]
    whole, given = given, {"process": "", "sweep": "", "job": "", **given}
    given.pop(CHECK, None)
    expect_names(given, ["format", *names], names, name, RunFolderError)
    values = {key: given[key] for key in names}
    if type(values["pid"]) is not int or values["pid"] < 0:
        raise RunFolderError(f"{name}: pid {show(values['pid'])} is not a whole number from 0.")
    for key in names:
        if key not in ("pid", "version") and not isinstance(values[key], str):
            raise RunFolderError(f"{name}: {key} {show(values[key])} is not a text.")
    if values["state"] not in STATES:
        raise RunFolderError(f"{name}: the state {show(values['state'])} is not one of {', '.join(STATES)}.")
    for key, form in (("created", _TIME), ("finished", _TIME), ("weights_sha256", _SHA), ("best_sha256", _SHA)):
        text_value = cast("str", values[key])
        if text_value and not form.fullmatch(text_value):
            raise RunFolderError(f"{name}: {key} {show(text_value)} is not well formed.")
    if not _ID.fullmatch(cast("str", values["id"])):
        raise RunFolderError(f"{name}: the id {show(values['id'])} is not of the form DRAWING-DATA-0001.")
    # Last, since a value that cannot be says more.
    unsealed(whole, name, RunFolderError, needed=version > 1)
    return RunRecord(**cast("dict[str, Any]", values))


def slug(name: str, fallback: str) -> str:
    """Give a short name that is safe as a part of a folder's name on every platform."""
    last = re.split(r"[/\\:]", name.rstrip("/\\:"))[-1]
    last = last.removesuffix(".json").removesuffix(".inkcap")
    parts = re.findall(r"[A-Za-z0-9_]+", last)
    return "-".join(parts)[:40].strip("-") or fallback


def run_name(drawing: str, data: str, number: int) -> str:
    """Give the id of a run."""
    return f"{slug(drawing, 'drawing')}-{slug(data, 'data')}-{number:04d}"


def next_number(names: Iterable[str], drawing: str, data: str) -> int:
    """One more than the highest number that this drawing and this data have had among the names of runs."""
    prefix = run_name(drawing, data, 0)[:-4]
    numbers = [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
    return max((int(number) for number in numbers if number.isascii() and number.isdigit()), default=0) + 1
