"""Mathematics: derivations, Algorithm 1 step by step, formulae, neurons, and all networks of a size."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Query

from inkcap.drawing import Edit, Meta, Put, from_text
from inkcap.drawing.picture import Panel, compose, layout_of
from inkcap.drawing.picture_scene import scene_of_graph
from inkcap.structures.errors import InkcapError
from inkcap.studio.hub import HubOf
from inkcap.studio.ledger import Refused
from inkcap.studio.mathematics import formulae_of
from inkcap.studio.models import (
    Derivation,
    DerivationStep,
    Enumeration,
    Mathematics,
    Opened,
    StepRequest,
)
from inkcap.studio.opening import alone
from inkcap.studio.routes.workspace import add_drawing
from inkcap.theory import Graph, count_networks, derive, list_networks

router = APIRouter(prefix="/api")
MOST_STEPS = 20_000
MOST_SHOWN = 60


@router.get("/drawings/{id}/derivation")
async def show_derivation(hub: HubOf, id: str) -> Derivation:
    """Give the rules that generate a drawing, step by step."""
    drawing, _ = await (await hub.live(id)).copy()
    if drawing.plain is not None:
        raise Refused("neurons in columns are too many to be shown rule by rule; `inkcap derive` counts them")
    ends = dict.fromkeys((c.back, c.front) for c in drawing.connections.values())
    graph = Graph.of((*drawing.capsules, *drawing.uses), tuple(ends))
    if len(graph.vertices) > MOST_STEPS:
        raise Refused(f"{len(graph.vertices)} vertices are too many to be shown; {MOST_STEPS} are allowed")
    found = await asyncio.to_thread(derive, graph)
    steps = [
        DerivationStep(
            rule=step.rule,
            vertices=[step.vertex],
            edges=[[back, step.vertex] for back in step.entering],
            text=step.text(12),
        )
        for step in found
    ]
    return Derivation(steps=steps, counts={str(rule): times for rule, times in found.counts().items()})


@router.post("/drawings/{id}/step")
async def step(hub: HubOf, id: str, asked: StepRequest) -> dict[str, Any]:
    """Walk through one step of Algorithm 1: U and Y forwards, δ backwards, then the weights."""
    live = await hub.live(id)
    _ = (await live.report()).network
    drawing, _ = await live.copy()
    return await hub.helper.ask("step", text=drawing.to_text(), **asked.model_dump())


@router.get("/drawings/{id}/expand")
@router.post("/drawings/{id}/expand")
async def expand(hub: HubOf, id: str, capsule: str = "") -> Opened:
    """Expand a network of capsules, or one capsule of it, to its neurons, as a drawing of its own."""
    live = await hub.live(id)
    try:
        report = await live.report()
        if report.plain is not None:
            raise Refused("this drawing has been opened to its neurons already")
        _ = report.network
        drawing = alone(report, capsule) if capsule else (await live.copy())[0]
        answer = await hub.helper.ask("expand", text=drawing.to_text())
    except InkcapError as error:
        # Most networks cannot be opened: that is an answer, not a fault of who asked.
        return Opened(id=None, why=str(error))
    made = from_text(answer["text"])
    name = f"{drawing.name} as neurons"[:200]
    made.apply(Edit("name", (Put(Meta(name, made.dtype)),)))
    return Opened(id=await asyncio.to_thread(add_drawing, hub, made, name))


@router.get("/drawings/{id}/mathematics/{item}")
async def show_mathematics(hub: HubOf, id: str, item: str) -> Mathematics:
    """Give the formulae of a capsule or a connection, for KaTeX."""
    report = await (await hub.live(id)).report()
    return formulae_of(report, item)


@router.get("/enumeration")
def enumerate_networks(
    n: Annotated[int, Query(ge=1, le=6)], m: Annotated[int, Query(ge=0, le=5)], dark: bool = False
) -> Enumeration:
    """Count the networks with n inputs and m neurons, and draw the first of them."""
    count = count_networks(n, m)
    shown = list(islice(list_networks(n, m), MOST_SHOWN))
    title = f"{n}-{m} networks"
    scenes = [scene_of_graph(graph, title) for graph in shown]
    panels = [Panel(scene, layout_of(scene)) for scene in scenes]
    svg = compose(panels, title, theme="dark" if dark else "light", widest=1100.0)
    return Enumeration(svg=svg, count=count, shown=len(shown))
