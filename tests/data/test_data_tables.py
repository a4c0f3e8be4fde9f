"""CSV files."""

from pathlib import Path

import numpy as np
import pytest

from inkcap.training.data import DataError, Preparation, load, split, validate


def csv_file(folder: Path, text: str) -> str:
    """Write a CSV file and give its name."""
    (folder / "data.csv").write_text(text, encoding="utf-8")
    return "data.csv"


def refused(folder: Path, text: str, options: dict[str, str], *words: str) -> None:
    """Expect an error that holds all the words."""
    with pytest.raises(DataError) as caught:
        load(csv_file(folder, text), options, folder)
    for word in words:
        assert word in str(caught.value)


def test_text_target_makes_classes(tmp_path: Path) -> None:
    dataset = load(csv_file(tmp_path, "a,b,kind\n1,2.5,dog\n3,-4e1,cat\n5,6,dog\n"), {}, tmp_path)
    assert dataset.inputs["x"].tolist() == [[1.0, 2.5], [3.0, -40.0], [5.0, 6.0]]
    assert dataset.inputs["x"].dtype == np.float32
    assert dataset.targets["y"].tolist() == [1, 0, 1]
    assert dataset.classes == ("cat", "dog")
    assert dataset.positions is not None
    assert dataset.positions.tolist() == [2, 3, 4]
    assert dataset.manifest["table"]["features"] == ["a", "b"]
    assert validate(dataset) == []


def test_few_whole_numbers_are_classes_unless_told(tmp_path: Path) -> None:
    name = csv_file(tmp_path, "a,y\n1,7\n2,3\n3,7\n")
    classes = load(name, {}, tmp_path)
    assert (classes.classes, classes.targets["y"].tolist()) == (("3", "7"), [1, 0, 1])
    assert "task=regression" in classes.description
    numbers = load(name, {"task": "regression"}, tmp_path)
    assert numbers.classes == ()
    assert numbers.targets["y"].tolist() == [[7.0], [3.0], [7.0]]
    assert numbers.targets["y"].dtype == np.float32


def test_many_whole_numbers_are_regression(tmp_path: Path) -> None:
    rows = "".join(f"{number},{number}\n" for number in range(21))
    assert load(csv_file(tmp_path, "a,y\n" + rows), {}, tmp_path).classes == ()
    rows = "".join(f"{number},{number % 20}\n" for number in range(21))
    assert len(load(csv_file(tmp_path, "a,y\n" + rows), {}, tmp_path).classes) == 20


def test_several_targets(tmp_path: Path) -> None:
    name = csv_file(tmp_path, "a,b,c\n1,0.5,2.5\n2,1.5,3.5\n")
    joined = load(name, {"target": "b;c"}, tmp_path)
    assert joined.targets["y"].tolist() == [[0.5, 2.5], [1.5, 3.5]]
    apart = load(name, {"target": "b;c", "separate": "yes"}, tmp_path)
    assert {key: values.shape for key, values in apart.targets.items()} == {"b": (2, 1), "c": (2, 1)}
    mixed = load(csv_file(tmp_path, "a,b,c\n1,0.5,u\n2,1.5,v\n"), {"target": "b;c"}, tmp_path)
    assert mixed.classes_of("c") == ("u", "v")
    assert mixed.classes_of("b") == ()


def test_categorical_columns_are_one_hot(tmp_path: Path) -> None:
    text = "colour,a,y\nred,1,0.5\nblue,2,1.5\nred,3,2.5\n"
    dataset = load(csv_file(tmp_path, text), {"categorical": "colour"}, tmp_path)
    assert dataset.inputs["x"].tolist() == [[0.0, 1.0, 1.0], [1.0, 0.0, 2.0], [0.0, 1.0, 3.0]]
    refused(tmp_path, text, {}, "line 2", "column colour", "'red'", "categorical=colour", "ignore=colour")
    assert load(csv_file(tmp_path, text), {"ignore": "colour"}, tmp_path).inputs["x"].shape == (3, 1)


MISSING = "a,b,y\n1,1,u\n,2,v\n4,3,u\n6,NA,v\n8,8,u\n"


