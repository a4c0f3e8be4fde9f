"""Every network of the zoo opens on the canvas, and looks about as it did when somebody looked at it.

The approved pictures are small and grey; they are compared by where the ink is, because fonts differ from machine to
machine. ``INKCAP_APPROVE=1`` writes them anew: look at them afterwards.
"""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pytest
from hands import open_zoo
from PIL import Image
from small_zoo import each_network

from inkcap.zoo import NETWORKS

APPROVED = Path(__file__).parent / "approved"
SIZE = (240, 150)
CELL = 6
LIKE, NOTHING_LIKE = 0.8, 0.5


def ink(picture: Image.Image) -> np.ndarray:
    """Sum up how dark each cell is against the paper."""
    grey = np.asarray(picture.convert("L"), dtype=float)
    dark = np.abs(grey - np.median(grey))
    rows, columns = dark.shape[0] // CELL, dark.shape[1] // CELL
    return dark[: rows * CELL, : columns * CELL].reshape(rows, CELL, columns, CELL).sum(axis=(1, 3)).ravel()


def likeness(one: Image.Image, other: Image.Image) -> float:
    a, b = ink(one), ink(other)
    if not a.std() or not b.std():
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])


def look(page) -> Image.Image:
    page.evaluate("document.querySelectorAll('.react-flow__minimap, .zoom').forEach(e => e.style.display = 'none')")
    shot = Image.open(io.BytesIO(page.locator("#canvas").screenshot()))
    return shot.convert("L").resize(SIZE, Image.Resampling.BOX)


@pytest.mark.parametrize("name", each_network())
def test_a_network_of_the_zoo_opens_and_looks_right(open_page, name):
    page = open_page
    open_zoo(page, name)
    page.wait_for_timeout(350)
    seen = look(page)
    approved = APPROVED / f"{name}.png"
    if os.environ.get("INKCAP_APPROVE"):
        APPROVED.mkdir(exist_ok=True)
        seen.save(approved, optimize=True)
    found = likeness(seen, Image.open(approved))
    assert found >= LIKE, f"{name} looks otherwise than approved ({found:.2f}): see {approved.name}"


def test_pictures_of_different_networks_are_not_alike():
    """The comparison above can fail."""
    pictures = [
        Image.open(APPROVED / f"{name}.png") for name in ("lenet5_1998", "googlenet_tv_main", "mlp_fig20_2-6-4-2")
    ]
    blank = Image.new("L", SIZE, 250)
    for i, one in enumerate(pictures):
        assert likeness(one, blank) == 0.0
        assert all(likeness(one, other) < NOTHING_LIKE for other in pictures[i + 1 :])


def test_every_approved_picture_is_of_a_network():
    assert {path.stem for path in APPROVED.glob("*.png")} == set(NETWORKS)
