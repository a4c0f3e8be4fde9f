"""A look into data that a person brings: what is in them, and in words what is wrong with them."""

from __future__ import annotations

import base64
import io
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from inkcap.cli.helper import answer
from inkcap.cli.looking import look
from inkcap.studio.models import DataPreview
from inkcap.studio.uploads import UploadError, check_inside


def seen(workspace: Path, name: str, fed: dict[str, Any] | None = None, /, **options: str) -> DataPreview:
    question = {"name": name, "options": options, "rows": 4, "workspace": str(workspace), **(fed or {})}
    return DataPreview.model_validate(look(question))


def test_a_table_is_shown_with_its_columns_and_classes(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("rooms,place,sold\n3,town,yes\n5,village,no\n2,town,yes\n")
    told = seen(tmp_path, "t.csv", categorical="place")
    assert told.problem is None
    assert (told.count, told.columns) == (3, ["rooms", "place=town", "place=village", "y"])
    assert told.rows[1] == ["5", "0", "1", "no"]
    assert told.class_counts == {"y": {"no": 1, "yes": 2}}
    assert {"target", "missing", "separator"} <= {option.name for option in told.options}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n3\n", "line 3"),
        ("a,b\n1,2\n,4\n", "the value is missing"),
        ("a,b\n1,x\n2,\n", "the target is missing"),
        ("a,b\n1,x\n2,x\n", "only the class x"),
        ("a,b\n1,2\n", "at least 2 are needed"),
    ],
)
def test_what_is_wrong_with_a_table_is_said_and_its_lines_are_shown(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    told = seen(tmp_path, "t.csv")
    assert told.problem is not None
    assert words in told.problem
    assert str(tmp_path) not in told.problem
    assert told.columns == ["a", "b"]
    assert told.rows[0] == text.splitlines()[1].split(",")


def test_images_become_pictures_and_a_misfit_is_told(tmp_path: Path) -> None:
    images = np.zeros((6, 300, 200), np.uint8)
    images[:, 150:] = 255
    np.savez(tmp_path / "shapes.npz", x=images, y=np.arange(6) % 2)
    told = seen(tmp_path, "shapes.npz", {"inputs": {"a": (1, 28, 28)}, "outputs": {"b": (2,)}})
    assert told.problem is None
    assert (told.inputs[0].shape, told.class_counts) == ("300×200×1", {"y": {"0": 3, "1": 3}})
    assert told.misfit is not None
    assert "28×28×1" in told.misfit
    picture = np.asarray(Image.open(io.BytesIO(base64.b64decode(told.pictures[0].png))))
    assert max(picture.shape) <= 128
    assert (picture[0, 0], picture[-1, -1]) == (0, 255)
    assert seen(tmp_path, "shapes.npz", {"inputs": {"a": (1, 300, 200)}, "outputs": {"b": (2,)}}).misfit is None


def test_pictures_with_boxes_have_to_fit_and_each_output_takes_what_suits_it(tmp_path: Path) -> None:
    detector = {"outputs": {"rpn": (32, 6, 1), "found": (12, 6, 1)}}
    options = {"options": {"n": "20"}}
    assert seen(tmp_path, "shapes", {"inputs": {"a": (3, 64, 64)}, **detector, **options}).misfit is None
    told = seen(tmp_path, "shapes", {"inputs": {"a": (3, 96, 96)}, **detector, **options}).misfit
    assert told is not None
    assert "96×96×3" in told
    assert "64×64×3" in told


def test_numbers_that_are_none_and_pickles_are_refused(tmp_path: Path) -> None:
    values = np.ones((4, 3), np.float32)
    values[2, 1] = np.nan
    np.savez(tmp_path / "hole.npz", x=values, y=np.arange(4) % 2)
    told = seen(tmp_path, "hole.npz")
    assert told.problem is not None
    assert "sample 2" in told.problem
    assert "not a finite number" in told.problem
    assert told.rows[2][1] == "nan"
    np.savez(tmp_path / "objects.npz", x=np.array([print, 2], dtype=object), y=np.arange(2))
    refused = seen(tmp_path, "objects.npz").problem
    assert refused is not None
    assert "object" in refused


def test_a_pair_of_idx_files(tmp_path: Path) -> None:
    (tmp_path / "i").write_bytes(struct.pack(">HBBIII", 0, 8, 3, 4, 5, 5) + bytes(100))
    (tmp_path / "l").write_bytes(struct.pack(">HBBI", 0, 8, 1, 4) + bytes([0, 1, 2, 1]))
    told = seen(tmp_path, "i,l")
    assert (told.count, told.inputs[0].shape, len(told.pictures), told.problem) == (4, "5×5×1", 4, None)
    (tmp_path / "short").write_bytes(struct.pack(">HBBI", 0, 8, 1, 3) + bytes([0, 1, 2]))
    wrong = seen(tmp_path, "i,short").problem
    assert wrong is not None
    assert "3" in wrong


@pytest.mark.parametrize("path", ["/etc/passwd", "../other.csv", "~/x.csv", "data/a,/etc/b"])
def test_paths_stay_in_the_workspace(path: str, tmp_path: Path) -> None:
    with pytest.raises(UploadError, match="leads out of the workspace"):
        check_inside(path, tmp_path)


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    question = {"what": "preview", "name": "none.csv", "options": {}, "rows": 1, "workspace": str(tmp_path)}
    assert "neither a known set" in answer(json.dumps(question))["error"]
