"""Data and runs: what can be trained on, how, and how it goes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, cast

from fastapi import APIRouter, Query, Request, Response
from pydantic import TypeAdapter

from inkcap.drawing import from_text
from inkcap.recipes import (
    LOSSES,
    OPTIMISERS,
    SCHEDULES,
    DataSpec,
    OptimiserSpec,
    Recipe,
    RunFolder,
    declared_fields,
    recipe_to_json,
    steering,
)
from inkcap.recipes.fields import Field
from inkcap.recipes.kinds import Kind as RecipeKind
from inkcap.recipes.layout import METRICS
from inkcap.recipes.record import MOST_WORKERS
from inkcap.studio import trainings
from inkcap.studio.carrying import recipe_to_go_on, renamings
from inkcap.studio.description import BYTES_BODY
from inkcap.studio.hub import Hub, HubOf, NotThere
from inkcap.studio.models import (
    Comparison,
    DataPreview,
    DataSet,
    DrawingId,
    Empty,
    Kind,
    PreviewRequest,
    RecipeField,
    RecipeFields,
    Undelete,
    Undo,
    Uploaded,
)
from inkcap.studio.record_shapes import Json
from inkcap.studio.routes.history import comparison_of
from inkcap.studio.routes.workspace import add_drawing
from inkcap.studio.run_list import run_id
from inkcap.studio.run_models import (
    Carried,
    Drawn,
    MemoryNeeds,
    Notes,
    ResumeRequest,
    RunDetail,
    RunRow,
    Started,
    TrainRequest,
)
from inkcap.studio.run_notes import write_notes
from inkcap.studio.run_trash import bring_back, put_run_away
from inkcap.studio.uploads import check_inside, own_data, receive
from inkcap.training.planning import worker_needs

router = APIRouter(prefix="/api")
Points = Annotated[int, Query(ge=10, le=10_000)]
MOST_DRAWN = 24
ROWS = TypeAdapter(list[RunRow])
PATIENCE = 2.0
"""Seconds that are read in the log of one run that is looked at alone."""
GONE = "There is no such run in this workspace."


@router.get("/data")
async def list_data(hub: HubOf) -> list[DataSet]:
    """List the sets that can be trained on, and the data in the workspace."""
    known = hub.data_sets or (await hub.helper.ask("data"))["sets"]
    hub.data_sets = known
    sets = [DataSet(**told, kind="set") for told in known]
    own = await asyncio.to_thread(own_data, hub.workspace)
    unknown: dict[str, Any] = {"samples": None, "shape": None, "classes": None, "options": []}
    return sets + [DataSet(name=name, title=name, kind="own", **unknown) for name in own]


@router.post("/data/preview")
async def preview_data(hub: HubOf, asked: PreviewRequest) -> DataPreview:
    """Look into data: how many samples, of which shape, which classes, the first of them, and what is wrong."""
    check_inside(asked.name, hub.workspace)
    fed: dict[str, Any] = {}
    if asked.drawing is not None:
        report = await (await hub.live(asked.drawing)).report()
        if report.well_formed:
            for part, ids in (("inputs", report.inputs), ("outputs", report.outputs)):
                found = {id: report.capsules[id].output for id in ids if id in report.capsules}
                fed[part] = {id: list(output.shape) for id, output in found.items() if output}
    answer = await hub.helper.ask(
        "preview", name=asked.name, options=asked.options, rows=asked.rows, workspace=str(hub.workspace), **fed
    )
    return DataPreview.model_validate(answer)


@router.post("/data/upload", openapi_extra=BYTES_BODY)
async def upload_data(
    hub: HubOf,
    request: Request,
    name: Annotated[str, Query(max_length=100)],
    folder: Annotated[str, Query(max_length=300)] = "",
) -> Uploaded:
    """Take a file of data into the workspace, as it streams in."""

    async def pieces() -> AsyncIterator[bytes]:
        async for piece in request.stream():
            yield piece

    taken, size = await receive(hub.workspace, name, folder, pieces())
    return Uploaded(name=taken, bytes=size)


@router.get("/recipes/fields")
def show_fields() -> RecipeFields:
    """Give everything that a recipe may say, with defaults, ranges and help."""
    return RecipeFields(
        data=[_field(field) for field in declared_fields(DataSpec)],
        recipe=[_field(field, trainings.USUAL.get(field.name)) for field in declared_fields(Recipe)],
        optimisers=_kinds(OPTIMISERS),
        schedules=_kinds(SCHEDULES),
        losses=_kinds(LOSSES),
    )


def _kinds(table: Mapping[str, RecipeKind]) -> list[Kind]:
    return [
        Kind(name=kind.name, help=kind.help, rate=kind.usual_rate, options=[_field(field) for field in kind.options])
        for kind in table.values()
    ]


def _field(field: Field, usual: object = None) -> RecipeField:
    return RecipeField(
        name=field.name,
        kind=field.kind,
        default=cast("Json", field.schema()["default"] if usual is None else usual),
        help=field.help,
        minimum=field.least,
        maximum=field.most,
        above=field.above,
        below=field.below,
        choices=list(field.choices),
        optional=field.optional,
        missing=trainings.missing_for(field.name),
    )


@router.post("/drawings/{id}/train")
async def train(hub: HubOf, id: str, asked: TrainRequest) -> Started:
    """Start to train a drawing as it is now; the run is a process of its own."""
    live = await hub.live(id)
    network = (await live.report()).network
    drawing, _ = await live.copy()
    recipe = await asyncio.to_thread(trainings.as_usual, asked.recipe, network)
    return Started(run=await trainings.start(hub, id, drawing, asked.model_copy(update={"recipe": recipe})))


@router.get("/drawings/{id}/memory")
async def show_memory(
    hub: HubOf,
    id: str,
    batch: Annotated[int, Query(ge=1, le=1_000_000)] = 64,
    optimiser: str = "adam",
    workers: Annotated[int, Query(ge=1, le=MOST_WORKERS)] = 1,
    sharded: bool = False,
    recompute: Annotated[list[str] | None, Query()] = None,
) -> MemoryNeeds:
    """Estimate how much memory a training of a drawing needs, before it is started: of all its workers together."""
    spec, places = OptimiserSpec(optimiser), tuple(recompute or ())
    recipe = Recipe(DataSpec("any"), optimiser=spec, batch=batch, workers=workers, sharded=sharded, recompute=places)
    one = await asyncio.to_thread(worker_needs, await (await hub.live(id)).report(), recipe)
    parts = {name: workers * getattr(one, name) for name in ("weights", "optimiser", "activations")}
    needs = replace(one, **parts, batch=batch)
    told = {name: getattr(needs, name) for name in ("total", *parts, "available")}
    return MemoryNeeds(**told, sizes=needs.sizes(), warning=needs.warning())


@router.get("/runs", response_model=list[RunRow])
def list_runs(hub: HubOf, drawing: str | None = None, going: bool = False) -> Response:
    """List the runs of the workspace, those of a drawing, or those that go on, the newest first."""
    hub.earlier.look()
    # As they are: a thousand rows are not checked once more on their way out.
    return Response(ROWS.dump_json(hub.runs.rows(drawing, going=going)), media_type="application/json")


@router.get("/runs/{id}")
async def show_run(hub: HubOf, id: str, points: Points = 500) -> RunDetail:
    """Give a run with its curves."""

    def told() -> tuple[RunFolder, RunRow, dict[str, Any]]:
        path = found_run(hub, id)
        run = RunFolder.open(path)
        # Before its row, which says what is wrong with the log once that was read.
        series, _ = hub.runs.series(path, points, time.monotonic() + PATIENCE)
        row = hub.runs.row(path.name)
        if row is None:
            raise NotThere(GONE)
        recipe = recipe_to_json(run.recipe()) if run.record.state != "created" else {}
        return run, row, {"recipe": recipe, "summary": dict(run.summary()) or None, "series": series}

    run, row, more = await asyncio.to_thread(told)
    return RunDetail(**row.model_dump(), **more, changed=await _changed(hub, run, row))


async def _changed(hub: Hub, run: RunFolder, row: RunRow) -> bool:
    if row.drawing is None or row.state in ("created", "damaged") or hub.store.row(row.drawing) is None:
        return False
    drawing, seq = await (await hub.live(row.drawing)).copy()
    return await asyncio.to_thread(hub.changes.since, run, drawing, (row.drawing, seq))


@router.get("/runs/{id}/carried")
async def show_carried(hub: HubOf, id: str) -> Carried:
    """Tell what the run's drawing as it is now would take over from the run, before anything is started."""
    run = RunFolder.open(found_run(hub, id))
    started = hub.store.runs().get(run.id)
    if not started or hub.store.row(started) is None:
        raise NotThere(f"{run.id}: the drawing that it was started from is not in this folder any more.")
    live = await hub.live(started)
    report = await live.report()
    _ = report.network
    drawing, _ = await live.copy()

    def prepared() -> tuple[dict[str, str], Mapping[str, Any]]:
        labels = [label for _, _, _, time, _, _, label in hub.store.heads(started) if time > run.record.created]
        names = renamings(labels, from_text(run.drawing_text()), drawing)
        return names, recipe_to_go_on(run, names, report.outputs)

    names, recipe = await asyncio.to_thread(prepared)
    told = await hub.helper.ask("borrow", text=drawing.to_text(), workspace=str(hub.workspace), recipe=recipe)
    more = {key: told[key] for key in ("taken", "left", "remembered", "forgotten")}
    return Carried(drawing=started, renamed=names, recipe=dict(recipe), **more)


