"""The past of a drawing: every state, what is different between two of them, and the way back."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from fastapi import APIRouter

from inkcap.drawing import Drawing, Edit, Put, difference
from inkcap.network import Report, check
from inkcap.structures.errors import InkcapError
from inkcap.studio.hub import HubOf
from inkcap.studio.layouts import layout_of
from inkcap.studio.ledger import Refused
from inkcap.studio.live import Live, document_of
from inkcap.studio.models import Changed, Comparison, Past, Restore, Restored, State, Thing
from inkcap.studio.record_shapes import DrawingFile
from inkcap.studio.reports import Items, items_of
from inkcap.studio.shapes import Layout

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
    return await asyncio.to_thread(comparison_of, before, after)


def comparison_of(before: Drawing, after: Drawing) -> Comparison:
    """Tell what one state has and the other has not, and what is different in both."""
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
        parameters=(one.parameters, other.parameters),
        multiply_adds=(one.multiply_adds, other.multiply_adds),
        before=cast("DrawingFile", document_of(before)),
        after=cast("DrawingFile", document_of(after)),
        layout=cast("Layout", _layout(before, after)),
        structures=_structures(one, other),
    )


def _layout(before: Drawing, after: Drawing) -> dict[str, Any]:
    """Find a place for what either state has: ghosts lie where they lay, and among the others where they had none."""
    both = after.copy()
    kept = {"vertex": {*after.capsules, *after.uses}}
    kept |= {kind: {record.id for record in after.records(kind)} for kind in ("group", "note", "connection")}
    gone = [
        Put(record)
        for kind in ("group", "capsule", "use", "note", "connection")
        for record in before.records(kind)
        if record.id not in kept["vertex" if kind in ("capsule", "use") else kind]
    ]
    places = [Put(before.positions[put.record.id]) for put in gone if put.record.id in before.positions]
    try:
        both.apply(Edit("both", (*gone, *places)))
    except InkcapError:
        # Records that do not go together have no common layout: the ghosts find their places in the page.
        both = after
    stated = {id: [place.x, place.y] for id, place in both.positions.items()}
    return {"positions": {**layout_of(both)["positions"], **stated}}


def _structures(one: Report, other: Report) -> dict[str, tuple[str, str]]:
    """Give the structures that are different: what an edit brings about, beside what it says."""
    old, new = _texts(items_of(one)), _texts(items_of(other))
    return {id: (old[id], new[id]) for id in old if id in new and old[id] != new[id]}


def _texts(items: Items) -> dict[str, str]:
    told = {id: item["weight_text"] or "–" for id, item in items["connections"].items()}
    for kind in ("capsules", "uses"):
        told |= {id: (item["output"] or {}).get("text", "?") for id, item in items[kind].items()}
    return told
