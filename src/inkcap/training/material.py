"""Data for one network: loaded, checked, matched with its inputs and outputs, split and prepared."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from inkcap.recipes import DataSpec, LossSpec, Recipe, complete_losses
from inkcap.training.batches import Batches, Finish, aligned
from inkcap.training.data import (
    Augmentation,
    Dataset,
    Fit,
    Preparation,
    fit_to,
    load_named,
    parse_size,
    split,
    validate,
)
from inkcap.training.data.download import Progress
from inkcap.training.errors import TrainingError
from inkcap.training.facts import CapsuleFacts, NetworkFacts
from inkcap.training.feeding import Feed, fed, find_feed, notes_of, parse_feed, prepare_fed, show_feed
from inkcap.training.spreading import spread
from inkcap.training.suiting import suited
from inkcap.training.targets import EMBEDDING, TargetKind, encode_target, target_kind, usual_loss

# Prepared once, a set costs memory and no time in the steps; above this it is prepared batch by batch instead.
_READY_BYTES = 1 << 30


@dataclass(frozen=True)
class Material:
    """The data of a run. `recipe` has its losses chosen; `fit` says which data feed which input and output."""

    facts: NetworkFacts
    recipe: Recipe
    dataset: Dataset
    fit: Fit
    targets: Mapping[str, TargetKind]
    preparation: Preparation
    augmentation: Augmentation
    training: Dataset
    validation: Dataset | None
    held_out: NDArray[np.int64]
    notes: tuple[str, ...]

    def classes(self) -> dict[str, tuple[str, ...]]:
        """Give the class names of each output that has classes."""
        named = {output: self.dataset.labels_of(data) for output, data in self.fit.outputs.items()}
        return {output: classes for output, classes in named.items() if classes}

    def to_json(self) -> dict[str, Any]:
        """Give what data.json holds."""
        return {
            "name": self.dataset.name,
            "manifest": self.dataset.manifest,
            "preparation": self.preparation.to_json(),
            "augmentation": str(self.augmentation),
            "inputs": self.fit.inputs,
            "outputs": self.fit.outputs,
            "targets": dict(self.targets),
            "classes": {output: list(classes) for output, classes in self.classes().items()},
            "split": {
                "seed": self.recipe.seed,
                "validation": self.recipe.validation,
                "training_samples": len(self.training),
                "validation_samples": len(self.held_out),
                "validation_sha256": split_digest(self.held_out),
            },
            "notes": list(self.notes),
        }


def load_for(
    spec: DataSpec,
    facts: NetworkFacts,
    folder: Path,
    progress: Progress | None = None,
    losses: Sequence[LossSpec] = (),
) -> tuple[Dataset, Feed, list[str]]:
    """Load and check data, with the names of the network where the data's own do not match, and what is fed."""
    dataset = load_named(spec, folder, progress)
    notes = validate(dataset, gaps=any(loss.kind == "huber" for loss in losses))
    dataset, said = spread(dataset, facts)
    wanted = parse_feed(spec.feed)
    dataset, chosen = suited(dataset, facts, wanted)
    feed = find_feed({name: source for name, source in wanted.items() if name not in chosen}, dataset, facts)
    dataset = fed(dataset, facts, feed)
    notes += [*said, *notes_of(feed, facts)]
    renamed = _renamed(dataset, facts)
    if renamed is not dataset:
        notes.append("The names of the data and of the drawing differ, so they are matched by their order.")
    resize = parse_size(spec.resize) if spec.resize else None
    return Preparation(resize=resize).resized(renamed), feed | chosen, notes


def fitted(dataset: Dataset, facts: NetworkFacts, recipe: Recipe) -> Fit:
    """Match a dataset with a network; a single value is a vector of one, a place on a sphere fits any classes."""
    inputs = {capsule.name: capsule.shape or (1,) for capsule in facts.inputs}
    outputs = {capsule.name: capsule.shape or (1,) for capsule in facts.outputs}
    losses = {loss.output: loss.kind for loss in recipe.losses}
    kinds = [(capsule, losses.get(capsule.name, losses.get("", "auto"))) for capsule in facts.outputs]
    free = [
        capsule.name
        for capsule, kind in kinds
        if kind in ("triplet", "boxes", "yolo", "masks") or (kind == "auto" and capsule.symbol == EMBEDDING)
    ]
    return fit_to(dataset, inputs, outputs, free)


