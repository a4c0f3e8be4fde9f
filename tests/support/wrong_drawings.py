"""Drawings with one mistake each: a case for every rule of the checks."""

from __future__ import annotations

import json

from inkcap.drawing import Drawing, from_text
from inkcap.network import RULES
from inkcap.zoo import draw


def empty() -> Drawing:
    return Drawing("x")


def cycle() -> Drawing:
    drawing = draw("mlp")
    drawing.connect("c", "b", "full")
    return drawing


def direction_ambiguous() -> Drawing:
    drawing = Drawing("x")
    drawing.add("d", "data neuron")
    drawing.add("a", "relu neuron")
    drawing.add("b", "relu neuron")
    for back, front in (("d", "a"), ("d", "b"), ("a", "b")):
        drawing.connect(back, front, arrow=False)
    return drawing


def disconnected() -> Drawing:
    drawing = draw("mlp")
    drawing.add("p", "1D-data", dimension=3)
    drawing.then("q", "1D-relu", "full", dimension=3)
    return drawing


def data_has_input() -> Drawing:
    drawing = draw("mlp")
    drawing.add("z", "1D-data", dimension=2)
    drawing.connect("d", "z", "transfer")
    return drawing


def no_input() -> Drawing:
    drawing = draw("mlp")
    drawing.add("z", "1D-relu", dimension=2)
    drawing.connect("z", "d", "full")
    return drawing


def rank_mismatch() -> Drawing:
    drawing = Drawing("x")
    drawing.add("a", "2D-data", height=4, width=4, channels=1)
    drawing.add("b", "1D-relu", dimension=3)
    drawing.connect("a", "b", "full")
    return drawing


def structure_mismatch() -> Drawing:
    drawing = draw("lenet")
    drawing.change("b", height=20, width=20)
    return drawing


def structure_unknown() -> Drawing:
    drawing = Drawing("x")
    drawing.add("a", "1D-data")
    drawing.then("b", "1D-relu", "transfer")
    return drawing


def dtype_mismatch() -> Drawing:
    drawing = draw("mlp")
    drawing.change("c", dtype="float64")
    return drawing


def not_floating() -> Drawing:
    drawing = draw("mlp")
    drawing.change("a", dtype="int64")
    return drawing


def not_whole() -> Drawing:
    drawing = Drawing("x")
    drawing.add("a", "1D-data", dimension=4)
    drawing.add("b", "2D-identical")
    drawing.connect("a", "b", "embedding", height=5, width=3)
    return drawing


def missing_attribute() -> Drawing:
    drawing = draw("lenet")
    drawing.change("a-b", kernel=None)
    return drawing


def window_does_not_divide() -> Drawing:
    drawing = draw("lenet")
    drawing.change("a-b", kernel=4)
    return drawing


def window_too_large() -> Drawing:
    drawing = draw("lenet")
    drawing.change("c-d", kernel=13)
    return drawing


def padding_too_large() -> Drawing:
    drawing = draw("lenet")
    drawing.change("c", padding=2)
    return drawing


def attributes_clash() -> Drawing:
    drawing = draw("lenet")
    drawing.change("c", bins=2)
    return drawing


def groups_do_not_divide() -> Drawing:
    drawing = draw("lenet")
    drawing.change("c-d", groups=3)
    return drawing


def too_large() -> Drawing:
    drawing = draw("mlp")
    drawing.change("b", dimension=2**31 - 1)
    drawing.change("c", dimension=2**31 - 1)
    return drawing


def tie_mismatch() -> Drawing:
    drawing = Drawing("x")
    drawing.add("a", "1D-data", dimension=2)
    drawing.add("b", "1D-relu", dimension=3)
    drawing.add("c", "1D-relu", dimension=4)
    drawing.connect("a", "b", "full", tie="t")
    drawing.connect("a", "c", "full", tie="t")
    return drawing


def unused_border() -> Drawing:
    drawing = draw("lenet")
    drawing.change("a-b", kernel=4, stride=5)
    return drawing


def unknown_port() -> Drawing:
    drawing = draw("mlp")
    drawing.connect("a", "c", "full", port="by")
    return drawing


def port_taken() -> Drawing:
    drawing = Drawing("x")
    drawing.add("a", "2D-data", height=4, width=3, channels=1)
    drawing.add("b", "1D-data", dimension=4)
    drawing.add("m", "2D-mask")
    drawing.connect("a", "m")
    drawing.connect("b", "m", port="label")
    drawing.connect("b", "m", port="label")
    return drawing


def nothing_to_normalise() -> Drawing:
    drawing = draw("mlp")
    drawing.wear("b", "group-norm", groups=6)
    return drawing


def with_groups(repeat: int = 1, **arguments: object) -> Drawing:
    body = Drawing("block", arguments={"width": 6})
    body.add("x", "1D-identical")
    body.then("h", "1D-relu", "full", dimension="=width")
    drawing = Drawing("groups")
    drawing.define("block", body)
    drawing.add("a", "1D-data", dimension=6)
    drawing.then("u", "block", repeat=repeat, **arguments)
    return drawing


def group_misused() -> Drawing:
    return with_groups(widht=3)


def group_explodes() -> Drawing:
    drawing = with_groups()
    document = json.loads(drawing.to_text())
    document["groups"].append({"id": "g", "uses": [{"id": "u", "group": "block", "repeat": 10_000}]})
    document["uses"].append({"id": "v", "group": "g", "repeat": 10_000})
    return from_text(json.dumps(document))


def group_recursive() -> Drawing:
    document = json.loads(with_groups().to_text())
    document["groups"] += [
        {"id": "g", "uses": [{"id": "v", "group": "h"}]},
        {"id": "h", "uses": [{"id": "v", "group": "g"}]},
    ]
    return from_text(json.dumps(document))


def bounds_in_disorder() -> Drawing:
    drawing = draw("mlp")
    drawing.then("h", "1D-hard-tanh", "transfer", low=4)
    return drawing


def opaque_operator() -> Drawing:
    drawing = Drawing("x")
    drawing.add("d", "1D-data", dimension=3)
    drawing.then("ranked", "1D-opaque", "transfer", operator="TopK", shape=(3,))
    drawing.then("c", "1D-softmax", "full", dimension=2)
    return drawing


CASES = {name.replace("_", "-"): value for name, value in globals().items() if name.replace("_", "-") in RULES}
