"""Drawings that are edited at random, and all that reports of them say: for checks that remember."""

import random
from dataclasses import replace

from inkcap.drawing import (
    Capsule,
    Connection,
    Drawing,
    DrawingError,
    Edit,
    Group,
    Meta,
    Patch,
    Position,
    Put,
    Remove,
    Use,
)
from inkcap.network.report import Report
from inkcap.symbols import CAPSULES, CONNECTIONS

SIZES = {0: [], 1: ["dimension"], 2: ["height", "width", "channels"], 3: ["depth", "height", "width", "channels"]}
LINES = ["transfer", "full", "convolution", "reshaping", "inject", "amplifying", "scale"]


def started() -> Drawing:
    """A drawing with a bit of everything: sums, blocks, ties, worn parts, a group in use, neurons, a gathering port."""
    drawing = Drawing("some")
    drawing.add("a", "2D-data", height=8, width=8, channels=3)
    drawing.then("b", "2D-relu", kernels=4, kernel=3, padding=1)
    drawing.wear("b", "batch-norm")
    drawing.then("c", "2D-relu", kernels=4, kernel=3, padding=1)
    drawing.connect("b", "c", "transfer")
    drawing.add("cat", "2D-identical")
    for back in ("b", "c"):
        drawing.connect(back, "cat", "inject")
    drawing.add("d", "1D-relu")
    drawing.connect("cat", "d", "reshaping")
    for name in ("e", "f"):
        drawing.then(name, "1D-tanh", "full", dimension=6)
    drawing.add("g", "1D-softmax", dimension=6, tie="last")
    drawing.connect("f", "g", "full", tie="w")
    drawing.connect("e", "g", "full", tie="w")
    inside = Drawing("inside", arguments={"width": 4})
    inside.add("in", "2D-identical")
    inside.then("h", "2D-relu", kernels="=width", kernel=3, padding=1)
    drawing.define("block", inside)
    drawing.add("use", "block", repeat=2)
    drawing.connect("c", "use")
    for name, face in {"n0": "data neuron", "n1": "sigmoid neuron", "n2": "sigmoid neuron"}.items():
        drawing.add(name, face)
    drawing.connect("n0", "n1", "amplifying")
    drawing.connect("n1", "n2", "amplifying", arrow=False)
    return drawing


def some_edit(drawing: Drawing, chance: random.Random, fresh: str) -> Edit:
    """Draw an edit of any kind, of which many break something."""
    capsules, connections = list(drawing.capsules.values()), list(drawing.connections.values())
    vertices = [*drawing.capsules, *drawing.uses]
    kinds = ["size", "symbol", "connect", "connect", "cut", "attribute", "add", "dtype", "remove", "rename", "tie"]
    kind = chance.choice([*kinds, "meta", "group", "turn", "again", "label"])
    if kind == "add" or not capsules:
        face = chance.choice([("relu", 2), ("relu", 1), ("data", 2), ("sigmoid", 0), ("downsampling", 2), ("route", 1)])
        face = face if face[0] in CAPSULES and face[1] in CAPSULES[face[0]].ranks else ("relu", 1)
        return Edit(kind, (Put(Capsule(fresh, *face), chance.choice([None, 0, 2])),))
    one = chance.choice(capsules)
    line = chance.choice(connections) if connections else None
    if kind == "connect":
        back, front = chance.choice(vertices), chance.choice(vertices)
        port = chance.choice(["in", "in", "in", "other"])
        connection = Connection(fresh, chance.choice(LINES), back, front, port=port)
        return Edit(kind, (Put(connection, chance.choice([None, 0, 3])),))
    if kind in ("remove", "rename"):
        touching = [c for c in connections if one.id in (c.back, c.front)]
        gone = [*(Remove("connection", c.id) for c in touching), Remove("capsule", one.id)]
        if kind == "remove":
            return Edit(kind, tuple(gone))
        index = list(drawing.capsules).index(one.id)
        ends = {one.id: fresh}
        moved = [replace(c, back=ends.get(c.back, c.back), front=ends.get(c.front, c.front)) for c in touching]
        return Edit(kind, (*gone, Put(replace(one, id=fresh), index), *(Put(c) for c in moved)))
    if kind == "meta":
        return Edit(kind, (Put(Meta("some", chance.choice(["float32", "float64"]))),))
    if kind == "group" and drawing.uses:
        use = chance.choice(list(drawing.uses.values()))
        given = {"width": chance.choice([2, 4, 5])}
        return Edit(kind, (Put(Use(use.id, use.group, given, chance.choice([1, 2, 3]))),))
    if kind == "size":
        sizes = {name: chance.choice([None, 3, 6, 8, one.attributes.get(name)]) for name in SIZES[one.rank]}
        return Edit(kind, (Put(replace(one, attributes=_clean({**one.attributes, **sizes}))),))
    if kind == "symbol":
        fitting = [s.id for s in CAPSULES.values() if one.rank in s.ranks]
        return Edit(kind, (Put(Capsule(one.id, chance.choice(fitting), one.rank)),))
    if kind == "dtype":
        stated = chance.choice([None, "float64", "int32"])
        return Edit(kind, (Put(replace(one, attributes=_clean({**one.attributes, "dtype": stated}))),))
    if kind == "tie" and chance.random() < 0.5:
        return Edit(kind, (Put(replace(one, tie=chance.choice(["", "last", "t"]))),))
    if kind == "label" or line is None:
        return Edit("label", (Put(replace(one, label=fresh)),))
    return _edit_of_line(kind, line, chance)


