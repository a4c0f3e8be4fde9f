"""The file format: round trips, canonical form, and everything that must be refused, with its place."""

from __future__ import annotations

import copy
import json
import os
import stat

import jsonschema
import pytest
from drawn import random_drawings
from hypothesis import given, settings
from hypothesis import strategies as st
from small_zoo import each_network

from inkcap.drawing import Drawing, DrawingError, drawing_schema, from_text, load_drawing, save_drawing
from inkcap.drawing.limits import FILE_BYTES
from inkcap.drawing.migrations import FORMAT, MIGRATIONS, Migration, migrate, untested
from inkcap.structures import InkcapError
from inkcap.zoo import draw

SCHEMA = jsonschema.Draft202012Validator(drawing_schema())


def with_everything() -> dict:
    """A document that uses every section of the format."""
    return {
        "format": 1,
        "name": "everything",
        "dtype": "float64",
        "capsules": [
            {
                "id": "a",
                "symbol": "data",
                "rank": 2,
                "attributes": {"height": 8, "width": 8, "channels": 1},
                "label": "in",
            },
            {
                "id": "b",
                "symbol": "relu",
                "rank": 2,
                "wears": [{"part": "batch-norm", "attributes": {"momentum": 0.1}}],
            },
        ],
        "connections": [
            {
                "id": "a-b",
                "symbol": "convolution",
                "back": "a",
                "front": "b",
                "attributes": {"kernels": 4, "kernel": [3, 3]},
                "port": "left",
                "tie": "shared",
                "label": "first",
            },
            {
                "id": "a-b-2",
                "symbol": "convolution",
                "back": "a",
                "front": "b",
                "attributes": {"kernels": 4, "kernel": [3, 3]},
            },
        ],
        "groups": [
            {
                "id": "block",
                "arguments": {"k": 4},
                "capsules": [{"id": "p", "symbol": "relu", "rank": 2}],
                "connections": [
                    {
                        "id": "p-p",
                        "symbol": "convolution",
                        "back": "p",
                        "front": "p",
                        "attributes": {"kernels": "=2*k", "kernel": [1, 1]},
                    }
                ],
                "inputs": {"in": "p"},
                "outputs": {"out": "p"},
            }
        ],
        "uses": [{"id": "u", "group": "block", "arguments": {"k": 8}, "repeat": 3}],
        "notes": [{"id": "n", "text": "a remark"}],
        "plain": {
            "symbol": ["data", "relu"],
            "bias": [0, 0.5],
            "back": [0],
            "front": [1],
            "weight": [1.5],
            "tie": [-1],
        },
        "positions": {"a": [0, 0], "b": [120.5, -3]},
    }


def test_every_section_goes_through_the_file_byte_for_byte() -> None:
    document = with_everything()
    SCHEMA.validate(document)
    drawing = from_text(json.dumps(document))
    text = drawing.to_text()
    assert json.loads(text) == document
    assert from_text(text).to_text() == text


@pytest.mark.parametrize("name", each_network())
def test_networks_go_through_the_file_byte_for_byte(name, tmp_path) -> None:
    drawing = draw(name)
    path = tmp_path / "x.inkcap.json"
    save_drawing(drawing, path)
    again = load_drawing(path)
    assert again == drawing
    save_drawing(again, tmp_path / "y.inkcap.json")
    assert (tmp_path / "y.inkcap.json").read_bytes() == path.read_bytes()
    SCHEMA.validate(json.loads(path.read_text()))


@settings(max_examples=60, deadline=None)
@given(random_drawings())
def test_random_drawings_go_through_the_file(drawing: Drawing) -> None:
    text = drawing.to_text()
    SCHEMA.validate(json.loads(text))
    assert from_text(text) == drawing
    assert from_text(text).to_text() == text


def test_meaning_stands_apart_from_positions() -> None:
    drawing = draw("lenet")
    before = drawing.to_text()
    drawing.move("a", 10, 20)
    after = drawing.to_text()
    assert after.startswith(before.rstrip().rstrip("}").rstrip())
    assert '"positions"' in after


def change(path: str, value):
    """Change one place of the document that has everything."""

    def apply(document: dict) -> dict:
        *steps, last = [int(p) if p.isdigit() else p for p in path.split(".")]
        inner = document
        for step in steps:
            inner = inner[step]
        if value is KeyError:
            del inner[last]
        else:
            inner[last] = value
        return document

    return apply


