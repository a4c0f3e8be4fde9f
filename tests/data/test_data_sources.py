"""The table of sources, the sets made here, and the preview."""

from pathlib import Path

import numpy as np
import pytest

from inkcap.training.data import FORMATS, SOURCES, DataError, load, validate
from inkcap.training.data.files import path_of

BUNDLED = {
    "digits": (1797, (1, 8, 8), 10),
    "iris": (150, (4,), 3),
    "wine": (178, (13,), 3),
    "breast-cancer": (569, (30,), 2),
    "diabetes": (442, (10,), 0),
    "moons": (1000, (2,), 2),
    "circles": (1000, (2,), 2),
    "spirals": (1000, (2,), 2),
}


@pytest.mark.parametrize("name", list(BUNDLED))
def test_sets_without_download(name: str) -> None:
    dataset = load(name, {}, Path())
    count, shape, classes = BUNDLED[name]
    assert (len(dataset), dataset.inputs["x"].shape[1:], len(dataset.classes)) == (count, shape, classes)
    assert validate(dataset) == []
    assert dataset.manifest["count"] == count
    assert load(name, {}, Path()).manifest == dataset.manifest
    assert dataset.preview().count == count


def test_golden_values() -> None:
    digits = load("digits", {}, Path())
    assert digits.inputs["x"].dtype == np.uint8
    assert digits.inputs["x"][0, 0, 0].tolist() == [0, 0, 5, 13, 9, 1, 0, 0]
    assert int(digits.inputs["x"].max()) == 16
    assert digits.ranges == {"x": (0.0, 16.0)}
    iris = load("iris", {}, Path())
    assert iris.classes == ("setosa", "versicolor", "virginica")
    np.testing.assert_allclose(iris.inputs["x"][0], [5.1, 3.5, 1.4, 0.2], rtol=1e-6)
    diabetes = load("diabetes", {}, Path())
    assert diabetes.inputs["x"][0, 0] == 59.0
    assert diabetes.targets["y"][0].tolist() == [151.0]


def test_toys_follow_their_formulae() -> None:
    options = {"n": "101", "noise": "0"}
    circles = load("circles", options, Path())
    radius = np.linalg.norm(circles.inputs["x"], axis=1)
    np.testing.assert_allclose(radius, np.where(circles.targets["y"] == 0, 1.0, 0.5), rtol=1e-6)
    assert circles.histogram("y") == {"0": 51, "1": 50}
    moons = load("moons", options, Path()).inputs["x"]
    np.testing.assert_allclose(moons[[0, 50, 51, 100]], [[1, 0], [-1, 0], [0, 0.5], [2, 0.5]], atol=1e-6)
    spirals = load("spirals", options | {"turns": "2"}, Path()).inputs["x"]
    np.testing.assert_allclose(spirals[[50, 100]], [[4, 0], [-4, 0]], atol=1e-5)