def gather(recipe: Recipe, facts: NetworkFacts, folder: Path, progress: Progress | None = None) -> Material:
    """Gather everything that a training needs of its data, or say what does not fit."""
    augmentation = Augmentation.parse(recipe.data.augment)
    dataset, feed, notes = load_for(recipe.data, facts, folder, progress, recipe.losses)
    if augmentation:
        augmentation.check(dataset)
    if dataset.world is not None:
        recipe = _playable(recipe, dataset)
    fit = fitted(dataset, facts, recipe)
    layouts = {name: dataset.layouts.get(target) for name, target in fit.outputs.items()}
    arrays = {output.name: dataset.targets[fit.outputs[output.name]] for output in facts.outputs}
    recipe = replace(recipe, data=replace(recipe.data, feed=show_feed(feed)))
    held: dict[str, TargetKind] = {
        o.name: target_kind(arrays[o.name], o, layout=layouts[o.name]) for o in facts.outputs
    }
    chosen = complete_losses(recipe, held, {o.name: usual_loss(held[o.name], o) for o in facts.outputs})
    losses = {loss.output: loss.kind for loss in chosen.losses}
    targets: dict[str, TargetKind] = {
        output.name: target_kind(arrays[output.name], output, losses[output.name], layouts[output.name])
        for output in facts.outputs
    }
    train, held_out = split(dataset, recipe.validation, recipe.seed)
    training = dataset.subset(train)
    preparation = Preparation(
        resize=parse_size(recipe.data.resize) if recipe.data.resize else None,
        normalise=_normalisation(recipe.data, facts),
        normalise_targets=recipe.data.normalise_targets,
    ).fit(training)
    preparation = prepare_fed(preparation, facts, feed, training)
    return Material(
        facts=facts,
        recipe=chosen,
        dataset=dataset,
        fit=fit,
        targets=targets,
        preparation=preparation,
        augmentation=augmentation,
        training=training,
        validation=dataset.subset(held_out) if len(held_out) else None,
        held_out=held_out,
        notes=(*notes, *fit.notes),
    )


def split_digest(held_out: NDArray[np.int64]) -> str:
    """Give a check sum of the samples kept for validation, so that nothing else is ever measured in their place."""
    return hashlib.sha256(held_out.astype("<i8").tobytes()).hexdigest()


def make_batches(
    part: Dataset,
    facts: NetworkFacts,
    fit: Fit,
    preparation: Preparation,
    recipe: Recipe,
    device: torch.device,
    augmentation: Augmentation | None = None,
) -> Batches:
    """Make the batches of one part: prepared at once where that is possible, otherwise batch by batch."""
    losses = {loss.output: loss.kind for loss in recipe.losses}
    targets: list[Tensor] = []
    for output in facts.outputs:
        name = fit.outputs[output.name]
        values = preparation.apply_targets(part.targets[name], name)
        targets.append(encode_target(values, output, losses[output.name], name))
    names = [fit.inputs[capsule.name] for capsule in facts.inputs]
    arrays = [part.inputs[name] for name in names]
    ready = sum(4 * values.size for values in arrays) <= _READY_BYTES
    if augmentation is None:
        finish = _finisher(facts, names, preparation)
        if not ready:
            return Batches(_tensors(arrays), tuple(targets), recipe.batch, device, finish)
        inputs = finish(_tensors(arrays), torch.arange(len(part)), 0)
        placed, wanted = (tuple(aligned(values.to(device)) for values in part) for part in (inputs, targets))
        return Batches(placed, wanted, recipe.batch, device)
    if augmentation.moves_pixels or not ready:
        finish = _varying(facts, names, preparation, augmentation, recipe.seed)
        move = _mover(part, [fit.outputs[output.name] for output in facts.outputs], augmentation, recipe.seed)
        return Batches(_tensors(arrays), tuple(targets), recipe.batch, device, finish, move=move)
    # Noise comes after everything else, which is therefore done once.
    arrays = [preparation.apply(values, name) for values, name in zip(arrays, names, strict=True)]
    finish, several = _noising(facts, names, augmentation, recipe.seed, arrays)
    return Batches(_tensors(arrays), tuple(targets), recipe.batch, device, finish, several)


