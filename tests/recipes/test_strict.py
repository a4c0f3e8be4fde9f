"""Strict JSON of recipes and run folders: each refusal names the file and the place."""

from __future__ import annotations

import pytest

from inkcap.recipes.errors import RunFolderError
from inkcap.recipes.strict import CHECK, MOST_BYTES, dump, expect_names, expect_object, parse, sealed, unsealed


def refused(work, *given) -> str:
    with pytest.raises(RunFolderError) as error:
        work(*given, RunFolderError)
    assert error.value.__suppress_context__ or error.value.__context__ is None
    return str(error.value)


def test_the_same_value_gives_the_same_text() -> None:
    assert dump({"b": ["→"], "a": 1}) == '{\n  "b": [\n    "→"\n  ],\n  "a": 1\n}\n'
    with pytest.raises(ValueError, match="Out of range float"):
        dump(float("inf"))


def test_a_seal_tells_of_every_change() -> None:
    whole = sealed({"a": 1, "b": ["→"]})
    assert list(whole) == ["a", "b", CHECK]
    assert whole[CHECK] == "d497d3431af3f88b"
    assert unsealed(whole, "x.json", RunFolderError) == {"a": 1, "b": ["→"]}
    words = (
        "x.json: the check sum differs, so the file was changed or damaged; put a whole copy back, or, if the "
        "change is yours, take out 'check'."
    )
    named_otherwise = {name.replace("check", "chekc"): value for name, value in whole.items()}
    for damaged in ({**whole, "a": 2}, {**whole, "c": 0}, {**whole, CHECK: "0" * 16}, {CHECK: ""}, named_otherwise):
        assert refused(unsealed, damaged, "x.json") == words


def test_files_from_before_there_were_seals_are_read() -> None:
    for plain in ({}, {"a": 1}, {"a": "text"}, {"a": "f" * 17}, {"sum": "d497d3431af3f88b", "a": 1}):
        assert unsealed(plain, "x.json", RunFolderError) == plain


def test_where_a_seal_is_needed_none_is_as_bad_as_a_wrong_one() -> None:
    whole = sealed({"name": "moons"})
    assert unsealed(whole, "x.json", RunFolderError, needed=True) == {"name": "moons"}
    words = (
        "x.json: the check sum is not that of the content, so the file was changed or damaged; put a whole copy back."
    )
    for damaged in ({}, {"name": "moons"}, {"namck": "f2ns", "chee": "moo256a8fb31a4357"}, {**whole, "name": "m"}):
        assert (
            refused(lambda value, place, error: unsealed(value, place, error, needed=True), damaged, "x.json") == words
        )


def test_text_and_bytes_are_read_alike() -> None:
    assert parse('{"a": "é"}', "x.json", RunFolderError) == {"a": "é"}
    assert parse('{"a": "é"}'.encode(), "x.json", RunFolderError) == {"a": "é"}


def test_what_cannot_be_read_is_told_with_its_file() -> None:
    assert refused(parse, b'"\xff"', "x.json") == "x.json: not UTF-8 at byte 1."
    assert refused(parse, "[", "x.json") == "x.json, line 1, column 2: not JSON: Expecting value."
    assert (
        refused(parse, '{"a": 1, "a": 1}', "x.json")
        == "x.json, line 1, column 10: the key 'a' stands twice in one object."
    )


def test_a_text_may_be_as_large_as_the_limit() -> None:
    assert parse(b" " * (MOST_BYTES - 1) + b"1", "x.json", RunFolderError) == 1
    most = 64 * 1024 * 1024
    message = f"x.json: {most + 1} bytes are too many; the most is {most}."
    assert refused(parse, b" " * (most + 1), "x.json") == message


def test_an_object_is_asked_for() -> None:
    assert expect_object({"a": 1}, "x", RunFolderError) == {"a": 1}
    assert refused(expect_object, [1], "x.json: best") == "x.json: best: [1] is not an object."


def test_names_are_known_and_complete() -> None:
    def check(value, *, known=("a", "b"), needed=("a",)):
        return lambda error: expect_names(value, known, needed, "x", error)

    expect_names({"a": 1}, iter(("a", "b")), ("a",), "x", RunFolderError)
    expect_names({"a": 1, "b": 2}, ("a", "b"), (), "x", RunFolderError)
    assert refused(check({"a": 1, "c": 2})) == "x: the name 'c' is not known; the names are: a, b."
    assert refused(check({"b": 1})) == "x: the name 'a' is missing."
