"""The IDX format, and loading it as a dataset."""

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hypothesis_numpy
from numpy.typing import NDArray

from inkcap.training.data import DataError, load, read_idx, write_idx

DTYPES = ["u1", "i1", "i2", "i4", "f4", "f8"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), packed=st.booleans())
def test_every_dtype_survives_writing_and_reading(tmp_path: Path, data: st.DataObject, packed: bool) -> None:
    dtype = np.dtype(data.draw(st.sampled_from(DTYPES)))
    shapes = hypothesis_numpy.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4)
    array: NDArray[Any] = data.draw(hypothesis_numpy.arrays(dtype, shapes))
    path = tmp_path / ("array.idx.gz" if packed else "array.idx")
    write_idx(path, array)
    back = read_idx(path)
    assert back.dtype == dtype
    assert back.dtype.isnative
    np.testing.assert_array_equal(back, array)


def test_golden_bytes(tmp_path: Path) -> None:
    path = tmp_path / "golden.idx"
    path.write_bytes(bytes.fromhex("00000b02 00000002 00000003 0001 0002 ffff 0100 8000 7fff".replace(" ", "")))
    np.testing.assert_array_equal(read_idx(path), np.array([[1, 2, -1], [256, -32768, 32767]], np.int16))
    write_idx(tmp_path / "again.idx", read_idx(path))
    assert (tmp_path / "again.idx").read_bytes() == path.read_bytes()


def test_gzip_is_told_by_its_bytes_and_written_the_same_each_time(tmp_path: Path) -> None:
    array = np.arange(6, dtype=np.uint8)
    write_idx(tmp_path / "a.idx.gz", array)
    write_idx(tmp_path / "b.idx.gz", array)
    assert (tmp_path / "a.idx.gz").read_bytes() == (tmp_path / "b.idx.gz").read_bytes()
    disguised = (tmp_path / "a.idx.gz").rename(tmp_path / "a.idx")
    np.testing.assert_array_equal(read_idx(disguised), array)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.idx", "b.idx.gz"]


HEAD = bytes([0, 0, 8, 1, 0, 0, 0, 4])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["is empty"]),
        (b"\0\0", ["only 2 of the 4 bytes"]),
        (HEAD[:6], ["header", "8 bytes expected, 6 found"]),
        (HEAD + b"abc", ["cut off", "12 bytes expected, 11 found"]),
        (HEAD + b"abcdef", ["too long", "12 bytes expected, 14 found"]),
        (b"\x89PNG1234", ["not an IDX file", "89 50 4e 47"]),
        (bytes([0, 0, 8, 3]) + b"\xff" * 12, ["declares", "4294967295×4294967295×4294967295"]),
        (bytes([0, 0, 8, 1, 0x7F, 0, 0, 0]) + b"x", ["cut off", "2130706440 bytes expected, 9 found"]),
        (gzip.compress(HEAD + b"abcd", mtime=0)[:-9], ["gzip data"]),
        (gzip.compress(HEAD + b"abc", mtime=0), ["12 bytes expected, 11 found"]),
        (b"\x1f\x8b\x08" + b"\0" * 30, ["gzip data"]),
    ],
)
def test_bad_files_are_refused_with_numbers(tmp_path: Path, content: bytes, words: list[str]) -> None:
    path = tmp_path / "bad-idx1-ubyte"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_idx(path)
    for word in [str(path), *words]:
        assert word in str(caught.value)


def test_writing_refuses_what_idx_cannot_hold(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot hold int64"):
        write_idx(tmp_path / "a.idx", np.zeros(3, np.int64))
    assert not list(tmp_path.iterdir())


def mnist_folder(folder: Path, labels: list[int], test_labels: list[int]) -> Path:
    """Write a folder with MNIST's names."""
    folder.mkdir()
    for part, values in (("train", labels), ("t10k", test_labels)):
        images = np.arange(len(values) * 6, dtype=np.uint8).reshape(-1, 2, 3)
        write_idx(folder / f"{part}-images-idx3-ubyte.gz", images)
        write_idx(folder / f"{part}-labels-idx1-ubyte", np.array(values, np.uint8))
    return folder


def test_folder_with_mnist_names(tmp_path: Path) -> None:
    mnist_folder(tmp_path / "set", [0, 2, 1, 2], [1, 0])
    dataset = load("set", {}, tmp_path)
    assert dataset.structure() == {
        "inputs": {"x": {"shape": (1, 2, 3), "dtype": "uint8"}},
        "targets": {"y": {"shape": (), "dtype": "int64", "classes": 3}},
    }
    assert dataset.test is not None
    assert (len(dataset), len(dataset.test), dataset.test.classes) == (4, 2, ("0", "1", "2"))
    assert dataset.inputs["x"][1, 0].tolist() == [[6, 7, 8], [9, 10, 11]]
    assert dataset.manifest["classes"] == {"y": {"0": 1, "1": 1, "2": 2}}
    assert len(dataset.manifest["sha256"]) == 4


def test_pair_and_class_names(tmp_path: Path) -> None:
    mnist_folder(tmp_path / "set", [0, 1, 1], [1, 0])
    pair = "set/train-images-idx3-ubyte.gz,set/train-labels-idx1-ubyte"
    assert load(pair, {"classes": "cat;dog"}, tmp_path).manifest["classes"] == {"y": {"cat": 1, "dog": 2}}


@pytest.mark.parametrize(
    ("labels", "test_labels", "options", "words"),
    [
        ([0, 1], [2, 0], {}, ["t10k-labels", "sample 0", "label 2", "0 to 1"]),
        ([0, 3], [0, 1], {"classes": "a;b;c"}, ["train-labels", "sample 1", "label 3", "0 to 2"]),
        ([0, 3], [0, 1], {"klasses": "3"}, ["no option called klasses", "Did you mean classes"]),
    ],
)
def test_labels_out_of_range(
    tmp_path: Path, labels: list[int], test_labels: list[int], options: dict[str, str], words: list[str]
) -> None:
    mnist_folder(tmp_path / "set", labels, test_labels)
    with pytest.raises(DataError) as caught:
        load("set", options, tmp_path)
    for word in words:
        assert word in str(caught.value)


def test_counts_of_images_and_labels_must_agree(tmp_path: Path) -> None:
    folder = mnist_folder(tmp_path / "set", [0, 1, 1], [1, 0])
    write_idx(folder / "train-labels-idx1-ubyte", np.zeros(5, np.uint8))
    with pytest.raises(DataError, match=r"train-images.* has 3 samples but .*train-labels.* has 5"):
        load("set", {}, tmp_path)
    (folder / "train-labels-idx1-ubyte").unlink()
    with pytest.raises(DataError, match="lacks train-labels-idx1-ubyte"):
        load("set", {}, tmp_path)


@pytest.mark.skipif(not os.environ.get("INKCAP_DATA"), reason="INKCAP_DATA does not name a folder with MNIST")
def test_real_mnist() -> None:
    if not (Path(os.environ["INKCAP_DATA"]) / "mnist" / "train-images-idx3-ubyte.gz").is_file():
        pytest.skip("no MNIST there")
    dataset = load("mnist", {}, Path())
    assert dataset.test is not None
    assert dataset.inputs["x"].shape == (60000, 1, 28, 28)
    assert dataset.test.inputs["x"].shape == (10000, 1, 28, 28)
    assert dataset.targets["y"][:8].tolist() == [5, 0, 4, 1, 9, 2, 1, 3]
    assert dataset.histogram("y")["1"] == 6742
    assert round(float(dataset.inputs["x"].mean()) / 255, 4) == 0.1307
