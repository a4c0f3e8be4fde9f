"""The page that sets drawing beside coding states what is counted; the snippets themselves are run elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lenet_by_hand import CHARACTERS_BY_MOUSE, GESTURES_BY_KEYS, GESTURES_BY_MOUSE, PARAMETERS, TYPED

PAGE = (Path(__file__).parents[2] / "docs" / "drawing-and-coding.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)
ROWS = {
    cells[0]: (int(cells[1].split()[0]), int(cells[2]))
    for line in PAGE.splitlines()
    if len(cells := [cell.strip() for cell in line.strip("|").split("|")]) == 4 and cells[2].isdigit()
}


def counted(text: str) -> tuple[int, int]:
    lines = [line for line in text.splitlines() if line.strip()]
    return len(lines), sum(len("".join(line.split())) for line in lines)


def test_the_gestures_are_those_that_a_browser_counts():
    assert next(body for language, body in BLOCKS if language == "text").splitlines() == list(TYPED)
    assert ROWS["drawn by keys"] == (GESTURES_BY_KEYS, sum(map(len, TYPED)))
    assert ROWS["drawn by mouse"] == (GESTURES_BY_MOUSE, CHARACTERS_BY_MOUSE)


@pytest.mark.parametrize(("row", "sign"), [("PyTorch", "nn.Sequential("), ("Keras", "keras.Sequential(")])
def test_the_lines_are_those_of_the_programs(row, sign):
    assert ROWS[row] == counted(next(body for _, body in BLOCKS if sign in body))


def test_all_of_them_are_the_same_network():
    assert sum(body.strip() == PARAMETERS for _, body in BLOCKS) == 2
