"""Trainings as the studio starts them and goes on with them: by the very commands that a person would give."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from inkcap.drawing import SUFFIX, Drawing
from inkcap.network import Network, as_plain
from inkcap.recipes import DataSpec, RunFolder, RunFolderError
from inkcap.recipes.steering import GOING
from inkcap.recipes.text import FORMAT, VERSION, recipe_from_json, recipe_to_text
from inkcap.structures.errors import InkcapError
from inkcap.studio import trainers
from inkcap.studio.hub import Hub
from inkcap.studio.run_list import run_id
from inkcap.studio.run_models import TrainRequest
from inkcap.studio.uploads import check_inside
from inkcap.studio.workspace import safe_stem

PATIENCE = 90.0
"""Seconds that a training may take to load its data and begin; what goes wrong until then is told at once."""
SETTLING = 10.0
"""Seconds that are waited for a run that is there to begin to learn."""
POLL = 0.1


class TrainingError(InkcapError):
    """A training that could not be started, in its own words."""


USUAL: dict[str, Any] = {"signals": True}
"""What a recipe says in the studio unless a person says otherwise: here a training is to be seen."""


SHARED = ("workers", "sharded", "joint_norm")
"""What a recipe says of several workers."""
SHARES = "ray"
"""The package that starts them."""


def missing_for(field: str) -> str:
    """Give the command that installs what a field of a recipe needs; nothing where it can be used."""
    # Found without being imported: that takes seconds, and only a training needs it.
    return "pip install 'inkcap[cluster]'" if field in SHARED and find_spec(SHARES) is None else ""


def as_usual(recipe: dict[str, Any], network: Network) -> dict[str, Any]:
    """Complete a recipe by what is usual in the studio; neurons in columns and parted weights give no signals."""
    silent = recipe.get("sharded") is True or as_plain(network).plain is not None
    return recipe if silent else {**USUAL, **recipe}


async def start(hub: Hub, id: str, drawing: Drawing, asked: TrainRequest) -> str:
    """Start to train, and give the run's id once its folder is there."""
    spec = {"name": asked.data} if isinstance(asked.data, str) else asked.data
    # A recipe that exists is a possible one: whatever is wrong with it is told here, before anything starts.
    chosen = recipe_from_json({"format": FORMAT, "version": VERSION, **asked.recipe, "data": spec}, "recipe")
    for path in filter(None, (chosen.data.name, chosen.init_from)):
        check_inside(path, hub.workspace)
    await asyncio.to_thread(_check_preparing, chosen.data)
    drawn = f"{safe_stem(drawing.name)}{SUFFIX}"
    watchers = ["--tensorboard"] if asked.tensorboard else []
    if asked.mlflow:
        watchers += ["--mlflow", os.environ.get("MLFLOW_TRACKING_URI") or str(hub.workspace / "mlruns")]
    trainer = await asyncio.to_thread(
        trainers.spawn,
        hub.store.folder,
        hub.workspace,
        id,
        {drawn: drawing.to_text(), "recipe.json": recipe_to_text(chosen)},
        lambda folder: ["train", str(folder / drawn), "--recipe", str(folder / "recipe.json"), *watchers],
    )
    known: set[str] = set()
    mine: list[tuple[Path, float]] = []

    def look() -> str | None:
        if not mine:
            new = [run.path for run in _new_runs(hub.workspace, known) if run.record.pid == trainer.process.pid]
            mine.extend((path, time.monotonic()) for path in new)
        return _settled(*mine[0]) if mine else None

    def begun(name: str) -> None:
        hub.store.note_run(name, id)

    return run_id(await begin(trainer, look, begun, hub.runs.folder))


def _settled(path: Path, seen: float) -> str | None:
    """Give a run's name once it learns, or has taken long: one that cannot begin is taken away, and its words tell why.

    Until then its engine is chosen, which may take all the memory that there is.
    """
    with suppress(RunFolderError):
        if RunFolder.open(path).record.state != "created" or time.monotonic() - seen > SETTLING:
            return path.name
    return None


def _check_preparing(data: DataSpec) -> None:
    """Read what is written about pictures as the training would, which takes seconds to come to it."""
    # Only a training knows data; the studio starts without numpy and what else that needs.
    from inkcap.training.data import Augmentation, parse_size

    Augmentation.parse(data.augment)
    if data.resize:
        parse_size(data.resize)


async def resume(hub: Hub, run: RunFolder, epochs: int | None) -> None:
    """Go on with a run that has ended, for so many epochs in all where they are given."""
    record = run.record
    if record.state in GOING:
        raise TrainingError(f"{run.id}: the run is {record.state} in the process {record.pid}; pause or stop it first.")
    if record.state == "finished" and epochs is None:
        raise TrainingError(f"{run.id}: the run is finished ({record.reason}); say how many epochs more it is to have.")
    more = [] if epochs is None else ["--epochs", str(epochs)]
    trainer = await asyncio.to_thread(
        trainers.spawn, hub.store.folder, hub.workspace, "", {}, lambda _: ["resume", run.id, *more]
    )

    def look() -> str | None:
        try:
            return run.id if RunFolder.open(run.path).record.pid == trainer.process.pid else None
        except RunFolderError:
            return None

    await begin(trainer, look, lambda _: None, hub.runs.folder)


async def begin(
    trainer: trainers.Trainer,
    look: Callable[[], str | None],
    begun: Callable[[str], None],
    runs: Path | None = None,
    what: str = "training",
) -> str:
    """Wait until a training has its run among the runs, or a sweep its record.

    Where that takes long it is followed on, though nobody waits any more.
    """

    async def follow() -> str:
        while True:
            ended = trainer.ended
            if (found := await asyncio.to_thread(look)) is not None:
                begun(found)
                trainer.await_end(None if runs is None else runs / found)
                return found
            if ended:
                complaint = await asyncio.to_thread(trainer.complaint)
                trainer.await_end(None)
                raise TrainingError(complaint or f"the {what} ended without a word")
            await asyncio.sleep(POLL)

    following = asyncio.create_task(follow())
    # Whoever has gone away meanwhile need not hear what went wrong.
    following.add_done_callback(lambda task: task.cancelled() or task.exception())
    try:
        return await asyncio.wait_for(asyncio.shield(following), PATIENCE)
    except TimeoutError:
        words = f"the {what} has not begun after {PATIENCE:.0f} seconds; it goes on, look for it later"
        raise TrainingError(words) from None


def _new_runs(workspace: Path, known: set[str]) -> list[RunFolder]:
    folder = workspace / "runs"
    names = {entry.name for entry in folder.iterdir() if entry.is_dir()} - known if folder.is_dir() else set[str]()
    found: list[RunFolder] = []
    for name in names:
        try:
            found.append(RunFolder.open(folder / name))
        except InkcapError:
            continue
        known.add(name)
    return found
