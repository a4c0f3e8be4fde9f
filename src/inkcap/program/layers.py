"""Lowering to layers: connections, biases and worn parts become the ``nn.Conv2d`` … that a person would write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from inkcap.network import Network
from inkcap.operations import Step
from inkcap.program.naming import Identifiers
from inkcap.program.program import Program, WornPart

LayerKind = Literal["Conv2d", "Conv3d", "ConvTranspose2d", "ConvTranspose3d", "Linear", "PReLU", "part"]


@dataclass(frozen=True)
class Layer:
    """A layer of torch.nn: it holds a weight and maybe a bias, or it is a worn part."""

    kind: LayerKind
    identifier: str
    step: Step
    argument: int
    """The value that it is called with."""
    held: Mapping[str, str]
    """The names in the drawing of what it holds, by the layer's own names: ``weight``, ``bias``, ``running_mean``."""
    weight_shape: tuple[int, ...] = ()
    worn: WornPart | None = None
    named: tuple[str, ...] = ()
    """What the identifier is made of: its capsule, and what tells it from the capsule's other layers."""


@dataclass(frozen=True)
class Lowered:
    """A program with its layers: what is called instead of computed step by step."""

    program: Program
    returned: tuple[int, ...]
    steps: tuple[Step, ...]
    """The steps that the returned values need."""
    layers: dict[int, Layer]
    """Layers by the value that they make."""
    aliases: dict[int, int]
    """Values that are another value: a sum whose bias a layer has already added."""
    inside: set[int] = field(default_factory=set[int])
    """Values that a layer makes on the way: nothing else uses them."""
    parameters: dict[str, str] = field(default_factory=dict[str, str])
    """Weights that no layer holds: drawing name to identifier."""
    names: dict[str, str] = field(default_factory=dict[str, str])
    """Every weight's drawing name to its path in the module."""


def lower_to_layers(program: Program, returns: dict[str, str] | None = None) -> Lowered:
    """Find the layers of a program and leave out what the returned values do not need."""
    returned = program.returned(returns)
    steps = _needed(program, returned)
    users: dict[int, list[Step]] = {}
    for step in program.trace.steps:
        for argument in step.arguments:
            users.setdefault(argument, []).append(step)
    identifiers = Identifiers()
    weight_of = {number: name for name, number in program.weights.items()}
    back_of = {w.name: c.back for c in program.network.connections.values() for w in c.weights.values()}
    shapes = {program.weights[name]: record.structure.sizes for name, record in program.network.weights.items()}
    weighted = _weighted_lines(program.network)
    lowered = Lowered(program, returned, steps, {}, {})
    producers = {step.target: step for step in program.trace.steps}
    # Layers come from all steps, needed or not, so that every variant of a network has the same parameters.
    for step in program.trace.steps:
        if step.operation.name not in ("matmul", "convolve", "deconvolve"):
            continue
        weight = step.arguments[0 if step.operation.name == "matmul" else 1]
        if weight in weight_of and len(users[weight]) == 1:
            owner = program.owners[step.target]
            kind = _kind(step)
            named = (owner,) if weighted[owner] == 1 else (owner, "from", back_of[weight_of[weight]])
            name = identifiers.fresh("_".join(named))
            argument = step.arguments[1 if kind == "Linear" else 0]
            held = {"weight": weight_of[weight]}
            lowered.layers[step.target] = Layer(kind, name, step, argument, held, shapes[weight], named=named)
    for step in program.trace.steps:
        if step.operation.name == "bias":
            _merge_bias(step, lowered, users, producers, weight_of)
    # After the biases, which a layer of slopes cannot add.
    for step in program.trace.steps:
        if step.operation.name == "prelu":
            x, slope = step.arguments
            named = (program.owners[step.target], "slope")
            name = identifiers.fresh("_".join(named))
            layer = Layer("PReLU", name, step, x, {"weight": weight_of[slope]}, shapes[slope], named=named)
            lowered.layers[step.target] = layer
    _add_parts(lowered, producers, identifiers)
    held = {name for layer in lowered.layers.values() for name in layer.held.values()}
    for name in program.weights:
        if name not in held:
            lowered.parameters[name] = identifiers.fresh(name.replace(".", "_"))
            lowered.names[name] = lowered.parameters[name]
    for layer in lowered.layers.values():
        lowered.names.update({name: f"{layer.identifier}.{own}" for own, name in layer.held.items()})
    return lowered


def _kind(step: Step) -> LayerKind:
    if step.operation.name == "matmul":
        return "Linear"
    volume = len(step.shape) == 4
    if step.operation.name == "deconvolve":
        return "ConvTranspose3d" if volume else "ConvTranspose2d"
    return "Conv3d" if volume else "Conv2d"


def _add_parts(lowered: Lowered, producers: dict[int, Step], identifiers: Identifiers) -> None:
    shared: dict[tuple[str, ...], str] = {}
    for target, worn in lowered.program.worn.items():
        own = {name: weight.name for name, weight in worn.part.weights.items()}
        held = {worn.part.record.held[name]: stored for name, stored in own.items()}
        # Tied capsules call one layer.
        named = (worn.capsule, worn.part.part)
        name = shared.get(tuple(held.values())) or identifiers.fresh("_".join(named))
        if held:
            shared[tuple(held.values())] = name
        layer = Layer("part", name, producers[target], worn.argument.number, held, worn=worn, named=named)
        lowered.layers[target] = layer
        lowered.inside.update(worn.inside)


def _needed(program: Program, returned: tuple[int, ...]) -> tuple[Step, ...]:
    wanted = set(returned)
    kept: list[Step] = []
    for step in reversed(program.trace.steps):
        if step.target in wanted:
            wanted.update(step.arguments)
            kept.append(step)
    return tuple(reversed(kept))


def _weighted_lines(network: Network) -> dict[str, int]:
    """Count the connections with weights that enter each capsule."""
    lines = network.connections
    return {id: sum(bool(lines[line].weights) for line in c.incoming) for id, c in network.capsules.items()}


def _merge_bias(
    step: Step,
    lowered: Lowered,
    users: dict[int, list[Step]],
    producers: dict[int, Step],
    weight_of: dict[int, str],
) -> None:
    total, bias = step.arguments
    # U = (W₁⊗Y₁ + W₂⊗Y₂) + B: the first layer of the sum can add B, because nothing else sees the sum without it.
    value = total
    while len(users[value]) == 1:
        layer = lowered.layers.get(value)
        if layer is not None and _takes_bias(layer, step) and bias in weight_of and len(users[bias]) == 1:
            lowered.layers[value] = replace(layer, held={**layer.held, "bias": weight_of[bias]})
            lowered.aliases[step.target] = total
            return
        producer = producers.get(value)
        if producer is None or producer.operation.name != "add":
            return
        value = producer.arguments[0]


def _takes_bias(layer: Layer, step: Step) -> bool:
    return "bias" not in layer.held and step.attributes["per"] == _shared_by(layer)


def _shared_by(layer: Layer) -> str:
    """Tell over what a layer's bias is shared: channels, or the vectors along the last axis."""
    if layer.kind != "Linear":
        return "channel"
    return "element" if len(layer.step.shape) == 1 else "item"
