"""Data and runs: what can be trained on, how, and how it goes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any, cast

from fastapi import APIRouter, Query, Request

from inkcap.recipes import LOSSES, OPTIMISERS, SCHEDULES, DataSpec, Recipe, declared_fields
from inkcap.recipes.fields import Field
from inkcap.recipes.kinds import Kind as RecipeKind
from inkcap.studio import trainings
from inkcap.studio.hub import HubOf
from inkcap.studio.models import (
    DataPreview,
    DataSet,
    Empty,
    Kind,
    PreviewRequest,
    RecipeField,
    RecipeFields,
    RunDetail,
    RunRow,
    Started,
    TrainRequest,
    Uploaded,
)
from inkcap.studio.record_shapes import Json
from inkcap.studio.uploads import check_inside, own_data, receive

router = APIRouter(prefix="/api")


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
    check_inside(asked.name)
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


@router.post("/data/upload")
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
        recipe=[_field(field) for field in declared_fields(Recipe)],
        optimisers=_kinds(OPTIMISERS),
        schedules=_kinds(SCHEDULES),
        losses=_kinds(LOSSES),
    )


def _kinds(table: Mapping[str, RecipeKind]) -> list[Kind]:
    return [
        Kind(name=kind.name, help=kind.help, rate=kind.usual_rate, options=[_field(field) for field in kind.options])
        for kind in table.values()
    ]


def _field(field: Field) -> RecipeField:
    return RecipeField(
        name=field.name,
        kind=field.kind,
        default=cast("Json", field.schema()["default"]),
        help=field.help,
        minimum=field.least,
        maximum=field.most,
        above=field.above,
        below=field.below,
        choices=list(field.choices),
        optional=field.optional,
    )


@router.post("/drawings/{id}/train")
async def train(hub: HubOf, id: str, asked: TrainRequest) -> Started:
    """Start to train a drawing as it is now; the run is a process of its own."""
    live = await hub.live(id)
    _ = (await live.report()).network
    drawing, _ = await live.copy()
    return Started(run=await trainings.start(hub, id, drawing, asked.data, asked.recipe))


@router.get("/runs")
def list_runs(hub: HubOf, drawing: str | None = None) -> list[RunRow]:
    """List the runs of the workspace, or those of a drawing, the newest first."""
    return trainings.rows(hub, drawing)


@router.get("/runs/{id}")
def show_run(hub: HubOf, id: str, points: Annotated[int, Query(ge=10, le=10_000)] = 500) -> RunDetail:
    """Give a run with its curves."""
    return trainings.detail(hub, trainings.find(hub, id), points)


@router.post("/runs/{id}/stop")
def stop_run(hub: HubOf, id: str) -> Empty:
    """Stop a run; what it has learnt is kept."""
    trainings.stop(trainings.find(hub, id))
    return Empty()
