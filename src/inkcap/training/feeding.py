"""Feeding: inputs that get a target's classes, and outputs that are to give an input again.

A capsule network's decoder sees the label of each sample and draws the sample anew; an autoencoder has its input as
its target. The data have neither by themselves, so they are made here, as ``CAPSULE=NAME`` in the recipe says, or by
themselves where only one way is possible.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkcap.recipes import RecipeError
from inkcap.training.data import Dataset, Preparation
from inkcap.training.data.scaling import Scaling
from inkcap.training.facts import CapsuleFacts, NetworkFacts

Feed = Mapping[str, str]
"""For a capsule the name of the data that feed it: a target for an input, an input or a target for an output."""


def parse_feed(text: str) -> dict[str, str]:
    """Read ``CAPSULE=NAME,…``."""
    feed: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        capsule, equals, name = (piece.strip() for piece in part.partition("="))
        if not equals or not capsule or not name:
            raise RecipeError(f"data.feed: {part!r} is not CAPSULE=NAME, such as recon=x.")
        feed[capsule] = name
    return feed


def show_feed(feed: Feed) -> str:
    """Write a feed as it stands in a recipe."""
    return ",".join(f"{capsule}={name}" for capsule, name in feed.items())


def find_feed(given: Feed, dataset: Dataset, facts: NetworkFacts) -> dict[str, str]:
    """Give the feed that a recipe gives, completed by what only one way can feed."""
    feed = dict(given)
    _check(feed, dataset, facts)
    lacking = len(facts.inputs) - len(dataset.inputs) - sum(c.name in feed for c in facts.inputs)
    fed = [(c, _classes_for(c, dataset)) for c in facts.inputs if c.name not in {*feed, *dataset.inputs}]
    found = {c.name: names[0] for c, names in fed if len(names) == 1}
    if 0 < lacking == len(found):
        feed |= found
    lacking = len(facts.outputs) - len(dataset.targets) - sum(c.name in feed for c in facts.outputs)
    missing = [(c, _inputs_for(c, dataset)) for c in facts.outputs if c.name not in {*feed, *dataset.targets}]
    found = {c.name: names[0] for c, names in missing if len(names) == 1}
    if 0 < lacking == len(found):
        feed |= found
    return feed


def _classes_for(capsule: CapsuleFacts, dataset: Dataset) -> list[str]:
    return [name for name in dataset.targets if capsule.shape == (len(dataset.classes_of(name)),)]


def _inputs_for(capsule: CapsuleFacts, dataset: Dataset) -> list[str]:
    return [name for name, values in dataset.inputs.items() if math.prod(values.shape[1:]) == capsule.size > 1]


def _check(feed: Feed, dataset: Dataset, facts: NetworkFacts) -> None:
    inputs = {capsule.name: capsule for capsule in facts.inputs}
    outputs = {capsule.name: capsule for capsule in facts.outputs}
    for capsule, name in feed.items():
        if capsule in inputs:
            fitting = _classes_for(inputs[capsule], dataset)
            if name not in fitting:
                raise RecipeError(
                    f"data.feed: the input {capsule!r} of {inputs[capsule].shape_text()} cannot take the classes of "
                    f"{name!r}; give a class target with as many classes ({', '.join(fitting) or 'there is none'})."
                )
        elif capsule in outputs:
            fitting = _inputs_for(outputs[capsule], dataset)
            if name not in fitting:
                raise RecipeError(
                    f"data.feed: the output {capsule!r} of {outputs[capsule].shape_text()} cannot give {name!r} again; "
                    f"give an input with as many values ({', '.join(fitting) or 'there is none'})."
                )
        else:
            known = ", ".join((*inputs, *outputs))
            raise RecipeError(f"data.feed: the network has no input or output {capsule!r}; it has {known}.")


def fed(dataset: Dataset, facts: NetworkFacts, feed: Feed) -> Dataset:
    """Give the data with what is fed, under the names of the capsules."""
    if not feed:
        return dataset
    made_inputs = {c.name: _one_hot(dataset, feed[c.name]) for c in facts.inputs if c.name in feed}
    made_targets = {
        c.name: np.asarray(dataset.inputs[feed[c.name]], np.float32) for c in facts.outputs if c.name in feed
    }
    inputs = _named(dataset.inputs, [c.name for c in facts.inputs if c.name not in feed])
    kept = {name: values for name, values in dataset.targets.items() if len(facts.outputs) > len(made_targets)}
    targets = _named(kept, [c.name for c in facts.outputs if c.name not in feed])
    renamed = dict(zip(dataset.inputs, inputs, strict=True))
    classes = {new: dataset.labels_of(old) for old, new in zip(kept, targets, strict=True)}
    return replace(
        dataset,
        inputs=inputs | made_inputs,
        targets=targets | made_targets,
        ranges={renamed[name]: span for name, span in dataset.ranges.items()},
        class_names={name: names for name, names in classes.items() if names},
        layouts={new: dataset.layouts[old] for old, new in zip(kept, targets, strict=True) if old in dataset.layouts},
        test=None if dataset.test is None else fed(dataset.test, facts, feed),
    )


def _named(arrays: dict[str, NDArray[Any]], names: list[str]) -> dict[str, NDArray[Any]]:
    """Give arrays the network's names where there are as many; a mismatch is told when they are matched."""
    if len(arrays) != len(names) or set(arrays) == set(names):
        return dict(arrays)
    return dict(zip(names, arrays.values(), strict=True))


def _one_hot(dataset: Dataset, target: str) -> NDArray[np.float32]:
    return np.eye(len(dataset.classes_of(target)), dtype=np.float32)[dataset.targets[target]]


def prepare_fed(preparation: Preparation, facts: NetworkFacts, feed: Feed, training: Dataset) -> Preparation:
    """Leave labels as they are, and scale what is to be given again as the network sees it."""
    inputs, targets = dict(preparation.inputs), dict(preparation.targets)
    for capsule in facts.inputs:
        if capsule.name in feed:
            inputs[capsule.name] = Scaling("none", capsule.shape, (0.0,), (1.0,), None)
    for capsule in facts.outputs:
        if capsule.name in feed:
            given = (name for name in training.inputs if name not in feed and _same(training, name, capsule.name))
            source = next(given, None)
            if source is not None:
                targets[capsule.name] = inputs[source]
    return replace(preparation, inputs=inputs, targets=targets)


def _same(dataset: Dataset, source: str, target: str) -> bool:
    values, given = dataset.inputs[source], dataset.targets[target]
    return values.shape == given.shape and bool(np.array_equal(values[:1].astype(np.float32), given[:1]))


def notes_of(feed: Feed, facts: NetworkFacts) -> list[str]:
    """Say what is fed."""
    inputs = {capsule.name for capsule in facts.inputs}
    return [
        f"The input {capsule} gets the classes of {name}; asked without them, it gets zeros."
        if capsule in inputs
        else f"The output {capsule} is to give {name} again."
        for capsule, name in feed.items()
    ]
