"""Pictures drawn by hand, brought to the form of a run's own: as large, as centred and of the same polarity."""

import base64
import binascii
import io
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from inkcap.training.data.images import IMAGE_FORMATS
from inkcap.training.errors import TrainingError

Floats = NDArray[np.float64]
_LOOKED_AT = 256
_MOST_PIXELS = 16_000_000
_INK = 0.15
"""What is further from the paper than this share of the range is ink."""


@dataclass(frozen=True)
class Habits:
    """How pictures of a set look: their range, and where they show something on paper how it lies there."""

    low: float
    high: float
    paper: float = 0.0
    """Where the paper lies in the range: 0 for bright ink on dark paper, 1 for dark ink on bright paper."""
    glyphs: bool = False
    extent: float = 1.0
    """The longer side of what is shown, as a share of the picture's shorter side."""
    centre: tuple[float, float] = (0.5, 0.5)
    """Where its centre of mass lies, as shares of height and width."""


def habits_of(pictures: NDArray[Any], known: tuple[float, float] | None) -> Habits:
    """Look at pictures (samples, channels, rows, columns): things on empty paper are told from whole scenes."""
    some = pictures[:: max(1, len(pictures) // _LOOKED_AT)][:_LOOKED_AT].astype(np.float64)
    low, high = known if known is not None else (float(np.nanmin(some)), float(np.nanmax(some)))
    grey: Floats = np.nan_to_num((some.mean(1) - low) / ((high - low) or 1.0))
    border = np.concatenate([grey[:, 0], grey[:, -1], grey[:, :, 0], grey[:, :, -1]], axis=1)
    paper = float(np.median(border) > 0.5)
    ink = np.abs(grey - paper)
    empty = float((np.abs(border - paper) <= _INK).mean())
    measured = [found for found in map(_measure, ink) if found is not None]
    if empty < 0.75 or not measured:
        return Habits(low, high, paper)
    extents, rows, columns = (np.array([found[i] for found in measured]) for i in range(3))
    centre = (float(np.median(rows)), float(np.median(columns)))
    return Habits(low, high, paper, True, float(np.median(extents)), centre)


def _measure(ink: Floats) -> tuple[float, float, float] | None:
    """Give the extent and the centre of mass of what is shown on one picture."""
    box = _box(ink)
    if box is None:
        return None
    top, bottom, left, right = box
    rows, columns = _mass(ink)
    height, width = ink.shape
    return max(bottom - top, right - left) / min(height, width), rows / height, columns / width


def _box(ink: Floats) -> tuple[int, int, int, int] | None:
    seen = ink > _INK
    rows, columns = np.flatnonzero(seen.any(1)), np.flatnonzero(seen.any(0))
    if not rows.size:
        return None
    return int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1


def _mass(ink: Floats) -> tuple[float, float]:
    total = float(ink.sum())
    down, across = np.indices(ink.shape)
    return float((ink * (down + 0.5)).sum()) / total, float((ink * (across + 0.5)).sum()) / total


def fit_drawn(ink: NDArray[Any], habits: Habits, shape: tuple[int, int, int]) -> NDArray[np.float32]:
    """Bring ink from 0 to 1 to the form of a run's pictures: (1, channels, rows, columns), in their own range."""
    channels, height, width = shape
    given = np.asarray(ink, np.float64)
    laid = _centred(given, habits, height, width) if habits.glyphs else _resized(given, height, width)
    shown = np.abs(habits.paper - np.clip(laid, 0.0, 1.0))
    values = habits.low + shown * (habits.high - habits.low)
    return np.broadcast_to(values, (1, channels, height, width)).astype(np.float32)


def _centred(ink: Floats, habits: Habits, height: int, width: int) -> Floats:
    """Crop to the ink, scale it to the usual extent, and put its centre of mass where it usually lies."""
    box = _box(ink)
    if box is None:
        raise TrainingError("the picture is empty: draw something on it first.")
    top, bottom, left, right = box
    crop = ink[top:bottom, left:right]
    side = max(1.0, habits.extent * min(height, width))
    factor = side / max(crop.shape)
    rows, columns = (max(1, round(size * factor)) for size in crop.shape)
    small = _resized(crop, min(rows, height), min(columns, width))
    # Thin strokes fade when they are made small: the darkest spot is full ink again, as the data's own.
    small = small / max(float(small.max()), 1e-9) * min(1.0, float(crop.max()))
    mass = _mass(small)
    places = [
        int(np.clip(round(share * whole - own), 0, whole - part))
        for share, whole, own, part in zip(habits.centre, (height, width), mass, small.shape, strict=True)
    ]
    laid = np.zeros((height, width))
    laid[places[0] : places[0] + small.shape[0], places[1] : places[1] + small.shape[1]] = small
    return laid


def _resized(values: Floats, height: int, width: int) -> Floats:
    # Bilinear with the reach of the larger picture, so that nothing falls between two cells.
    made = Image.fromarray(values.astype(np.float32)).resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(made, np.float64)


def fit_image(content: str, habits: Habits, shape: tuple[int, int, int]) -> NDArray[np.float32]:
    """Bring an image file in base64 to the form of a run's pictures."""
    channels, height, width = shape
    image = _decoded(content)
    if channels == 1 and habits.glyphs:
        grey = np.asarray(image.convert("L"), np.float64) / 255.0
        edge = np.concatenate([grey[0], grey[-1], grey[:, 0], grey[:, -1]])
        ink = np.abs(grey - float(np.median(edge)))
        return fit_drawn(ink / max(float(ink.max()), 1e-9), habits, shape)
    picture = image.convert("L" if channels == 1 else "RGB").resize((width, height), Image.Resampling.BILINEAR)
    pixels = np.asarray(picture, np.float64).reshape(height, width, channels) / 255.0
    values = habits.low + np.moveaxis(pixels, -1, 0)[None] * (habits.high - habits.low)
    return values.astype(np.float32)


def _decoded(content: str) -> Image.Image:
    try:
        data = base64.b64decode(content.partition(",")[2] if content.startswith("data:") else content, validate=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            image = Image.open(io.BytesIO(data), formats=IMAGE_FORMATS)
        if image.width * image.height > _MOST_PIXELS:
            raise TrainingError(
                f"the image has {image.height}×{image.width} pixels; at most {_MOST_PIXELS} are read, make it smaller."
            )
        image.load()
    except binascii.Error:
        raise TrainingError("the image is not written in base64; send the bytes of a PNG or JPEG file so.") from None
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError):
        raise TrainingError("the image cannot be read; give a whole PNG, JPEG, BMP or WebP file.") from None
    return image