def _tensors(arrays: Sequence[NDArray[Any]]) -> tuple[Tensor, ...]:
    return tuple(torch.from_numpy(np.ascontiguousarray(values)) for values in arrays)


def target_scales(facts: NetworkFacts, fit: Fit, preparation: Preparation) -> dict[str, Tensor]:
    """Give the scale of each target that was normalised, for errors in the target's own units."""
    scales: dict[str, Tensor] = {}
    for output in facts.outputs:
        scaling = preparation.targets.get(fit.outputs[output.name])
        if scaling is not None:
            # One number for all, one a column, or one a channel of images, spread over the channel.
            after = (1,) * (len(scaling.shape) - 1)
            scale = torch.tensor(scaling.scale, dtype=torch.float32).reshape(-1, *after)
            scales[output.name] = scale.expand(scaling.shape).reshape(output.shape) if after else scale
    return scales


def prepared_input(
    values: NDArray[Any], facts: NetworkFacts, place: int, preparation: Preparation, name: str
) -> Tensor:
    """Prepare samples of one input, in the shape and the type that the network takes."""
    capsule = facts.inputs[place]
    if capsule.picks_from:
        _check_picking(values, capsule, name)
    return _taken(preparation.apply(values, name), capsule)


def _check_picking(values: NDArray[Any], capsule: CapsuleFacts, name: str) -> None:
    """Refuse what is no number of a row of the table, naming the first sample that has it."""
    wrong = (values < 0) | (values >= capsule.picks_from) | (values != np.floor(values))
    if wrong.any():
        sample = int(np.flatnonzero(wrong.reshape(len(values), -1).any(axis=1))[0])
        found = values[sample].reshape(-1)[wrong[sample].reshape(-1)][0]
        raise TrainingError(
            f"the input {name!r}, sample {sample}, holds {found:g}, but {capsule.name!r} picks from a table of "
            f"{capsule.picks_from} rows by whole numbers from 0 to {capsule.picks_from - 1}; give such numbers, or "
            "draw a table with more rows."
        )


def _finisher(facts: NetworkFacts, names: Sequence[str], preparation: Preparation) -> Finish:
    def finish(inputs: tuple[Tensor, ...], numbers: Tensor, epoch: int) -> tuple[Tensor, ...]:
        named = zip(inputs, names, strict=True)
        return tuple(
            prepared_input(values.numpy(), facts, place, preparation, name)
            for place, (values, name) in enumerate(named)
        )

    return finish


def _varying(
    facts: NetworkFacts, names: Sequence[str], preparation: Preparation, augmentation: Augmentation, seed: int
) -> Finish:
    """Give what varies raw samples, prepares them and adds noise."""

    def finish(inputs: tuple[Tensor, ...], numbers: Tensor, epoch: int) -> tuple[Tensor, ...]:
        finished: list[Tensor] = []
        indices: NDArray[np.int64] = numbers.numpy()
        for values, name, capsule in zip(inputs, names, facts.inputs, strict=True):
            varied = preparation.apply(augmentation.apply(values.numpy(), indices, epoch, seed), name)
            finished.append(_taken(augmentation.add_noise(varied, indices, epoch, seed, name), capsule))
        return tuple(finished)

    return finish


def _noising(
    facts: NetworkFacts,
    names: Sequence[str],
    augmentation: Augmentation,
    seed: int,
    arrays: Sequence[NDArray[np.float32]],
) -> tuple[Finish, Callable[[range], tuple[Tensor, ...]]]:
    """Give what adds noise to prepared samples, and what adds it to all of them for several epochs."""
    named = list(zip(names, facts.inputs, strict=True))

    def finish(inputs: tuple[Tensor, ...], numbers: Tensor, epoch: int) -> tuple[Tensor, ...]:
        indices: NDArray[np.int64] = numbers.numpy()
        return tuple(
            _taken(augmentation.add_noise(prepared.numpy(), indices, epoch, seed, name), capsule)
            for prepared, (name, capsule) in zip(inputs, named, strict=True)
        )

    def several(epochs: range) -> tuple[Tensor, ...]:
        noised: list[Tensor] = []
        for prepared, (name, capsule) in zip(arrays, named, strict=True):
            found = augmentation.add_noises(prepared, np.arange(len(prepared)), epochs, seed, name)
            noised.append(_taken(found.reshape(-1, *prepared.shape[1:]), capsule))
        return tuple(noised)

    return finish, several


