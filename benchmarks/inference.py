"""Answers: frozen programs against eager PyTorch and onnxruntime, call by call in turn, with ratios above 1 faster.

Run it as ``python benchmarks/inference.py``. The printed module stands for what a person would write by hand.
"""

from __future__ import annotations

import argparse
import math
import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import torch
from measure import compare
from torch import nn

from inkcap.drawing import Drawing
from inkcap.engine import build, initialise
from inkcap.engine.inference import freeze_module
from inkcap.exchange import by_onnxruntime
from inkcap.network import Network, check, structure_of
from inkcap.zoo import draw, mlp
from inkcap.zoo.alexnet import alexnet_torchvision
from inkcap.zoo.densenet import densenet
from inkcap.zoo.googlenet import googlenet
from inkcap.zoo.resnet import resnet

SMALL = (32, 32, 3)


def drawings() -> dict[str, Drawing]:
    """Draw the networks that are measured."""
    return {
        "LeNet": draw("lenet"),
        "MLP 784-512-512-10": mlp((784, 512, 512, 10), "MLP", last="softmax"),
        "AlexNet, 64×64": alexnet_torchvision(classes=10, input=(64, 64, 3)),
        "GoogLeNet, 32×32": googlenet(normalised=True, heads=False, classes=10, input=SMALL),
        "DenseNet-121, 32×32": densenet(121, classes=10, input=SMALL),
        "ResNet-18, 32×32": resnet(18, classes=10, input=SMALL),
        "CapsNet": draw("capsnet"),
    }


def measure_answers(network: Network, module: nn.Module, batch: int, rounds: int) -> dict[str, float]:
    """Give how many times as fast as the eager module each engine answers."""
    generator = torch.Generator().manual_seed(0)
    shapes = [structure_of(network.capsules[id]).sizes for id in network.inputs]
    inputs = [torch.randn((batch, *shape), generator=generator) for shape in shapes]
    frozen, runtime = freeze_module(network, module, batch=batch), by_onnxruntime(network, module, batch)

    def eager() -> object:
        with torch.no_grad():
            return module(*inputs)

    contenders = {"eager": eager, "frozen": lambda: frozen(*inputs), "onnxruntime": lambda: runtime(*inputs)}
    found = compare(network.name, contenders, "eager", rounds, 0.1)
    return {name: 1 / ratio.median for name, ratio in found.ratios.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=21, help="paired rounds for each case")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch and of onnxruntime")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(f"torch {torch.__version__}, {arguments.threads} thread(s), times as fast as the eager module\n")
    for batch in (1, 64):
        logarithms: dict[str, list[float]] = {}
        for name, drawing in drawings().items():
            network = check(drawing).network
            module = build(network)
            initialise(module, network, 0)
            found = measure_answers(network, module.eval(), batch, arguments.rounds)
            print(f"batch {batch:<3} {name:<22}", "  ".join(f"{n} {r:.2f}" for n, r in found.items()), flush=True)
            for engine, ratio in found.items():
                logarithms.setdefault(engine, []).append(math.log(ratio))
        means = {name: math.exp(sum(logs) / len(logs)) for name, logs in logarithms.items()}
        print(f"batch {batch:<3} {'geometric mean':<22}", "  ".join(f"{n} {r:.2f}" for n, r in means.items()))


if __name__ == "__main__":
    main()
