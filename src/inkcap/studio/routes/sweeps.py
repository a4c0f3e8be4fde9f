"""Sweeps: what can be varied, and how trials of it go."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter

from inkcap.recipes import recipe_to_json
from inkcap.studio import sweepings
from inkcap.studio.hub import HubOf, NotThere
from inkcap.studio.models import Empty, Undelete, Undo
from inkcap.studio.run_trash import DELETED_SWEEPS, bring_back_sweep, put_away
from inkcap.studio.sweep_models import (
    PlaceRow,
    PlacesRequest,
    SweepDetail,
    SweepRequest,
    SweepRow,
    SweepStarted,
    Take,
    Taken,
)
from inkcap.sweeps import SweepError, drawing_places, find_place, recipe_places, values_edit
from inkcap.sweeps import list_sweeps as sweeps_of

router = APIRouter(prefix="/api")


@router.post("/drawings/{id}/places")
async def list_places(hub: HubOf, id: str, asked: PlacesRequest) -> list[PlaceRow]:
    """List everything of a drawing and a recipe that can be varied."""
    drawing, _ = await (await hub.live(id)).copy()
    found = {**recipe_places(sweepings.recipe_of(asked, hub.workspace)), **drawing_places(drawing)}
    return [
        PlaceRow(
            path=place.path, kind=place.kind, help=place.help, now=place.now, choices=list(place.choices),
            minimum=place.minimum, maximum=place.maximum,
        )
        for path, place in found.items()
        # What enters a capsule has a second name, which is told once.
        if path == place.path
    ]  # fmt: skip


@router.post("/drawings/{id}/sweep")
async def start_sweep(hub: HubOf, id: str, asked: SweepRequest) -> SweepStarted:
    """Vary a drawing as it is now; the sweep is a process of its own, and so is each of its trials."""
    live = await hub.live(id)
    _ = (await live.report()).network
    drawing, _ = await live.copy()
    return SweepStarted(sweep=await sweepings.start(hub, id, drawing, asked))


@router.get("/sweeps")
def list_sweeps(hub: HubOf) -> list[SweepRow]:
    """List the sweeps of the workspace, the newest first."""
    whole, damaged = sweeps_of(hub.workspace)
    broken = [sweepings.damaged_row(path, problem) for path, problem in damaged]
    return [SweepRow(**sweepings.row(hub, sweep)) for sweep in reversed(whole)] + broken


@router.get("/sweeps/{name}")
def show_sweep(hub: HubOf, name: str) -> SweepDetail:
    """Give a sweep with its trials, the best first."""
    return sweepings.detail(hub, sweepings.find(hub, name))


@router.post("/sweeps/{name}/stop")
def stop_sweep(hub: HubOf, name: str) -> Empty:
    """Stop a sweep; its trials save what they have learnt, and it can be gone on with."""
    sweepings.stop(sweepings.find(hub, name))
    return Empty()


@router.post("/sweeps/{name}/resume")
async def resume_sweep(hub: HubOf, name: str) -> Empty:
    """Go on with a sweep that was stopped or killed."""
    await sweepings.resume(hub, sweepings.find(hub, name))
    return Empty()


@router.post("/sweeps/{name}/take")
async def take_trial(hub: HubOf, name: str, asked: Take) -> Taken:
    """Give the one edit that gives the drawing, as it is now, the values of a trial; and the trial's recipe."""
    sweep = sweepings.find(hub, name)
    trial = sweep.trials.get(asked.trial)
    id = sweep.plan.source
    if trial is None:
        raise NotThere(f"{name} has no trial {asked.trial}.")
    if not id or hub.store.row(id) is None:
        raise NotThere(f"The drawing that {name} was started from is not there any more: open the trial's run.")
    drawing, _ = await (await hub.live(id)).copy()
    _, recipe = await asyncio.to_thread(lambda: sweep.space().apply(trial.values))
    places = drawing_places(drawing)
    given = [(find_place(places, path), value) for path, value in trial.values.items() if path.startswith("drawing.")]
    edit = values_edit(drawing, given)
    return Taken(drawing=id, edit=edit.to_json(), recipe=recipe_to_json(recipe))  # pyright: ignore[reportArgumentType]


@router.post("/sweeps/{name}/delete")
def delete_sweep(hub: HubOf, name: str) -> Undo:
    """Delete the record of a sweep that has ended; its runs stay, and the answer takes it back."""
    path = hub.workspace / "sweeps" / name
    try:
        sweep = sweepings.find(hub, name)
    except SweepError:
        # A damaged one can only be deleted.
        return Undo(undo=put_away(hub, path, DELETED_SWEEPS))
    if sweep.state == "running":
        raise SweepError(f"{name}: the sweep is running; stop it before you delete it.")
    return Undo(undo=put_away(hub, sweep.path, DELETED_SWEEPS))


@router.post("/sweeps/{name}/undelete")
def undelete_sweep(hub: HubOf, name: str, asked: Undelete) -> SweepStarted:
    """Take the deletion of a sweep back."""
    return SweepStarted(sweep=bring_back_sweep(hub, asked.undo))
