"""What a network of two input numbers answers over the plane, with the samples that it was trained on."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from inkcap.training.errors import TrainingError
from inkcap.training.inspection.answering import Arrays, prepared
from inkcap.training.inspection.confusion import choose_output, classes_of
from inkcap.training.inspection.looking import Looking
from inkcap.training.inspection.summary import Plain, cells
from inkcap.training.prediction import OutputPrediction, read_output
from inkcap.training.samples import columns_of

_MARGIN = 0.1
_MOST_POINTS = 1000
_BATCH = 4096


def surface(looking: Looking, epoch: int | None = None, cells_wanted: int = 64) -> Plain:
    """Give the answers over the plane: a class and its share for each cell, or a value."""
    place = choose_output(looking, None)
    names = _names(looking)
    points = _points(looking)
    chosen = looking.at(epoch)
    spans = [_span(points[:, axis]) for axis in (0, 1)]
    centres = [low + (np.arange(cells_wanted) + 0.5) * (high - low) / cells_wanted for low, high in spans]
    grid = np.stack([axis.ravel() for axis in np.meshgrid(*centres)], axis=1).astype(np.float32)
    said = _asked(looking, grid, place)
    facts = looking.facts.outputs[place]
    classes = classes_of(looking, facts)
    told: Plain = {
        "epoch": chosen,
        "x": list(spans[0]),
        "y": list(spans[1]),
        "names": names,
        "classes": list(classes),
        "winner": None,
        "share": None,
        "value": None,
        "points": _shown(looking, points, place, bool(classes)),
    }
    shape = (cells_wanted, cells_wanted)
    if not classes:
        return told | {"value": cells(said.values.reshape(len(grid), -1)[:, 0].reshape(shape))}
    shares = said.values.reshape(len(grid), -1).astype(np.float64)
    if said.kind == "bits":
        shares = np.stack([1.0 - shares[:, 0], shares[:, 0]], axis=1)
    return told | {
        "winner": shares.argmax(1).reshape(shape).tolist(),
        "share": cells(shares.max(1).reshape(shape)),
    }


def _names(looking: Looking) -> list[str]:
    """Name the two input numbers; any other network is refused."""
    inputs = looking.facts.inputs
    if sum(capsule.size for capsule in inputs) != 2:
        sizes = " and ".join(capsule.shape_text() for capsule in inputs)
        raise TrainingError(
            f"{looking.folder.id} takes {sizes}; a surface is drawn for networks of two input numbers alone."
        )
    if len(inputs) == 2:
        return [capsule.name for capsule in inputs]
    columns = columns_of(looking.opened.manifest, "features")
    if inputs[0].elements:
        return list(inputs[0].elements)
    return list(columns) if len(columns) == 2 else [f"{inputs[0].name}1", f"{inputs[0].name}2"]


def _points(looking: Looking) -> NDArray[Any]:
    """Give the training samples as points."""
    part = looking.part("training")
    names = [looking.opened.fit.inputs[capsule.name] for capsule in looking.facts.inputs]
    return np.concatenate([part.inputs[name].reshape(len(part), -1) for name in names], axis=1).astype(np.float64)


def _span(values: NDArray[Any]) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    margin = _MARGIN * (high - low) or 1.0
    return low - margin, high + margin


@torch.no_grad()
def _asked(looking: Looking, grid: NDArray[Any], place: int) -> OutputPrediction:
    shapes = [
        looking.opened.preparation.scaling_of(looking.opened.fit.inputs[capsule.name]).shape
        for capsule in looking.facts.inputs
    ]
    found: list[torch.Tensor] = []
    for start in range(0, len(grid), _BATCH):
        some = grid[start : start + _BATCH]
        arrays: Arrays = [some] if len(shapes) == 1 else [some[:, :1], some[:, 1:]]
        laid = [values.reshape(len(some), *shape) for values, shape in zip(arrays, shapes, strict=True)]
        found.append(looking.answer(prepared(looking, laid))[place])
    return read_output(looking.opened, place, torch.cat(found))


def _shown(looking: Looking, points: NDArray[Any], place: int, classes: bool) -> list[Plain]:
    part = looking.part("training")
    targets = part.targets[looking.opened.fit.outputs[looking.facts.outputs[place].name]].reshape(len(part), -1)
    count = min(len(points), _MOST_POINTS)
    told: list[Plain] = []
    for i in np.arange(count) * len(points) // max(count, 1):
        number = float(targets[i, 0])
        where = {"x": float(points[i, 0]), "y": float(points[i, 1])}
        told.append({**where, "class": int(number) if classes else None, "value": None if classes else number})
    return told
