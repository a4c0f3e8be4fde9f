"""Folders of images."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from inkcap.training.data import DataError, load


def save_image(path: Path, height: int, width: int, value: int = 100) -> Path:
    """Save an image of one grey value."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((height, width), value, dtype=np.uint8)).save(path)
    return path


def folder_of(base: Path) -> Path:
    """Make a folder with two classes of grey images."""
    save_image(base / "dog" / "b.png", 4, 6, 20)
    save_image(base / "dog" / "a.bmp", 4, 6, 10)
    save_image(base / "cat" / "z.png", 4, 6, 30)
    return base


def test_classes_and_order_are_sorted(tmp_path: Path) -> None:
    folder_of(tmp_path / "set")
    (tmp_path / "set" / "dog" / "readme.txt").write_text("no image")
    dataset = load("set", {}, tmp_path)
    assert dataset.classes == ("cat", "dog")
    assert dataset.inputs["x"].shape == (3, 1, 4, 6)
    assert dataset.inputs["x"].dtype == np.uint8
    assert dataset.inputs["x"][:, 0, 0, 0].tolist() == [30, 10, 20]
    assert dataset.targets["y"].tolist() == [0, 1, 1]
    assert "1 other file was left out" in dataset.description


def test_one_colour_image_makes_three_channels_unless_grey(tmp_path: Path) -> None:
    folder_of(tmp_path / "set")
    Image.fromarray(np.full((4, 6, 3), (255, 0, 0), np.uint8)).save(tmp_path / "set" / "cat" / "red.png")
    colour = load("set", {}, tmp_path)
    assert colour.inputs["x"].shape == (4, 3, 4, 6)
    assert colour.inputs["x"][0, :, 0, 0].tolist() == [255, 0, 0]
    assert load("set", {"grey": "yes"}, tmp_path).inputs["x"].shape == (4, 1, 4, 6)


def test_sizes_must_agree_or_be_given(tmp_path: Path) -> None:
    folder_of(tmp_path / "set")
    save_image(tmp_path / "set" / "dog" / "c.png", 8, 6)
    with pytest.raises(DataError, match=r"c\.png is 8×6, but .*z\.png is 4×6.* resize=4x6"):
        load("set", {}, tmp_path)
    assert load("set", {"resize": "3x5"}, tmp_path).inputs["x"].shape == (4, 1, 3, 5)
    with pytest.raises(DataError, match="HEIGHTxWIDTH"):
        load("set", {"resize": "3"}, tmp_path)


def test_sixteen_bit_images_keep_their_shades(tmp_path: Path) -> None:
    folder_of(tmp_path / "set")
    Image.fromarray(np.full((4, 6), 0x8000, np.uint16)).save(tmp_path / "set" / "cat" / "deep.png")
    assert load("set", {}, tmp_path).inputs["x"][0, 0, 0, 0] == 0x80


def test_train_and_test_folders(tmp_path: Path) -> None:
    folder_of(tmp_path / "set" / "train")
    save_image(tmp_path / "set" / "test" / "dog" / "x.png", 4, 6)
    dataset = load("set", {}, tmp_path)
    assert dataset.test is not None
    assert dataset.test.classes == ("cat", "dog")
    assert dataset.test.targets["y"].tolist() == [1]
    save_image(tmp_path / "set" / "test" / "cow" / "x.png", 4, 6)
    with pytest.raises(DataError, match="training part lacks: cow"):
        load("set", {}, tmp_path)


def test_bad_folders_and_files(tmp_path: Path) -> None:
    base = folder_of(tmp_path / "set")
    whole = (base / "dog" / "b.png").read_bytes()
    for content in (b"", b"GIF89a nothing", whole[:40]):
        (base / "dog" / "b.png").write_bytes(content)
        with pytest.raises(DataError, match=r"b\.png"):
            load("set", {}, tmp_path)
    save_image(base / "dog" / "b.png", 4, 6)
    (base / "empty").mkdir()
    with pytest.raises(DataError, match=r"class empty .* has no images"):
        load("set", {}, tmp_path)
    save_image(tmp_path / "flat" / "a.png", 4, 6)
    with pytest.raises(DataError, match="no sub-folders"):
        load("flat", {}, tmp_path)
    save_image(tmp_path / "one" / "dog" / "a.png", 4, 6)
    with pytest.raises(DataError, match="only the class dog"):
        load("one", {}, tmp_path)


def test_other_formats_under_a_known_ending_are_refused(tmp_path: Path) -> None:
    base = folder_of(tmp_path / "set")
    Image.fromarray(np.zeros((4, 6), np.uint8)).save(base / "dog" / "b.png", format="TIFF")
    with pytest.raises(DataError, match="not a readable image"):
        load("set", {}, tmp_path)


def test_too_many_pixels(tmp_path: Path) -> None:
    base = folder_of(tmp_path / "set")
    Image.new("1", (64_000, 1_001)).save(base / "dog" / "b.png")
    with pytest.raises(DataError, match="1001×64000 pixels; at most 64000000"):
        load("set", {}, tmp_path)
    Image.new("1", (20_000, 9_900)).save(base / "dog" / "b.png")
    with pytest.raises(DataError, match="more than 64000000 pixels"):
        load("set", {}, tmp_path)
