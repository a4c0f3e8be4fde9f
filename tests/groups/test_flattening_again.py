"""Whatever is edited, groups that are opened again are opened as if for the first time; work is counted in records."""

from dataclasses import replace

import pytest
from edited import edited, facts_of, started
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inkcap.drawing import Connection, Drawing, Edit, Flattened, Flattener, Position, Put, Remove, Use, flatten
from inkcap.network import Memory, check


def told(flattened: Flattened) -> dict:
    """All that a flattening says, orders and the types of numbers too."""
    drawing = flattened.drawing
    stated = [(c.id, name, type(v)) for c in drawing.capsules.values() for name, v in c.attributes.items()]
    return {
        "capsules": list(drawing.capsules.items()),
        "connections": list(drawing.connections.items()),
        "types": stated,
        "origins": dict(flattened.origins),
        "problems": flattened.problems,
        "ends": dict(flattened.ends),
    }


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False), st.integers(4, 14))
def test_after_any_edits_groups_are_opened_as_for_the_first_time(chance, turns):
    drawing, flattener = started(), Flattener()
    for turn in range(turns):
        if edited(drawing, chance, f"x{turn}", of_groups=0.6) and chance.random() < 0.8:
            assert told(flattener.flatten(drawing.copy())) == told(flatten(drawing.copy()))


def body(*inner: str) -> Drawing:
    """The inside of a group: a door, three convolutions and uses of other groups."""
    made = Drawing("inside", arguments={"width": 4})
    made.add("in", "2D-identical")
    for name in ("f", "g", "h"):
        made.then(name, "2D-relu", kernels="=width", kernel=3, padding=1)
    return made


def grouped(count: int) -> Drawing:
    """A row of uses of ``block`` with capsules between, and two of ``stage``, which uses ``block`` and ``part``."""
    drawing = Drawing("grouped")
    drawing.add("x", "2D-data", height=8, width=8, channels=4)
    drawing.define("block", body())
    drawing.define("part", body())
    stage = Drawing("stage", arguments={})
    stage.define("block", body())
    stage.define("part", body())
    stage.add("in", "2D-identical")
    stage.then("one", "block", repeat=2)
    stage.then("two", "part", repeat=2)
    drawing.define("stage", stage)
    drawing.then("s0", "stage")
    drawing.then("s1", "stage")
    for i in range(count):
        drawing.then(f"u{i}", "block")
        drawing.then(f"c{i}", "2D-relu", kernels=4, kernel=3, padding=1)
    return drawing


def inside(drawing: Drawing, name: str, symbol: str) -> Put:
    """Let the capsule ``g`` of a group have another symbol."""
    group = drawing.groups[name]
    return Put(replace(group, capsules=tuple(replace(c, symbol=symbol) if c.id == "g" else c for c in group.capsules)))


COPY = 4 + 3
"""What a copy of a block has: four capsules, three connections."""
STAGE = 2 * 1 + 2 * 2
"""What both stages have themselves: a door, two lines and a join inside of each of two rows."""
EDITS = {
    "a capsule outside": (lambda d: Put(replace(d.capsules["c1"], symbol="tanh")), lambda n: 2),
    "a note of where things lie": (lambda d: Put(Position("c1", 1.0, 2.0)), lambda n: 0),
    "where things lie inside": (
        lambda d: Put(replace(d.groups["block"], positions={"g": Position("g", 1.0, 2.0)})),
        lambda n: 0,
    ),
    "a connection more": (lambda d: Put(Connection("new", "transfer", "c0", "c1")), lambda n: 0),
    "a use by itself": (lambda d: Put(replace(d.uses["u1"], arguments={"width": 4})), lambda n: COPY + 2),
    "a use more": (lambda d: Put(Use("new", "block")), lambda n: COPY),
}


@pytest.mark.parametrize("kind", EDITS)
def test_an_edit_opens_only_what_it_touches(kind):
    for count in (10, 80):
        drawing, memory = grouped(count), Memory()
        check(drawing.copy(), memory)
        assert memory.opened_again > COPY * count
        edit, made = EDITS[kind]
        drawing.apply(Edit(kind, (edit(drawing),)))
        for _ in range(2):
            report = check(drawing.copy(), memory)
            assert memory.opened_again <= made(count)
            assert memory.looked_at <= 6
            assert facts_of(report) == facts_of(check(drawing.copy()))
            drawing.undo()


def test_an_edit_inside_of_a_group_opens_its_copies_and_no_others():
    for count in (10, 80):
        drawing, memory = grouped(count), Memory()
        check(drawing.copy(), memory)
        drawing.apply(Edit("x", (inside(drawing, "part", "tanh"),)))
        report = check(drawing.copy(), memory)
        # Two copies in each of two stages, with what the stages have themselves and what is connected with them.
        assert memory.opened_again <= 4 * COPY + 2 * STAGE + 3
        assert memory.looked_at <= 4 * 2
        assert facts_of(report) == facts_of(check(drawing.copy()))
        drawing.apply(Edit("x", (inside(drawing, "block", "tanh"),)))
        check(drawing.copy(), memory)
        assert memory.looked_at <= (count + 4) * 2


def test_nothing_half_made_is_remembered(monkeypatch):
    drawing, memory = grouped(3), Memory()
    check(drawing.copy(), memory)
    drawing.apply(Edit("x", (inside(drawing, "block", "tanh"),)))
    with monkeypatch.context() as broken:
        broken.setattr("inkcap.drawing.flattening.Doors.follow", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            check(drawing.copy(), memory)
    assert facts_of(check(drawing.copy(), memory)) == facts_of(check(drawing.copy()))


def test_an_older_report_stays_as_it_was():
    drawing, memory = grouped(3), Memory()
    first = check(drawing.copy(), memory)
    before = facts_of(first)
    drawing.apply(Edit("x", (inside(drawing, "block", "tanh"), Remove("connection", "u0-c0"))))
    check(drawing.copy(), memory)
    assert facts_of(first) == before
