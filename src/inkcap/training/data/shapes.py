"""Pictures of circles, squares and triangles, made by formulae: what is where is known to the pixel."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkcap.training.data import counter
from inkcap.training.data.dataset import Dataset, Layout, with_manifest
from inkcap.training.data.errors import DataError
from inkcap.training.data.options import Option, OptionValues
from inkcap.training.data.wording import listing

SHAPE_OPTIONS = (
    Option("n", "1000", "how many pictures"),
    Option("size", "64x64", "height and width of a picture"),
    Option("least", "1", "fewest shapes of a picture"),
    Option("most", "3", "most shapes of a picture; a crowded one may have fewer"),
    Option("small", "0.3", "width of the smallest shape, as a share of the picture's shorter side"),
    Option("large", "0.5", "width of the largest shape, as a share of the picture's shorter side"),
    Option("overlap", "0.3", "share of a shape that later ones may hide"),
    Option("noise", "0.05", "standard deviation of the noise, as a share of full brightness"),
    Option("targets", "boxes;classes;instances", "what is told of a picture; each output takes what suits it"),
    Option("seed", "0", "seed of the pictures"),
)

SHAPE_CLASSES = ("background", "circle", "square", "triangle")
_CORNERS = {1: 0, 2: 4, 3: 3}
_LAYOUTS: dict[str, Layout] = {"boxes": "boxes", "classes": "classes", "instances": "instances"}
_TRIES = 8
_BACKGROUND_DRAWS = 12
_SHAPE_DRAWS = 8
_LIKENESS = 0.3
"""A shape whose colour is nearer than this to the background's in every channel gets the opposite colour."""

Mask = NDArray[np.bool_]
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class _Settings:
    height: int
    width: int
    least: int
    most: int
    small: float
    large: float
    overlap: float


@dataclass(frozen=True)
class _Picture:
    """A picture (3, M, N) from 0 to 1, the shapes' labels, and for each shape its whole mask."""

    pixels: Numbers
    labels: list[int]
    masks: list[Mask]


def load_shapes(options: OptionValues) -> Dataset:
    """Make pictures with the boxes of their shapes, the class of every pixel and the shape it belongs to."""
    count = options.integer("n", 2, 1_000_000)
    height, width = options.size("size") or (64, 64)
    least, most = options.integer("least", 0, 100), options.integer("most", 1, 100)
    small, large = options.number("small", 0.02, 1.0), options.number("large", 0.02, 1.0)
    noise, seed = options.number("noise", 0.0, 1.0), options.integer("seed", 0, 2**63 - 1)
    told = _told(options)
    if least > most or small > large:
        wrong = f"least={least} and most={most}" if least > most else f"small={small:g} and large={large:g}"
        raise DataError(f"shapes: {wrong} leave nothing between them. Make the first the smaller one.")
    if min(height, width) < 8:
        raise DataError(f"shapes: size={height}x{width} is too small to tell shapes apart. Give 8x8 or more.")
    settings = _Settings(height, width, least, most, small, large, options.number("overlap", 0.0, 1.0))
    pictures = np.empty((count, 3, height, width), np.uint8)
    boxes = np.zeros((count, most, 5), np.float32)
    classes, instances = (np.zeros((count, height, width), np.uint8) for _ in range(2))
    draws, noises = counter.key_of(seed, "shapes"), counter.key_of(seed, "shapes", "noise")
    for index in range(count):
        picture = _picture(settings, draws, index)
        grain = counter.normals(noises, [index], picture.pixels.size).reshape(picture.pixels.shape)
        pictures[index] = np.rint(255 * np.clip(picture.pixels + noise * grain, 0.0, 1.0)).astype(np.uint8)
        for place, (label, mask) in enumerate(zip(picture.labels, picture.masks, strict=True)):
            boxes[index, place] = (label, *_box(mask))
            classes[index][mask] = label
            instances[index][mask] = place + 1
    known: dict[str, NDArray[Any]] = {"boxes": boxes, "classes": classes, "instances": instances}
    dataset = Dataset(
        name="shapes",
        inputs={"x": pictures},
        targets={name: known[name] for name in told},
        description=(
            f"Circles, squares and triangles: {count} pictures of {height}×{width} with {least} to {most} shapes, "
            f"seed {seed}."
        ),
        kind="images",
        ranges={"x": (0.0, 255.0)},
        class_names={name: SHAPE_CLASSES for name in told if name != "instances"},
        layouts={name: _LAYOUTS[name] for name in told},
    )
    return with_manifest(
        dataset, "shapes", options={option.name: options.text(option.name) for option in SHAPE_OPTIONS}
    )


