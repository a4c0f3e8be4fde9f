"""Targets that tell places of a picture: boxes and maps, which go with the picture wherever it is moved.

A box is x1, y1, x2, y2 in pixels, x to the right and y downwards; a row of a target is its label and its box, and a row
with the label 0 is no box. A map has a whole number for every pixel.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float32]

INSTANCES = 256
"""Pixels of the i-th box with the label l have the number i + 256·l where masks are learnt; so at most 255 boxes."""


def with_labels(instances: NDArray[Any], boxes: Numbers) -> NDArray[np.int64]:
    """Give maps of instances in which every number tells the label of its box too."""
    labels = np.concatenate([np.zeros((len(boxes), 1)), boxes[..., 0]], axis=1).astype(np.int64)
    numbers = instances.astype(np.int64)
    return numbers + INSTANCES * labels[np.arange(len(boxes))[:, None, None], np.minimum(numbers, labels.shape[1] - 1)]


def flip_boxes(boxes: Numbers, chosen: NDArray[np.bool_], length: int, first: int) -> Numbers:
    """Mirror the boxes of the chosen samples: `first` is 1 for left and right, 2 for top and bottom."""
    flipped = boxes.copy()
    near, far = boxes[chosen][..., first], boxes[chosen][..., first + 2]
    mirrored = flipped[chosen]
    mirrored[..., first], mirrored[..., first + 2] = length - far, length - near
    flipped[chosen] = mirrored
    return _only_real(flipped)


def shift_boxes(boxes: Numbers, down: NDArray[Any], right: NDArray[Any], height: int, width: int) -> Numbers:
    """Move the boxes of each sample and cut them at the picture's edges; what is left of none becomes no box."""
    moved = boxes.copy()
    for first, by, length in ((1, right, width), (2, down, height)):
        for column in (first, first + 2):
            moved[..., column] = np.clip(moved[..., column] + by[:, None], 0, length)
    outside = (moved[..., 3] <= moved[..., 1]) | (moved[..., 4] <= moved[..., 2])
    moved[outside] = 0.0
    return _only_real(moved)


def scale_boxes(boxes: Numbers, old: tuple[int, int], new: tuple[int, int]) -> Numbers:
    """Bring boxes of pictures of one height and width to another."""
    down, right = new[0] / old[0], new[1] / old[1]
    return boxes * np.array([1.0, right, down, right, down], np.float32)


def resize_map(values: NDArray[Any], new: tuple[int, int]) -> NDArray[Any]:
    """Bring maps (n, M, N) to another size by their nearest pixels: whole numbers cannot be mixed."""
    rows, columns = (
        np.minimum(((np.arange(size) + 0.5) * old / size).astype(np.int64), old - 1)
        for size, old in zip(new, values.shape[1:], strict=True)
    )
    return np.ascontiguousarray(values[:, rows[:, None], columns[None, :]])


def _only_real(boxes: Numbers) -> Numbers:
    boxes[boxes[..., 0] == 0] = 0.0
    return boxes
