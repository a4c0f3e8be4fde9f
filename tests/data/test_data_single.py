"""What is given for a prediction."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from inkcap.training.data import DataError, Dataset, Preparation, load, load_one_input, write_idx


def image_preparation(shape: tuple[int, int, int] = (1, 4, 6), high: float = 255.0) -> Preparation:
    """Fit a preparation on blank images."""
    values = np.zeros((2, *shape), np.uint8)
    dataset = Dataset("p", {"x": values}, {"y": np.array([0, 1])}, ("a", "b"), ranges={"x": (0.0, high)})
    return Preparation().fit(dataset)


def row_preparation(columns: int) -> Preparation:
    """Fit a preparation on rows of numbers."""
    values = np.arange(2 * columns, dtype=np.float32).reshape(2, columns)
    return Preparation(normalise="none").fit(Dataset("p", {"x": values}, {"y": np.array([0, 1])}, ("a", "b")))


def test_an_image(tmp_path: Path) -> None:
    Image.fromarray(np.full((4, 6), 51, np.uint8)).save(tmp_path / "a.png")
    preparation = image_preparation()
    array = load_one_input("a.png", preparation, folder=tmp_path)
    assert (array.shape, array.dtype, int(array[0, 0, 0, 0])) == ((1, 1, 4, 6), np.uint8, 51)
    assert preparation.apply(array)[0, 0, 0, 0] == np.float32(0.2)
    assert load_one_input("a.png", image_preparation((3, 4, 6)), folder=tmp_path).shape == (1, 3, 4, 6)


def test_an_image_for_data_of_another_range(tmp_path: Path) -> None:
    Image.fromarray(np.full((4, 6), 255, np.uint8)).save(tmp_path / "a.png")
    preparation = image_preparation(high=16.0)
    array = load_one_input("a.png", preparation, folder=tmp_path)
    assert float(array.max()) == 16.0
    assert float(preparation.apply(array).max()) == 1.0


def test_another_size_is_resized_only_when_told(tmp_path: Path) -> None:
    Image.fromarray(np.zeros((8, 9), np.uint8)).save(tmp_path / "a.png")
    with pytest.raises(DataError, match=r"8×9×1 found, but the network takes 4×6×1.*--resize, or"):
        load_one_input("a.png", image_preparation(), folder=tmp_path)
    assert load_one_input("a.png", image_preparation(), folder=tmp_path, resize=True).shape == (1, 1, 4, 6)
    np.save(tmp_path / "a.npy", np.zeros((3, 8, 9), np.uint8))
    with pytest.raises(DataError, match="8×9×1 found"):
        load_one_input("a.npy", image_preparation(), folder=tmp_path)
    assert load_one_input("a.npy", image_preparation(), folder=tmp_path, resize=True).shape == (3, 1, 4, 6)


def test_typed_numbers() -> None:
    assert load_one_input("1.0, -2e1", row_preparation(2)).tolist() == [[1.0, -20.0]]
    assert load_one_input("7", row_preparation(1)).tolist() == [[7.0]]
    assert load_one_input(",".join(["1"] * 24), image_preparation()).shape == (1, 1, 4, 6)
    with pytest.raises(DataError, match="3 found, but the input takes 2"):
        load_one_input("1,2,3", row_preparation(2))
    with pytest.raises(DataError, match="'x' among the numbers"):
        load_one_input("1,2,x", row_preparation(3))
    with pytest.raises(DataError, match="'nan' among the numbers"):
        load_one_input("1,2,nan", row_preparation(3))
    with pytest.raises(DataError, match="is no file"):
        load_one_input("nothing.png", row_preparation(3))


def test_files_of_several_samples(tmp_path: Path) -> None:
    images = np.arange(48, dtype=np.uint8).reshape(2, 4, 6)
    write_idx(tmp_path / "t10k-images-idx3-ubyte.gz", images)
    np.savez(tmp_path / "a.npz", x=images, y=np.array([0, 1]))
    np.save(tmp_path / "one.npy", images[1])
    preparation = image_preparation()
    for name in ("t10k-images-idx3-ubyte.gz", "a.npz"):
        np.testing.assert_array_equal(load_one_input(name, preparation, folder=tmp_path)[:, 0], images)
    np.testing.assert_array_equal(load_one_input("one.npy", preparation, folder=tmp_path)[0, 0], images[1])
    with pytest.raises(DataError, match="arrays x, y, not z"):
        load_one_input("a.npz", preparation, folder=tmp_path, key="z")


def test_a_table_is_read_by_the_runs_columns(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("size,colour,y\n1,red,0.5\n2,blue,1.5\n")
    dataset = load("train.csv", {"categorical": "colour"}, tmp_path)
    preparation = Preparation(normalise="none").fit(dataset)
    (tmp_path / "new.csv").write_text("colour,extra,size\nblue,9,4\n")
    table = dataset.manifest["table"]
    assert load_one_input("new.csv", preparation, folder=tmp_path, table=table).tolist() == [[4.0, 1.0, 0.0]]
    (tmp_path / "new.csv").write_text("colour,size\ngreen,4\n")
    with pytest.raises(DataError, match=r"line 2, column colour: 'green' is none of .* blue, red"):
        load_one_input("new.csv", preparation, folder=tmp_path, table=table)
    (tmp_path / "new.csv").write_text("colour,size\nred,\n")
    with pytest.raises(DataError, match="line 2, column size: the value is missing"):
        load_one_input("new.csv", preparation, folder=tmp_path, table=table)
    (tmp_path / "new.csv").write_text("colour\nred\n")
    with pytest.raises(DataError, match="no column size"):
        load_one_input("new.csv", preparation, folder=tmp_path, table=table)


def test_bad_values(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([[1.0, 2.0], [np.nan, 1.0]]))
    with pytest.raises(DataError, match="sample 1: a value is not a finite number"):
        load_one_input("a.npy", row_preparation(2), folder=tmp_path)
    np.save(tmp_path / "a.npy", np.zeros((0, 2)))
    with pytest.raises(DataError, match="no samples"):
        load_one_input("a.npy", row_preparation(2), folder=tmp_path)
    (tmp_path / "a.txt").write_text("1")
    with pytest.raises(DataError, match="ending is not known"):
        load_one_input("a.txt", row_preparation(2), folder=tmp_path)
    Image.new("L", (2, 2)).save(tmp_path / "a.png")
    with pytest.raises(DataError, match="is an image, but the input takes 2"):
        load_one_input("a.png", row_preparation(2), folder=tmp_path)