def _told(options: OptionValues) -> list[str]:
    told = options.names("targets")
    wrong = [name for name in told if name not in _LAYOUTS]
    if wrong or not told or len(set(told)) < len(told):
        found = ";".join(told) or "nothing"
        raise DataError(
            f"shapes: targets={found} is not possible. Give some of {listing(_LAYOUTS)}, each once, as a;b."
        )
    return told


def _picture(settings: _Settings, key: np.uint64, index: int) -> _Picture:
    """Make one picture; its numbers depend on the key, the index and the settings alone."""
    every = counter.uniforms(key, [index], _BACKGROUND_DRAWS + settings.most * _TRIES * _SHAPE_DRAWS)[0]
    pixels, average = _background(settings, every[:_BACKGROUND_DRAWS])
    wanted = settings.least + int(every[_BACKGROUND_DRAWS - 1] * (settings.most - settings.least + 1))
    picture = _Picture(pixels, [], [])
    attempts = iter(every[_BACKGROUND_DRAWS:].reshape(-1, _SHAPE_DRAWS))
    for attempt in attempts:
        if len(picture.labels) == wanted:
            break
        label = 1 + int(attempt[0] * 3)
        mask = _mask(settings, _CORNERS[label], attempt[1:5])
        if mask.any() and not any(_hides(settings, picture.masks, mask)):
            colour = attempt[5:8]
            if np.abs(colour - average).max() < _LIKENESS:
                colour = (colour + 0.5) % 1.0
            pixels[:, mask] = colour[:, None]
            picture.labels.append(label)
            picture.masks.append(mask)
    return picture


def _background(settings: _Settings, draws: Numbers) -> tuple[Numbers, Numbers]:
    """Give a plain background, one that changes its colour steadily, or stripes, and its average colour."""
    first = draws[0:3]
    second = np.clip(first + 0.4 * (draws[3:6] - 0.5), 0.0, 1.0)
    angle = 2 * math.pi * draws[6]
    rows, columns = _grid(settings)
    along = (rows * math.sin(angle) + columns * math.cos(angle)) / max(settings.height, settings.width)
    steps = (0.0 * along, 0.5 + 0.5 * along, 0.5 + 0.5 * np.sin(2 * math.pi * (2 + 6 * draws[8]) * along))
    share = np.clip(steps[int(draws[7] * 3)], 0.0, 1.0)
    return first[:, None, None] + (second - first)[:, None, None] * share, (first + second) / 2


def _grid(settings: _Settings) -> tuple[Numbers, Numbers]:
    """Give the distances of the pixels' middles from the picture's, as a column and a row."""
    rows = np.arange(settings.height, dtype=np.float64) + 0.5 - settings.height / 2
    columns = np.arange(settings.width, dtype=np.float64) + 0.5 - settings.width / 2
    return rows[:, None], columns[None, :]


def _mask(settings: _Settings, corners: int, draws: Numbers) -> Mask:
    """Give the pixels of a circle (no corners) or of an even polygon, turned by any angle, within the picture."""
    shorter = min(settings.height, settings.width)
    radius = shorter * (settings.small + (settings.large - settings.small) * draws[2]) / 2
    rows, columns = _grid(settings)
    down = rows - (2 * draws[0] - 1) * (settings.height / 2 - radius)
    right = columns - (2 * draws[1] - 1) * (settings.width / 2 - radius)
    if not corners:
        return down**2 + right**2 <= radius**2
    inside = np.ones((settings.height, settings.width), np.bool_)
    for edge in range(corners):
        angle = 2 * math.pi * (draws[3] + edge) / corners
        inside &= down * math.sin(angle) + right * math.cos(angle) <= radius * math.cos(math.pi / corners)
    return inside


def _hides(settings: _Settings, earlier: list[Mask], mask: Mask) -> Iterator[bool]:
    """Tell for each earlier shape whether too much of it would be hidden by all later ones."""
    covered = mask.copy()
    for other in reversed(earlier):
        yield int((other & covered).sum()) > settings.overlap * int(other.sum())
        covered |= other


def _box(mask: Mask) -> tuple[float, float, float, float]:
    """Give x1, y1, x2, y2 of the pixels' outer edges."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1)
