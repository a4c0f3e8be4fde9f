"""A check that remembers says the same as one that does not, whatever was edited in between."""

import random
import sys

import pytest

from inkcap.drawing import Drawing, DrawingError, Edit, Put, Remove, dissolve_all
from inkcap.drawing.records import Capsule, Connection
from inkcap.network import Memory, check
from inkcap.symbols import CAPSULES, CONNECTIONS
from inkcap.zoo import draw

NETWORKS = ["lenet", "mlp", "capsnet-digits", "emcaps-digits", "figure-16", "figure-26"]


def change(drawing: Drawing, chance: random.Random) -> Edit:
    """Some edit, often one that breaks something: the memory must not outlive what it was made from."""
    capsules, connections = list(drawing.capsules.values()), list(drawing.connections.values())
    kind = chance.choice(["size", "size", "symbol", "connect", "disconnect", "attribute", "add", "rank", "dtype"])
    if kind == "disconnect" and connections:
        return Edit(kind, (Remove("connection", chance.choice(connections).id),))
    if kind == "connect" and len(capsules) > 1:
        back, front = chance.sample(capsules, 2)
        symbol = chance.choice(["transfer", "full", "convolution", "reshaping", "inject"])
        return Edit(kind, (Put(Connection(f"n{chance.randrange(99)}", symbol, back.id, front.id)),))
    if kind == "attribute" and connections:
        old = chance.choice(connections)
        declared = [a for a in CONNECTIONS[old.symbol].attributes if a.kind in ("size", "axes")]
        if declared:
            name = chance.choice(declared).name
            value = chance.choice([None, 1, 2, 3])
            kept = {**old.attributes, name: value}
            return Edit(kind, (Put(Connection(old.id, old.symbol, old.back, old.front, _clean(kept), old.port)),))
    old = chance.choice(capsules)
    if kind == "add":
        return Edit(kind, (Put(Capsule(f"x{chance.randrange(9)}", "relu", chance.choice([1, 2]))),))
    if kind == "symbol":
        fitting = [s.id for s in CAPSULES.values() if old.rank in s.ranks and len(s.ports) == 1]
        return Edit(kind, (Put(Capsule(old.id, chance.choice(fitting), old.rank)),))
    if kind == "dtype":
        value = chance.choice([None, "float64", "int32"])
        return Edit(kind, (Put(Capsule(old.id, old.symbol, old.rank, _clean({**old.attributes, "dtype": value}))),))
    names = {1: ["dimension"], 2: ["height", "width", "channels"]}.get(old.rank, [])
    sizes = {name: chance.choice([None, 3, 4, 8, old.attributes.get(name)]) for name in names}
    return Edit(kind, (Put(Capsule(old.id, old.symbol, old.rank, _clean({**old.attributes, **sizes}), old.wears)),))


def _clean(attributes: dict) -> dict:
    return {name: value for name, value in attributes.items() if value is not None}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_memory_changes_nothing_but_the_time(name):
    chance = random.Random(name)  # noqa: S311
    drawing, memory = dissolve_all(draw(name)), Memory()
    undo = []
    for _ in range(60):
        if undo and chance.random() < 0.4:
            drawing.perform(undo.pop())
        else:
            edit = change(drawing, chance)
            try:
                # As a file is read: one number per axis becomes as many as there are.
                undo.append(drawing.perform(Edit.from_json(edit.to_json())))
            except DrawingError:
                continue
        assert check(drawing.copy(), memory).to_json() == check(drawing.copy()).to_json()


def test_after_an_edit_only_what_it_reaches_is_looked_at(monkeypatch):
    drawing, memory = draw("lenet"), Memory()
    check(drawing, memory)
    seen: list[str] = []
    module = sys.modules["inkcap.network.memory"]
    monkeypatch.setattr(module, "check_connection", lambda _d, c, _i, _b: seen.append(c.id) or [])
    drawing.change("g", dimension=100)
    check(drawing, memory)
    assert seen == ["f-g", "g-h"]
