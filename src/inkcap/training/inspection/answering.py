"""Asking a run about one sample, of its data, drawn, from a file or typed: what it answers, and how it came to it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from inkcap.training.data import Dataset
from inkcap.training.data.preview import target_text
from inkcap.training.errors import TrainingError
from inkcap.training.facts import CapsuleFacts
from inkcap.training.feeding import parse_feed
from inkcap.training.inspection.activations import activations_of
from inkcap.training.inspection.drawn import Habits, fit_drawn, fit_image, habits_of
from inkcap.training.inspection.looking import Looking
from inkcap.training.inspection.marking import found_marks, marks_there
from inkcap.training.inspection.summary import Plain, cells, finite, picture
from inkcap.training.losses import loss_function
from inkcap.training.material import prepared_input
from inkcap.training.prediction import OutputPrediction, arrays_by_input, read_output
from inkcap.training.targets import encode_target

_MOST_CLASSES = 20
_MOST_NUMBERS = 256
_SHOWN = 12
_THUMBNAIL = 64

Arrays = list[NDArray[Any]]


@dataclass(frozen=True)
class Asked:
    """One sample that a run is asked about: an array for each input, and where it came from the data its number."""

    arrays: Arrays
    part: Dataset | None = None
    number: int = 0


def answer(looking: Looking, asked: Asked, epoch: int | None = None) -> Plain:
    """Ask a run about one sample."""
    chosen = looking.at(epoch)
    inputs = prepared(looking, asked.arrays)
    outputs = looking.answer(inputs)
    answers = [
        _told(looking, read_output(looking.opened, place, value)) | _truth(looking, asked, place, inputs)
        for place, value in enumerate(outputs)
    ]
    why = None
    activations: dict[str, Plain] = {}
    couplings: dict[str, Plain] = {}
    if looking.network.plain is None:
        activations, couplings = activations_of(looking, inputs)
    else:
        why = "Neurons in columns give no activations of single ones; draw capsules, or let 'contract' make them."
    place = main_input(looking)
    return {
        "epoch": chosen,
        "fed": thumbnail(looking, place, asked.arrays[place][0]),
        "text": numbers_text(asked.arrays[place][0]),
        "answers": answers,
        "activations": activations,
        "couplings": couplings,
        "why": why,
    }


def prepared(looking: Looking, arrays: Arrays) -> list[Tensor]:
    """Prepare samples as the run's own were."""
    opened = looking.opened
    return [
        prepared_input(
            values, opened.facts, place, opened.preparation, opened.fit.inputs[opened.facts.inputs[place].name]
        )
        for place, values in enumerate(arrays)
    ]


def main_input(looking: Looking) -> int:
    """Give the place of the input that is asked about: the first that is not fed with labels."""
    fed = parse_feed(looking.recipe.data.feed)
    return next((i for i, capsule in enumerate(looking.facts.inputs) if capsule.name not in fed), 0)


def of_example(looking: Looking, part_name: str, number: int) -> Asked:
    """Take a sample of the run's data."""
    part = looking.part(part_name)
    if not 0 <= number < len(part):
        raise TrainingError(f"the {part_name} part has the samples 0 to {len(part) - 1}; {number} is none of them.")
    names = [looking.opened.fit.inputs[capsule.name] for capsule in looking.facts.inputs]
    return Asked([part.inputs[name][number : number + 1] for name in names], part, number)


def of_picture(looking: Looking, rows: list[list[float]]) -> Asked:
    """Take a picture that was drawn by hand, ink from 0 to 1."""
    if not rows or not rows[0] or len({len(row) for row in rows}) != 1:
        raise TrainingError("the rows of the picture differ in length; give each one as many numbers.")
    ink = np.array(rows, np.float64)
    if not np.isfinite(ink).all() or ink.min() < 0 or ink.max() > 1:
        raise TrainingError(
            "the numbers of the picture go from 0, which is paper, to 1, which is ink; bring them there."
        )
    habits, shape = _habits(looking)
    return _alone(looking, fit_drawn(ink, habits, shape))


def of_image(looking: Looking, content: str) -> Asked:
    """Take a picture file in base64."""
    habits, shape = _habits(looking)
    return _alone(looking, fit_image(content, habits, shape))