def test_seed_and_noise_matter() -> None:
    def points(**options: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return load("moons", options, Path()).inputs["x"]

    np.testing.assert_array_equal(points(seed="3"), points(seed="3"))
    assert not np.array_equal(points(seed="3"), points(seed="4"))
    spread = points(noise="0.2") - points(noise="0")
    assert abs(float(spread.std()) - 0.2) < 0.01


@pytest.mark.parametrize(
    ("spec", "options", "words"),
    [
        ("mnits", {}, ["mnits is neither", "Did you mean mnist", "digits, iris"]),
        ("", {}, ["No data were named"]),
        ("moons", {"nois": "1"}, ["no option called nois", "Did you mean noise", "n, noise, seed"]),
        ("iris", {"n": "3"}, ["iris has no option called n", "takes no options"]),
        ("moons", {"n": "many"}, ["n=many", "whole number"]),
        ("moons", {"n": "1"}, ["between 4 and"]),
        ("moons", {"noise": "nan"}, ["noise=nan", "between 0 and 100"]),
        ("a.csv,b.csv,c.csv", {}, ["names 3 files"]),
        ("data.xls", {}, ["ending .xls", ".csv file"]),
        ("dta.xls", {}, ["Did you mean data.xls"]),
        ("some-idx1-ubyte", {}, ["IMAGES,LABELS"]),
        ("one.png", {}, ["single image"]),
    ],
)
def test_wrong_names(tmp_path: Path, spec: str, options: dict[str, str], words: list[str]) -> None:
    for name in ("data.xls", "some-idx1-ubyte", "one.png"):
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(DataError) as caught:
        load(spec, options, tmp_path)
    for word in words:
        assert word in str(caught.value)


def test_everything_is_described() -> None:
    for source in [*SOURCES.values(), *FORMATS.values()]:
        assert source.description
        assert all(option.help for option in source.options)


def test_preview_draws_small_grey_images() -> None:
    preview = load("digits", {}, Path()).preview(rows=2, pictures=1)
    caption, picture = preview.pictures[0]
    assert caption == "y=0"
    assert picture.split("\n") == ["  ▄██▄", "  █  ██", "  █  █▀", "  ▀▄█▀"]
    plain = load("digits", {}, Path()).preview(rows=0, pictures=1, unicode=False)
    assert plain.pictures[0][1].isascii()
    text = preview.text()
    for word in ("1797 samples", "8×8×1", "uint8", "0 to 16", "3 (183)", "sample 1: x: 8×8×1 → y=1"):
        assert word in text


def test_preview_of_a_table() -> None:
    preview = load("diabetes", {}, Path()).preview()
    assert preview.pictures == ()
    assert preview.class_counts == {}
    assert preview.rows[0].startswith("sample 0: x: 59 2 32.1 101 157 93.2 38 4 … (10 numbers) → y=151")


def test_subset_keeps_what_belongs_to_it() -> None:
    dataset = load("iris", {}, Path())
    part = dataset.subset([149, 0, 7])
    assert part.targets["y"].tolist() == [2, 0, 0]
    np.testing.assert_array_equal(part.inputs["x"][1], dataset.inputs["x"][0])
    assert part.subset([0]).place(0) == "sample 149"


def test_what_is_read_past_scikit_learn_is_what_it_gives() -> None:
    from sklearn import datasets

    digits, theirs = load("digits", {}, Path()), datasets.load_digits()
    assert np.array_equal(digits.inputs["x"][:, 0], theirs.images)
    assert np.array_equal(digits.targets["y"], theirs.target)
    flowers, theirs = load("iris", {}, Path()), datasets.load_iris()
    assert np.array_equal(flowers.inputs["x"], theirs.data.astype(np.float32))
    assert np.array_equal(flowers.targets["y"], theirs.target)
    assert flowers.classes == tuple(theirs.target_names)
    assert flowers.manifest["table"]["features"] == theirs.feature_names


def test_where_its_files_lie_elsewhere_scikit_learn_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [load(name, {}, Path()) for name in ("digits", "iris")]
    monkeypatch.setattr("inkcap.training.data.bundled._file", lambda _: None)
    after = [load(name, {}, Path()) for name in ("digits", "iris")]
    assert [one.manifest for one in after] == [one.manifest for one in before]
    assert all(np.array_equal(a.inputs["x"], b.inputs["x"]) for a, b in zip(after, before, strict=True))


def test_a_home_is_meant_where_a_name_begins_with_it_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    for written, meant in (
        ("~/x.csv", home / "x.csv"),
        (" ~/x.csv ", home / "x.csv"),
        ("x.csv", tmp_path / "x.csv"),
        # What is behind `./` is a name, whatever it looks like: a workspace is left by no spelling of one.
        ("./~/x.csv", tmp_path / "~" / "x.csv"),
        ("a/~/x.csv", tmp_path / "a" / "~" / "x.csv"),
        ("~nobody-has-this-name/x.csv", tmp_path / "~nobody-has-this-name" / "x.csv"),
    ):
        assert path_of(written, tmp_path) == meant, written
    with pytest.raises(DataError, match=r"x\.csv"):
        load("~nobody-has-this-name/x.csv", {}, tmp_path)
