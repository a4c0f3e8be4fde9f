"""From a network to a live torch module: the module that runs is the source that is printed."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from inkcap.engine.printing import print_module
from inkcap.engine.torch_operations import torch_dtype
from inkcap.network import Network, WeightRecord
from inkcap.network.network import PLAIN_WEIGHT
from inkcap.program import Lowered, class_name, lower_to_layers, lower_to_steps
from inkcap.structures import InkcapError, Structure


class WeightsError(InkcapError):
    """Weights that do not fit a network."""


def lower(network: Network, returns: Mapping[str, str] | None = None) -> Lowered:
    """Lower a network to layers; ``returns={"h": "U"}`` makes the output h give what its function is applied to.

    That is its total input; of a selection it is the candidates.
    """
    if network.plain is not None:
        raise WeightsError(
            f"{network.name} holds its neurons in columns, which are compiled, not printed; "
            f"'inkcap contract' turns them into capsules first"
        )
    for id, what in (returns or {}).items():
        if id not in network.outputs or what not in ("U", "Y"):
            raise ValueError(f"returns: {id!r} is no output, or {what!r} is neither U nor Y")
    return lower_to_layers(lower_to_steps(network), dict(returns or {}))


def source_of(network: Network, returns: Mapping[str, str] | None = None) -> str:
    """Print a network as a PyTorch module."""
    return print_module(lower(network, returns))


def build(network: Network, returns: Mapping[str, str] | None = None) -> nn.Module:
    """Build the module of a network: called with the inputs in the order of the drawing, it gives the outputs.

    ``module.weight_names`` maps the name in the drawing of every weight and state to its path in the module.
    """
    if network.plain is not None:
        from inkcap.engine.plain.drawn import PlainDrawn

        return PlainDrawn(network, returns)
    lowered = lower(network, returns)
    module = run_source(print_module(lowered), class_name(network.name))
    module.weight_names = dict(lowered.names)  # pyright: ignore[reportArgumentType, reportAttributeAccessIssue]
    trainable = {name: weight.trainable for name, weight in network.weights.items()}
    for name, parameter in named_weights(module).items():
        parameter.requires_grad_(trainable[name])
    return module


def run_source(source: str, name: str) -> nn.Module:
    """Run a printed source and make the module of this class."""
    namespace: dict[str, Any] = {"__name__": "inkcap.drawn"}
    # The only exec of the project: the source is our own print, whose names and numbers come from checked records.
    exec(compile(source, f"<{name}>", "exec"), namespace)  # noqa: S102
    return namespace[name]()


def named_weights(module: nn.Module) -> dict[str, nn.Parameter]:
    """Give a built module's parameters by their names in the drawing."""
    names: Mapping[str, str] = module.weight_names  # pyright: ignore[reportAssignmentType]
    own = dict(module.named_parameters())
    return {name: own[path] for name, path in names.items() if path in own}


def named_states(module: nn.Module) -> dict[str, Tensor]:
    """Give a built module's states, such as running means, by their names in the drawing."""
    names: Mapping[str, str] = module.weight_names  # pyright: ignore[reportAssignmentType]
    own = dict(module.named_buffers())
    return {name: own[path] for name, path in names.items() if path in own}


def weights_of(module: nn.Module) -> dict[str, Tensor]:
    """Copy a built module's weights and states, by their names in the drawing, to the CPU."""
    stored = {**named_weights(module), **named_states(module)}
    return {name: value.detach().cpu().clone() for name, value in stored.items()}


def load_weights(module: nn.Module, weights: Mapping[str, Tensor], *, strict: bool = True) -> list[str]:
    """Load weights and states by their names in the drawing, and give the names of what was loaded.

    Not strict, only those are loaded whose name and shape fit.
    """
    own: dict[str, Tensor] = {**named_weights(module), **named_states(module)}
    if strict and (own.keys() != weights.keys()):
        missing, extra = sorted(own.keys() - weights.keys()), sorted(weights.keys() - own.keys())
        raise WeightsError(
            f"the weights do not fit the network: missing {missing or 'none'}, not wanted {extra or 'none'}"
        )
    loaded: list[str] = []
    with torch.no_grad():
        for name, parameter in own.items():
            value = weights.get(name)
            if value is None or value.shape != parameter.shape:
                if strict and value is not None:
                    have, want = tuple(value.shape), tuple(parameter.shape)
                    raise WeightsError(f"the weight {name} has the shape {have}, the network needs {want}")
                continue
            parameter.copy_(value)
            loaded.append(name)
    return loaded