def _edit_of_line(kind: str, line: Connection, chance: random.Random) -> Edit:
    if kind == "cut":
        return Edit(kind, (Remove("connection", line.id),))
    if kind == "turn":
        return Edit(kind, (Put(replace(line, back=line.front, front=line.back)),))
    if kind == "again":
        # Taken away and set anew, behind all others.
        return Edit(kind, (Remove("connection", line.id), Put(line)))
    if kind == "tie":
        return Edit(kind, (Put(replace(line, tie=chance.choice(["", "w", "v"]))),))
    declared = [a.name for a in CONNECTIONS[line.symbol].attributes if a.kind in ("size", "axes")]
    if not declared:
        return Edit(kind, (Put(replace(line, symbol=chance.choice(LINES), attributes={})),))
    changed = {**line.attributes, chance.choice(declared): chance.choice([None, 1, 2, 3])}
    return Edit("attribute", (Put(replace(line, attributes=_clean(changed))),))


def _clean(attributes: dict) -> dict:
    return {name: value for name, value in attributes.items() if value is not None}


def facts_of(report: Report) -> dict:
    """Everything that a report says, orders too."""
    graph = report.graph
    return {
        "told": report.to_json(batch=3),
        "capsules": list(report.capsules.items()),
        "connections": list(report.connections.items()),
        "diagnostics": report.diagnostics,
        "graph": (graph, graph.order, graph.levels, graph.parts(), graph.inputs, graph.outputs, graph.depth),
        "classification": report.classification,
        "weights": list(report.weights.items()),
        "totals": report.totals,
    }


def counted(report: Report) -> tuple[int, int, int, int]:
    """The numbers of a report, summed up over all of its records."""
    weights = report.weights.values()
    costs = [one.multiply_adds for one in (*report.capsules.values(), *report.connections.values())]
    return (
        sum(w.structure.elements for w in weights if w.trainable),
        sum(w.structure.elements for w in weights if not w.trainable),
        sum(costs),
        sum(c.output.bytes for c in report.capsules.values() if c.output),
    )


def merged(page: dict | None, told: dict) -> dict:
    """What a tab knows of all things after it was told of a report, as the page does it."""
    alike, structures = told.get("alike"), told["structures"]
    if alike is not None:
        structures = {k: {id: alike[number] for id, number in things.items()} for k, things in structures.items()}
    whole = {kind: dict(things) for kind, things in structures.items()}
    if told["partial"]:
        assert page is not None
        for kind, things in page["structures"].items():
            gone = set(told["gone"][kind])
            whole[kind] = {**{id: one for id, one in things.items() if id not in gone}, **whole[kind]}
    rest = {k: v for k, v in told.items() if k not in ("alike", "gone", "partial")}
    return {**rest, "structures": whole}


