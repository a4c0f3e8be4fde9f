"""The peers are the same networks as the drawings: the same parameters, and with the same weights the same outputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import pytest
import torch
from torch import nn

from inkcap.bench.by_hand import MODULES
from inkcap.bench.cases import NETWORKS, find_case
from inkcap.engine import build, initialise
from inkcap.network import check

CASES = [name for name, case in NETWORKS.items() if case.drawn is not None] + ["chain-4x3@2"]


def _perceptron(key: str) -> str:
    return f"layers.{'bcd'.index(key[0])}{key[1:]}"


def _googlenet(key: str) -> str:
    stem = {"conv1": "conv1", "conv2_reduce": "conv2", "conv2": "conv3"}
    branch = {
        "one": "one", "reduce3": "three.0", "three": "three.1", "reduce5": "five.0", "five": "five.1",
        "projection": "pool.1",
    }  # fmt: skip
    name, norm, leaf = re.fullmatch(r"(.*?)(_batch_norm)?\.(\w+)", key).groups()
    if name == "prob":
        return f"fc.{leaf}"
    module, _, part = name.partition("_")
    where = f"{module}.{branch[part]}" if module.startswith("m") else stem[name]
    return f"{where}.{'norm' if norm else 'conv'}.{leaf}"


def _resnet(key: str) -> str:
    name, norm, leaf = re.fullmatch(r"(.*?)(_batch_norm)?\.(\w+)", key).groups()
    if name == "prob":
        return f"fc.{leaf}"
    if name == "conv1":
        return f"{'bn1' if norm else 'conv1'}.{leaf}"
    stage, block, part = re.fullmatch(r"L(\d)_?(\d)?_(\w+)", name).groups()
    # The first stage has two equal blocks, each other one a block that widens and one that does not.
    block = block or "1"
    kinds = {"a": ("conv1", "bn1"), "b": ("conv2", "bn2"), "projection": ("downsample.0", "downsample.1")}
    return f"layers.{int(stage) - 1}.{block}.{kinds[part][bool(norm)]}.{leaf}"


def _densenet(key: str) -> str:
    name, norm, leaf = re.fullmatch(r"(.*?)(_batch_norm)?\.(\w+)", key).groups()
    if name in ("prob", "conv0"):
        return f"{'fc' if name == 'prob' else 'norm0' if norm else 'conv0'}.{leaf}"
    if whole := re.fullmatch(r"B(\d)_cat", name):
        return f"norms.{int(whole[1]) - 1}.{leaf}"
    if between := re.fullmatch(r"T(\d)_narrow", name):
        return f"transitions.{int(between[1]) - 1}.{leaf}"
    block, layer, part = re.fullmatch(r"B(\d)_l(\d+)_(\w+)", name).groups()
    kinds = {"cat": (None, "norm1"), "narrow": ("conv1", "norm2"), "new": ("conv2", None)}
    return f"blocks.{int(block) - 1}.{int(layer) - 1}.{kinds[part][bool(norm)]}.{leaf}"


def _alexnet(key: str) -> str:
    places = {"conv1": "features.0", "conv2": "features.3", "conv3": "features.6", "conv4": "features.8"}
    places |= {"conv5": "features.10", "fc6": "classifier.0", "fc7": "classifier.3", "prob": "classifier.6"}
    name, leaf = key.split(".")
    return f"{places[name]}.{leaf}"


def _capsnet(key: str) -> str:
    places = {"Conv1": "conv1", "PrimaryConv": "primary", "recon": "dec3"}
    if key == "PrimaryCaps_DigitCaps_weight":
        return "votes"
    name, leaf = key.split(".")
    return f"{places.get(name, name)}.{leaf}"


TRANSLATIONS: Mapping[str, Callable[[str], str]] = {
    "mlp": _perceptron,
    "chain": lambda key: key.replace("c", "convs.", 1) if key[0] == "c" else key.replace("y.", "fc.", 1),
    "lenet": lambda key: f"{ {'b': 'conv1', 'd': 'conv2', 'g': 'fc1', 'h': 'fc2'}[key[0]] }{key[1:]}",
    "alexnet": _alexnet,
    "googlenet": _googlenet,
    "resnet18": _resnet,
    "densenet": _densenet,
    "capsnet": _capsnet,
}


def _with_our_weights(name: str) -> tuple[nn.Module, nn.Module]:
    case = find_case(name)
    network = check(case.drawing()).network
    ours = build(network, {network.outputs[0]: "U"} if len(network.outputs) == 1 else None)
    initialise(ours, network, 0)
    theirs = MODULES[case.family](case)
    translate = TRANSLATIONS[case.family]
    names = re.compile(r"^convs\.(\d+)")

    def place(key: str) -> str:
        # The chain's convolutions count from one in the drawing.
        return names.sub(lambda found: f"convs.{int(found[1]) - 1}", translate(key))

    state = {place(key): value for key, value in ours.state_dict().items() if "num_batches" not in key}
    missing, unexpected = theirs.load_state_dict(state, strict=False)
    assert not unexpected
    assert all(key.endswith("num_batches_tracked") for key in missing)
    return ours, theirs


@pytest.mark.parametrize("name", CASES)
def test_with_our_weights_the_hand_written_network_answers_as_ours(name: str) -> None:
    case = find_case(name)
    ours, theirs = _with_our_weights(name)
    assert sum(p.numel() for p in theirs.parameters()) == check(case.drawing()).parameters
    x = torch.from_numpy(case.samples()[0][:4])
    with torch.no_grad():
        if case.family == "capsnet":
            found, wanted = theirs.eval()(x), ours.eval()(x, torch.zeros(4, 10))
        else:
            found, wanted = theirs.eval()(x), ours.eval()(x)
            if case.family not in ("alexnet", "googlenet"):  # where no numbers are dropped by chance
                torch.testing.assert_close(theirs.train()(x), ours.train()(x), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("chain")])
def test_the_network_in_keras_has_the_same_parameters(name: str) -> None:
    pytest.importorskip("keras")
    from inkcap.bench.keras_networks import model

    case = find_case(name)
    made = model(case)
    learning = sum(weight.numpy().size if hasattr(weight, "numpy") else 0 for weight in made.trainable_weights)
    assert learning == check(case.drawing()).parameters
