"""The names that torchvision gives to weights, and ours: with them its published weights fit our drawings.

Nothing of torchvision is imported; its names are part of every file of weights that it publishes.
"""

from __future__ import annotations

from collections.abc import Iterator

from inkcap.network import Network, check
from inkcap.structures import InkcapError
from inkcap.zoo import densenet, googlenet, resnet, squeezenet, vgg
from inkcap.zoo.registry import find

Layers = Iterator[tuple[str, str, str]]
"""Capsules of ours, each with the names of their layer with a weight and of their normalisation, if there are any."""

IN_NORM = {"scale": "weight", "shift": "bias", "mean": "running_mean", "variance": "running_var"}


class NotInTorchvision(InkcapError):
    """A network that torchvision does not have."""


def torchvision_names(name: str) -> dict[str, str]:
    """Give for every weight and state of torchvision's network the name under which ours stores it.

    Its counters of batches (``num_batches_tracked``) have no counterpart: a running mean does not depend on them.
    """
    known = find(name)
    layers = _layers(known.name)
    network = check(known.draw()).network
    found: dict[str, str] = {}
    for id, layer, norm in layers:
        found |= _names_of(network, id, layer, norm)
    return found


def _names_of(network: Network, id: str, layer: str, norm: str) -> dict[str, str]:
    capsule = network.capsules[id]
    found: dict[str, str] = {}
    for connection in capsule.incoming:
        found |= {f"{layer}.{key}": w.name for key, w in network.connections[connection].weights.items()}
    if capsule.bias is not None:
        found[f"{layer}.bias"] = capsule.bias.name
    for part in capsule.parts:
        found |= {f"{norm}.{IN_NORM[key]}": weight.name for key, weight in part.weights.items()}
    return found


def _layers(name: str) -> Layers:
    if name == "alexnet_torchvision":
        return _alexnet()
    if name.startswith("vgg"):
        return _vgg(int(name[3:].removesuffix("_bn")), name.endswith("_bn"))
    if name.startswith("squeezenet"):
        return _squeezenet(name.removeprefix("squeezenet").replace("_", "."))
    if name.startswith("googlenet_tv"):
        return _googlenet(name.endswith("_aux"))
    if name.startswith("resnet") and not name.endswith("_original"):
        return _resnet(int(name[6:]))
    if name.startswith("densenet"):
        return _densenet(int(name[8:]))
    raise NotInTorchvision(
        f"torchvision has no network that {name} is; it has alexnet_torchvision, vgg*, squeezenet*, googlenet_tv_*, "
        "resnet* and densenet*"
    )


def _alexnet() -> Layers:
    for number, index in enumerate((0, 3, 6, 8, 10), 1):
        yield f"conv{number}", f"features.{index}", ""
    for id, index in (("fc6", 1), ("fc7", 4), ("prob", 6)):
        yield id, f"classifier.{index}", ""


def _vgg(layers: int, normalised: bool) -> Layers:
    index = 0
    for stage, count in enumerate(vgg.STAGES[layers], 1):
        for number in range(1, count + 1):
            yield f"conv{stage}_{number}", f"features.{index}", f"features.{index + 1}"
            index += 3 if normalised else 2
        index += 1
    for id, place in (("fc6", 0), ("fc7", 3), ("prob", 6)):
        yield id, f"classifier.{place}", ""


def _squeezenet(version: str) -> Layers:
    yield "conv1", "features.0", ""
    index = 3
    for number in squeezenet.FIRES:
        for id, theirs in (("squeeze", "squeeze"), ("expand1", "expand1x1"), ("expand3", "expand3x3")):
            yield f"fire{number}.{id}", f"features.{index}.{theirs}", ""
        index += 2 if number in squeezenet.POOLED[version] else 1
    yield "conv10", "classifier.1", ""


def _googlenet(heads: bool) -> Layers:
    branches = {
        "one": "branch1",
        "reduce3": "branch2.0",
        "three": "branch2.1",
        "reduce5": "branch3.0",
        "five": "branch3.1",
        "projection": "branch4.1",
    }
    blocks = {"conv1": "conv1", "conv2_reduce": "conv2", "conv2": "conv3"}
    blocks |= {f"m{m}.{id}": f"inception{m}.{branch}" for m in googlenet.MODULES for id, branch in branches.items()}
    blocks |= {f"aux{n}.conv": f"aux{n}.conv" for n in ((1, 2) if heads else ())}
    for id, theirs in blocks.items():
        yield id, f"{theirs}.conv", f"{theirs}.bn"
    for number in (1, 2) if heads else ():
        yield f"aux{number}.fc", f"aux{number}.fc1", ""
        yield f"aux{number}.prob", f"aux{number}.fc2", ""
    yield "prob", "fc", ""


def _resnet(layers: int) -> Layers:
    deep = layers >= 50
    yield "conv1", "conv1", "bn1"
    for stage, count in enumerate(resnet.BLOCKS[layers], 1):
        changed = deep or stage > 1
        # A use that is not repeated has no numbered copies.
        copies = [f"L{stage}"] if count - changed == 1 else [f"L{stage}.{copy}" for copy in range(count - changed)]
        for block, ours in enumerate([f"L{stage}-0", *copies] if changed else copies):
            theirs = f"layer{stage}.{block}"
            for number, id in enumerate("abc" if deep else "ab", 1):
                yield f"{ours}.{id}", f"{theirs}.conv{number}", f"{theirs}.bn{number}"
            if changed and not block:
                yield f"{ours}.projection", f"{theirs}.downsample.0", f"{theirs}.downsample.1"
    yield "prob", "fc", ""


def _densenet(layers: int) -> Layers:
    yield "conv0", "features.conv0", "features.norm0"
    last = len(densenet.BLOCKS[layers])
    for block, count in enumerate(densenet.BLOCKS[layers], 1):
        for number in range(1, count + 1):
            ours, theirs = f"B{block}.l{number}", f"features.denseblock{block}.denselayer{number}"
            yield f"{ours}.cat", "", f"{theirs}.norm1"
            yield f"{ours}.narrow", f"{theirs}.conv1", f"{theirs}.norm2"
            yield f"{ours}.new", f"{theirs}.conv2", ""
        yield f"B{block}.cat", "", "features.norm5" if block == last else f"features.transition{block}.norm"
        if block < last:
            yield f"T{block}.narrow", f"features.transition{block}.conv", ""
    yield "prob", "classifier", ""
