"""Imports: a model from elsewhere comes as bytes and becomes a drawing with weights beside it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.requests import ClientDisconnect

from inkcap.drawing import Edit, Meta, Put, from_text
from inkcap.studio.awaiting import GivenUp, while_awaited
from inkcap.studio.description import BYTES_BODY
from inkcap.studio.export_models import DrawingWeights, ImportMade
from inkcap.studio.hub import Hub, HubOf
from inkcap.studio.imports import MODEL, Brought, read_model
from inkcap.studio.routes.workspace import add_drawing
from inkcap.studio.uploads import write_stream
from inkcap.studio.workspace import weights_of

router = APIRouter(prefix="/api")


@router.post("/imports", openapi_extra=BYTES_BODY)
async def import_model(
    hub: HubOf, request: Request, name: Annotated[str, Query(min_length=1, max_length=200)]
) -> ImportMade:
    """Make a drawing of an ONNX file, with its weights beside it; whoever goes away meanwhile gives it up."""

    async def pieces() -> AsyncIterator[bytes]:
        try:
            async for piece in request.stream():
                yield piece
        except ClientDisconnect:
            raise GivenUp("the model did not come whole") from None

    # The name is a drawing's: what is wrong with it is told before anything is read.
    meta = Meta.from_json({"name": name, "dtype": "float32"}, "")
    async with hub.imports.place() as place:
        await write_stream(place / MODEL, pieces())
        brought = await while_awaited(request, read_model(meta.name, place))
        return await asyncio.to_thread(_keep, hub, meta.name, brought)


def _keep(hub: Hub, name: str, brought: Brought) -> ImportMade:
    drawing = from_text(brought.drawing.read_text("utf-8"))
    if drawing.name != name:
        drawing.apply(Edit("name", (Put(Meta(name, drawing.dtype)),)))
    id = add_drawing(hub, drawing, name, brought.weights)
    path = hub.row(id).path
    told = {key: brought.told[key] for key in ("capsules", "connections", "parameters", "difference", "unproven")}
    return ImportMade(
        id=id, name=name, weights=weights_of(hub.workspace, path), missing=brought.told["missing"], **told
    )


@router.get("/drawings/{id}/weights")
def show_weights(hub: HubOf, id: str) -> DrawingWeights:
    """Name the file of weights that lies beside a drawing: a training can start from them, an export take them."""
    return DrawingWeights(file=weights_of(hub.workspace, hub.row(id).path))
