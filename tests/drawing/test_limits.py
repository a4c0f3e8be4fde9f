"""The limits of a drawing, each at its very edge: what has as much is read, what has one more is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inkcap.drawing import (
    Drawing,
    DrawingError,
    Edit,
    Put,
    dissolve,
    from_text,
    limits,
    load_drawing,
    make_group,
)
from inkcap.drawing.group_sizes import Counts, refusals
from inkcap.drawing.groups import Group
from inkcap.drawing.plain import Plain

CAPSULES, CONNECTIONS, PLAIN_CONNECTIONS, SHEET = 20_000, 60_000, 5_000_000, 100_000_000


def refusal(work: Callable[..., object], *given: Any) -> str:
    with pytest.raises(DrawingError) as error:
        work(*given)
    return str(error.value)


def document(**sections: Any) -> str:
    return json.dumps({"format": 1, "name": "x", "capsules": [], "connections": [], **sections})


def capsule(id: str) -> dict[str, Any]:
    return {"id": id, "symbol": "relu", "rank": 1}


def line(id: str) -> dict[str, Any]:
    return {"id": id, "symbol": "full", "back": "a", "front": "b"}


def nested(depth: int) -> Drawing:
    """A drawing with a use of a group in a group and so on, the innermost with a capsule."""
    inner = {"capsules": [capsule("p")], "outputs": {"out": "p"}}
    groups = [{"id": "g1", **inner}]
    groups += [{"id": f"g{i}", "uses": [{"id": "u", "group": f"g{i - 1}"}], "outputs": {"out": "u"}}
               for i in range(2, depth + 1)]  # fmt: skip
    return from_text(document(groups=groups, uses=[{"id": "top", "group": f"g{depth}"}]))


@pytest.mark.parametrize(
    ("section", "most"),
    [("capsules", CAPSULES), ("connections", CONNECTIONS), ("uses", CAPSULES), ("notes", CAPSULES)],
)
def test_a_list_may_be_as_long_as_its_limit(section: str, most: int) -> None:
    # Nothing in the lists is anything: as long as they are short enough, that is what is told.
    assert refusal(from_text, document(**{section: [None] * most})) == f"{section}[0]: must be an object, not None"
    told = refusal(from_text, document(**{section: [None] * (most + 1)}))
    assert told.startswith(f"{section}: ")
    assert f"{most + 1}" in told
    assert f"{most}" in told.replace(f"{most + 1}", "")
    if section != "notes":
        inside = {"id": "g", section: [None] * most}
        assert refusal(Group.from_json, inside, "g") == f"g.{section}[0]: must be an object, not None"
        inside[section].append(None)
        assert refusal(Group.from_json, inside, "g").startswith(f"g.{section}: ")


def test_a_plain_block_may_have_as_many_connections_as_its_limit() -> None:
    block: dict[str, Any] = {"symbol": [], "bias": [], "back": [None] * PLAIN_CONNECTIONS, "front": [], "weight": []}
    assert refusal(Plain.from_json, block, "plain") == f"plain.front: has 0 entries, {PLAIN_CONNECTIONS} are needed"
    block["back"].append(None)
    assert refusal(Plain.from_json, block, "plain").startswith("plain.back: ")


def test_texts_may_be_as_long_as_their_limit() -> None:
    assert from_text(document(name="x" * 200)).name == "x" * 200
    assert refusal(from_text, document(name="x" * 201)) == "name: has 201 characters, 200 are allowed"
    note = {"id": "n", "text": "x\n\t" + "x" * 19_997}
    assert from_text(document(notes=[note])).notes["n"].text == note["text"]
    note["text"] += "x"
    assert refusal(from_text, document(notes=[note])) == "notes[0].text: has 20001 characters, 20000 are allowed"
    # A name stands on one line.
    assert "control or direction character" in refusal(from_text, document(name="a\nb"))


def test_a_file_may_be_as_large_as_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most = 16 * 2**20
    assert refusal(from_text, "x" * most).startswith("line 1, column 1: not JSON")
    assert refusal(from_text, "x" * (most + 1)) == "the file is larger than 16 MiB"
    for word in ('"plain"', '"sparse"'):
        assert refusal(from_text, "x" * most + word).startswith("line 1, column 1: not JSON")
    path = tmp_path / "x.inkcap.json"
    with path.open("wb") as file:
        file.truncate(256 * 2**20 + 1)
    assert "the file has 268435457 bytes, 268435456 are allowed" in refusal(load_drawing, path)
    monkeypatch.setattr(limits, "PLAIN_FILE_BYTES", 10)
    path.write_bytes(b"x" * 10)
    assert "not JSON" in refusal(load_drawing, path)


def test_a_drawing_may_have_as_much_as_its_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CAPSULES", 3)
    monkeypatch.setattr(limits, "CONNECTIONS", 2)
    groups = [{"id": "g", "capsules": [capsule("p")]}]
    parts = {"groups": groups, "capsules": [capsule("a"), capsule("b")], "connections": [line("1"), line("2")]}
    from_text(document(**parts, uses=[{"id": "u", "group": "g"}]))
    more = [{"id": "u", "group": "g"}, {"id": "v", "group": "g"}]
    end = "; larger ones go to 'plain' or groups"
    assert refusal(from_text, document(**parts, uses=more)) == f"a drawing may have 3 capsules, not 4{end}"
    parts["connections"].append(line("3"))
    assert refusal(from_text, document(**parts)) == f"a drawing may have 2 connections, not 3{end}"


def test_groups_may_become_as_much_as_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CAPSULES", 6)
    monkeypatch.setattr(limits, "CONNECTIONS", 3)
    inner = {"id": "g", "capsules": [capsule("a"), capsule("b")], "connections": [line("1")]}

    def repeated(times: int) -> Drawing:
        return from_text(document(groups=[inner], uses=[{"id": "u", "group": "g", "repeat": times}]))

    assert list(refusals(repeated(3))) == []
    assert Counts.of(repeated(3)).fit
    assert not Counts.of(repeated(4)).fit
    (problem,) = refusals(repeated(4))
    assert (problem.numbers, problem.where) == ({"capsules": 8, "allowed": 6}, ("u",))
    monkeypatch.setattr(limits, "CAPSULES", 8)
    assert not Counts.of(repeated(4)).fit
    (problem,) = refusals(repeated(4))
    assert problem.numbers == {"connections": 4, "allowed": 3}


def test_groups_may_be_nested_as_deep_as_the_limit() -> None:
    most = 32
    assert list(refusals(nested(most))) == []
    (problem,) = refusals(nested(most + 1))
    assert problem.message == "the group g33 is nested 33 deep, 32 are allowed"
    assert problem.numbers == {"depth": 33}


def test_a_giver_is_looked_for_as_deep_as_groups_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "GROUP_DEPTH", 3)
    found = nested(2).giver("top")
    assert found is not None
    assert found.id == "p"
    assert nested(3).giver("top") is None


def test_a_note_is_told_by_its_place() -> None:
    assert "notes[0].id: 'no id'" in refusal(from_text, document(notes=[{"id": "no id", "text": "x"}]))
    long = "x" * (limits.TEXT_LENGTH + 1)
    assert "notes[0].text: has 20001 characters" in refusal(from_text, document(notes=[{"id": "n", "text": long}]))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("sign", [1, -1])
def test_everything_lies_on_the_sheet(axis: int, sign: int) -> None:
    def at(place: float) -> dict[str, list[float]]:
        return {"a": [sign * place, 7] if axis == 0 else [7, sign * place]}

    for section in ({"positions": at(SHEET)}, {"groups": [{"id": "g", "positions": at(SHEET)}]}):
        from_text(document(**section))
    beyond = at(SHEET + 1)
    assert refusal(from_text, document(positions=beyond)) == (
        f"positions.a: must lie within {SHEET} of the origin, not at {beyond['a']}; "
        "without a position it is placed beside the others"
    )
    assert "positions.a: must lie within" in refusal(
        from_text, document(groups=[{"id": "g", "positions": at(math.nextafter(SHEET, math.inf))}])
    )
    drawing = from_text(document(capsules=[capsule("a")]))
    drawing.move("a", *at(SHEET)["a"])
    assert refusal(drawing.move, "a", *at(SHEET + 1)["a"]).startswith("the place of a: must lie within")


def test_what_comes_together_at_the_edge_of_the_sheet_stays_on_it() -> None:
    drawing = from_text(document(capsules=[capsule("a"), capsule("b")], connections=[line("l")]))
    drawing.move("a", -SHEET, SHEET)
    drawing.move("b", 100 - SHEET, SHEET)
    use = make_group(drawing, ["b"], "g")
    # Its input would lie further out than anything may.
    places = drawing.groups[drawing.uses[use].group].positions
    assert min(place.x for place in places.values()) == -SHEET
    drawing.apply(Edit("repeat", (Put(replace(drawing.uses[use], repeat=3)),)))
    drawing.move(use, SHEET, SHEET)
    dissolve(drawing, use)
    assert max(place.x for place in drawing.positions.values()) == SHEET
    assert from_text(drawing.to_text()) == drawing
