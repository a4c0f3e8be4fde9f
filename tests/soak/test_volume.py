"""The same properties as elsewhere, at volume: ``make soak``."""

from __future__ import annotations

import copy
import json
import random
import time

import pytest
import torch
from drawn import random_drawings
from hypothesis import HealthCheck, given, settings
from small_zoo import LEARNS_OTHERWISE
from training_alike import train_small_alike

from inkcap.drawing import Drawing, from_text
from inkcap.engine import build, initialise
from inkcap.network import check
from inkcap.structures import InkcapError
from inkcap.zoo import NETWORKS, draw

pytestmark = pytest.mark.soak

JUNK = [None, True, False, 0, -1, 1, 2**31, 2**53, 1.5, -0.0, 1e308, "", "a", "=k", "relu", "data", "full", "\x00",
        "名", [], {}, [1], [1, 2], [[[]]], {"a": 1}, "x" * 300]  # fmt: skip


def damage(document: dict, luck: random.Random) -> dict:
    """Change, move, double or drop something, one to four times."""
    document = copy.deepcopy(document)
    for _ in range(luck.randint(1, 4)):
        holder, key = document, None
        while isinstance(holder, (dict, list)) and holder:
            key = luck.choice(list(holder)) if isinstance(holder, dict) else luck.randrange(len(holder))
            if luck.random() < 0.35 or not isinstance(holder[key], (dict, list)):
                break
            holder = holder[key]
        if key is None or not holder:
            continue
        act = luck.choice(["junk", "drop", "double", "rename", "swap"])
        if act == "junk":
            holder[key] = luck.choice(JUNK)
        elif act == "drop":
            del holder[key]
        elif act == "double" and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        elif act == "rename" and isinstance(holder, dict):
            holder[luck.choice(["id", "symbol", "rank", "back", "front", "x"])] = holder.pop(key)
        elif act == "swap" and isinstance(holder, list):
            luck.shuffle(holder)
    return document


def test_damaged_drawings_are_read_whole_or_refused_in_words() -> None:
    luck = random.Random(0)  # noqa: S311
    documents = [json.loads(draw(name).to_text()) for name in NETWORKS]
    accepted = 0
    for _ in range(100_000):
        text = json.dumps(damage(luck.choice(documents), luck))
        start = time.perf_counter()
        try:
            drawing = from_text(text)
        except InkcapError:
            pass
        else:
            accepted += 1
            assert from_text(drawing.to_text()) == drawing
            report = check(drawing)
            json.dumps(report.to_json(), allow_nan=False)
            for diagnostic in report.errors[:2]:
                if diagnostic.fix:
                    drawing.apply(diagnostic.fix)
                    drawing.undo()
        assert time.perf_counter() - start < 1
    assert accepted > 1000


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
