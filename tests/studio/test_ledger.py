"""The log of a drawing against a model: two clients, every edit once, and undo that takes back only one's own."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import inkcap.drawing
import inkcap.studio
from inkcap.drawing import Capsule, Drawing, DrawingError, Edit, Position, Put, Remove, from_text, save_drawing
from inkcap.studio.following import begin
from inkcap.studio.ledger import Ledger, Refused
from inkcap.studio.store import Store

IDS = ("a", "b", "c")
DRAWING, STUDIO = (str(Path(package.__file__).parent) for package in (inkcap.drawing, inkcap.studio))
FACES = ("relu", "identical", "sigmoid")


def opened(folder: Path) -> tuple[Store, Ledger]:
    path = folder / "d.inkcap.json"
    if not path.exists():
        drawing = Drawing("d")
        drawing.add("a", "1D-data", dimension=4)
        save_drawing(drawing, path)
    store = Store(folder)
    id = store.id_of(path.name)
    begin(store, id, path)
    return store, Ledger(store, id)


edits = st.one_of(
    st.builds(lambda id, face: Put(Capsule(id, face, 1)), st.sampled_from(IDS), st.sampled_from(FACES)),
    st.builds(
        lambda id, size: Put(Capsule(id, "relu", 1, {"dimension": size})), st.sampled_from(IDS), st.integers(1, 9)
    ),
    st.builds(lambda id, x: Put(Position(id, x, 0)), st.sampled_from(IDS), st.integers(0, 9)),
    st.builds(lambda id: Remove("capsule", id), st.sampled_from(IDS)),
)
actions = st.lists(
    st.tuples(
        st.sampled_from(["one", "two"]),
        st.one_of(edits, st.sampled_from(["undo", "redo", "repeat", "reopen"])),
        st.integers(0, 3),
    ),
    max_size=25,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions)
def test_two_clients_agree_with_a_model(tmp_path_factory, steps):
    folder = tmp_path_factory.mktemp("ledger")
    store, ledger = opened(folder)
    model, states = ledger.drawing.copy(), [ledger.drawing.to_text()]
    numbers = {"one": 0, "two": 0}
    done: dict[str, list[int]] = {"one": [], "two": []}
    undone: dict[str, list[int]] = {"one": [], "two": []}
    try:
        for client, action, behind in steps:
            if action == "reopen":
                store.close()
                store, ledger = opened(folder)
                continue
            if action == "repeat":
                # A number that came before is known again, whatever else has happened since.
                known = ledger.repeated(client, numbers[client])
                assert (known is not None) == (numbers[client] > 0)
                continue
            number = numbers[client] + 1
            before = ledger.drawing.to_text()
            try:
                if action in ("undo", "redo"):
                    entry = (ledger.undo if action == "undo" else ledger.redo)(client, number)
                else:
                    base = max(ledger.seq - behind, 0)
                    entry = ledger.apply(client, number, Edit("edit", (action,)), base)
            except (DrawingError, Refused):
                assert ledger.drawing.to_text() == before
                assert ledger.repeated(client, number) is None
                continue
            numbers[client] = number
            own, other = (done, undone) if action != "redo" else (undone, done)
            if action in ("undo", "redo"):
                assert entry.target == own[client].pop()
                other[client].append(entry.seq)
            else:
                done[client].append(entry.seq)
                undone[client].clear()
            model.perform(entry.edit)
            states.append(ledger.drawing.to_text())
            assert entry.seq == len(states) - 1
            assert ledger.drawing == model
        for seq, text in enumerate(states):
            assert ledger.at(seq).to_text() == text
        for client, number in numbers.items():
            assert ledger.acknowledged(client) == number
            undo, redo = ledger.can(client)
            assert ((undo is not None), (redo is not None)) == (bool(done[client]), bool(undone[client]))
    finally:
        store.close()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(edits, max_size=12))
def test_one_client_undoes_to_the_start_and_redoes_to_the_end(tmp_path_factory, patches):
    store, ledger = opened(tmp_path_factory.mktemp("ledger"))
    try:
        states = [ledger.drawing.to_text()]
        for patch in patches:
            try:
                ledger.apply("one", None, Edit("edit", (patch,)))
            except DrawingError:
                continue
            states.append(ledger.drawing.to_text())
        for text in reversed(states[:-1]):
            ledger.undo("one", None)
            assert ledger.drawing.to_text() == text
        with pytest.raises(Refused, match="nothing to undo"):
            ledger.undo("one", None)
        for text in states[1:]:
            ledger.redo("one", None)
            assert ledger.drawing.to_text() == text
    finally:
        store.close()


@pytest.fixture
def ledger(tmp_path):
    store, ledger = opened(tmp_path)
    yield ledger
    store.close()


def put(**attributes) -> Edit:
    return Edit("change", (Put(Capsule("m", "downsampling", 2, attributes)),))


def test_changes_of_two_fields_from_the_same_state_both_stay(ledger):
    ledger.apply("one", 1, put(height=8, width=8))
    base = ledger.seq
    ledger.apply("one", 2, put(height=9, width=8), base)
    ledger.apply("two", 1, put(height=8, width=7), base)
    assert ledger.drawing.capsules["m"].attributes == {"height": 9, "width": 7}


def test_undo_leaves_what_another_changed_since(ledger):
    ledger.apply("one", 1, put(height=8, width=8))
    ledger.apply("one", 2, put(height=9, width=9))
    ledger.apply("two", 1, put(height=9, width=5), ledger.seq)
    ledger.undo("one", 3)
    assert ledger.drawing.capsules["m"].attributes == {"height": 8, "width": 5}


def test_what_another_removed_is_not_put_again(ledger):
    ledger.apply("one", 1, put(height=8))
    base = ledger.seq
    ledger.apply("two", 1, Edit("remove", (Remove("capsule", "m"),)), base)
    with pytest.raises(DrawingError, match="another tab removed the capsule m"):
        ledger.apply("one", 2, put(height=9), base)
    ledger.undo("two", 2)
    assert ledger.apply("one", 2, put(height=9), ledger.seq).seq == ledger.seq


def test_two_that_draw_the_same_id_do_not_overwrite(ledger):
    base = ledger.seq
    ledger.apply("one", 1, put(height=8), base)
    with pytest.raises(DrawingError, match="another tab drew a capsule m"):
        ledger.apply("two", 1, put(height=9), base)


def test_a_disk_that_refuses_changes_nothing(ledger, monkeypatch):
    def full(*_: object) -> None:
        raise OSError("no space left")

    before = ledger.drawing.to_text()
    monkeypatch.setattr(ledger.store, "append", full)
    with pytest.raises(OSError, match="no space"):
        ledger.apply("one", 1, put(height=8))
    assert (ledger.drawing.to_text(), ledger.seq) == (before, 0)
    monkeypatch.undo()
    assert ledger.apply("one", 1, put(height=8)).seq == 1


def failing_at(call: int) -> Callable[..., None]:
    """Let memory run out at the n-th call of a function of drawing, ledger or store."""
    left = call

    def trace(frame: FrameType, event: str, _: object) -> None:
        nonlocal left
        if event == "call" and frame.f_code.co_filename.startswith((DRAWING, STUDIO)):
            left -= 1
            if left == 0:
                raise MemoryError

    return trace


def test_memory_that_runs_out_anywhere_leaves_an_edit_whole_or_undone(ledger):
    ledger.apply("one", 1, Edit("draw", tuple(Put(Capsule(id, "relu", 1)) for id in "bc")))
    much = Edit("much", (Remove("capsule", "b"), Put(Position("a", 3, 4)), Put(Capsule("d", "tanh", 1))))
    call, refused = 0, 0
    while ledger.seq == 1:
        call += 1
        before = ledger.drawing.to_text()
        sys.settrace(failing_at(call))
        try:
            ledger.apply("one", 2, much)
        except MemoryError:
            refused += 1
        finally:
            sys.settrace(None)
        if ledger.seq == 1:
            assert ledger.drawing.to_text() == before, call
            assert ledger.store.entry(ledger.id, 2) is None, call
    assert refused > 50
    again = Ledger(ledger.store, ledger.id)
    assert (again.seq, again.drawing) == (2, ledger.drawing)
    assert ledger.can("one") == again.can("one")


def test_many_edits_open_from_a_whole_state(tmp_path, monkeypatch):
    monkeypatch.setattr("inkcap.studio.ledger.SNAPSHOT_EVERY", 5)
    store, ledger = opened(tmp_path)
    for i in range(17):
        ledger.apply("one", i + 1, Edit("move", (Put(Position("a", i, 0)),)))
    assert store.snapshot(ledger.id, 17)[0] == 15  # pyright: ignore[reportOptionalSubscript]
    store.close()
    store, again = opened(tmp_path)
    assert again.drawing == ledger.drawing
    assert [again.at(i).positions.get("a") for i in (0, 1, 16)] == [None, Position("a", 0, 0), Position("a", 15, 0)]
    assert from_text(again.drawing.to_text()) == again.drawing
    store.close()


def test_what_could_not_be_read_from_the_log_again_does_not_come_into_it(tmp_path):
    store, ledger = opened(tmp_path)
    before = ledger.drawing.to_text()

    def careless(drawing):
        drawing.apply(Edit("add", (Put(Capsule("no id", "relu", 1)),)))
        return "add", ["no id"]

    with pytest.raises(DrawingError, match="'no id' is not an id"):
        ledger.run("one", 1, careless)
    assert (ledger.seq, ledger.drawing.to_text()) == (0, before)
    store.close()
    store, ledger = opened(tmp_path)
    assert ledger.drawing.to_text() == before
    store.close()
