"""Samples read a piece at a time are the samples that are read at once, and get the same answers."""

from __future__ import annotations

import pickle
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from PIL import Image

from inkcap.drawing import Drawing
from inkcap.recipes import DataSpec, Recipe, RunFolder
from inkcap.training import predict, train
from inkcap.training.asking import Answering, find_pieces
from inkcap.training.data import DataError, load, write_idx
from inkcap.training.data.pieces import Piece, joined_up
from inkcap.training.opened import open_run
from inkcap.training.samples import read_samples
from inkcap.zoo import mlp

SAMPLES = 601


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    drawing = Drawing("pictures")
    drawing.add("a", "2D-data", height=8, width=8, channels=1)
    drawing.then("b", "1D-identical", "reshaping")
    drawing.then("h", "1D-softmax", "full", dimension=10)
    return train(drawing, Recipe(DataSpec("digits"), epochs=1), tmp_path_factory.mktemp("pictures")).run


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("rows")
    (folder / "houses.csv").write_text(table(60), encoding="utf-8")
    spec = DataSpec("houses.csv", {"categorical": "place", "target": "price", "ignore": "note", "task": "regression"})
    return train(mlp((4, 3, 1), "houses", last="identical"), Recipe(spec, epochs=1), folder).run


def table(count: int) -> str:
    """Cells with line ends, blank lines and signs of several bytes, so that bytes, lines and rows all differ."""
    random = np.random.default_rng(3)
    lines = ["rooms,place,area,note,price"]
    for number in range(count):
        place = ("town", "länd")[number % 2]
        note = '"two\nlines, é"' if number % 7 == 0 else "one"
        lines += [f"{random.integers(1, 9)},{place},{random.random():.4f},{note},{number}"]
        lines += [""] if number % 11 == 0 else []
    return "\n".join(lines) + "\n"


def digits() -> np.ndarray:
    return load("digits", {}, Path()).inputs["x"][:SAMPLES]


def read_whole(run: RunFolder, name: str, folder: Path, size: int = 256) -> tuple[np.ndarray, list[str]]:
    """Read by pieces, as another process would, and give the samples with the names they have."""
    opened = open_run(run)
    pieces = find_pieces(opened, DataSpec(name), folder, folder / "room")
    cut = joined_up(pieces.cut(256), size)
    pieces = pickle.loads(pickle.dumps(pieces))  # noqa: S301
    from inkcap.training.samples import samples_from

    found, numbers, names = [], [], []
    for piece in cut:
        names += pieces.names(piece)
        for raw in pieces.read(piece, 256):
            numbers.append(raw.first)
            found.append(next(iter(samples_from(opened, raw).values())))
    assert numbers == list(range(0, sum(map(len, found)), 256))
    return np.concatenate(found), names


@pytest.mark.parametrize("size", [256, 512, 4096])
@pytest.mark.parametrize("name", ["a.npy", "f.npy", "a.npz", "packed.npz", "a.idx", "a.idx.gz"])
def test_arrays_read_by_pieces_are_those_read_at_once(
    pictures: RunFolder, tmp_path: Path, name: str, size: int
) -> None:
    images = digits().astype(np.float32)
    if name.endswith(".npy"):
        np.save(tmp_path / name, np.asfortranarray(images) if name.startswith("f") else images)
    elif name.endswith(".npz"):
        (np.savez_compressed if name.startswith("packed") else np.savez)(tmp_path / name, y=np.arange(3), x=images)
    else:
        write_idx(tmp_path / name, images[:, 0])
    at_once = read_samples(pictures, str(tmp_path / name))["x"]
    found, _ = read_whole(pictures, name, tmp_path, size)
    np.testing.assert_array_equal(found, at_once)
    assert found.dtype == at_once.dtype
    assert len(found) == SAMPLES


@pytest.mark.parametrize("size", [256, 512])
@pytest.mark.parametrize("head", ["", "\ufeff"])
def test_rows_of_a_table_are_those_read_at_once(rows: RunFolder, tmp_path: Path, size: int, head: str) -> None:
    (tmp_path / "big.csv").write_text(head + table(SAMPLES), encoding="utf-8")
    at_once = read_samples(rows, str(tmp_path / "big.csv"))["x"]
    np.testing.assert_array_equal(read_whole(rows, "big.csv", tmp_path, size)[0], at_once)


def test_a_wrong_cell_far_into_a_table_is_told_with_its_line(rows: RunFolder, tmp_path: Path) -> None:
    text = table(SAMPLES).splitlines()
    place = next(n for n in range(len(text) - 1, 0, -1) if text[n].endswith(",one,500"))
    text[place] = "many" + text[place][1:]
    (tmp_path / "big.csv").write_text("\n".join(text), encoding="utf-8")
    with pytest.raises(DataError, match=f"big.csv, line {place + 1}, column rooms: 'many' is not a number"):
        read_whole(rows, "big.csv", tmp_path)
    text[place] = "1,2"
    (tmp_path / "big.csv").write_text("\n".join(text), encoding="utf-8")
    with pytest.raises(DataError, match=f"line {place + 1}: 2 cells, but the header has 5"):
        read_whole(rows, "big.csv", tmp_path)


