"""One drawing: its pictures, its file, its report, the code that it becomes."""

from __future__ import annotations

import asyncio
from typing import cast
from urllib.parse import quote

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from inkcap.drawing import inside
from inkcap.drawing.picture_files import picture_file
from inkcap.network import Report
from inkcap.network.picture import picture_of
from inkcap.studio.description import PNG, SVG, giving
from inkcap.studio.hub import HubOf
from inkcap.studio.layouts import layout_of
from inkcap.studio.models import Proposal, Source
from inkcap.studio.record_shapes import DrawingFile
from inkcap.studio.reports import items_of, outline_of
from inkcap.studio.shapes import Layout
from inkcap.studio.shapes import Report as ReportShape
from inkcap.symbols import CONNECTIONS, MAIN_PORT

router = APIRouter(prefix="/api/drawings/{id}")


def _picture(report: Report, dark: bool, down: bool, opened: bool) -> str:
    direction = "down" if down else "right"
    return picture_of(report, "dark" if dark else "light", opened=opened, direction=direction)


@router.get("/picture.svg", response_class=Response, responses=giving(SVG))
async def show_picture(
    hub: HubOf,
    id: str,
    dark: bool = False,
    down: bool = False,
    open: bool = False,
    small: bool = False,
    carry: bool = False,
) -> Response:
    """Draw a drawing as SVG; a small one is of its file, one to ``carry`` away has the drawing inside."""
    if small:
        path = hub.path(hub.row(id))
        return Response(await asyncio.to_thread(hub.sketches.small, id, path, dark), media_type=SVG)
    report = await (await hub.live(id)).report()
    svg = await asyncio.to_thread(_picture, report, dark, down, open)
    drawing = (report.drawn or report.drawing).to_text() if carry else ""
    return Response(await asyncio.to_thread(picture_file, svg, ".svg", drawing), media_type=SVG)


@router.get("/picture.png", response_class=Response, responses=giving(PNG))
async def show_png(hub: HubOf, id: str, dark: bool = False, down: bool = False, open: bool = False) -> Response:
    """Draw a drawing as PNG, twice as fine as it is large, with the drawing inside."""
    report = await (await hub.live(id)).report()
    drawing = (report.drawn or report.drawing).to_text()
    png = await asyncio.to_thread(lambda: picture_file(_picture(report, dark, down, open), ".png", drawing))
    return Response(png, media_type=PNG)


@router.get("/file", response_class=Response, responses={200: {"model": DrawingFile}})
async def show_file(hub: HubOf, id: str) -> Response:
    """Give the drawing file as it is now, to be kept elsewhere."""
    drawing, _ = await (await hub.live(id)).copy()
    name = hub.path(hub.row(id)).name
    text = await asyncio.to_thread(drawing.to_text)
    disposition = f"attachment; filename*=UTF-8''{quote(name.encode('utf-8', 'replace'))}"
    return Response(text, media_type="application/json", headers={"content-disposition": disposition})


@router.get("/code")
async def show_code(hub: HubOf, id: str) -> Source:
    """Give the PyTorch module that a drawing becomes: the very source that trains."""
    live = await hub.live(id)
    # A drawing with errors is no network: those are what is told then.
    _ = (await live.report()).network
    drawing, _ = await live.copy()
    answer = await hub.helper.ask("code", text=drawing.to_text())
    return Source(source=answer["source"])


@router.get("/report", response_model=ReportShape)
async def show_report(hub: HubOf, id: str) -> Response:
    """Check a drawing: what the live connection tells after every edit, for those who have none."""
    report = await (await hub.live(id)).report()
    told, items = await asyncio.to_thread(lambda: (outline_of(report), items_of(report)))
    # As it is: a report of a large drawing is not checked once more on its way out.
    return JSONResponse({**told, "structures": items, "partial": False})


@router.get("/layout")
async def show_layout(hub: HubOf, id: str, group: str = "", stored: bool = True) -> Layout:
    """Lay out a drawing, or the inside of a group."""
    drawing, _ = await (await hub.live(id)).copy()
    chosen = inside(drawing, group) if group else drawing
    return cast("Layout", await asyncio.to_thread(layout_of, chosen, stored=stored))


@router.get("/proposal")
async def propose(hub: HubOf, id: str, back: str, front: str, port: str = MAIN_PORT, output: str = "") -> Proposal:
    """Choose the connection that fits two capsules, and name the others that could join them."""
    drawing, _ = await (await hub.live(id)).copy()
    for end in (back, front):
        drawing.check_vertex(end)
    symbol = drawing.propose(back, front, port, output)
    giver, taker = drawing.giver(back, output), drawing.capsules.get(front)
    if giver is None or taker is None:
        return Proposal(symbol=symbol, others=[])
    ranks = (giver.output_rank, taker.rank)
    others = [name for name, record in CONNECTIONS.items() if record.joins(*ranks) and name != symbol]
    return Proposal(symbol=symbol, others=others)
