"""Commands: each makes one edit that does what it says, and undoing it leaves the drawing as it was."""

import pytest

from inkcap.drawing import Drawing, DrawingError, difference, from_text, inside
from inkcap.network import check
from inkcap.studio.commands import COMMANDS, command_of
from inkcap.studio.ledger import Refused
from inkcap.symbols import UnknownSymbol
from inkcap.zoo import draw


def run(drawing: Drawing, name: str, /, **arguments) -> list[str]:
    """Run a command as the server does: on a copy, whose difference is applied; and back, and forth again."""
    work = drawing.copy()
    _, made = command_of(name, arguments)(work)
    before = drawing.copy()
    inverse = drawing.perform(difference(drawing, work, name))
    assert drawing == work
    again = drawing.perform(inverse)
    assert drawing == before
    drawing.perform(again)
    return list(made)


def test_lenet_can_be_drawn_by_commands_alone():
    drawing = Drawing("LeNet")
    run(drawing, "add", face="2D-data", attributes={"height": 28, "width": 28, "channels": 1}, at=[0, 0])
    for face, by, sizes in (
        ("2D-relu", {"kernels": 32, "kernel": 5}, {}),
        ("2D-downsampling", {}, {"window": 2}),
        ("2D-relu", {"kernels": 64, "kernel": 5}, {}),
        ("2D-downsampling", {}, {"window": 2}),
        ("1D-identical", {}, {}),
        ("1D-relu", {}, {"dimension": 512}),
        ("1D-softmax", {}, {"dimension": 10}),
    ):
        last = list(drawing.capsules)[-1]
        vertex, line = run(drawing, "add", face=face, after=last, attributes=sizes, at=[100, 0])
        assert drawing.positions[vertex].x == 100
        if by:
            run(drawing, "change", id=line, attributes=by)
    assert list(drawing.capsules) == list("abcdefgh")
    assert [c.symbol for c in drawing.connections.values()] == [
        "convolution", "transfer", "convolution", "transfer", "reshaping", "full", "full"
    ]  # fmt: skip
    assert check(drawing).parameters == 582026


def test_every_error_with_a_fix_is_mended_by_it():
    drawing = draw("lenet")
    drawing.remove("e-f")
    drawing.connect("e", "f", "full")
    found = [d for d in check(drawing).to_json()["diagnostics"] if d["fix"]]
    assert found
    run(drawing, "fix", rule=found[0]["rule"], where=found[0]["where"], index=0)
    assert found[0]["message"] not in [d.message for d in check(drawing).diagnostics]
    with pytest.raises(Refused, match="mended already"):
        command_of("fix", {"rule": found[0]["rule"], "where": found[0]["where"]})(drawing.copy())


def test_the_inside_of_a_group_with_arguments_cannot_be_judged_by_itself():
    drawing = draw("googlenet")
    name = next(
        name
        for name in drawing.groups
        if any(
            str(v).startswith("=") for c in inside(drawing, name).connections.values() for v in c.attributes.values()
        )
    )
    with pytest.raises(Refused, match="depend on the arguments of the group"):
        command_of("fix", {"rule": "no-path", "where": ["a"], "inside": name})(drawing.copy())


def test_group_repeat_inside_and_dissolve_keep_the_network():
    drawing = draw("lenet")
    parameters = check(drawing).parameters
    (use,) = run(drawing, "group", ids=["b", "c"], name="block")
    assert (use, check(drawing).parameters) == ("block", parameters)
    assert drawing.capsules.keys() == set("adefgh")
    run(drawing, "change", id="c", attributes={"window": 1}, inside="block")
    assert check(drawing).well_formed
    assert check(drawing).parameters != parameters
    run(drawing, "repeat", use="block", times=2)
    assert drawing.uses["block"].repeat == 2
    run(drawing, "repeat", use="block", times=1)
    run(drawing, "rename", id="block", to="first")
    made = run(drawing, "dissolve", use="first")
    assert check(drawing).well_formed
    assert len(made) == 2