REFUSED = [
    ("unknown field", change("colour", "red"), "no field 'colour'"),
    ("unknown capsule field", change("capsules.0.color", 1), r"capsules\[0\].*no field 'color'"),
    ("unknown symbol", change("capsules.0.symbol", "dta"), r"capsules\[0\].symbol.*did you mean data"),
    ("unknown connection symbol", change("connections.0.symbol", "conv"), r"connections\[0\].symbol.*'conv'"),
    ("unknown attribute", change("capsules.0.attributes.hight", 3), r"capsules\[0\].attributes.*did you mean height"),
    ("dangling back end", change("connections.0.back", "zz"), "a-b: its back end 'zz' is no capsule"),
    ("dangling front end", change("connections.1.front", "zz"), "a-b-2: its front end 'zz'"),
    ("duplicate capsule", change("capsules.1.id", "a"), r"capsules\[1\].id: the id 'a' is taken by capsules\[0\]"),
    ("duplicate connection", change("connections.1.id", "a-b"), r"connections\[1\].id.*taken"),
    ("capsule and use", change("uses.0.id", "a"), "taken"),
    ("rank", change("capsules.0.rank", 7), r"capsules\[0\].rank.*ranks 0, 1, 2, 3, not 7"),
    ("rank of softmax", change("capsules.1", {"id": "b", "symbol": "softmax", "rank": 0}), "not 0"),
    ("boolean rank", change("capsules.0.rank", True), "not True"),
    ("negative size", change("capsules.0.attributes.height", -1), "from 1 to"),
    ("zero size", change("capsules.0.attributes.height", 0), "from 1 to"),
    ("fractional size", change("capsules.0.attributes.height", 2.5), "whole number"),
    ("boolean size", change("capsules.0.attributes.height", True), "whole number"),
    ("text size", change("capsules.0.attributes.height", "8"), "whole number"),
    ("kernel of four", change("connections.0.attributes.kernel", [1, 2, 3, 4]), "2 or 3 numbers, not 4"),
    ("bad choice", change("capsules.1.attributes", {"bias": "some"}), "one of none, channel, item, full"),
    ("dtype", change("dtype", "float8"), "dtype.*float16"),
    ("no name", change("name", KeyError), "'name' is missing"),
    ("no capsules", change("capsules", KeyError), "'capsules' is missing"),
    ("capsules an object", change("capsules", {}), "must be a list"),
    ("capsule a number", change("capsules.0", 5), r"capsules\[0\]: must be an object"),
    ("format missing", change("format", KeyError), "format"),
    ("format from the future", change("format", 99), "newer Inkcap"),
    ("format text", change("format", "1"), "format number"),
    ("format true", change("format", True), "format number"),
    ("id with a space", change("capsules.0.id", "a b"), "is not an id"),
    ("id with a dot", change("capsules.0.id", "a.b"), "is not an id"),
    ("long id", change("capsules.0.id", "a" * 65), "is not an id"),
    ("long name", change("name", "a" * 201), "201 characters"),
    ("control character", change("name", "a\x00b"), "control or direction"),
    ("position of three", change("positions.a", [1, 2, 3]), "positions.a"),
    ("position text", change("positions.a", ["1", 2]), "must be a number"),
    ("group that is not there", change("uses.0.group", "blok"), "no group 'blok'"),
    ("repeat", change("uses.0.repeat", 0), "repeat"),
    ("plain back", change("plain.back", [5]), r"plain.back\[0\]"),
    ("plain length", change("plain.weight", [1, 2]), "plain.weight"),
    ("plain symbol", change("plain.symbol", ["data", "downsampling"]), "plain"),
    ("note text", change("notes.0.text", 3), r"notes\[0\].text"),
    ("expression outside a group", change("connections.0.attributes.kernels", "=2*k"), "whole number"),
]


@pytest.mark.parametrize(("change_it", "message"), [pytest.param(c, m, id=n) for n, c, m in REFUSED])
def test_a_wrong_document_is_refused_with_its_place(change_it, message) -> None:
    document = change_it(with_everything())
    with pytest.raises(InkcapError, match=message):
        from_text(json.dumps(document))


RAW = [
    ("", "not JSON"),
    ("nonsense", "line 1, column 1"),
    ("[1, 2]", "one JSON object"),
    ("null", "one JSON object"),
    ('{"format": 1, "name": NaN}', "NaN is not a number"),
    ('{"format": 1, "name": "x", "x": Infinity}', "Infinity"),
    ('{"format": 1, "name": "x", "positions": {"a": [1e999, 0]}}', "too large"),
    ('{"format": 1, "format": 1}', "'format' stands twice"),
    ('{"format": ' + "9" * 5000 + "}", "larger than 2"),
    ('{"format": 9007199254740993}', "larger than 2"),
    ('{"format": 1, "name": "\\ud800"}', "half a character"),
    ("[" * 100_000, "nested deeper"),
    ("[" * 70 + "]" * 70, "nested deeper"),
    ('{"a":' * 70 + "1" + "}" * 70, "nested deeper"),
    (
        '{"format": 1, "name": "x", "capsules": [], "connections": [], "notes": [{"id": "a", "text": "'
        + "x" * 20_001
        + '"}]}',
        "20001 characters",
    ),
    ("x" * (FILE_BYTES + 1), "larger than 16 MiB"),
]