def some_edit_of_groups(drawing: Drawing, chance: random.Random, fresh: str) -> Edit:
    """Draw an edit inside of a group, of its uses or of what is connected with them; many break something."""
    kinds = ["capsule", "line", "cut", "use", "port", "argument", "place", "attribute", "less", "share"]
    kind = chance.choice([*kinds, "swap", "more", "new", "connect"])
    group = chance.choice(list(drawing.groups.values()))
    if kind in ("share", "swap", "connect") and drawing.uses:
        return Edit(kind, (_edit_of_use(kind, drawing, chance, fresh),))
    if kind == "new":
        door = Capsule("in", "identical", 2)
        return Edit(kind, (Put(Group(fresh, {"width": 4}, (door,), (), (), {"in": "in"}, {"out": "in"})),))
    if kind == "more":
        return Edit(kind, (Put(Use(fresh, group.id), chance.choice([None, 0])),))
    return Edit(kind, (Put(_other(group, kind, drawing, chance, fresh)),))


def _edit_of_use(kind: str, drawing: Drawing, chance: random.Random, fresh: str) -> Patch:
    use = chance.choice(list(drawing.uses.values()))
    if kind == "connect":
        line, back = (
            chance.choice(["transfer", "transfer", "convolution"]),
            chance.choice([*drawing.capsules, *drawing.uses]),
        )
        port, output = chance.choice(["in", "in", "x"]), chance.choice(["", "", "out"])
        return Put(Connection(fresh, line, back, use.id, port=port, output=output), chance.choice([None, 0]))
    if kind == "swap":
        return Put(replace(use, group=chance.choice(list(drawing.groups))))
    given = chance.choice([{}, {"width": 5}, {"nope": 1}])
    return Put(replace(use, repeat=chance.choice([1, 2, 3]), tie=chance.choice(["", "", "t"]), arguments=given))


def _other(group: Group, kind: str, drawing: Drawing, chance: random.Random, fresh: str) -> Group:
    vertices = [one.id for one in (*group.capsules, *group.uses)]
    if kind == "capsule" or not group.capsules:
        return replace(group, capsules=(*group.capsules, Capsule(fresh, chance.choice(["identical", "relu"]), 2)))
    if kind == "line":
        line = Connection(
            fresh, chance.choice(["transfer", "convolution"]), chance.choice(vertices), chance.choice(vertices)
        )
        return replace(group, connections=(*group.connections, line))
    if kind == "cut" and group.connections:
        gone = chance.choice(group.connections)
        return replace(group, connections=tuple(c for c in group.connections if c is not gone))
    if kind == "use":
        given = {"width": chance.choice([2, "=width", 3.0])}
        inner = Use(
            fresh, chance.choice(list(drawing.groups)), given, chance.choice([1, 2]), tie=chance.choice(["", "t"])
        )
        return replace(group, uses=(*group.uses, inner))
    if kind == "port":
        side, port = chance.choice(["inputs", "outputs"]), chance.choice(["in", "out", "x"])
        ports = {**getattr(group, side), port: chance.choice(vertices)}
        return replace(group, **{side: {p: v for p, v in ports.items() if p != port or chance.random() < 0.7}})
    if kind == "argument":
        return replace(group, arguments={"width": chance.choice([2, 3, 4, 4.0, "bad"])})
    if kind == "place":
        return replace(group, positions={id: Position(id, chance.random(), 1.0) for id in vertices})
    one = chance.choice(group.capsules)
    if kind == "less":
        ports = [{p: v for p, v in side.items() if v != one.id} for side in (group.inputs, group.outputs)]
        lines = tuple(c for c in group.connections if one.id not in (c.back, c.front))
        left = tuple(c for c in group.capsules if c is not one)
        return replace(group, capsules=left, connections=lines, inputs=ports[0], outputs=ports[1])
    stated = chance.choice([{}, {"height": "=width"}, {"height": 8}])
    other = replace(one, symbol=chance.choice(["identical", "relu", "tanh"]), attributes=stated)
    return replace(group, capsules=tuple(other if c is one else c for c in group.capsules))


def edited(drawing: Drawing, chance: random.Random, fresh: str, *, of_groups: float = 0.0) -> bool:
    """Edit a drawing at random, or take an edit back, and tell whether that was accepted."""
    doing = chance.random()
    try:
        if doing < 0.2:
            drawing.undo()
        elif doing < 0.3:
            drawing.redo()
        else:
            for part in range(chance.choice([1, 1, 2, 3])):
                inside = drawing.groups and chance.random() < of_groups
                edit = (some_edit_of_groups if inside else some_edit)(drawing, chance, f"{fresh}-{part}")
                drawing.apply(Edit.from_json(edit.to_json()))
    except DrawingError:
        return False
    return True
