"""Layer-wise pre-training: a stack of restricted Boltzmann machines, each trained by contrastive divergence.

This is the first stage of Hinton and Salakhutdinov (2006). A machine has no direction, so it is no network; it is how
the weights of one start. Of an autoencoder the first half is trained, and the second half starts as its mirror image;
of any other stack all layers but the last.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from inkcap.network import CheckedCapsule, Network
from inkcap.training.batches import Batches
from inkcap.training.errors import TrainingError
from inkcap.training.events import Listener, PretrainingEvent
from inkcap.training.stopping import StopRequest

RATES: Mapping[str, float] = {"sigmoid": 0.1, "identical": 0.001}
"""The learning rate by the kind of the hidden units: yes or no with a probability, or any number with noise around."""
DECAY = 2e-4
SPREAD = 0.1
MOMENTUM, LATER_MOMENTUM, LATER = 0.5, 0.9, 5
"""The share of the last step that is kept, in the first epochs and later."""


@dataclass(frozen=True)
class Layer:
    """A layer of the stack: the names of its weight and bias, and of those that start as its mirror image."""

    capsule: str
    kind: str
    visible: int
    hidden: int
    weight: str
    bias: str
    mirror: tuple[str, str] | None = None


@dataclass
class Machine:
    """A restricted Boltzmann machine: a weight for each pair of a visible and a hidden unit, and their biases."""

    weight: Tensor
    visible: Tensor
    hidden: Tensor
    kind: str = "sigmoid"

    def up(self, v: Tensor) -> Tensor:
        """Give the probabilities of the hidden units, or their means where they are numbers."""
        total = v @ self.weight + self.hidden
        return torch.sigmoid(total) if self.kind == "sigmoid" else total

    def down(self, h: Tensor) -> Tensor:
        """Give the probabilities of the visible units."""
        return torch.sigmoid(h @ self.weight.T + self.visible)

    def sample(self, means: Tensor, generator: torch.Generator) -> Tensor:
        """Draw hidden units by their probabilities, or around their means."""
        if self.kind == "sigmoid":
            return (torch.rand(means.shape, generator=generator, dtype=means.dtype) < means).to(means.dtype)
        return means + torch.randn(means.shape, generator=generator, dtype=means.dtype)

    def energy(self, v: Tensor) -> Tensor:
        """Give the free energy of visible units, with hidden ones that are yes or no."""
        return -(v @ self.visible) - torch.nn.functional.softplus(v @ self.weight + self.hidden).sum(-1)


@dataclass(frozen=True)
class Divergence:
    """One step of contrastive divergence: the directions in which weight and biases go, and what was made of v."""

    weight: Tensor
    visible: Tensor
    hidden: Tensor
    again: Tensor


def diverge(machine: Machine, v: Tensor, generator: torch.Generator | None = None) -> Divergence:
    """Go up, down and up again; without a generator the hidden units are their probabilities, not drawn by them."""
    first = machine.up(v)
    again = machine.down(first if generator is None else machine.sample(first, generator))
    second = machine.up(again)
    count = v.shape[0]
    weight = (v.T @ first - again.T @ second) / count
    return Divergence(weight, (v - again).mean(0), (first - second).mean(0), again)


def find_stack(network: Network) -> list[Layer]:
    """Find the layers that pre-training trains: vectors joined by full connections, one behind another."""
    if len(network.inputs) != 1 or network.plain is not None:
        raise TrainingError("recipe.pretrain: pre-training takes a network of capsules with one input.")
    chain = list(_chain(network))
    if len(chain) < 2:
        raise TrainingError(
            "recipe.pretrain: there is no stack to train layer by layer; it takes vectors that full connections join "
            "one behind another from the input on, with biases."
        )
    sizes = [chain[0].visible, *(layer.hidden for layer in chain)]
    half = len(chain) // 2
    if len(chain) % 2 == 0 and sizes == sizes[::-1]:
        mirrors = chain[half:][::-1]
        chain = [
            Layer(a.capsule, a.kind, a.visible, a.hidden, a.weight, a.bias, (b.weight, b.bias))
            for a, b in zip(chain[:half], mirrors, strict=True)
        ]
    else:
        chain = chain[:-1]
    for layer in chain:
        if layer.kind not in RATES:
            raise TrainingError(
                f"recipe.pretrain: {layer.capsule} is a {layer.kind} capsule; the layers of a stack are "
                f"{' or '.join(RATES)} ones."
            )
    return chain


def _chain(network: Network) -> Iterator[Layer]:
    (here,) = network.inputs
    following: dict[str, list[CheckedCapsule]] = {}
    for capsule in network.capsules.values():
        for connection in capsule.incoming:
            following.setdefault(network.connections[connection].back, []).append(capsule)
    while len(following.get(here, ())) == 1:
        (capsule,) = following[here]
        if len(capsule.incoming) != 1 or capsule.parts:
            return
        connection = network.connections[capsule.incoming[0]]
        back, front = connection.back_end, connection.front_end
        if connection.symbol == "full" and capsule.bias is not None and back is not None and front is not None:
            weight = connection.weights["weight"].name
            yield Layer(capsule.id, capsule.symbol, back.elements, front.elements, weight, capsule.bias.name)
        elif connection.symbol not in ("reshaping", "transfer") or capsule.symbol != "identical":
            return
        here = capsule.id


@dataclass(frozen=True)
class Pretraining:
    """What pre-training works with: the data, their order in an epoch, and who listens."""

    training: Batches
    order: Callable[[int], Tensor]
    epochs: int
    seed: int
    listener: Listener
    stop: StopRequest


def pretrain(
    layers: list[Layer], weights: Mapping[str, torch.nn.Parameter], course: Pretraining
) -> list[dict[str, Any]] | None:
    """Train the layers one by one and let the network start from them; give the errors of every layer by epoch.

    A stop that comes before the end leaves the weights as they were and gives nothing: half of it is no start.
    """
    below: list[Machine] = []
    told: list[dict[str, Any]] = []
    with torch.no_grad():
        for number, layer in enumerate(layers):
            machine = _fresh(layer, weights[layer.weight], course.seed)
            errors = _train(machine, below, course, layer, number, len(layers))
            told.append({"capsule": layer.capsule, "visible": layer.visible, "hidden": layer.hidden, "errors": errors})
            if course.stop.wanted:
                return None
            below.append(machine)
        for layer, machine in zip(layers, below, strict=True):
            weights[layer.weight].copy_(machine.weight.T)
            weights[layer.bias].copy_(machine.hidden)
            if layer.mirror is not None:
                weights[layer.mirror[0]].copy_(machine.weight)
                weights[layer.mirror[1]].copy_(machine.visible)
    return told


def _fresh(layer: Layer, like: Tensor, seed: int) -> Machine:
    generator = _generator(seed, f"start/{layer.capsule}")
    weight = torch.randn(layer.visible, layer.hidden, generator=generator, dtype=torch.float64) * SPREAD
    zeros = torch.zeros(layer.visible + layer.hidden, dtype=like.dtype)
    return Machine(weight.to(like.dtype), zeros[: layer.visible].clone(), zeros[layer.visible :].clone(), layer.kind)


def _generator(seed: int, name: str) -> torch.Generator:
    digest = hashlib.sha256(f"{seed}/pretraining/{name}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "little") % 2**63)


def _train(
    machine: Machine, below: list[Machine], course: Pretraining, layer: Layer, number: int, count: int
) -> list[float]:
    generator = _generator(course.seed, f"samples/{layer.capsule}")
    parts = (machine.weight, machine.visible, machine.hidden)
    steps = [torch.zeros_like(part) for part in parts]
    rate, errors = RATES[machine.kind], list[float]()
    for epoch in range(1, course.epochs + 1):
        momentum = MOMENTUM if epoch <= LATER else LATER_MOMENTUM
        total, samples = 0.0, 0
        for inputs, _ in course.training.shuffled(course.order(epoch), epoch):
            v = _visible(inputs[0].cpu().flatten(1).to(machine.weight.dtype), below)
            found = diverge(machine, v, generator)
            total += float(((v - found.again) ** 2).sum())
            samples += v.numel()
            for part, step, direction in zip(parts, steps, (found.weight, found.visible, found.hidden), strict=True):
                pull = DECAY * part if part is machine.weight else 0.0
                step.mul_(momentum).add_(rate * (direction - pull))
                part.add_(step)
            if course.stop.wanted:
                return errors
        errors.append(total / max(samples, 1))
        event = PretrainingEvent(layer.capsule, number + 1, count, epoch, course.epochs, errors[-1])
        course.listener.on_pretraining(event)
    return errors


def _visible(v: Tensor, below: list[Machine]) -> Tensor:
    if float(v.min()) < 0 or float(v.max()) > 1:
        raise TrainingError(
            f"recipe.pretrain: the units of the input are yes or no with a probability, and the data go from "
            f"{float(v.min()):.3g} to {float(v.max()):.3g}; bring them from 0 to 1 with normalise unit."
        )
    for machine in below:
        v = machine.up(v)
    return v
