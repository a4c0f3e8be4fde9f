"""Varying training samples at random, the same way whatever the batches and loaders.

All random numbers of sample i in epoch e are hashes of (run seed, "augment", e, i). Every kind of change has its own
fixed place among them, so that adding one does not alter the others.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inkcap.training.data import counter
from inkcap.training.data.dataset import Dataset
from inkcap.training.data.errors import DataError
from inkcap.training.data.placed import flip_boxes, shift_boxes
from inkcap.training.data.preparation import Preparation
from inkcap.training.data.wording import listing, near_matches, shape_text

_NAMES = ("crop", "flip", "shift", "rotate", "noise")
_FLIPS = ("horizontal", "vertical", "both")
_PIECE = 1 << 16
"""Values treated at a time: few enough that the work arrays stay in the processor's cache."""

_FLIP_ROW, _FLIP_COLUMN, _CROP_ROW, _CROP_COLUMN, _SHIFT_ROW, _SHIFT_COLUMN, _ANGLE, _DRAWS = range(8)


@dataclass(frozen=True)
class Augmentation:
    """What may happen to a training sample: crop, flip, shift and rotate before normalising, noise after it.

    `crop` pads by so many pixels and crops back at random; `shift` moves by up to so many pixels; both fill with zeros.
    `rotate` turns by up to so many degrees, bilinearly. `noise` is the deviation of normal noise on prepared values.
    """

    crop: int = 0
    flip: str = ""
    shift: int = 0
    rotate: float = 0.0
    noise: float = 0.0

    @staticmethod
    def parse(text: str) -> "Augmentation":
        """Read a text such as `shift=2,rotate=10,flip=horizontal,crop=2,noise=0.05`."""
        given: dict[str, str] = {}
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            name, equals, value = (piece.strip() for piece in part.partition("="))
            if name not in _NAMES:
                raise DataError(
                    f"augment: {name} is not known.{near_matches(name, _NAMES)} Give some of {listing(_NAMES)}."
                )
            if not equals or not value:
                raise DataError(f"augment: {name} has no value. Write for example {_EXAMPLES[name]}.")
            if name in given:
                raise DataError(f"augment: {name} stands there twice. Give it once.")
            given[name] = value
        flip = given.get("flip", "")
        if flip and flip not in _FLIPS:
            raise DataError(f"augment: flip={flip} is not known.{near_matches(flip, _FLIPS)} Give {listing(_FLIPS)}.")
        return Augmentation(
            crop=int(_limited(given, "crop", 1024, whole=True)),
            flip=flip,
            shift=int(_limited(given, "shift", 1024, whole=True)),
            rotate=_limited(given, "rotate", 180.0),
            noise=_limited(given, "noise", 100.0),
        )

    def __str__(self) -> str:
        """Write the text from which this can be parsed again."""
        values = {name: getattr(self, name) for name in _NAMES}
        return ",".join(
            f"{name}={value if isinstance(value, str) else f'{value:.12g}'}" for name, value in values.items() if value
        )

    def __bool__(self) -> bool:
        """Tell whether anything is varied at all."""
        return self.moves_pixels or self.noise > 0.0

    @property
    def moves_pixels(self) -> bool:
        """Tell whether images are changed in their place, which needs images."""
        return bool(self.crop or self.flip or self.shift or self.rotate)

    def to_json(self) -> dict[str, Any]:
        """Write the augmentation as plain values."""
        return {name: getattr(self, name) for name in _NAMES}

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> "Augmentation":
        """Read the augmentation back, with the same checks as for text."""
        return Augmentation.parse(",".join(f"{name}={value}" for name, value in values.items() if value))

    def check(self, dataset: Dataset) -> None:
        """Refuse an augmentation that the data cannot take, before training starts."""
        images = {name: values for name, values in dataset.inputs.items() if values.ndim == 4}
        if self.moves_pixels and not images:
            raise DataError(
                f"{dataset.name} holds no images, so augment={self} cannot be used. Only noise suits such data."
            )
        if self.rotate and dataset.layouts:
            raise DataError(
                f"augment={self}: a turned picture has other boxes, which {listing(dataset.layouts)} of {dataset.name} "
                "do not tell. Use flip, shift, crop and noise."
            )
        for name, values in images.items():
            reach = self.crop + self.shift
            if reach >= min(values.shape[2:]):
                raise DataError(
                    f"augment={self}: crop and shift together reach {reach} pixels, but the images of {name} are "
                    f"{shape_text(values.shape[1:])}. Make them smaller."
                )

    def apply(self, images: NDArray[Any], indices: ArrayLike, epoch: int, seed: int) -> NDArray[Any]:
        """Crop, flip, shift and rotate images (n, d, M, N), before they are normalised.

        `indices` are the samples' numbers in the training set; they, not the places in the batch, decide the draws.
        """
        if not self.moves_pixels or images.ndim != 4 or not len(images):
            return images
        draws = _draws(indices, epoch, seed)
        varied = np.empty_like(images)
        step = max(1, _PIECE // math.prod(images.shape[1:]))
        for start in range(0, len(images), step):
            piece = slice(start, start + step)
            varied[piece] = self._varied(images[piece], draws[piece])
        return varied

    def apply_boxes(
        self, boxes: NDArray[np.float32], size: tuple[int, int], indices: ArrayLike, epoch: int, seed: int
    ) -> NDArray[np.float32]:
        """Move boxes (n, m, 5) as `apply` moves the pictures of that height and width that they tell of."""
        if not self.moves_pixels or not len(boxes):
            return boxes
        draws = _draws(indices, epoch, seed)
        if self.flip in ("horizontal", "both"):
            boxes = flip_boxes(boxes, draws[:, _FLIP_COLUMN] < 0.5, size[1], 1)
        if self.flip in ("vertical", "both"):
            boxes = flip_boxes(boxes, draws[:, _FLIP_ROW] < 0.5, size[0], 2)
        return shift_boxes(boxes, *self._moves(draws), *size) if self.crop or self.shift else boxes

    def add_noise(
        self, prepared: NDArray[np.float32], indices: ArrayLike, epoch: int, seed: int, name: str = "x"
    ) -> NDArray[np.float32]:
        """Add normal noise to prepared values; inputs of different names get different noise."""
        if self.noise <= 0.0 or not len(prepared):
            return prepared
        return self.add_noises(prepared, indices, range(epoch, epoch + 1), seed, name)[0]

    def add_noises(
        self, prepared: NDArray[np.float32], indices: ArrayLike, epochs: range, seed: int, name: str = "x"
    ) -> NDArray[np.float32]:
        """Give for each of some epochs what `add_noise` gives: of few values many epochs cost hardly more than one."""
        chosen = np.asarray(indices, dtype=np.int64).reshape(-1)
        keys = np.array([counter.key_of(seed, "augment", epoch, "noise", name) for epoch in epochs], np.uint64)
        many = (np.repeat(keys, len(chosen)), np.tile(chosen, len(epochs)))
        size = math.prod(prepared.shape[1:])
        noises = counter.normals(*many, size).reshape(len(epochs), len(chosen), size)
        noises *= np.float32(self.noise)
        noises += prepared.reshape(len(prepared), size)
        return noises.reshape(len(epochs), *prepared.shape)

    def _varied(self, images: NDArray[Any], draws: NDArray[np.float64]) -> NDArray[Any]:
        if self.flip:
            images = _flipped(images, self.flip, draws)
        reach = self.crop + self.shift
        if reach:
            images = _moved(images, *self._moves(draws), reach)
        if self.rotate:
            images = rotated(images, (2.0 * draws[:, _ANGLE] - 1.0) * self.rotate)
        return images

    def _moves(self, draws: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Give how far each sample goes down and right."""
        # Padding and cropping back is a move too; adding both moves first keeps what one would push out and
        # the other bring back.
        rows = _spread(draws[:, _CROP_ROW], self.crop) + _spread(draws[:, _SHIFT_ROW], self.shift)
        columns = _spread(draws[:, _CROP_COLUMN], self.crop) + _spread(draws[:, _SHIFT_COLUMN], self.shift)
        return rows, columns


_EXAMPLES = {
    "crop": "crop=2",
    "flip": "flip=horizontal",
    "shift": "shift=2",
    "rotate": "rotate=10",
    "noise": "noise=0.05",
}


def _draws(indices: ArrayLike, epoch: int, seed: int) -> NDArray[np.float64]:
    return counter.uniforms(counter.key_of(seed, "augment", epoch), indices, _DRAWS)


def _limited(given: Mapping[str, str], name: str, most: float, whole: bool = False) -> float:
    """Read a number from 0 to a limit."""
    text = given.get(name, "0")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value <= most or (whole and value != math.floor(value)):
        kind = "whole number of pixels" if whole else "number"
        raise DataError(
            f"augment: {name}={text} must be a {kind} from 0 to {most:g}. Write for example {_EXAMPLES[name]}."
        )
    return value


def _spread(draws: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Turn draws from [0, 1) into whole numbers from -most to most."""
    return np.floor(draws * (2 * most + 1)).astype(np.int64) - most


def _flipped(images: NDArray[Any], flip: str, draws: NDArray[np.float64]) -> NDArray[Any]:
    """Mirror about half of the images."""
    flipped = images.copy()
    if flip in ("horizontal", "both"):
        chosen = draws[:, _FLIP_COLUMN] < 0.5
        flipped[chosen] = flipped[chosen][:, :, :, ::-1]
    if flip in ("vertical", "both"):
        chosen = draws[:, _FLIP_ROW] < 0.5
        flipped[chosen] = flipped[chosen][:, :, ::-1, :]
    return flipped


def _moved(images: NDArray[Any], rows: NDArray[np.int64], columns: NDArray[np.int64], reach: int) -> NDArray[Any]:
    """Move each image down and right by its own number of pixels, with zeros coming in."""
    count, channels, height, width = images.shape
    high, wide = height + 2 * reach, width + 2 * reach
    padded = np.zeros((count, channels, high, wide), images.dtype)
    padded[:, :, reach:-reach, reach:-reach] = images
    starts = np.arange(count * channels, dtype=np.int64).reshape(count, channels) * (high * wide)
    starts += ((reach - rows) * wide + (reach - columns))[:, None]
    down, right = np.indices((height, width), np.int64).reshape(2, -1)
    return padded.reshape(-1).take(starts[:, :, None] + (down * wide + right)).reshape(images.shape)


def rotated(images: NDArray[Any], degrees: NDArray[np.float64]) -> NDArray[Any]:
    """Rotate each image about its middle, anticlockwise by its own angle, bilinearly with zeros from outside."""
    count, channels, height, width = images.shape
    angles = np.deg2rad(degrees)[:, None]
    cosines, sines = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    # Pixels in one row: long rows are what numpy is quick at.
    down, right = (
        (along - np.float32((size - 1) / 2)).reshape(1, -1)
        for along, size in zip(np.indices((height, width), np.float32), (height, width), strict=True)
    )
    # For every pixel of the result, the place in the image it comes from; +1 for the border of zeros below.
    rows = _kept_inside(cosines * down + sines * right, (height - 1) / 2 + 1, height + 1)
    columns = _kept_inside(cosines * right - sines * down, (width - 1) / 2 + 1, width + 1)
    top = np.clip(np.floor(rows), np.float32(0), np.float32(height))
    left = np.clip(np.floor(columns), np.float32(0), np.float32(width))
    below, beside = (rows - top)[:, None], (columns - left)[:, None]
    padded: NDArray[Any] = np.zeros((count, channels, height + 2, width + 2), np.float32)
    padded[:, :, 1:-1, 1:-1] = images
    # Numbers of pixels are exact in float32 below 2²⁴, and quicker there.
    exact = np.float32 if padded[0, 0].size < 1 << 24 else np.float64
    corner = (top.astype(exact, copy=False) * exact(width + 2) + left).astype(np.int64)
    starts = (np.arange(count * channels, dtype=np.int64) * padded[0, 0].size).reshape(count, channels, 1)
    places = starts + corner[:, None]
    upper = _at(padded, places, beside)
    places += width + 2
    turned = _between(upper, _at(padded, places, beside), below).reshape(images.shape)
    whole = images.dtype.kind in "iu"
    return (np.rint(turned) if whole else turned).astype(images.dtype)


def _kept_inside(places: NDArray[Any], middle: float, most: int) -> NDArray[Any]:
    """Count places from the edge instead of the middle, none beyond the border."""
    places += np.float32(middle)
    return np.clip(places, np.float32(0), np.float32(most), out=places)


def _at(values: NDArray[Any], places: NDArray[np.int64], beside: NDArray[Any]) -> NDArray[Any]:
    """Take what lies between the values at some places and those that follow them."""
    flat = values.reshape(-1)
    return _between(flat.take(places), flat[1:].take(places), beside)


def _between(first: NDArray[Any], second: NDArray[Any], share: NDArray[Any]) -> NDArray[Any]:
    """Interpolate between two values, in the place of the second."""
    second -= first
    second *= share
    second += first
    return second


def prepare_batch(
    dataset: Dataset,
    indices: ArrayLike,
    preparation: Preparation,
    augmentation: Augmentation | None = None,
    *,
    epoch: int = 0,
    seed: int = 0,
) -> dict[str, NDArray[np.float32]]:
    """Take some samples of a dataset through resizing, augmentation, normalising and noise, for every input."""
    chosen = np.asarray(indices, dtype=np.int64).reshape(-1)
    prepared: dict[str, NDArray[np.float32]] = {}
    for name, values in dataset.inputs.items():
        batch = preparation.resized_images(values[chosen])
        if augmentation is None or not augmentation:
            prepared[name] = preparation.apply(batch, name)
            continue
        varied = augmentation.apply(batch, chosen, epoch, seed)
        prepared[name] = augmentation.add_noise(preparation.apply(varied, name), chosen, epoch, seed, name)
    return prepared