@router.get("/curves")
def show_curves(hub: HubOf, runs: Annotated[str, Query(max_length=1_000)], points: Points = 500) -> list[Drawn]:
    """Give the curves of some runs, their ids parted by commas, to be laid over each other."""
    ids = list(dict.fromkeys(runs.split(",")))
    if len(ids) > MOST_DRAWN:
        raise trainings.TrainingError(f"{len(ids)} runs are too many for one picture: choose {MOST_DRAWN} at most")
    return hub.runs.draw({id: found_run(hub, id) for id in ids}, points)


@router.get("/runs/{id}/compare")
async def compare_runs(hub: HubOf, id: str, other: str) -> Comparison:
    """Tell what is different between the drawings of two runs, by meaning."""

    def compared() -> Comparison:
        before, after = (from_text(RunFolder.open(found_run(hub, one)).drawing_text()) for one in (id, other))
        return comparison_of(before, after)

    return await asyncio.to_thread(compared)


@router.post("/runs/{id}/stop")
def stop_run(hub: HubOf, id: str) -> Empty:
    """Stop a run; what it has learnt is kept."""
    steering.stop(RunFolder.open(found_run(hub, id)))
    return Empty()


@router.post("/runs/{id}/pause")
def pause_run(hub: HubOf, id: str) -> Empty:
    """Pause a run: it saves all that it stands at, and its process ends, so that its memory is free."""
    steering.pause(RunFolder.open(found_run(hub, id)))
    return Empty()