@pytest.mark.parametrize(("text", "message"), RAW, ids=range(len(RAW)))
def test_hostile_text_is_refused(text, message) -> None:
    with pytest.raises(DrawingError, match=message):
        from_text(text)


def test_too_many_capsules_are_refused() -> None:
    capsules = [{"id": f"c{i}", "symbol": "relu", "rank": 1} for i in range(20_001)]
    with pytest.raises(DrawingError, match="20001"):
        from_text(json.dumps({"format": 1, "name": "x", "capsules": capsules, "connections": []}))


def test_unreadable_files_are_told(tmp_path) -> None:
    with pytest.raises(DrawingError, match="no such file"):
        load_drawing(tmp_path / "none.inkcap.json")
    with pytest.raises(DrawingError, match="folder"):
        load_drawing(tmp_path)
    binary = tmp_path / "b.inkcap.json"
    binary.write_bytes(b'{"name": "\xff"}')
    with pytest.raises(DrawingError, match="UTF-8"):
        load_drawing(binary)
    with pytest.raises(DrawingError, match="cannot be written"):
        save_drawing(Drawing(), tmp_path / "no" / "folder.inkcap.json")


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch) -> None:
    path = tmp_path / "x.inkcap.json"
    save_drawing(draw("mlp"), path)
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DrawingError, match="No space left"):
        save_drawing(draw("lenet"), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["x.inkcap.json"]


def test_a_saved_file_is_an_ordinary_file(tmp_path) -> None:
    path = tmp_path / "x.inkcap.json"
    save_drawing(draw("mlp"), path)
    assert stat.S_IMODE(path.stat().st_mode) & 0o600 == 0o600


# Migrations ------------------------------------------------------------------------------------------------------


def test_every_migration_has_cases_that_hold() -> None:
    assert untested() == []
    assert [m.source for m in MIGRATIONS] == list(range(FORMAT - len(MIGRATIONS), FORMAT))


def rename(document: dict) -> dict:
    return {("name" if key == "title" else key): value for key, value in document.items()}


def test_a_migration_without_a_case_is_found() -> None:
    case = ({"format": 0, "title": "x"}, {"format": 1, "name": "x"})
    assert untested((Migration(0, "title becomes name", rename, (case,)),)) == []
    assert untested((Migration(0, "title becomes name", rename, ()),)) != []
    wrong = ({"format": 0, "title": "x"}, {"format": 1, "name": "y"})
    assert untested((Migration(0, "title becomes name", rename, (wrong,)),)) != []


def test_migrations_run_in_order_and_a_gap_is_told() -> None:
    steps = (
        Migration(0, "", lambda d: {**d, "way": [*d.get("way", []), 0]}, ()),
        Migration(1, "", lambda d: {**d, "way": [*d.get("way", []), 1]}, ()),
    )
    assert migrate({"format": 0}, steps, 2) == {"format": 2, "way": [0, 1]}
    with pytest.raises(DrawingError, match="no way from format 0"):
        migrate({"format": 0}, steps[1:], 2)


# The schema and the reader agree ---------------------------------------------------------------------------------

JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 40),
    st.floats(-2, 2),
    st.text(max_size=4),
    st.just([]),
    st.just({}),
    st.lists(st.integers(-1, 5), max_size=3),
    st.just("=k"),
    st.just("relu"),
)


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_what_the_schema_refuses_the_reader_refuses(data: st.DataObject) -> None:
    """Any damage is either read into what is written back, or refused; the reader takes no more than the schema."""
    document = copy.deepcopy(with_everything())
    path = data.draw(st.sampled_from([p for p in places(document) if p]))
    inner = document
    for step in path[:-1]:
        inner = inner[step]
    if data.draw(st.booleans()):
        inner[path[-1]] = data.draw(JUNK)
    elif isinstance(inner, dict):
        inner[data.draw(st.text(max_size=3))] = inner.pop(path[-1])
    try:
        text = from_text(json.dumps(document)).to_text()
    except InkcapError:
        return
    assert SCHEMA.is_valid(document), path
    assert from_text(text).to_text() == text
