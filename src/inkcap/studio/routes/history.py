"""The past of a drawing: every state, what is different between two of them, and the way back."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from fastapi import APIRouter

from inkcap.drawing import Drawing, difference
from inkcap.network import check
from inkcap.studio.hub import HubOf
from inkcap.studio.ledger import Refused
from inkcap.studio.live import Live, document_of
from inkcap.studio.models import Changed, Comparison, Past, Restore, Restored, State, Thing
from inkcap.studio.record_shapes import DrawingFile

router = APIRouter(prefix="/api/drawings/{id}")
MEANT = ("meta", "capsule", "connection", "group", "use", "note", "plain")
"""Kinds of records that mean something; positions do not."""


async def _at(live: Live, seq: int) -> Drawing:
    async with live.lock:
        return await asyncio.to_thread(live.ledger.at, seq)


@router.get("/history")
async def show_history(hub: HubOf, id: str) -> list[Past]:
    """List every edit of a drawing, from the first to the last."""
    await hub.live(id)
    heads = await asyncio.to_thread(hub.store.heads, id)
    return [
        Past(seq=seq, time=time, label=label, client=client, kind=kind)
        for seq, client, _, time, kind, _, label in heads
    ]


@router.get("/at/{seq}")
async def show_past(hub: HubOf, id: str, seq: int) -> State:
    """Give a drawing as it was after an edit; 0 is before all of them."""
    drawing = await _at(await hub.live(id), seq)
    return State(document=cast("DrawingFile", document_of(drawing)))


@router.post("/restore")
async def restore(hub: HubOf, id: str, asked: Restore) -> Restored:
    """Go back to a past state; that is an edit too, which can be undone."""
    live = await hub.live(id)
    past = await _at(live, asked.seq)
    drawing, seq = await live.copy()
    edit = difference(drawing, past, f"restore the state after edit {asked.seq}")
    if not edit.patches:
        raise Refused("the drawing has this state already")
    entry = await live.edit(asked.client, None, edit, seq)
    return Restored(seq=entry.seq)


@router.get("/compare")
async def compare(hub: HubOf, id: str, a: int, b: int) -> Comparison:
    """Tell what is different between two states, by meaning."""
    live = await hub.live(id)
    before, after = await _at(live, a), await _at(live, b)
    return await asyncio.to_thread(_comparison, before, after)


def _comparison(before: Drawing, after: Drawing) -> Comparison:
    added: list[Thing] = []
    removed: list[Thing] = []
    changed: list[Changed] = []
    for kind in MEANT:
        old: dict[str, Any] = {record.id: record for record in before.records(kind)}
        new: dict[str, Any] = {record.id: record for record in after.records(kind)}
        added += [Thing(id=id, kind=kind, record=r.to_json()) for id, r in new.items() if id not in old]
        removed += [Thing(id=id, kind=kind, record=r.to_json()) for id, r in old.items() if id not in new]
        changed += [
            Changed(id=id, kind=kind, before=r.to_json(), after=new[id].to_json())
            for id, r in old.items()
            if id in new and new[id] != r
        ]
    one, other = check(before), check(after)
    return Comparison(
        added=added,
        removed=removed,
        changed=changed,
        parameters=[one.parameters, other.parameters],
        multiply_adds=[one.multiply_adds, other.multiply_adds],
    )
