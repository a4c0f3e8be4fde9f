"""The register of the zoo: every network by its name, and drawings of them with other classes and inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inkcap.drawing import Drawing
from inkcap.network import Report, check
from inkcap.structures.errors import InkcapError, nearest
from inkcap.zoo import (
    alexnet,
    capsule_networks,
    denoiser,
    densenet,
    facenet,
    fcn,
    flexible,
    games,
    googlenet,
    lenet,
    matrix_capsules,
    mobilenet,
    neocognitron,
    perceptrons,
    rcnn,
    recurrent,
    resnet,
    sppnet,
    squeezenet,
    ssd,
    transformers,
    unet,
    vgg,
    video,
    yolo,
)
from inkcap.zoo.record import KnownNetwork, Sizes

FAMILIES = (
    perceptrons,
    flexible,
    neocognitron,
    lenet,
    alexnet,
    vgg,
    googlenet,
    squeezenet,
    sppnet,
    resnet,
    densenet,
    fcn,
    yolo,
    ssd,
    rcnn,
    facenet,
    unet,
    mobilenet,
    denoiser,
    recurrent,
    transformers,
    video,
    capsule_networks,
    matrix_capsules,
    games,
)

NETWORKS: Mapping[str, KnownNetwork] = {known.name: known for family in FAMILIES for known in family.NETWORKS}
"""Every network of the zoo by its own name."""

NAMES: Mapping[str, KnownNetwork] = {name: known for known in NETWORKS.values() for name in known.names}
"""Every network of the zoo by every name that it answers to."""

LARGEST_TRIED = 4096
"""How large an input may become in the search for one that does."""


class UnknownNetwork(InkcapError):
    """A network that the zoo does not have."""


class UnfitChoice(InkcapError):
    """A number of classes or a size of the input that a network cannot have."""


def find(name: str) -> KnownNetwork:
    """Find a network by any of its names."""
    if name not in NAMES:
        near = nearest(name, NAMES, 1, 0.5)
        told = f"did you mean {near[0]}?" if near else "'inkcap zoo' lists those that there are"
        raise UnknownNetwork(f"there is no network {name!r}; {told}")
    return NAMES[name]


def draw(name: str, classes: int | None = None, input: Sizes | None = None) -> Drawing:
    """Draw a network of the zoo by its name, with another number of classes or another size of the input."""
    known = find(name)
    chosen = _chosen(known, classes, input)
    drawing = known.draw(**chosen)
    if chosen:
        report = check(drawing)
        if not report.well_formed:
            raise UnfitChoice(_unfit(known, chosen, report))
    return drawing


def _chosen(known: KnownNetwork, classes: int | None, input: Sizes | None) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    if classes is not None:
        if known.classes is None:
            raise UnfitChoice(f"{known.name} has no number of classes to choose; leave it out")
        if classes < 1:
            raise UnfitChoice(f"{known.name}: the number of classes must be at least 1, not {classes}")
        chosen["classes"] = classes
    if input is not None:
        if known.input is None:
            raise UnfitChoice(f"{known.name} has no size of the input to choose; leave it out")
        if len(input) != len(known.input) or min(input) < 1:
            like = show_sizes(known.input)
            raise UnfitChoice(f"{known.name}: the input has sizes such as {like}, not {show_sizes(input)}")
        chosen["input"] = input
    return chosen


def _unfit(known: KnownNetwork, chosen: dict[str, Any], report: Report) -> str:
    first = report.errors[0]
    told = f"{known.name} cannot be drawn so: [{first.rule}] {first.message}"
    if fitting := _fitting_input(known, chosen):
        return f"{told}; the input {show_sizes(fitting)} would do"
    return told


def _fitting_input(known: KnownNetwork, chosen: dict[str, Any]) -> Sizes | None:
    """Look for a larger input that works, by doubling and then by halves; its channels stay."""
    asked: Sizes = chosen.get("input", ())
    if len(asked) < 2:
        return None
    sides, channels = asked[:-1], asked[-1]

    def with_side(side: int) -> Sizes:
        # The sides grow together, so that what was asked for keeps its form as far as it can.
        return (*(max(s, s * side // max(sides)) for s in sides), channels)

    def works(side: int) -> bool:
        return check(known.draw(**{**chosen, "input": with_side(side)})).well_formed

    low, high = max(sides), max(sides) * 2
    while high <= LARGEST_TRIED and not works(high):
        low, high = high, high * 2
    if high > LARGEST_TRIED:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if works(middle) else (middle, high)
    return with_side(high)


def show_sizes(sizes: Sizes) -> str:
    """Write sizes that are in reading order."""
    return "×".join(map(str, sizes))