@router.post("/runs/{id}/resume")
async def resume_run(hub: HubOf, id: str, asked: ResumeRequest) -> Empty:
    """Go on with a run that has ended, in a process of its own."""
    await trainings.resume(hub, RunFolder.open(found_run(hub, id)), asked.epochs)
    return Empty()


@router.post("/runs/{id}/notes")
def note_run(hub: HubOf, id: str, asked: Notes) -> Empty:
    """Keep a note and tags with a run."""
    write_notes(found_run(hub, id), asked.note, asked.tags)
    return Empty()


@router.post("/runs/{id}/delete")
def delete_run(hub: HubOf, id: str) -> Undo:
    """Delete a run that has ended; the answer takes it back."""
    path = found_run(hub, id)
    row = hub.runs.row(path.name)
    if row is not None and row.state in steering.GOING:
        raise trainings.TrainingError(f"the run {path.name} is {row.state}: stop it before you delete it")
    token = put_run_away(hub, path)
    hub.runs.curves.forget(path / METRICS)
    return Undo(undo=token)


@router.post("/runs/{id}/undelete")
def undelete_run(hub: HubOf, id: str, asked: Undelete) -> Started:
    """Take the deletion of a run back; the run has another id where its name was given away meanwhile."""
    return Started(run=run_id(bring_back(hub, asked.undo)))


@router.post("/runs/{id}/again")
def open_again(hub: HubOf, id: str) -> DrawingId:
    """Find the drawing that a run was started from; where it has gone, it is made again from the run's own copy."""
    path = found_run(hub, id)
    started = hub.store.runs().get(path.name)
    if started and hub.store.row(started) is not None:
        return DrawingId(id=started)
    drawing = from_text(RunFolder.open(path).drawing_text())
    made = add_drawing(hub, drawing, drawing.name)
    hub.store.note_run(path.name, made)
    return DrawingId(id=made)


def found_run(hub: Hub, id: str) -> Path:
    """Give the folder of a run by its id."""
    path = hub.runs.path(id)
    if path is None:
        raise NotThere(GONE)
    return path
