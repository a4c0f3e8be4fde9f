"""Whatever is edited, a check that remembers finds what a check of the drawing alone finds.

Work is counted in capsules that are looked at, not in time.
"""

import random
from dataclasses import replace
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inkcap.drawing import Capsule, Connection, Drawing, DrawingError, Edit, Meta, Put, Remove, Use
from inkcap.network import Memory, check
from inkcap.network.inference import Inference
from inkcap.network.report import Report
from inkcap.studio.reports import Telling, items_of, outline_of, told_change, told_whole
from inkcap.symbols import CAPSULES, CONNECTIONS
from inkcap.theory import Graph

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


def inferred_alone(report: Report) -> None:
    """Compare with one inference over the whole drawing, which knows of no settled capsules."""
    drawing = report.drawing
    if any(c.attributes.get("arrow") is False for c in drawing.connections.values()):
        return
    graph = Graph.of(drawing.capsules, [(c.back, c.front) for c in drawing.connections.values()])
    numbers = {id: i for i, id in enumerate(graph.order)}
    known = Inference(drawing, numbers, tuple(drawing.capsules), list(drawing.connections.values())).run()
    for id, capsule in report.capsules.items():
        for structure, shape in ((capsule.output, known.output[id]), (capsule.total_input, known.total_input[id])):
            assert (structure.shape if structure else None) == (shape if None not in shape else None), id


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@mock.patch("inkcap.studio.reports.SMALL", 0)  # Else small drawings are told in full.
@given(st.randoms(use_true_random=False), st.integers(4, 14))
def test_after_any_edits_a_memory_says_what_a_fresh_check_says(chance, turns):
    drawing, memory, telling = started(), Memory(), Telling()
    if chance.random() < 0.5:
        drawing.apply(
            Edit("ungrouped", (Remove("connection", "c-use"), Remove("use", "use"), Remove("group", "block")))
        )
    page: dict | None = None
    items = None
    for turn in range(turns):
        doing = chance.random()
        try:
            if doing < 0.2:
                drawing.undo()
            elif doing < 0.3:
                drawing.redo()
            else:
                for part in range(chance.choice([1, 1, 2, 3])):
                    edit = some_edit(drawing, chance, f"x{turn}-{part}")
                    drawing.apply(Edit.from_json(edit.to_json()))
        except DrawingError:
            continue
        if chance.random() < 0.2:
            continue
        report, fresh = check(drawing.copy(), memory), check(drawing.copy())
        assert facts_of(report) == facts_of(fresh)
        assert counted(report) == counted(fresh)
        assert (report.parameters, report.frozen_parameters, report.multiply_adds) == counted(report)[:3]
        inferred_alone(fresh)
        told = telling.items(report)
        assert told == items_of(fresh)
        page = merged(page, told_change(telling, outline_of(report), told, items))
        assert page == merged(None, told_whole(outline_of(fresh), items_of(fresh)))
        items = told


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


def chain(count: int) -> Drawing:
    """Convolutions one after another, every fourth with a shortcut."""
    drawing = Drawing("chain")
    drawing.add("c0", "2D-data", height=16, width=16, channels=4)
    for i in range(1, count):
        drawing.add(f"c{i}", "2D-relu")
        drawing.connect(f"c{i - 1}", f"c{i}", "convolution", kernels=4, kernel=3, padding=1)
        if i % 4 == 0:
            drawing.connect(f"c{i - 3}", f"c{i}", "transfer")
    return drawing


EDITS = {
    "a symbol in the middle": lambda d, n: d.apply(Edit("x", (Put(replace(d.capsules[f"c{n // 2}"], symbol="tanh")),))),
    "an attribute of the last": lambda d, n: d.change(f"c{n - 1}", bias="none"),
    "a connection more": lambda d, n: d.connect(f"c{n // 2}", f"c{n // 2 + 2}", "transfer"),
    "a shortcut less": lambda d, n: d.remove(f"c{n // 4 // 4 * 4 - 3}-c{n // 4 // 4 * 4}"),
    "a capsule more": lambda d, n: d.add("alone", "2D-relu"),
    "the last gone": lambda d, n: d.remove(f"c{n - 1}"),
    "a label": lambda d, n: d.apply(Edit("x", (Put(replace(d.capsules["c5"], label="five")),))),
}


@pytest.mark.parametrize("kind", EDITS)
def test_the_work_of_an_edit_does_not_grow_with_the_drawing(kind):
    spent = []
    for count in (40, 160, 640):
        drawing, memory = chain(count), Memory()
        check(drawing, memory)
        assert memory.looked_at == count
        works = []
        EDITS[kind](drawing, count)
        for _ in range(2):
            report = check(drawing.copy(), memory)
            works.append((memory.looked_at, memory.checked_again))
            assert facts_of(report) == facts_of(check(drawing.copy()))
            drawing.undo()
        spent.append(works)
    assert spent[0] == spent[1] == spent[2]
    assert max(max(work) for work in spent[0]) <= 6


def test_a_first_check_looks_at_every_capsule_once():
    for count in (40, 640):
        memory = Memory()
        check(chain(count), memory)
        assert (memory.looked_at, memory.checked_again) == (count, count)


def test_an_edit_at_the_input_stops_where_nothing_changes():
    drawing = Drawing("stops")
    drawing.add("a", "1D-data", dimension=8)
    drawing.add("b", "1D-relu", dimension=4)
    drawing.connect("a", "b", "full")
    for i in range(50):
        drawing.then(f"c{i}", "1D-relu", "full", dimension=4)
    memory = Memory()
    check(drawing, memory)
    drawing.change("a", dimension=9)
    check(drawing, memory)
    # The weight into b is another one; what b gives is not.
    assert memory.looked_at == 2


def test_a_check_that_fails_leaves_nothing_half_remembered(monkeypatch):
    drawing, memory = chain(20), Memory()
    check(drawing, memory)
    drawing.change("c3", bias="none")
    with monkeypatch.context() as broken:
        broken.setattr("inkcap.network.memory.carry_dtypes", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            check(drawing, memory)
    assert facts_of(check(drawing, memory)) == facts_of(check(drawing))


def test_a_proposed_name_is_free_after_every_edit():
    drawing, memory = Drawing("names"), Memory()
    drawing.add("a", "2D-data", height=4, width=4, channels=1)
    drawing.add("b", "1D-relu", dimension=3)
    drawing.connect("a", "b", "full")
    for _ in range(3):
        report = check(drawing.copy(), memory)
        assert report.diagnostics == check(drawing).diagnostics
        names = {p.record.id for d in report.diagnostics if d.fix for p in d.fix.patches if p.record.kind == "capsule"}
        (name,) = names - {"a", "b"}
        assert name not in drawing.capsules
        drawing.add(name, "1D-data", dimension=2)


def test_a_fix_of_what_stands_behind_is_of_its_last_record():
    drawing, memory = Drawing("behind"), Memory()
    drawing.add("a", "1D-data", dimension=4)
    drawing.add("b", "2D-identical")
    drawing.connect("a", "b", "embedding", height=9, width=3)
    check(drawing, memory)
    drawing.apply(Edit("label", (Put(replace(drawing.capsules["a"], label="words")),)))
    report = check(drawing.copy(), memory)
    assert report.diagnostics == check(drawing).diagnostics
    assert [p.record.label for d in report.diagnostics if d.fix for p in d.fix.patches] == ["words"]