def test_missing_values(tmp_path: Path) -> None:
    refused(tmp_path, MISSING, {}, "data.csv, line 3, column a", "2 rows", "missing=mean", "missing=drop")
    dropped = load(csv_file(tmp_path, MISSING), {"missing": "drop"}, tmp_path)
    assert dropped.inputs["x"].tolist() == [[1, 1], [4, 3], [8, 8]]
    assert dropped.positions is not None
    assert dropped.positions.tolist() == [2, 4, 6]
    assert "2 rows with missing values left out" in dropped.description


def test_missing_values_are_filled_with_the_training_parts_mean(tmp_path: Path) -> None:
    dataset = load(csv_file(tmp_path, MISSING), {"missing": "mean"}, tmp_path)
    validate(dataset)
    preparation = Preparation(normalise="none").fit(dataset.subset([0, 1, 2]))
    prepared = preparation.apply(dataset.inputs["x"])
    # The means of the first three rows only: (1 + 4) / 2 and (1 + 2 + 3) / 3.
    assert prepared[1, 0] == 2.5
    assert prepared[3, 1] == 2.0
    assert np.isfinite(Preparation().fit(dataset).apply(dataset.inputs["x"])).all()


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("", {}, ["is empty"]),
        ("a,b\n", {}, ["no rows"]),
        ("1,2\n3,4\n", {}, ["line 1", "header is missing"]),
        ("a,a,y\n1,2,3\n", {}, ["line 1", "column name a", "twice"]),
        ("a,,y\n1,2,3\n", {}, ["line 1", "column 2 has no name"]),
        ("a,b\n1,2\n1,2,3\n", {}, ["line 3", "3 cells", "header has 2"]),
        ("a,b\n1,2\n1\n", {}, ["line 3", "1 cell,", "header has 2"]),
        ("a;b\n1;2\n", {}, ["separator=semicolon"]),
        ("a,y\ninf,1\n", {}, ["line 2", "column a", "'inf'", "finite"]),
        ("a,y\n1_000,1\n", {}, ["line 2", "'1_000' is not a number"]),
        ("a,y\n1e39,1\n", {}, ["line 2", "column a", "too large"]),
        ("a,y\n1,u\n2,\n", {"missing": "mean"}, ["line 3", "column y", "target is missing", "missing=drop"]),
        ("a,y\n1,u\n", {"task": "regression"}, ["line 2", "'u' is not a number"]),
        ("a,y\n1,0.5\n", {"task": "classification"}, ["line 2", "0.5 is no class number"]),
        ("a,y\n1,0.5\n", {"target": "z"}, ["no column z", "Its columns: a, y"]),
        ("alpha,y\n1,0.5\n", {"target": "alpa"}, ["Did you mean alpha"]),
        ("a,y\n1,0.5\n", {"missing": "median"}, ["missing=median", "error, drop, mean"]),
        ("y\n1\n", {}, ["no column is left"]),
        ('a,y\n"1,2\n', {}, ["not readable as CSV"]),
    ],
)
def test_bad_tables(tmp_path: Path, text: str, options: dict[str, str], words: list[str]) -> None:
    refused(tmp_path, text, options, "data.csv" if "missing" not in options or "median" not in words[0] else "", *words)


def test_a_column_of_names_is_no_target(tmp_path: Path) -> None:
    rows = "".join(f"{number},name{number}\n" for number in range(30))
    refused(tmp_path, "a,who\n" + rows, {}, "different word in each of its 30 rows", "target=")


def test_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_bytes(b"a,y\n\xff,1\n")
    with pytest.raises(DataError, match="not UTF-8"):
        load("data.csv", {}, tmp_path)


def test_byte_order_mark_and_quoted_line_breaks_keep_line_numbers(tmp_path: Path) -> None:
    text = '\ufeffa,note,y\n1,"two\nlines",u\n2,x,v\nbad,x,u\n'
    refused(tmp_path, text, {"ignore": "note"}, "line 5", "column a", "'bad'")


def test_split_of_a_table_keeps_lines(tmp_path: Path) -> None:
    rows = "".join(f"{number},{'uv'[number % 2]}\n" for number in range(10))
    dataset = load(csv_file(tmp_path, "a,y\n" + rows), {}, tmp_path)
    _, held_out = split(dataset, 0.4, 1)
    part = dataset.subset(held_out)
    assert part.positions is not None
    assert (part.positions - 2).tolist() == part.inputs["x"][:, 0].tolist()
