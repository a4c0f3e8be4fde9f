"""Asking a run: class names with their probabilities, or numbers in the target's own scale."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from inkcap.engine.inference import EngineMaker, EngineName, make_answerer
from inkcap.recipes import RunFolder
from inkcap.recipes.runfolder import WeightsName
from inkcap.training.detecting import decoder
from inkcap.training.environment import choose_device, steady
from inkcap.training.errors import TrainingError
from inkcap.training.feeding import parse_feed
from inkcap.training.losses import to_probabilities
from inkcap.training.mask_loss import rows_of
from inkcap.training.material import prepared_input
from inkcap.training.opened import OpenedRun, open_run
from inkcap.training.scores import outputs_of
from inkcap.training.targets import TargetKind

BATCH = 256
"""Samples that are answered at a time."""


@dataclass(frozen=True)
class OutputPrediction:
    """The answers of one output for all samples.

    `values` are probabilities, or scores such as lengths when the loss was not of a logarithm, for classes and bits,
    detections for boxes, rows of label, score, x1, y1, x2, y2, instances for masks, maps whose pixels of the i-th item
    with the label l have the number i + 256·l, and numbers for everything else. `labels` are the numbers of the
    classes; None for other outputs.
    """

    name: str
    kind: TargetKind
    meaning: Literal["probabilities", "scores", "numbers", "detections", "instances"]
    values: NDArray[Any]
    labels: NDArray[np.int64] | None
    classes: tuple[str, ...]

    def best(self, sample: int, count: int = 3) -> list[tuple[str, float]]:
        """Give the likeliest classes, or the surest boxes, of one sample, best first; empty for measured outputs."""
        if self.meaning == "detections":
            return self._boxes(sample, count)
        row: NDArray[Any] = np.asarray(self.values[sample], dtype=np.float64)
        if (
            self.kind not in ("classes", "bits")
            or (self.kind == "bits" and row.size != 1)
            or (self.kind == "classes" and row.ndim > 1)
        ):
            return []
        if self.kind == "bits":
            row = np.array([1.0 - row.item(), row.item()])
        order = np.argsort(-row, kind="stable")[:count]
        names = self.classes or tuple(str(number) for number in range(len(row)))
        return [(names[int(i)], float(row[int(i)])) for i in order]

    def _boxes(self, sample: int, count: int) -> list[tuple[str, float]]:
        names = dict(enumerate(self.classes))
        rows = [row for row in self.values[sample].tolist() if row[0] > 0][:count]
        places = (" ".join(f"{number:.1f}" for number in row[2:]) for row in rows)
        return [(f"{names.get(int(r[0]), int(r[0]))} at {at}", r[1]) for r, at in zip(rows, places, strict=True)]


@dataclass(frozen=True)
class Prediction:
    """The answers of a run for some samples."""

    run: str
    samples: int
    outputs: Mapping[str, OutputPrediction]


def predict(
    run: RunFolder | Path | str,
    inputs: NDArray[Any] | Mapping[str, NDArray[Any]],
    *,
    weights: WeightsName = "best",
    engine: EngineName | EngineMaker = "auto",
) -> Prediction:
    """Ask a run about samples as they come from their source; they are prepared like the data it was trained on.

    A network with one input takes an array (samples first), one with several takes an array for each input by name.
    The engine "auto" freezes the network where there is enough to answer; "eager", "frozen" and "compiled" ask for one
    way, and ``inkcap.exchange.by_onnxruntime`` for another.
    """
    opened = open_run(run, weights)
    arrays = arrays_by_input(opened, inputs)
    asked = Asked(opened, engine, len(arrays[0]))
    return Prediction(opened.run.id, len(arrays[0]), asked.outputs(asked.values(arrays)))


class Asked:
    """An opened run that is asked about many samples: made once, it answers some at a time.

    `samples` are all that it will be asked about, by which the engine "auto" chooses.
    """

    def __init__(self, opened: OpenedRun, engine: EngineName | EngineMaker, samples: int) -> None:
        """Make what answers."""
        self.opened = opened
        self.device = choose_device(opened.recipe.device, opened.facts)
        with self._steadily():
            module = opened.module.to(self.device)
            self._answer = make_answerer(opened.network, module, engine, samples=samples, batch=BATCH)

    @contextmanager
    def _steadily(self) -> Generator[None]:
        recipe = self.opened.recipe
        with steady(recipe.seed, recipe.threads, self.device), torch.no_grad():
            yield

    def values(self, arrays: Sequence[NDArray[Any]]) -> list[Tensor]:
        """Give each output for an array for each input, checked by `arrays_by_input`; a batch is computed at a time."""
        opened, found = self.opened, [list[Tensor]() for _ in self.opened.facts.outputs]
        names = [opened.fit.inputs[capsule.name] for capsule in opened.facts.inputs]
        with self._steadily():
            for start in range(0, len(arrays[0]), BATCH):
                batch = [
                    prepared_input(values[start : start + BATCH], opened.facts, place, opened.preparation, name)
                    for place, (values, name) in enumerate(zip(arrays, names, strict=True))
                ]
                answers = outputs_of(self._answer(*(values.to(self.device) for values in batch)))
                for parts, value in zip(found, answers, strict=True):
                    parts.append(value.cpu())
            return [torch.cat(parts) for parts in found]

    def outputs(self, values: Sequence[Tensor], first: int = 0) -> dict[str, OutputPrediction]:
        """Turn outputs into probabilities, scores or numbers; the first sample has a number in messages."""
        with self._steadily():
            return {
                output.name: read_output(self.opened, place, values[place], first)
                for place, output in enumerate(self.opened.facts.outputs)
            }


def arrays_by_input(
    opened: OpenedRun, inputs: NDArray[Any] | Mapping[str, NDArray[Any]], first: int = 0
) -> list[NDArray[Any]]:
    """Give an array for each input of the network, checked; what is fed with labels gets zeros."""
    names = [capsule.name for capsule in opened.facts.inputs]
    fed = parse_feed(opened.recipe.data.feed)
    asked = [name for name in names if name not in fed]
    if not isinstance(inputs, Mapping) and len(asked) == 1 < len(names):
        inputs = {asked[0]: inputs}
    if not isinstance(inputs, Mapping):
        if len(names) != 1:
            raise TrainingError(
                f"{opened.run.id} has {len(names)} inputs ({', '.join(names)}); give one array for each."
            )
        arrays = [_as_array(opened, names[0], inputs)]
    elif len(names) == 1 and set(inputs) == set(elements := opened.facts.inputs[0].elements):
        columns = [_as_array(opened, name, inputs[name]).reshape(-1) for name in elements]
        if len({len(column) for column in columns}) != 1:
            raise TrainingError(f"{opened.run.id}: every input needs the same number of samples, at least one.")
        arrays = [np.stack(columns, axis=1)]
    else:
        given = {str(name): _as_array(opened, str(name), values) for name, values in inputs.items()}
        of_data = {data: name for name, data in opened.fit.inputs.items()}
        given = {name if name in names else of_data.get(name, name): values for name, values in given.items()}
        count = max((len(values) for values in given.values() if values.ndim), default=0)
        for capsule in opened.facts.inputs:
            if capsule.name in fed and capsule.name not in given:
                # Labels are what is asked for: without them a network goes by what it finds itself.
                given[capsule.name] = np.zeros((count, *capsule.shape), np.float32)
        if set(given) != set(names):
            shown = ", ".join(sorted(given)) or "none"
            raise TrainingError(f"{opened.run.id} has the inputs {', '.join(names)}, but these were given: {shown}.")
        arrays = [given[name] for name in names]
    counts = {len(values) if values.ndim else 0 for values in arrays}
    if len(counts) != 1 or counts == {0}:
        raise TrainingError(f"{opened.run.id}: every input needs the same number of samples, at least one.")
    for name, values in zip(names, arrays, strict=True):
        _check_finite(opened, name, values, first)
    return arrays


def _as_array(opened: OpenedRun, name: str, values: object) -> NDArray[Any]:
    """Give an input as an array of numbers."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise TrainingError(
            f"{opened.run.id}, input {name!r}: the samples differ in their shapes; give each one as many numbers."
        ) from None
    if array.dtype.kind not in "biuf":
        raise TrainingError(f"{opened.run.id}, input {name!r}: {array.dtype} is no type of numbers; give numbers.")
    return array


