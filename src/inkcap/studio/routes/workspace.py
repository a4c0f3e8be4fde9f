"""The start screen: catalogue, workspace, zoo, and drawings that come and go."""

from __future__ import annotations

import asyncio
import base64
import os
import secrets
import shutil
from pathlib import Path
from typing import cast

from fastapi import APIRouter, Response

from inkcap.drawing import Drawing, DrawingError, Edit, Meta, Put, from_text
from inkcap.drawing.picture_carried import carried_text
from inkcap.structures.atomic import sync_folder, write_atomic
from inkcap.studio.catalogue import catalogue
from inkcap.studio.description import SVG, giving
from inkcap.studio.hub import Hub, HubOf, NotThere
from inkcap.studio.known import draw_known, known_picture
from inkcap.studio.models import (
    DrawingId,
    Empty,
    NewDrawing,
    NewName,
    Undelete,
    Undo,
    Workspace,
    ZooEntry,
)
from inkcap.studio.shapes import Catalogue
from inkcap.studio.workspace import MOST_DRAWINGS, beside, free_path, safe_stem, text

RECENT = 12

router = APIRouter(prefix="/api")


@router.get("/catalogue")
def show_catalogue() -> Catalogue:
    """Describe all symbols."""
    return cast("Catalogue", catalogue())


@router.get("/workspace")
def show_workspace(hub: HubOf) -> Workspace:
    """List the drawings of the workspace, each with what its check says, as far as it was checked yet."""
    ids = hub.ids()
    drawings = hub.summaries.tell(dict(list(ids.items())[:MOST_DRAWINGS]))
    there = {entry.id for entry in drawings}
    recent = [id for id in hub.store.recent(4 * RECENT) if id in there][:RECENT]
    more = len(ids) > MOST_DRAWINGS
    return Workspace(name=text(hub.workspace.name), drawings=drawings, recent=recent, more=more)


@router.get("/zoo")
def show_zoo(hub: HubOf, search: str = "") -> list[ZooEntry]:
    """List the known networks."""
    return hub.zoo.entries(search)


@router.get("/zoo/{name}/picture.svg", response_class=Response, responses=giving(SVG))
def show_zoo_picture(name: str, dark: bool = False) -> Response:
    """Draw a known network."""
    return Response(known_picture(name, dark), media_type=SVG)


@router.post("/drawings")
def make_drawing(hub: HubOf, asked: NewDrawing) -> DrawingId:
    """Make a drawing: an empty one, one of the zoo, or one from the text of a file."""
    return DrawingId(id=add_drawing(hub, _new(asked), asked.name))


@router.post("/drawings/{id}/rename")
async def rename_drawing(hub: HubOf, id: str, asked: NewName) -> Empty:
    """Give a drawing, and its file, another name."""
    live = await hub.live(id)
    drawing, _ = await live.copy()
    meta = Meta.from_json({"name": asked.name, "dtype": drawing.dtype}, "")
    await live.edit("studio", None, Edit(f"name it {asked.name}"[:200], (Put(meta),)))
    async with hub.closed(id):
        await asyncio.to_thread(_move, hub, id, asked.name)
    return Empty()


@router.post("/drawings/{id}/duplicate")
async def duplicate_drawing(hub: HubOf, id: str) -> DrawingId:
    """Copy a drawing as it is now."""
    drawing, _ = await (await hub.live(id)).copy()
    name = f"{drawing.name} copy"[:200]
    drawing.apply(Edit("name", (Put(Meta(name, drawing.dtype)),)))
    return DrawingId(id=await asyncio.to_thread(_copy, hub, id, drawing, name))


@router.post("/drawings/{id}/delete")
async def delete_drawing(hub: HubOf, id: str) -> Undo:
    """Delete a drawing; the answer takes it back."""
    hub.row(id)
    token = secrets.token_hex(16)
    async with hub.closed(id):
        await asyncio.to_thread(_put_away, hub, id, token)
    return Undo(undo=token)


