"""Looking into runs: their signals, what they hold, and what they answer. What needs torch goes to the inspector."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, TypeAdapter

from inkcap.recipes import RunFolder, signal_courses
from inkcap.studio.hub import Hub, HubOf
from inkcap.studio.insight_models import (
    AnswerRequest,
    Confusion,
    Examples,
    PartName,
    RunAnswer,
    RunSignals,
    Surface,
    Values,
)
from inkcap.studio.routes.runs import found_run

router = APIRouter(prefix="/api/runs/{id}")
Epoch = Annotated[int | None, Query(ge=0)]
JSON = TypeAdapter(dict[str, Any])


@router.get("/signals")
def show_signals(hub: HubOf, id: str) -> RunSignals:
    """Give the signals of a run over its epochs, and the epochs whose weights can be looked at."""
    return RunSignals.model_validate(signal_courses(RunFolder.open(found_run(hub, id))))


@router.get("/values", response_model=Values)
async def show_values(
    hub: HubOf, id: str, item: Annotated[str, Query(max_length=1_000)], epoch: Epoch = None
) -> Response:
    """Tell what a capsule or a connection holds after an epoch."""
    return await _ask(hub, id, "values", item=item, epoch=epoch)


@router.get("/examples", response_model=Examples)
async def show_examples(
    hub: HubOf,
    id: str,
    part: PartName = "validation",
    first: Annotated[int, Query(ge=0)] = 0,
    count: Annotated[int, Query(ge=1, le=200)] = 24,
    only: Annotated[str, Query(pattern="^(all|wrong|worst)$")] = "all",
    epoch: Epoch = None,
    found: bool = False,
) -> Response:
    """Give some samples of a run's data, of those alone that it is wrong about, or the worst first.

    With ``found``, of a run that tells places, what it finds on each of them.
    """
    given: dict[str, Any] = {"part": part, "first": first, "count": count, "only": only, "epoch": epoch}
    return await _ask(hub, id, "examples", **given, found=found)


@router.post("/answer", response_model=RunAnswer)
async def answer(hub: HubOf, id: str, asked: AnswerRequest) -> Response:
    """Ask a run about one sample: what it answers, and what every capsule does meanwhile."""
    return await _ask(hub, id, "answer", **asked.model_dump())


@router.get("/confusion", response_model=Confusion)
async def show_confusion(
    hub: HubOf,
    id: str,
    part: PartName = "validation",
    epoch: Epoch = None,
    worst: Annotated[int, Query(ge=0, le=200)] = 24,
    output: Annotated[str | None, Query(max_length=1_000)] = None,
) -> Response:
    """Count which classes a run takes for which, and find the samples that it is most wrong about."""
    return await _ask(hub, id, "confusion", part=part, epoch=epoch, worst=worst, output=output)


@router.get("/surface", response_model=Surface, response_model_by_alias=True)
async def show_surface(
    hub: HubOf, id: str, epoch: Epoch = None, cells: Annotated[int, Query(ge=2, le=256)] = 64
) -> Response:
    """Give what a network of two input numbers answers over the plane."""
    return await _ask(hub, id, "surface", epoch=epoch, cells=cells)


async def _ask(hub: Hub, id: str, about: str, **given: Any) -> Response:
    path: Path = found_run(hub, id)
    told = await hub.inspector.ask("inspect", run=str(path), about=about, given=given)
    # As it is: half a million numbers are not checked once more on their way out.
    return Response(JSON.dump_json(told), media_type="application/json")


MODELS: dict[str, type[BaseModel]] = {
    "values": Values,
    "examples": Examples,
    "answer": RunAnswer,
    "confusion": Confusion,
    "surface": Surface,
}
"""What each answer of the inspector must be; the tests hold every answer against it."""
