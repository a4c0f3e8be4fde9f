"""Edits as data: undo, redo, whole or not at all, and through JSON."""

from __future__ import annotations

import pytest
from drawn import random_drawings
from hypothesis import given, settings
from hypothesis import strategies as st
from timing import least

from inkcap.drawing import Capsule, Connection, Drawing, DrawingError, Edit, Note, Put, Remove, from_text
from inkcap.zoo import draw


def test_undo_to_empty_and_redo_to_full() -> None:
    drawing = draw("lenet")
    full = drawing.to_text()
    steps = 0
    while drawing.undo():
        steps += 1
    assert steps == 8
    assert not drawing.capsules
    while drawing.redo():
        pass
    assert drawing.to_text() == full


def test_undo_puts_a_removed_capsule_back_in_its_place() -> None:
    drawing = draw("lenet")
    before = drawing.to_text()
    drawing.move("c", 5, 6)
    drawing.undo()
    drawing.remove("c")
    assert "c" not in drawing.capsules
    assert not any("c" in (k.back, k.front) for k in drawing.connections.values())
    assert drawing.undo() == "remove c"
    assert drawing.to_text() == before


def test_a_new_edit_ends_redo() -> None:
    drawing = draw("mlp")
    drawing.undo()
    drawing.add("z", "1D-relu")
    assert drawing.redo() is None


def test_an_edit_is_applied_whole_or_not_at_all() -> None:
    drawing = draw("mlp")
    before = drawing.to_text()
    patches = (Put(Capsule("new", "relu", 1)), Put(Connection("bad", "full", "new", "nowhere")))
    with pytest.raises(DrawingError, match="front end 'nowhere'"):
        drawing.apply(Edit("two", patches))
    with pytest.raises(DrawingError, match="its back end 'a'"):
        drawing.apply(Edit("orphan", (Remove("capsule", "a"),)))
    with pytest.raises(DrawingError, match="no capsule 'zz'"):
        drawing.apply(Edit("nothing", (Put(Note("n", "x")), Remove("capsule", "zz"))))
    assert drawing.to_text() == before


@settings(max_examples=50, deadline=None)
@given(random_drawings(), st.data())
def test_any_edits_are_undone_exactly(drawing: Drawing, data: st.DataObject) -> None:
    drawing = from_text(drawing.to_text())
    states = [drawing.to_text()]
    for _ in range(data.draw(st.integers(1, 6))):
        action = data.draw(st.sampled_from(["remove", "move", "add", "change", "disconnect"]))
        ids = list(drawing.capsules)
        if action == "add":
            drawing.add(f"n{len(states)}", "1D-relu", dimension=3)
        elif ids and action == "remove":
            drawing.remove(data.draw(st.sampled_from(ids)))
        elif ids and action == "move":
            drawing.move(data.draw(st.sampled_from(ids)), len(states), 0)
        elif ids and action == "change":
            drawing.change(data.draw(st.sampled_from(ids)), dtype="float32")
        elif drawing.connections:
            drawing.remove(data.draw(st.sampled_from(list(drawing.connections))))
        else:
            continue
        states.append(drawing.to_text())
    for state in reversed(states[:-1]):
        drawing.undo()
        assert drawing.to_text() == state
    for state in states[1:]:
        drawing.redo()
        assert drawing.to_text() == state


def test_edits_are_data() -> None:
    edit = Edit("x", (Put(Capsule("a", "relu", 1)), Put(Note("n", "text"), 0), Remove("connection", "c")))
    assert Edit.from_json(edit.to_json()) == edit
    drawing = draw("mlp")
    drawing.move("a", 1, 2)
    while drawing.undo():
        pass
    for broken in (
        {},
        {"label": "x", "patches": [{"put": "capsule", "id": "a", "record": {}}]},
        {"label": "x", "patches": [{"put": "thing", "id": "a"}]},
        {"label": "x", "patches": [{"put": "note", "remove": "note", "id": "a"}]},
        {"label": "x", "patches": [{"put": "note", "id": "b", "record": {"id": "a", "text": ""}}]},
        {"label": "x", "patches": [{"put": "note", "id": "a", "index": -1, "record": {"id": "a", "text": ""}}]},
    ):
        with pytest.raises(DrawingError):
            Edit.from_json(broken)


def test_what_is_wrong_with_a_record_is_told_of_the_thing() -> None:
    line = {"id": "a-b", "symbol": "convolution", "back": "a", "front": "b", "attributes": {"kernels": "abc"}}
    sent = {
        "label": "x",
        "patches": [{"remove": "note", "id": "n"}, {"put": "connection", "id": "a-b", "record": line}],
    }
    with pytest.raises(DrawingError, match=r"^connection a-b\.attributes\.kernels: must be a whole number, not 'abc'"):
        Edit.from_json(sent)


def test_python_mistakes_are_told() -> None:
    drawing = Drawing("x")
    with pytest.raises(DrawingError, match="add a first capsule"):
        drawing.then("b", "1D-relu")
    drawing.add("a", "1D-data", dimension=2)
    for wrong, message in (
        (lambda: drawing.add("a", "1D-relu"), "already"),
        (lambda: drawing.add("b", "1D-relu", dimesion=3), "did you mean dimension"),
        (lambda: drawing.then("b", "1D-relu", "full", kernel=3), "neither 1D-relu nor full has 'kernel'"),
        (lambda: drawing.connect("a", "zz"), "no 'zz'"),
        (lambda: drawing.connect("a", "a", "ful"), "did you mean full"),
        (lambda: drawing.add("b", "relu"), "2D-relu or relu neuron"),
        (lambda: drawing.add("b", "0D-softmax"), "no softmax neuron"),
        (lambda: drawing.add("b c", "1D-relu"), "not an id"),
        (lambda: drawing.change("zz", bias="none"), "no 'zz'"),
        (lambda: drawing.remove("zz"), "no 'zz'"),
    ):
        before = drawing.to_text()
        with pytest.raises(Exception, match=message) as caught:
            wrong()
        assert type(caught.value).__module__.startswith("inkcap")
        assert drawing.to_text() == before


