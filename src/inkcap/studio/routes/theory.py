"""Mathematics: derivations, Algorithm 1 step by step, formulae, neurons, and all networks of a size."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from inkcap.drawing import Drawing, Edit, Meta, Put, from_text
from inkcap.drawing.picture import Panel, compose, layout_of
from inkcap.drawing.picture_scene import scene_of_graph
from inkcap.structures.errors import InkcapError
from inkcap.studio.description import LONGEST_PART
from inkcap.studio.growing import graph_of, offers_of
from inkcap.studio.hub import HubOf
from inkcap.studio.ledger import Refused
from inkcap.studio.mathematics import formulae_of
from inkcap.studio.models import (
    Derivation,
    DerivationStep,
    Enumeration,
    ListedNetwork,
    Mathematics,
    RuleOffer,
    RuleOffers,
    RulesRequest,
    StepRequest,
)
from inkcap.studio.neuron_models import Opened
from inkcap.studio.opening import alone
from inkcap.studio.routes.workspace import add_drawing
from inkcap.theory import ACTIVATIONS, Graph, MadeBy, TheoryError, UpTo, count_networks, derive, list_networks

router = APIRouter(prefix="/api")
MOST_STEPS = 20_000
MOST_SHOWN = 60
MOST_LABELLED = 400_000
"""So many networks are sorted into classes while somebody waits: about a second."""
MOST_WALKED = 3_000
"""Capsules and connections of a network that is walked through while somebody waits."""
MOST_COMPUTED = 200_000_000
"""Parameters and multiply-adds of a network that is walked through while somebody waits."""


@router.get("/drawings/{id}/derivation")
async def show_derivation(hub: HubOf, id: str) -> Derivation:
    """Give the rules that generate a drawing, step by step, or say why none do."""
    drawing, _ = await (await hub.live(id)).copy()
    try:
        return await asyncio.to_thread(_derivation, drawing)
    except (TheoryError, Refused) as error:
        return Derivation(steps=[], counts={}, refused=str(error))


def _derivation(drawing: Drawing) -> Derivation:
    if drawing.plain is not None:
        raise Refused("neurons in columns are too many to be shown rule by rule; `inkcap derive` counts them")
    graph = graph_of(drawing)
    if len(graph.vertices) > MOST_STEPS:
        raise Refused(f"{len(graph.vertices)} vertices are too many to be shown; {MOST_STEPS} are allowed")
    found = derive(graph)
    steps = [
        DerivationStep(
            rule=step.rule,
            vertices=[step.vertex],
            edges=[(back, step.vertex) for back in step.entering],
            parts=[list(part) for part in step.parts],
            text=step.text(12),
        )
        for step in found
    ]
    return Derivation(steps=steps, counts=dict(found.counts()))


@router.post("/drawings/{id}/rules")
async def offer_rules(hub: HubOf, id: str, asked: RulesRequest) -> RuleOffers:
    """Tell which of the four rules can be applied to the chosen neurons, and what forbids the others."""
    drawing, _ = await (await hub.live(id)).copy()
    found, refused = await asyncio.to_thread(offers_of, drawing, list(dict.fromkeys(asked.chosen)))
    told = [RuleOffer(rule=one.rule, parts=[list(part) for part in one.parts], why=one.why) for one in found]
    return RuleOffers(offers=told, refused=refused, functions=list(ACTIVATIONS))


@router.post("/drawings/{id}/step")
async def step(hub: HubOf, id: str, asked: StepRequest) -> dict[str, Any]:
    """Walk through one step of Algorithm 1: U and Y forwards, δ backwards, then the weights."""
    live = await hub.live(id)
    report = await live.report()
    work, things = report.parameters + report.multiply_adds, report.capsule_count + report.connection_count
    if asked.most is not None and (work > MOST_COMPUTED or things > MOST_WALKED):
        return {"refused": "this network is too large to be walked through here; `inkcap step` has more patience"}
    _ = report.network
    drawing, _ = await live.copy()
    return await hub.helper.ask("step", text=drawing.to_text(), **asked.model_dump())


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
async def show_mathematics(hub: HubOf, id: str, item: Annotated[str, Path(max_length=LONGEST_PART)]) -> Mathematics:
    """Give the formulae of a capsule or a connection, for KaTeX."""
    report = await (await hub.live(id)).report()
    return formulae_of(report, item)


@router.get("/enumeration")
def enumerate_networks(
    n: Annotated[int, Query(ge=1, le=6)],
    m: Annotated[int, Query(ge=0, le=5)],
    rules: MadeBy = "growth",
    up_to: UpTo = "order",
    start: Annotated[int, Query(ge=0, le=100_000)] = 0,
    dark: bool = False,
) -> Enumeration:
    """Count the networks with n inputs and m neurons, and draw some of them."""
    labelled = count_networks(n, m, rules, "labels")
    if up_to != "order" and labelled > MOST_LABELLED:
        why = (
            f"{labelled} networks with named neurons are too many to be sorted here; `inkcap enumerate` takes its time"
        )
        return Enumeration(count=0, start=0, networks=[], refused=why)
    try:
        count = count_networks(n, m, rules, up_to)
        graphs = list(islice(list_networks(n, m, rules, up_to), start, start + MOST_SHOWN))
    except TheoryError as error:
        return Enumeration(count=0, start=0, networks=[], refused=str(error))
    return Enumeration(count=count, start=start, networks=[_listed(graph, dark) for graph in graphs])


def _listed(graph: Graph, dark: bool) -> ListedNetwork:
    inputs = set(graph.inputs)
    scene = scene_of_graph(graph, f"{len(inputs)}-{len(graph.vertices) - len(inputs)} network")
    return ListedNetwork(
        inputs=list(graph.inputs),
        neurons=[name for name in graph.vertices if name not in inputs],
        edges=list(graph.edges),
        svg=compose([Panel(scene, layout_of(scene))], scene.title, theme="dark" if dark else "light"),
    )
