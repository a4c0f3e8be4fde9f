"""Exports: a drawing goes out, proven by a process of its own, and its files are fetched."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import FileResponse

from inkcap.exchange.forms import FORMS
from inkcap.network.picture import Style, draw_figure, read_width
from inkcap.studio.awaiting import while_awaited
from inkcap.studio.description import BYTES, SVG, giving
from inkcap.studio.export_models import ExportedFile, ExportForm, ExportMade, ExportRequest, FigureLooks
from inkcap.studio.hub import HubOf, NotThere
from inkcap.studio.routes.runs import found_run
from inkcap.studio.workspace import safe_stem, weights_of

router = APIRouter(prefix="/api")


@router.get("/exports/forms")
def list_forms() -> list[ExportForm]:
    """List the forms in which a drawing goes out."""
    return [ExportForm(name=form.name, ending=form.ending, title=form.title, figure=form.figure) for form in FORMS]


@router.post("/drawings/{id}/export")
async def export(hub: HubOf, request: Request, id: str, asked: ExportRequest) -> ExportMade:
    """Export a drawing in one of the forms; what cannot be proven is refused, and whoever goes away gives it up."""
    live = await hub.live(id)
    # A drawing with errors is no network: those are what is told then.
    _ = (await live.report()).network
    drawing, _ = await live.copy()
    question = asked.model_dump()
    if asked.run is not None:
        # Of files only the one that belongs to the drawing is taken; every other name is a run's.
        own = asked.run == weights_of(hub.workspace, hub.row(id).path)
        question["run"] = asked.run if own else str(found_run(hub, asked.run))
    making = hub.exports.make(safe_stem(drawing.name), text=drawing.to_text(), workspace=str(hub.workspace), **question)
    made = await while_awaited(request, making)
    files = [ExportedFile(name=path.name, bytes=path.stat().st_size) for path in made.files]
    return ExportMade(token=made.token, files=files, told=made.told, notes=list(made.notes))


@router.get("/drawings/{id}/figure.svg", response_class=Response, responses=giving(SVG))
async def preview(hub: HubOf, id: str, looks: Annotated[FigureLooks, Query()]) -> Response:
    """Draw a figure as it would be exported, to be looked at."""
    report = await (await hub.live(id)).report()
    # A drawing with errors is no network: those are what is told then.
    _ = report.network
    chosen = looks.model_dump(exclude={"width"})
    style = Style(millimetres=read_width(looks.width) if looks.width else None, **chosen)
    figure = await asyncio.to_thread(draw_figure, report, "svg", style)
    return Response(figure.content, media_type=SVG)


@router.get("/exports/{token}/{name}", response_class=FileResponse, responses=giving(BYTES))
def fetch(hub: HubOf, token: str, name: str) -> FileResponse:
    """Give a file of an export, to be kept."""
    try:
        path = hub.exports.find(token, name)
    except OSError:
        raise NotThere("This export is not there any more: make it again.") from None
    return FileResponse(path, media_type=BYTES, filename=path.name)
