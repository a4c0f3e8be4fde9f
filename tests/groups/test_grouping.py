"""Edits of groups: whatever is grouped or dissolved, the network stays."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from drawn import random_drawings
from hypothesis import given, settings
from hypothesis import strategies as st

from inkcap.drawing import (
    Drawing,
    DrawingError,
    Group,
    dissolve,
    dissolve_all,
    from_text,
    inside,
    load_drawing,
    make_group,
    take_groups,
)
from inkcap.network import Report, check
from inkcap.zoo import draw


def likeness(report: Report) -> tuple[object, ...]:
    """What two drawings of one network have in common, whatever their capsules are called."""
    assert report.well_formed, report.diagnostics
    capsules = Counter((c.title, str(c.output), len(c.incoming)) for c in report.capsules.values())
    connections = Counter(
        (c.symbol, str(c.back_end), str(c.front_end), c.multiply_adds) for c in report.connections.values()
    )
    return (
        report.capsule_count, report.connection_count, report.parameters, report.multiply_adds, report.depth,
        report.classification and report.classification.kind, capsules, connections,
    )  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(random_drawings(), st.data())
def test_grouping_and_dissolving_keep_the_network(drawing: Drawing, data: st.DataObject) -> None:
    before = likeness(check(drawing))
    text = drawing.to_text()
    ids = data.draw(st.lists(st.sampled_from(list(drawing.capsules)), min_size=1, unique=True))
    use = make_group(drawing, ids, "block")
    assert likeness(check(drawing)) == before
    assert from_text(drawing.to_text()) == drawing
    assert likeness(check(dissolve_all(drawing))) == before
    if data.draw(st.booleans()):
        more = data.draw(st.lists(st.sampled_from([*drawing.capsules, use]), min_size=1, unique=True))
        outer = make_group(drawing, more, "outer")
        assert likeness(check(drawing)) == before
        dissolve(drawing, outer)
        assert likeness(check(drawing)) == before
        drawing.undo()
        drawing.undo()
    dissolve(drawing, use)
    assert likeness(check(drawing)) == before
    assert not drawing.uses
    drawing.undo()
    drawing.undo()
    assert drawing.to_text() == text


def test_a_group_is_edited_for_all_its_uses() -> None:
    drawing = draw("mlp")
    use = make_group(drawing, ["b"], "layer")
    drawing.add("e", "layer")
    (port,) = drawing.groups["layer"].inputs
    drawing.connect("a", "e", port=port)
    assert drawing.groups["layer"].inputs == {port: port}
    body = inside(drawing, "layer")
    body.change("b", dimension=9)
    body.arguments = {"width": 3}
    drawing.define("layer", body)
    report = check(drawing)
    assert [report.capsules[f"{id}.b"].output.sizes for id in (use, "e")] == [(9,), (9,)]
    drawing.undo()
    assert check(drawing).capsules[f"{use}.b"].output.sizes == (6,)


def test_dissolving_what_is_shared_is_refused() -> None:
    drawing = draw("mlp")
    make_group(drawing, ["b"], "layer", "one")
    (port,) = drawing.groups["layer"].inputs
    drawing.add("two", "layer", tie="t")
    drawing.add("three", "layer", tie="t")
    drawing.connect("a", "two", port=port)
    with pytest.raises(DrawingError, match="shares its weights as 't' with three"):
        dissolve(drawing, "two")
    with pytest.raises(DrawingError, match="'a' is a capsule"):
        dissolve(drawing, "a")
    assert dissolve(drawing, "one") == ["one-b"]


def test_what_shares_weights_is_not_parted() -> None:
    drawing = Drawing("tied")
    drawing.add("a", "1D-data", dimension=3)
    for id in ("b", "c"):
        drawing.add(id, "1D-relu", dimension=3, tie="bias")
        drawing.connect("a", id, "full", tie="t")
    before = check(drawing).parameters
    text = drawing.to_text()
    with pytest.raises(DrawingError, match="tied as 'bias' would stand inside and outside"):
        make_group(drawing, ["b"], "half")
    assert drawing.to_text() == text
    make_group(drawing, ["b", "c"], "both")
    assert check(drawing).parameters == before == 12


def test_groups_go_from_drawing_to_drawing() -> None:
    drawing, other = draw("mlp"), draw("lenet-digits")
    make_group(drawing, ["b", "c"], "pair")
    assert take_groups(other, drawing) == ["pair"]
    assert take_groups(other, drawing, ["pair"]) == ["pair"]
    with pytest.raises(DrawingError, match="no group 'pear'"):
        take_groups(other, drawing, ["pear"])
    body = inside(other, "pair")
    body.change("b", dimension=5)
    other.define("pair", body)
    with pytest.raises(DrawingError, match="another group 'pair'"):
        take_groups(other, drawing)


def test_what_is_inside_keeps_its_place() -> None:
    drawing = draw("mlp")
    for i, id in enumerate("abcd"):
        drawing.move(id, 100.0 * i, 40.0)
    use = make_group(drawing, ["b", "c"], "pair")
    group = drawing.groups["pair"]
    (door,) = group.inputs
    assert {id: place.to_json() for id, place in group.positions.items()} == {
        "b": [100.0, 40.0], "c": [200.0, 40.0], door: [-10.0, 40.0]
    }  # fmt: skip
    assert from_text(drawing.to_text()) == drawing
    body = inside(drawing, "pair")
    body.move("c", 250.0, 90.0)
    body.remove("b")
    drawing.define("pair", body)
    assert drawing.groups["pair"].positions.keys() == {"c", door}
    drawing.undo()
    other = draw("mlp")
    take_groups(other, drawing)
    body = inside(other, "pair")
    body.move("c", 0.0, 0.0)
    other.define("pair", body)
    assert take_groups(other, drawing) == ["pair"], "a group that lies otherwise is the same group"
    drawing.move(use, 1000.0, 500.0)
    dissolve(drawing, use)
    b, c = drawing.positions["pair-b"], drawing.positions["pair-c"]
    assert (c.x - b.x, b.y, c.y) == (100.0, 500.0, 500.0)
    with pytest.raises(DrawingError, match="must be two numbers"):
        Group.from_json({"id": "g", "positions": {"a": [1]}}, "groups[0]")


def test_the_commands(run, tmp_path) -> None:
    run("new", "net", "--from", "mlp")
    file = "net.inkcap.json"
    before = json.loads(run("check", file, "--json").out)
    answer = run("group", file, "pair", "b", "c")
    assert answer.code == 0, answer.err
    assert "pair stands for 2 capsules" in answer.out
    told = json.loads(run("groups", file, "--json").out)["groups"]
    assert [(one["group"], one["capsules"], one["parameters"]) for one in told] == [("pair", 3, 46)]
    assert "used as pair" in run("groups", file).out
    after = json.loads(run("check", file, "--json").out)
    assert (after["parameters"], after["capsules"]) == (before["parameters"], before["capsules"])
    assert run("save-group", file, "pair").code == 0
    assert "is there already" in run("save-group", file, "pair").err
    run("new", "other", "--from", "mlp")
    assert "pair" in run("take-group", "other.inkcap.json", "pair").out
    assert "pair" in load_drawing(tmp_path / "other.inkcap.json").groups
    wrong = run("take-group", "other.inkcap.json", "pear")
    assert wrong.code == 2
    assert "did you mean pair?" in wrong.err
    assert wrong.err.count("\n") == 1
    assert run("dissolve", file).code == 2
    assert run("dissolve", file, "pear").code == 2
    assert "pair became pair-b, pair-c" in run("dissolve", file, "pair").out
    run("group", file, "all", "pair-b", "d")
    assert "1 uses dissolved: 4 capsules, 3 connections" in run("dissolve", file, "--all").out


def test_training_and_code_go_through_groups(run) -> None:
    run("new", "net", "--from", "mlp")
    run("group", "net.inkcap.json", "pair", "b", "c")
    trained = run("train", "net.inkcap.json", "--data", "moons", "--epochs", 1, "--quiet", "--json")
    assert trained.code == 0, trained.err
    assert run("evaluate", json.loads(trained.out)["run"], "--json").code == 0
    assert "self.pair_b = nn.Linear(2, 6)" in run("code", "net.inkcap.json").out
    assert run("derive", "net.inkcap.json").code == 0
    assert run("show", "net.inkcap.json").code == 0
    refused = run("expand", "net.inkcap.json")
    assert refused.code == 2
    assert "inkcap dissolve --all" in refused.err
    run("dissolve", "net.inkcap.json", "--all", "-o", "flat.inkcap.json")
    assert run("expand", "flat.inkcap.json").code == 0
    folded, opened = (run("picture", "net.inkcap.json", *more, "-o", f"{len(more)}.svg") for more in ((), ("--open",)))
    assert folded.code == opened.code == 0
    texts = [Path(f"{i}.svg").read_text(encoding="utf-8") for i in (0, 1)]
    assert "pair: group pair" in texts[0]
    assert "stroke-dasharray" not in texts[0]
    assert "pair.b: 1D-ReLU" in texts[1]
    assert "stroke-dasharray" in texts[1]