def test_the_connection_that_fits_is_proposed() -> None:
    drawing = Drawing("x")
    drawing.add("m", "2D-data", height=4, width=4, channels=1)
    drawing.add("n", "2D-relu")
    drawing.add("p", "2D-downsampling", window=2)
    drawing.add("v", "1D-relu")
    drawing.add("w", "1D-relu")
    drawing.add("s", "relu neuron")
    drawing.add("t", "relu neuron")
    proposals = {
        ("m", "n"): "convolution",
        ("n", "p"): "transfer",
        ("p", "v"): "reshaping",
        ("v", "w"): "full",
        ("s", "t"): "amplifying",
        ("v", "n"): "reshaping",
    }
    for (back, front), symbol in proposals.items():
        assert drawing.propose(back, front) == symbol


def test_two_connections_between_one_pair_are_allowed() -> None:
    drawing = Drawing("x")
    drawing.add("a", "1D-data", dimension=2)
    drawing.add("b", "1D-relu", dimension=2)
    assert drawing.connect("a", "b", "full") == "a-b"
    assert drawing.connect("a", "b", "transfer") == "a-b-2"


NAMES = [f"n{number}" for number in range(6)]
patches_of_two_kinds = st.lists(
    st.one_of(
        st.builds(
            Put,
            st.one_of(
                st.builds(lambda id: Note(id, "x"), st.sampled_from(NAMES)),
                st.builds(lambda id: Capsule(id, "relu", 1), st.sampled_from(NAMES)),
            ),
            st.one_of(st.none(), st.integers(0, 7)),
        ),
        st.builds(Remove, st.sampled_from(["note", "capsule"]), st.sampled_from(NAMES)),
    ),
    max_size=24,
)


def in_order(drawing: Drawing) -> tuple[list[str], list[str]]:
    return list(drawing.notes), list(drawing.capsules)


@settings(max_examples=300, deadline=None)
@given(patches_of_two_kinds)
def test_many_patches_of_one_edit_do_what_each_does_alone(patches: list[Put | Remove]) -> None:
    together, alone = Drawing("x"), Drawing("x")
    orders: dict[str, list[str]] = {"note": [], "capsule": []}
    for drawing in (together, alone):
        drawing.apply(Edit("two", (Put(Note("n0", "x")), Put(Capsule("n1", "relu", 1)))))
    orders["note"], orders["capsule"] = ["n0"], ["n1"]
    before, allowed = in_order(together), True
    for patch in patches:
        kind, id = (patch.record.kind, patch.record.id) if isinstance(patch, Put) else (patch.kind, patch.id)
        if isinstance(patch, Remove) and id not in orders[kind]:
            allowed = False
            break
        if isinstance(patch, Remove):
            orders[kind].remove(id)
        elif id not in orders[kind]:
            orders[kind].insert(len(orders[kind]) if patch.index is None else patch.index, id)
        alone.apply(Edit("one", (patch,)))
    if not allowed:
        with pytest.raises(DrawingError, match="to remove"):
            together.apply(Edit("many", tuple(patches)))
        assert in_order(together) == before
        return
    together.apply(Edit("many", tuple(patches)))
    assert in_order(together) == in_order(alone) == (orders["note"], orders["capsule"])
    assert together == alone
    together.undo()
    assert in_order(together) == before
    together.redo()
    assert in_order(together) == in_order(alone)


def test_half_of_a_large_drawing_is_removed_and_brought_back_in_no_time() -> None:
    drawing = Drawing("large")
    drawing.add("n0", "1D-data", dimension=4)
    for number in range(1, 6_000):
        drawing.then(f"n{number}", "1D-tanh", dimension=4)
    before, half = drawing.to_text(), drawing.copy()
    lines = list(half.connections)[:3_000]
    removals = [patch for number, line in enumerate(lines)
                for patch in (Remove("connection", line), Remove("capsule", f"n{number}"))]  # fmt: skip
    told: list[tuple[int, str | None]] = []

    def apply() -> None:
        half.apply(Edit("half", tuple(removals)))
        half.undo()

    def remove() -> None:
        half.remove(*(f"n{number}" for number in range(3_000)))
        told.append((len(half.capsules), half.undo()))

    # It took four seconds when each that came back moved all behind it.
    for work in (apply, remove):
        assert least(work, 1) < 1
        assert half.to_text() == before
    assert told[0] == (3_000, "remove n0, n1, n2, n3, n4, n5, … 2994 more")


@settings(max_examples=50, deadline=None)
@given(random_drawings(), st.data())
def test_what_is_removed_together_is_what_each_removal_takes(drawing: Drawing, data: st.DataObject) -> None:
    known = [*drawing.capsules, *drawing.connections]
    ids = data.draw(st.lists(st.sampled_from(known), max_size=6)) if known else []
    one_by_one = drawing.copy()
    for id in ids:
        if id in one_by_one.capsules or id in one_by_one.connections:
            one_by_one.remove(id)
    before = drawing.to_text()
    drawing.remove(*ids)
    assert drawing == one_by_one
    drawing.undo()
    assert drawing.to_text() == before