def _taken(values: NDArray[np.float32], capsule: CapsuleFacts) -> Tensor:
    """Give values in the shape and the type that an input takes."""
    tensor = torch.from_numpy(np.ascontiguousarray(values)).reshape(len(values), *capsule.shape)
    return tensor.to(getattr(torch, capsule.dtype))


def _mover(part: Dataset, names: list[str], augmentation: Augmentation | None, seed: int) -> Finish | None:
    """Give what moves boxes and maps as the pictures are moved, if anything does."""
    size = part.picture_size()
    if augmentation is None or not augmentation.moves_pixels or size is None or not part.layouts:
        return None

    def move(targets: tuple[Tensor, ...], numbers: Tensor, epoch: int) -> tuple[Tensor, ...]:
        moved: list[Tensor] = []
        indices: NDArray[np.int64] = numbers.numpy()
        for name, target in zip(names, targets, strict=True):
            layout = part.layouts.get(name)
            values: NDArray[Any] = target.numpy()
            if layout == "boxes":
                values = augmentation.apply_boxes(values, size, indices, epoch, seed)
            elif layout is not None:
                values = augmentation.apply(values[:, None], indices, epoch, seed)[:, 0]
            moved.append(torch.from_numpy(np.ascontiguousarray(values)))
        return tuple(moved)

    return move


def _normalisation(spec: DataSpec, facts: NetworkFacts) -> str:
    """Leave whole numbers as they are: scaled and cut to whole numbers again, they would mean something else."""
    whole = [capsule.name for capsule in facts.inputs if not capsule.dtype.startswith("float")]
    if whole and spec.normalise in ("unit", "standard"):
        raise TrainingError(
            f"data.normalise: the input {whole[0]!r} takes whole numbers, which {spec.normalise} spoils; give none."
        )
    return "none" if whole else spec.normalise


def _playable(recipe: Recipe, dataset: Dataset) -> Recipe:
    """Refuse what makes no sense for data that are played, and choose the loss that asks for the moves made alone."""
    data = recipe.data
    for name, given in (("resize", data.resize), ("augment", data.augment), ("feed", data.feed)):
        if given:
            raise TrainingError(
                f"data.{name}: {dataset.name} is played by the network, on positions as they are; leave {given!r} out."
            )
    losses = recipe.losses or (LossSpec(),)
    for loss in losses:
        if loss.kind not in ("auto", "huber"):
            raise TrainingError(
                f"losses: {dataset.name} is played, and of every position one move is asked for; give the loss huber "
                f"in place of {loss.kind}."
            )
    return replace(recipe, losses=tuple(replace(loss, kind="huber") for loss in losses))


def _renamed(dataset: Dataset, facts: NetworkFacts) -> Dataset:
    """Give several inputs or targets the network's names, in order, when their own are others."""
    inputs = _new_names(list(dataset.inputs), [capsule.name for capsule in facts.inputs])
    targets = _new_names(list(dataset.targets), [capsule.name for capsule in facts.outputs])
    if not inputs and not targets:
        return dataset
    return replace(
        dataset,
        inputs={inputs.get(name, name): values for name, values in dataset.inputs.items()},
        targets={targets.get(name, name): values for name, values in dataset.targets.items()},
        ranges={inputs.get(name, name): values for name, values in dataset.ranges.items()},
        class_names={targets.get(name, name): names for name, names in dataset.class_names.items()},
        layouts={targets.get(name, name): layout for name, layout in dataset.layouts.items()},
        test=None if dataset.test is None else _renamed(dataset.test, facts),
    )


def _new_names(data: list[str], network: list[str]) -> dict[str, str]:
    if len(data) < 2 or len(data) != len(network) or set(data) == set(network):
        return {}
    return dict(zip(data, network, strict=True))