def of_values(looking: Looking, values: list[float]) -> Asked:
    """Take numbers as they come from their source, those of several inputs one behind another."""
    given = np.array(values, np.float32)
    fed = parse_feed(looking.recipe.data.feed)
    asked = [capsule for capsule in looking.facts.inputs if capsule.name not in fed] or list(looking.facts.inputs)
    wanted = sum(capsule.size for capsule in asked)
    if given.size != wanted:
        raise TrainingError(f"{looking.folder.id} takes {wanted} numbers, not {given.size}; give as many.")
    found: dict[str, NDArray[Any]] = {}
    start = 0
    for capsule in asked:
        shape = looking.opened.preparation.scaling_of(looking.opened.fit.inputs[capsule.name]).shape
        found[capsule.name] = given[start : start + capsule.size].reshape(1, *shape)
        start += capsule.size
    return Asked(arrays_by_input(looking.opened, found))


def _alone(looking: Looking, values: NDArray[Any]) -> Asked:
    name = looking.facts.inputs[main_input(looking)].name
    return Asked(arrays_by_input(looking.opened, {name: values}))


def _habits(looking: Looking) -> tuple[Habits, tuple[int, int, int]]:
    """Tell how the pictures of a run look; a run that takes none is refused."""
    capsule = looking.facts.inputs[main_input(looking)]
    name = looking.opened.fit.inputs[capsule.name]
    scaling = looking.opened.preparation.scaling_of(name)
    if len(scaling.shape) != 3 or scaling.shape[0] not in (1, 3):
        raise TrainingError(
            f"{looking.folder.id} takes {capsule.size} numbers, not pictures; give values, or a sample of its data."
        )
    channels, height, width = scaling.shape
    habits = looking.kept("habits", lambda: habits_of(looking.part("training").inputs[name], scaling.value_range))
    return habits, (channels, height, width)


def _told(looking: Looking, found: OutputPrediction) -> Plain:
    told: Plain = {"output": found.name, "meaning": found.meaning, "classes": None, "values": None}
    marks = found_marks(looking, found, 0)
    if marks is not None:
        return told | {"found": marks}
    if found.kind == "numbers" or not (best := found.best(0, _MOST_CLASSES)):
        return told | {"values": cells(found.values[0].reshape(-1)[:_MOST_NUMBERS]), "found": None}
    return told | {"classes": [{"name": name, "share": finite(share)} for name, share in best], "found": None}


def _truth(looking: Looking, asked: Asked, place: int, inputs: list[Tensor]) -> Plain:
    """Tell what the data say, and the loss of this output; nothing for what is not of the data."""
    if asked.part is None:
        return {"truth": None, "loss": None, "there": None}
    output = looking.facts.outputs[place]
    value = looking.score(inputs)[place]
    target = encoded(looking, asked.part.subset([asked.number]), output)
    spec = next(loss for loss in looking.recipe.losses if loss.output == output.name)
    loss = float(loss_function(spec, output)(value, target))
    there = marks_there(looking, asked.part, asked.number, output)
    truth = None if there else label_of(looking, asked.part, asked.number, output.name)
    return {"truth": truth, "loss": finite(loss), "there": there}


def encoded(looking: Looking, part: Dataset, output: CapsuleFacts) -> Tensor:
    """Give the targets of some samples as the loss of an output takes them."""
    name = looking.opened.fit.outputs[output.name]
    kind = next(loss.kind for loss in looking.recipe.losses if loss.output == output.name)
    return encode_target(looking.opened.preparation.apply_targets(part.targets[name], name), output, kind, name)


def label_of(looking: Looking, part: Dataset, number: int, output: str | None = None) -> str | None:
    """Say what the data say of a sample: its class, or its numbers in short."""
    first = output or looking.facts.outputs[0].name
    target = looking.opened.fit.outputs[first]
    value = part.targets[target][number]
    if value.size > _SHOWN:
        return None
    return target_text(part, number, target).partition("=")[2]


def numbers_text(values: NDArray[Any]) -> str:
    """Write the first numbers of a sample."""
    flat = np.asarray(values).reshape(-1)
    more = f" … ({flat.size} in all)" if flat.size > _SHOWN else ""
    return " ".join(f"{float(number):.4g}" for number in flat[:_SHOWN]) + more


def thumbnail(looking: Looking, place: int, values: NDArray[Any]) -> Plain | None:
    """Give a sample of an input as a small picture from 0 to 1; None where it is none."""
    name = looking.opened.fit.inputs[looking.facts.inputs[place].name]
    if values.ndim != 3 or values.shape[0] not in (1, 3):
        return None
    known = looking.opened.preparation.scaling_of(name).value_range

    def limits() -> tuple[float, float]:
        some = looking.part("training").inputs[name][:256]
        return float(np.nanmin(some)), float(np.nanmax(some))

    low, high = known if known is not None else looking.kept("limits", limits)
    return picture(np.clip((values.astype(np.float64) - low) / ((high - low) or 1.0), 0.0, 1.0), _THUMBNAIL)
