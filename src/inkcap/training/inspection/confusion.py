"""Which classes a run takes for which, which samples it is most wrong about, and the samples themselves."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from inkcap.training.data import Dataset
from inkcap.training.data.marks import LARGEST_MAP
from inkcap.training.errors import TrainingError
from inkcap.training.evaluation import count_classes
from inkcap.training.facts import CapsuleFacts
from inkcap.training.inspection.answering import encoded, label_of, main_input, numbers_text, prepared, thumbnail
from inkcap.training.inspection.looking import Looking
from inkcap.training.inspection.marking import found_marks, has_pixels, laid_over, marks_there, places, together
from inkcap.training.inspection.summary import Plain, finite
from inkcap.training.losses import loss_function
from inkcap.training.prediction import OutputPrediction, read_output

_BATCH = 256
_SMALL_MAP = 32
"""Maps over the small pictures of a strip have no more cells a side."""
_MOST_SAMPLES = 20_000
_MOST_OPERATIONS = 5 * 10**11
"""Multiply-adds that one measurement may take: of a part that needs more, samples evenly spread over it are taken."""


@dataclass(frozen=True)
class Measured:
    """A part of the data, measured sample by sample for one output."""

    numbers: NDArray[np.int64]
    """The samples that were measured, by their numbers in the part."""
    losses: NDArray[np.float64]
    answers: list[tuple[str, float] | None]
    """The class that was answered, with its probability or score; None where there is no single one."""
    counts: NDArray[np.int64] | None
    wrong: NDArray[np.bool_]


def confusion(
    looking: Looking,
    part_name: str = "validation",
    epoch: int | None = None,
    worst: int = 24,
    output: str | None = None,
) -> Plain:
    """Count which classes a run takes for which, and find the samples of the largest loss."""
    place = choose_output(looking, output)
    facts = looking.facts.outputs[place]
    chosen = looking.at(epoch)
    part = looking.part(part_name)
    found = _measured(looking, part_name, place)
    counts = found.counts
    order = _worst_first(found)[:worst]
    return {
        "part": part_name,
        "epoch": chosen,
        "output": facts.name,
        "classes": [] if counts is None else list(classes_of(looking, facts)),
        "counts": [] if counts is None else counts.tolist(),
        "accuracy": None if counts is None else float(np.trace(counts) / max(int(counts.sum()), 1)),
        "samples": len(found.numbers),
        "places": places(looking, facts),
        "worst": [_worst(looking, part, found, int(i), facts.name) for i in order],
    }


def examples(
    looking: Looking,
    part_name: str = "validation",
    first: int = 0,
    count: int = 24,
    only: str = "all",
    epoch: int | None = None,
    found: bool = False,
) -> Plain:
    """Give some samples of a part: all in their order, "wrong" ones alone, or the "worst" first.

    With `found`, of a run that tells places, what it finds on each of them.
    """
    part = looking.part(part_name)
    numbers = np.arange(len(part))
    place = choose_output(looking, None)
    if only != "all" or found:
        looking.at(epoch)
    if only == "worst":
        measured = _measured(looking, part_name, place)
        numbers = measured.numbers[_worst_first(measured)]
    elif only == "wrong":
        measured = _measured(looking, part_name, place)
        if measured.counts is None or has_pixels(looking, looking.facts.outputs[place]):
            what = "places" if places(looking, looking.facts.outputs[place]) else "numbers"
            raise TrainingError(f"{looking.folder.id} answers with {what}, which are not right or wrong; look at all.")
        numbers = measured.numbers[measured.wrong]
    chosen = numbers[first : first + count]
    shown = [_example(looking, part, int(number)) for number in chosen]
    if found and shown:
        shown = [one | marks for one, marks in zip(shown, _found(looking, part, chosen, place), strict=True)]
    return {"part": part_name, "count": len(numbers), "examples": shown}


def _example(looking: Looking, part: Dataset, number: int) -> Plain:
    place = main_input(looking)
    output = looking.facts.outputs[choose_output(looking, None)]
    values = part.inputs[looking.opened.fit.inputs[looking.facts.inputs[place].name]][number]
    there = _there(looking, part, number, _SMALL_MAP)
    return {
        "number": number,
        "label": None if there else label_of(looking, part, number, output.name),
        "thumbnail": thumbnail(looking, place, values),
        "text": numbers_text(values),
        "there": there,
        "found": None,
        "loss": None,
    }


def _there(looking: Looking, part: Dataset, number: int, most: int = LARGEST_MAP) -> Plain | None:
    """Give what the data say of the places that the outputs are to tell."""
    told = [marks_there(looking, part, number, output, most) for output in laid_over(looking)]
    return together([marks for marks in told if marks])


@torch.no_grad()
def _found(looking: Looking, part: Dataset, numbers: NDArray[np.int64], place: int) -> list[Plain]:
    """Ask about some samples: what is found on each by all outputs that tell places, and the loss of one output."""
    facts = looking.facts.outputs[place]
    spec = next(loss for loss in looking.recipe.losses if loss.output == facts.name)
    loss_of = loss_function(spec, facts)
    some = part.subset(numbers)
    inputs = prepared(looking, [some.inputs[looking.opened.fit.inputs[one.name]] for one in looking.facts.inputs])
    values = looking.answer(inputs)
    asked = [looking.facts.outputs.index(output) for output in laid_over(looking)]
    said = [read_output(looking.opened, i, values[i]) for i in asked]
    scored, targets = looking.score(inputs)[place], encoded(looking, some, facts)
    return [
        {
            "there": _there(looking, some, i),
            "found": together([marks for one in said if (marks := found_marks(looking, one, i))]),
            "loss": finite(float(loss_of(scored[i : i + 1], targets[i : i + 1]))),
        }
        for i in range(len(numbers))
    ]


def _worst_first(found: Measured) -> NDArray[np.int64]:
    return np.argsort(-np.nan_to_num(found.losses, nan=np.inf), kind="stable")


def _worst(looking: Looking, part: Dataset, found: Measured, i: int, output: str) -> Plain:
    number = int(found.numbers[i])
    answered = found.answers[i]
    shown = _example(looking, part, number)
    return {
        "number": number,
        "truth": shown["label"] if shown["there"] else label_of(looking, part, number, output),
        "answer": answered[0] if answered else None,
        "share": finite(answered[1]) if answered else None,
        "loss": finite(float(found.losses[i])),
        "thumbnail": shown["thumbnail"],
        "text": shown["text"],
    }


def choose_output(looking: Looking, output: str | None) -> int:
    """Give the place of an output: the one that was asked for, the first with classes or with places, or the first."""
    names = [facts.name for facts in looking.facts.outputs]
    if output is not None:
        if output not in names:
            raise TrainingError(f"{looking.folder.id} has no output {output!r}; it has {', '.join(names)}.")
        return names.index(output)
    main = [facts for facts in looking.facts.outputs if classes_of(looking, facts)] or laid_over(looking)
    return names.index(main[0].name) if main else 0


def classes_of(looking: Looking, output: CapsuleFacts) -> tuple[str, ...]:
    """Name the classes among which an output chooses one; none where it gives numbers, boxes, or several bits."""
    kind = looking.opened.targets[output.name]
    named = looking.opened.classes.get(output.name, ())
    if kind not in ("classes", "bits") or (kind == "bits" and output.size != 1):
        return ()
    count = 2 if kind == "bits" else output.classes
    return named if len(named) == count else tuple(str(number) for number in range(count))


def _measured(looking: Looking, part_name: str, place: int) -> Measured:
    return looking.kept(f"measured/{part_name}/{place}", lambda: _measure(looking, part_name, place), by_weights=True)


@torch.no_grad()
def _measure(looking: Looking, part_name: str, place: int) -> Measured:
    part, opened = looking.part(part_name), looking.opened
    facts = looking.facts.outputs[place]
    spec = next(loss for loss in looking.recipe.losses if loss.output == facts.name)
    loss_of, classes = loss_function(spec, facts), classes_of(looking, facts)
    counts = np.zeros((len(classes), len(classes)), np.int64) if classes else None
    numbers = _chosen(looking, len(part))
    names = [opened.fit.inputs[capsule.name] for capsule in looking.facts.inputs]
    losses: list[float] = []
    answers: list[tuple[str, float] | None] = []
    for start in range(0, len(numbers), _BATCH):
        some = part.subset(numbers[start : start + _BATCH])
        inputs = prepared(looking, [some.inputs[name] for name in names])
        scored, targets = looking.score(inputs)[place], encoded(looking, some, facts)
        losses += [float(loss_of(scored[i : i + 1], targets[i : i + 1])) for i in range(len(scored))]
        said = read_output(opened, place, looking.answer(inputs)[place])
        answers += [_best(said, classes, i) for i in range(len(scored))]
        if counts is not None:
            shaped = scored.reshape(len(scored), *facts.shape)
            count_classes(counts, shaped, targets, opened.targets[facts.name], spec.kind, facts.class_axis)
    truths = [label_of(looking, part, int(number), facts.name) for number in numbers]
    wrong = [said is not None and said[0] != truth for said, truth in zip(answers, truths, strict=True)]
    return Measured(numbers, np.array(losses), answers, counts, np.array(wrong, np.bool_))


def _best(said: OutputPrediction, classes: tuple[str, ...], sample: int) -> tuple[str, float] | None:
    """Give the answer to a sample: a class, or a single number."""
    best = said.best(sample, 1) if classes else []
    if best:
        return best[0]
    row: NDArray[Any] = np.asarray(said.values[sample]).reshape(-1)
    return (f"{float(row[0]):.4g}", float(row[0])) if row.size == 1 else None


def _chosen(looking: Looking, count: int) -> NDArray[np.int64]:
    """Choose the samples to measure: all, or so many evenly spread ones as can be measured in a short time."""
    counted = (*looking.network.connections.values(), *looking.network.capsules.values())
    operations = sum(one.multiply_adds for one in counted)
    most = min(_MOST_SAMPLES, max(_BATCH, _MOST_OPERATIONS // max(operations, 1)), count)
    return np.arange(most, dtype=np.int64) * count // max(most, 1)