def initialise(module: nn.Module, network: Network, seed: int) -> None:
    """Start every weight from its own generator, seeded by the run's seed and the weight's name.

    So a weight's start does not depend on what else is drawn, nor on the order of drawing.
    """
    records = {**network.weights, **network.states}
    with torch.no_grad():
        for name, stored in {**named_weights(module), **named_states(module)}.items():
            record = records[name]
            if record.initialiser == "given":
                stored.copy_(_plain_start(module, network, name, seed))
            else:
                stored.copy_(_start(record, _generator(seed, name)))


def _plain_start(module: nn.Module, network: Network, name: str, seed: int) -> Tensor:
    """Start the numbers of columns as they are drawn, and those that are drawn without one at random."""
    from inkcap.engine.plain.drawn import PlainDrawn

    assert network.plain is not None
    assert isinstance(module, PlainDrawn)
    of = "weight" if name == PLAIN_WEIGHT else "bias"
    slots = module.weight_slots if of == "weight" else module.bias_slots
    numbers = torch.tensor(getattr(network.plain.columns, of), dtype=torch.float64)
    generator = _generator(seed, name)
    for start in network.plain.starts:
        if start.of == of:
            structure = Structure((len(start.places),), "float64")
            drawn = WeightRecord(name, structure, start.initialiser, start.fan_in, 1, trainable=True)
            numbers[torch.tensor(start.places)] = _start(drawn, generator)
    first = slots.first if of == "weight" else module.computing[slots.first]
    return numbers[torch.from_numpy(first)]


def starting_weights(network: Network, seed: int) -> dict[str, Tensor]:
    """Give the weights with which a network starts, as a built and initialised module has them, without building."""
    return {
        name: _start(record, _generator(seed, name)).to(torch_dtype(record.structure.dtype))
        for name, record in {**network.weights, **network.states}.items()
    }


def _generator(seed: int, name: str) -> torch.Generator:
    digest = hashlib.sha256(f"{seed}/weights/{name}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "little") % 2**63)


def _between(shape: tuple[int, ...]) -> Tensor:
    """Kernels that fill in between neighbours, each channel for itself."""
    kernel = torch.ones((), dtype=torch.float64)
    for size in shape[2:]:
        factor = (size + 1) // 2
        centre = factor - 1 if size % 2 else factor - 0.5
        slope = 1 - (torch.arange(size, dtype=torch.float64) - centre).abs() / factor
        kernel = kernel[..., None] * slope
    whole = torch.zeros(shape, dtype=torch.float64)
    for channel in range(min(shape[:2])):
        whole[channel, channel] = kernel
    return whole


def _start(weight: WeightRecord, generator: torch.Generator) -> Tensor:
    shape = weight.structure.sizes
    if weight.start is not None:
        return torch.full(shape, float(weight.start), dtype=torch.float64)
    if weight.starts:
        return torch.tensor(weight.starts, dtype=torch.float64).reshape(shape)
    uniform = torch.rand(shape, generator=generator, dtype=torch.float64) * 2 - 1
    if weight.initialiser in ("uniform", "bias"):
        return uniform / math.sqrt(weight.fan_in)
    if weight.initialiser == "glorot":
        return uniform * math.sqrt(6 / (weight.fan_in + weight.fan_out))
    if weight.initialiser == "signs":
        return uniform.sign()
    if weight.initialiser in ("zeros", "ones"):
        return torch.full(shape, float(weight.initialiser == "ones"), dtype=torch.float64)
    if weight.initialiser == "bilinear":
        return _between(shape)
    deviation = math.sqrt(2 / weight.fan_in) if weight.initialiser == "he" else 0.01
    return torch.randn(shape, generator=generator, dtype=torch.float64) * deviation
