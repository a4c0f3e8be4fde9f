"""Weights with torchvision's names fit our drawings, and give what torchvision's network gives."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch_models as models
from small_zoo import SMALL, draw_small, each_network
from torch import nn

from inkcap.engine import build, load_weights
from inkcap.network import check
from inkcap.structures import InkcapError
from inkcap.zoo import NETWORKS
from inkcap.zoo.torchvision import torchvision_names

VGG = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
RESNET = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}
DENSENET = {121: (6, 12, 24, 16), 161: (6, 12, 36, 24), 169: (6, 12, 32, 32), 201: (6, 12, 48, 32)}

CLASSES = 5
WITH_FIVE: dict[str, Callable[[], nn.Module]] = {
    "alexnet_torchvision": lambda: models.alexnet(8, 16, CLASSES),
    **{f"vgg{n}": lambda plan=plan: models.vgg(plan, False, 4, 16, CLASSES) for n, plan in VGG.items()},
    **{f"vgg{n}_bn": lambda plan=plan: models.vgg(plan, True, 4, 16, CLASSES) for n, plan in VGG.items()},
    "squeezenet1_0": lambda: models.SqueezeNet(True, 8, CLASSES),
    "squeezenet1_1": lambda: models.SqueezeNet(False, 8, CLASSES),
    "googlenet_tv_main": lambda: models.GoogLeNet(False, 8, CLASSES),
    "googlenet_tv_aux": lambda: models.GoogLeNet(True, 8, CLASSES),
    **{f"resnet{n}": lambda n=n, plan=plan: models.ResNet(plan, n >= 50, 4, CLASSES) for n, plan in RESNET.items()},
    **{f"densenet{n}": lambda plan=plan: models.DenseNet(plan, 2, CLASSES) for n, plan in DENSENET.items()},
}


def random_state(module: nn.Module) -> dict[str, torch.Tensor]:
    """Random numbers for everything that is stored, so that no two names can be mistaken for one another."""
    generator = torch.Generator().manual_seed(2)
    state = {}
    for name, value in module.state_dict().items():
        if name.endswith("num_batches_tracked"):
            continue
        noise = torch.randn(value.shape, generator=generator, dtype=torch.float64)
        if name.endswith("running_var"):
            noise = noise.abs() + 0.5
        elif value.ndim > 1:
            noise = noise * (2 / value[0].numel()) ** 0.5
        elif name.endswith("weight"):
            noise = 1 + 0.2 * noise
        else:
            noise = 0.3 * noise
        state[name] = noise
    return state


@pytest.mark.parametrize("name", each_network(WITH_FIVE))
def test_a_network_is_the_one_of_torchvision(name: str) -> None:
    theirs = WITH_FIVE[name]().double().eval()
    state = random_state(theirs)
    theirs.load_state_dict(state, strict=False)
    names = torchvision_names(name)
    assert names.keys() == state.keys()

    network = check(draw_small(name)).network
    ours = build(network, dict.fromkeys(network.outputs, "U")).double().eval()
    load_weights(ours, {names[name]: value for name, value in state.items()})
    sizes = next(arguments["input"] for pattern, arguments in SMALL.items() if name.startswith(pattern.rstrip("*")))
    batch = torch.randn((2, 3, *sizes[:2]), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    with torch.no_grad():
        wanted, found = theirs(batch), ours(batch)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    found = dict(zip(network.outputs, found if isinstance(found, tuple) else (found,), strict=True))
    for id, value in zip(("prob", "aux1.prob", "aux2.prob"), wanted, strict=False):
        assert value.abs().max() > 1e-3
        torch.testing.assert_close(found[id], value, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", WITH_FIVE)
def test_every_stored_number_of_the_full_network_has_one_name(name: str) -> None:
    network = check(NETWORKS[name].draw()).network
    names = torchvision_names(name)
    assert len(set(names.values())) == len(names)
    assert set(names.values()) == network.weights.keys() | network.states.keys()


@pytest.mark.parametrize("name", ["lenet", "resnet50_original", "googlenet", "alexnet_caffe_groups"])
def test_what_torchvision_does_not_have_is_refused(name: str) -> None:
    with pytest.raises(InkcapError, match=r"torchvision has no network|there is no network"):
        torchvision_names(name)