def test_rows_in_parquet_files_are_those_of_a_table(rows: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "big.csv").write_text(table(SAMPLES), encoding="utf-8")
    at_once = read_samples(rows, str(tmp_path / "big.csv"))["x"]
    (tmp_path / "big").mkdir()
    places = ["town" if number % 2 == 0 else "länd" for number in range(SAMPLES)]
    columns = {"rooms": at_once[:, 0].astype(int), "place": places, "area": at_once[:, 3].astype(float)}
    columns["area"] = [float(f"{value:.4f}") for value in columns["area"]]
    whole = pyarrow.table(columns)
    for number, (first, end) in enumerate(((0, 256), (256, 512), (512, SAMPLES))):
        pyarrow.parquet.write_table(whole[first:end], tmp_path / "big" / f"{number}.parquet", row_group_size=128)
    (tmp_path / "big" / "_summary.json").write_text("{}")
    np.testing.assert_array_equal(read_whole(rows, "big", tmp_path)[0], at_once)


def test_lists_in_parquet_files_are_arrays(pictures: RunFolder, tmp_path: Path) -> None:
    images = digits().astype(np.float32)
    pyarrow.parquet.write_table(pyarrow.table({"x": list(images.reshape(SAMPLES, -1))}), tmp_path / "a.parquet")
    np.testing.assert_array_equal(read_whole(pictures, "a.parquet", tmp_path)[0], images)


def test_images_below_a_folder_go_by_their_paths(pictures: RunFolder, tmp_path: Path) -> None:
    for number, image in enumerate(digits()[:20]):
        path = tmp_path / "new" / f"{number % 2}" / f"{number:02d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray((image[0] * 15).astype(np.uint8)).save(path)
    found, names = read_whole(pictures, "new", tmp_path)
    assert names == [f"0/{n:02d}.png" for n in range(0, 20, 2)] + [f"1/{n:02d}.png" for n in range(1, 20, 2)]
    for values, name in zip(found, names, strict=True):
        np.testing.assert_array_equal(read_samples(pictures, str(tmp_path / "new" / name))["x"][0], values)


def test_answers_by_pieces_are_those_of_one_call_to_the_bit(pictures: RunFolder, tmp_path: Path) -> None:
    opened = open_run(pictures)
    pieces = find_pieces(opened, DataSpec("digits"), tmp_path, tmp_path)
    cut = joined_up(pieces.cut(256), 512)
    samples = sum(piece.count for piece in cut)
    answering = Answering(opened, "auto", samples, resize=False)
    found = [outputs["h"].values for piece in cut for _, _, outputs in answering.answers(pieces, piece)]
    whole = predict(pictures, load("digits", {}, tmp_path).inputs["x"])
    assert (len(cut), samples) == (4, whole.samples)
    np.testing.assert_array_equal(np.concatenate(found), whole.outputs["h"].values)


def test_a_piece_takes_no_more_memory_than_a_batch_of_it(pictures: RunFolder, tmp_path: Path) -> None:
    # Half a gigabyte in the file's size, and next to nothing on the disk.
    np.lib.format.open_memmap(tmp_path / "big.npy", "w+", np.float32, (2_000_000, 1, 8, 8)).flush()
    opened = open_run(pictures)
    pieces = find_pieces(opened, DataSpec("big.npy"), tmp_path, tmp_path)
    cut = joined_up(pieces.cut(256), 1 << 16)
    assert sum(piece.count for piece in cut) == 2_000_000
    answering = Answering(opened, "auto", 2_000_000, resize=False)
    tracemalloc.start()
    answered = sum(count for _, count, _ in answering.answers(pieces, cut[-2]))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert answered == 1 << 16
    assert most < 4_000_000, "a batch has 65 536 bytes, the piece 16 million"


def test_a_number_that_is_none_is_told_with_its_sample(pictures: RunFolder, tmp_path: Path) -> None:
    images = digits().astype(np.float32)
    images[517, 0, 3, 3] = np.nan
    np.save(tmp_path / "a.npy", images)
    with pytest.raises(DataError, match=r"a\.npy, sample 517: a value is not a finite number"):
        read_whole(pictures, "a.npy", tmp_path)


def test_what_is_not_there_or_not_whole_is_told_before_any_answer(pictures: RunFolder, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", digits())
    whole = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "short.npy").write_bytes(whole[:-5])
    np.savez_compressed(tmp_path / "a.npz", x=digits())
    packed = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "short.npz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.txt").write_text("1")
    for name, words in (
        ("nothing.npy", "neither a known set nor an existing file"),
        ("short.npy", "bytes of data for shape"),
        ("short.npz", "is not whole"),
        ("empty", "has no images"),
        ("a.txt", "the ending is not known"),
    ):
        with pytest.raises(DataError, match=words):
            read_whole(pictures, name, tmp_path)


def test_pieces_are_joined_within_a_file_only() -> None:
    cut = [Piece(0, 256), Piece(256, 256), Piece(512, 88), Piece(600, 256, 1), Piece(856, 10, 1)]
    assert joined_up(cut, 512) == [Piece(0, 512), Piece(512, 88), Piece(600, 266, 1)]