@pytest.mark.parametrize("id", ["=(=(", "no id", "x" * 65])
def test_the_use_of_a_new_group_has_an_id_that_can_be_read_again(id):
    drawing = draw("lenet")
    with pytest.raises(DrawingError, match=r"use: .* is not an id"):
        run(drawing, "group", ids=["b", "c"], name="block", id=id)
    assert drawing == draw("lenet")


def test_paste_takes_new_names_and_can_be_repeated():
    drawing, copied = draw("lenet"), Drawing("copied")
    copied.add("b", "2D-relu")
    copied.add("c", "2D-downsampling", window=2)
    copied.connect("b", "c", "transfer")
    copied.move("b", 10, 10)
    made = run(drawing, "paste", text=copied.to_text(), at=[200, 300])
    assert made == ["b-2", "c-2"]
    assert drawing.connections["b-2-c-2"].front == "c-2"
    assert (drawing.positions["b-2"].x, drawing.positions["b-2"].y) == (200, 300)
    assert run(drawing, "paste", text=copied.to_text()) == ["b-3", "c-3"]
    whole = draw("capsnet")
    empty = Drawing(whole.name)
    run(empty, "paste", text=whole.to_text())
    assert check(empty).parameters == check(whole).parameters


def test_rename_reaches_everything_that_speaks_of_a_thing():
    drawing = draw("lenet")
    drawing.move("b", 1, 2)
    run(drawing, "rename", id="b", to="first")
    assert list(drawing.capsules)[1] == "first"
    assert (drawing.connections["a-b"].front, drawing.connections["b-c"].back) == ("first", "first")
    assert drawing.positions["first"].y == 2
    assert check(drawing).parameters == 582026
    run(drawing, "rename", id="a-b", to="line")
    assert next(iter(drawing.connections)) == "line"
    with pytest.raises(DrawingError, match="already"):
        run(drawing, "rename", id="c", to="d")
    with pytest.raises(DrawingError, match="nothing was renamed"):
        run(drawing, "rename", id="zz", to="y")


def test_insert_replace_arrange_and_remove():
    drawing = draw("lenet")
    vertex, *_ = run(drawing, "insert", connection="b-c", face="2D-identical")
    assert check(drawing).well_formed
    assert (drawing.connections["b-c"].front, vertex) == ("i", "i")
    run(drawing, "replace_symbol", id="b", symbol="tanh")
    run(drawing, "replace_symbol", id="f-g", symbol="full")
    assert drawing.capsules["b"].symbol == "tanh"
    assert check(drawing).parameters == 582026
    with pytest.raises(Refused, match="has the ranks"):
        run(drawing, "replace_symbol", id="b", symbol="relu", rank=7)
    run(drawing, "arrange")
    assert drawing.positions.keys() == drawing.capsules.keys()
    assert drawing.positions["a"].x < drawing.positions["b"].x < drawing.positions["h"].x
    left = drawing.positions["g"].x
    run(drawing, "arrange", ids=["g", "h"])
    assert drawing.positions["g"].x == left
    run(drawing, "remove", ids=["g", "h", "f-g"])
    assert set(drawing.capsules) == set("abcdefi")
    assert from_text(drawing.to_text()) == drawing


@pytest.mark.parametrize("name", COMMANDS)
def test_arguments_are_checked_before_anything_is_done(name):
    _, needed, _ = COMMANDS[name]
    with pytest.raises(Refused, match="has no argument 'colour'"):
        command_of(name, {**dict.fromkeys(needed, "x"), "colour": "red"})
    if needed:
        with pytest.raises(Refused, match=f"needs the argument '{needed[0]}'"):
            command_of(name, {})
    for odd in (7, "zz", [], {}, [1, 2], None, "'; DROP", {"id": 1}):
        drawing = draw("mlp")
        try:
            command_of(name, dict.fromkeys(needed, odd))(drawing)
        except (DrawingError, Refused, UnknownSymbol):
            continue