@router.post("/undelete")
def undelete(hub: HubOf, asked: Undelete) -> DrawingId:
    """Take a deletion back."""
    found = hub.store.deleted(asked.undo)
    if found is None:
        raise NotThere("This deletion is not known: it may have been taken back already.")
    id, path = found
    target = hub.workspace / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target = target.parent / free_path(target.parent, Path(path).name.removesuffix(".inkcap.json"))
    kept = hub.store.folder / "deleted" / id
    if kept.is_file():
        os.replace(kept, target)
    if beside(kept).is_file():
        os.replace(beside(kept), beside(target))
    hub.store.undelete(asked.undo, target.relative_to(hub.workspace).as_posix())
    return DrawingId(id=id)


def _new(asked: NewDrawing) -> Drawing:
    if sum(source is not None for source in (asked.zoo, asked.text, asked.picture)) > 1:
        raise DrawingError("a drawing comes from the zoo, from a text or from a picture: give one of them")
    if asked.zoo is None and asked.text is None and asked.picture is None:
        return Drawing(asked.name)
    drawing = draw_known(asked.zoo) if asked.zoo is not None else _read(asked)
    if drawing.name != asked.name:
        drawing.apply(Edit("name", (Put(Meta.from_json({"name": asked.name, "dtype": drawing.dtype}, "")),)))
    return drawing


def _read(asked: NewDrawing) -> Drawing:
    if asked.picture is None:
        return from_text(asked.text or "")
    try:
        content = base64.b64decode(asked.picture, validate=True)
    except ValueError:
        raise DrawingError("the picture did not come whole") from None
    return from_text(carried_text(content))


def add_drawing(hub: Hub, drawing: Drawing, name: str, weights: Path | None = None) -> str:
    """Write a new drawing, and weights beside it, under a file name that is free, and give its id."""
    path = free_path(hub.workspace, safe_stem(name))
    target = hub.workspace / path
    try:
        if weights is not None:
            os.replace(weights, beside(target))
        write_atomic(target, drawing.to_text())
    except OSError as error:
        if weights is not None:
            beside(target).unlink(missing_ok=True)
        raise DrawingError(f"{path}: cannot be written: {error.strerror}") from None
    return hub.store.id_of(path)


def _copy(hub: Hub, id: str, drawing: Drawing, name: str) -> str:
    weights = beside(hub.path(hub.row(id)))
    if not weights.is_file() or weights.is_symlink():
        return add_drawing(hub, drawing, name)
    copied = hub.store.folder / f"{secrets.token_hex(8)}.part"
    try:
        shutil.copyfile(weights, copied)
        return add_drawing(hub, drawing, name, copied)
    except OSError as error:
        raise DrawingError(f"{weights.name}: cannot be copied: {error.strerror}") from None
    finally:
        copied.unlink(missing_ok=True)


def _put_away(hub: Hub, id: str, token: str) -> None:
    path, kept = hub.path(hub.row(id)), hub.store.folder / "deleted"
    kept.mkdir(exist_ok=True)
    if path.is_file():
        os.replace(path, kept / id)
        if beside(path).is_file():
            os.replace(beside(path), beside(kept / id))
        sync_folder(path.parent)
    hub.store.mark_deleted(id, token)


def _move(hub: Hub, id: str, name: str) -> None:
    row = hub.row(id)
    path = hub.path(row)
    wanted = safe_stem(name)
    if path.name.lower() == f"{wanted}.inkcap.json".lower():
        return
    target = path.parent / free_path(path.parent, wanted)
    # The log knows the new place first: a crash in between leaves a drawing whose file is written anew from the log.
    hub.store.move(id, target.relative_to(hub.workspace).as_posix())
    if path.is_file():
        os.replace(path, target)
        if beside(path).is_file():
            os.replace(beside(path), beside(target))
        sync_folder(path.parent)