def _check_finite(opened: OpenedRun, name: str, values: NDArray[Any], first: int) -> None:
    """Refuse NaN and infinity, but for the missing values that the run knows how to fill."""
    scaling = opened.preparation.inputs[opened.fit.inputs[name]]
    with np.errstate(over="ignore"):
        good = np.isfinite(values.astype(np.float32)) | (np.isnan(values) & bool(scaling.fill))
    if not good.all():
        sample = int(np.flatnonzero(~good.reshape(len(good), -1).all(axis=1))[0])
        raise TrainingError(
            f"{opened.run.id}, input {name!r}, sample {first + sample}: a value is not a finite number of float32; "
            "correct it."
        )


def read_output(opened: OpenedRun, place: int, value: Tensor, first: int = 0) -> OutputPrediction:
    """Turn an output into probabilities, scores or numbers."""
    output = opened.facts.outputs[place]
    spec = next(spec for spec in opened.recipe.losses if spec.output == output.name)
    loss = spec.kind
    kind = opened.targets[output.name]
    values: NDArray[Any] = to_probabilities(value, output, loss).numpy()
    if not np.isfinite(values).all():
        sample = int(np.flatnonzero(~np.isfinite(values).reshape(len(values), -1).all(axis=1))[0])
        raise TrainingError(
            f"{opened.run.id}, output {output.name!r}: the answer to sample {first + sample} is not finite; "
            "give inputs of the size that the run was trained on."
        )
    classes = opened.classes.get(output.name, ())
    if kind == "boxes":
        values = values[:, 0] if loss == "boxes" else decoder(output, loss, spec.options)(value).numpy()
        return OutputPrediction(output.name, kind, "detections", values, None, classes)
    if kind == "instances":
        maps = rows_of(output, spec.options).painted(value, output.picture or (1, 1)).numpy()
        return OutputPrediction(output.name, kind, "instances", maps, None, classes)
    if kind not in ("classes", "bits"):
        target = opened.fit.outputs[output.name]
        if target in opened.preparation.targets:
            shape = opened.preparation.targets[target].shape
            shaped = values.reshape(len(values), *(shape if len(shape) > 1 else (-1,)))
            values = opened.preparation.restore_targets(shaped, target).reshape(values.shape)
        return OutputPrediction(output.name, kind, "numbers", values, None, ())
    meaning = "probabilities" if loss in ("cross-entropy", "binary-cross-entropy") else "scores"
    labels = values.argmax(axis=output.class_axis) if kind == "classes" else (values > 0.5)
    return OutputPrediction(output.name, kind, meaning, values, labels.astype(np.int64), classes)
