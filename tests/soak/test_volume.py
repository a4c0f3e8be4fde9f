"""The same properties as elsewhere, at volume: ``make soak``."""

from __future__ import annotations

import pytest
import torch
from drawn import random_drawings
from hypothesis import HealthCheck, given, settings
from small_zoo import LEARNS_OTHERWISE
from training_alike import train_small_alike

from inkcap.drawing import Drawing
from inkcap.engine import build, initialise
from inkcap.network import check
from inkcap.zoo import NETWORKS

pytestmark = pytest.mark.soak


@pytest.mark.parametrize("name", [name for name in NETWORKS if name not in LEARNS_OTHERWISE])
def test_every_network_of_the_zoo_trains_alike_for_fifty_steps(name: str) -> None:
    train_small_alike(name, most=20_000_000)


@settings(max_examples=3000, deadline=None, suppress_health_check=list(HealthCheck))
@given(random_drawings(most=12))
def test_random_drawings_compile_and_take_a_step(drawing: Drawing) -> None:
    network = check(drawing).network
    module = build(network)
    initialise(module, network, 0)
    inputs = [network.capsules[id].output for id in network.inputs]
    outputs = module(*(torch.randn((2, *s.sizes)).to(getattr(torch, s.dtype)) for s in inputs))
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    loss = sum((output**2).sum() for output in outputs)
    if loss.requires_grad:
        loss.backward()
    assert all(p.grad is None or torch.isfinite(p.grad).all() for p in module.parameters())
