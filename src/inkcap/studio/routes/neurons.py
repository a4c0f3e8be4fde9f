"""Neurons in columns: what the canvas paints of them."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path

from inkcap.studio.hub import HubOf
from inkcap.studio.neuron_models import Neuron, Neurons
from inkcap.studio.neurons import neuron_of, neurons_of

router = APIRouter(prefix="/api/drawings/{id}/neurons")


@router.get("")
async def show_neurons(hub: HubOf, id: str) -> Neurons:
    """Give all neurons in columns with their places and lines; of too many a sample."""
    report = await (await hub.live(id)).report()
    return await asyncio.to_thread(neurons_of, report)


@router.get("/{number}")
async def show_neuron(hub: HubOf, id: str, number: Annotated[int, Path(ge=0)]) -> Neuron:
    """Describe one neuron of the columns."""
    report = await (await hub.live(id)).report()
    return await asyncio.to_thread(neuron_of, report, number)
