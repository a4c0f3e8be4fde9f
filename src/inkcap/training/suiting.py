"""Which target each output gets, where the data tell several things of a picture.

Two outputs may learn from one target: the proposals and the detections of a two-stage detector both learn its boxes.
What suits an output is told by its name, its symbol and its structure; ``OUTPUT=TARGET`` in the feed says otherwise.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from inkcap.recipes import RecipeError
from inkcap.training.data import Dataset
from inkcap.training.data.placed import with_labels
from inkcap.training.facts import CapsuleFacts, NetworkFacts

_Value = TypeVar("_Value")


def suited(dataset: Dataset, facts: NetworkFacts, feed: Mapping[str, str]) -> tuple[Dataset, dict[str, str]]:
    """Give each output its target, under the output's name, and tell which it was; other data stay as they are."""
    outputs = {capsule.name: capsule for capsule in facts.outputs}
    named = {name: target for name, target in feed.items() if name in outputs and target in dataset.targets}
    if not dataset.layouts and not named:
        return dataset, {}
    if not named and (set(outputs) == set(dataset.targets) or len(outputs) == len(dataset.targets) == 1):
        return dataset, {}
    fed = {name for name in feed if name not in named}
    chosen = {name: named.get(name) or _suiting(outputs[name], dataset) for name in outputs if name not in fed}
    return _under_names(dataset, chosen), chosen


def _suiting(output: CapsuleFacts, dataset: Dataset) -> str:
    """Find the target for an output: one of its name, or the only one of its layout."""
    if output.name in dataset.targets:
        return output.name
    classes = max((len(dataset.classes_of(name)) for name in dataset.targets), default=0)
    found = [name for name in dataset.targets if dataset.layouts.get(name) == layout_for(output, classes)]
    if not dataset.layouts:
        found = list(dataset.targets)
    if len(found) == 1:
        return found[0]
    what = "several of the targets suit" if found else "none of the targets suits"
    raise RecipeError(
        f"data.feed: {what} the output {output.name!r} of {output.shape_text()}; {dataset.name} has "
        f"{', '.join(found or dataset.targets)}; name one, such as {output.name}={next(iter(dataset.targets))}."
    )


def layout_for(output: CapsuleFacts, classes: int = 0) -> str:
    """Tell what an output can be taught: maps of the picture's size or of so many channels classes, others boxes."""
    is_map = len(output.shape) == 3 and not output.scores
    return "classes" if is_map and (output.shape[1:] == output.picture or output.shape[0] == classes) else "boxes"


def _under_names(dataset: Dataset, chosen: Mapping[str, str]) -> Dataset:
    def renamed(values: Mapping[str, _Value]) -> dict[str, _Value]:
        return {name: values[target] for name, target in chosen.items() if target in values}

    targets: dict[str, Any] = renamed(dataset.targets)
    labels = {name: dataset.labels_of(target) for name, target in chosen.items()}
    boxes = next((name for name, layout in dataset.layouts.items() if layout == "boxes"), None)
    for name, target in chosen.items():
        if dataset.layouts.get(target) == "instances" and boxes is not None:
            targets[name] = with_labels(targets[name], dataset.targets[boxes])
            labels[name] = dataset.labels_of(boxes)
    return replace(
        dataset,
        targets=targets,
        class_names={name: names for name, names in labels.items() if names},
        layouts=renamed(dataset.layouts),
        test=None if dataset.test is None else _under_names(dataset.test, chosen),
    )
