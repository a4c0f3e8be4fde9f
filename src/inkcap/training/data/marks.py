"""What is where on a picture, as a page lays it over: boxes with their labels, and the class of every pixel."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkcap.training.data.dataset import Dataset
from inkcap.training.data.placed import INSTANCES, resize_map, with_labels

Marks = dict[str, Any]
LARGEST_MAP = 128
"""Maps with a longer side are told by fewer pixels."""


def marks_of(
    size: tuple[int, int],
    classes: tuple[str, ...],
    boxes: NDArray[Any] | None = None,
    pixels: NDArray[Any] | None = None,
    most: int = LARGEST_MAP,
) -> Marks:
    """Give boxes (rows of label, x1, y1, x2, y2, or of label, score and these) and a map (M, N) as plain values.

    The size is the height and width in whose pixels boxes are told; rows with the label 0 are none.
    """
    return {
        "height": size[0],
        "width": size[1],
        "classes": list(classes),
        "boxes": [] if boxes is None else [_box(row, classes) for row in boxes.tolist() if row[0] > 0],
        "pixels": None if pixels is None else _small(pixels, most).tolist(),
    }


def _box(row: list[float], classes: tuple[str, ...]) -> Marks:
    label, *score, x1, y1, x2, y2 = row
    name = classes[int(label)] if int(label) < len(classes) else str(int(label))
    corners = [round(number, 2) for number in (x1, y1, x2, y2)]
    return {"label": int(label), "name": name, "score": round(score[0], 4) if score else None, "corners": corners}


def _small(pixels: NDArray[Any], most: int) -> NDArray[Any]:
    height, width = pixels.shape
    step = max(height, width) / most
    if step <= 1:
        return pixels.astype(np.int64)
    return resize_map(pixels[None].astype(np.int64), (max(1, int(height / step)), max(1, int(width / step))))[0]


def true_marks(dataset: Dataset, number: int, targets: tuple[str, ...] = (), most: int = LARGEST_MAP) -> Marks | None:
    """Lay over a sample's picture what its targets tell of places, or those alone that are named; None for none."""
    known = {layout: name for name, layout in dataset.layouts.items() if not targets or name in targets}
    picture = next((values for values in dataset.inputs.values() if values.ndim == 4), None)
    if picture is None or not known:
        return None
    boxes = dataset.targets[known["boxes"]][number] if "boxes" in known else None
    pixels = dataset.targets[known["classes"]][number] if "classes" in known else None
    if pixels is None and "instances" in known:
        pixels = _of_instances(dataset, number, known["instances"])
    classes = next((found for name in known.values() if (found := dataset.labels_of(name))), ())
    return marks_of((picture.shape[2], picture.shape[3]), classes, boxes, pixels, most)


def _of_instances(dataset: Dataset, number: int, name: str) -> NDArray[Any]:
    """Give every pixel the label of the box it belongs to, or where no boxes are told the number of its thing."""
    instances = dataset.targets[name][number]
    boxes = next((dataset.targets[other] for other, layout in dataset.layouts.items() if layout == "boxes"), None)
    if int(instances.max(initial=0)) >= INSTANCES:
        return instances // INSTANCES
    return instances if boxes is None else with_labels(instances[None], boxes[number : number + 1])[0] // INSTANCES
