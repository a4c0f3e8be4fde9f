"""Backpropagation as Section 3.4 tells it: U, Y and δ of every capsule, ΔW of every connection, ΔB of every capsule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from inkcap.engine.losses import (
    FROM_TOTAL_INPUT,
    LossFunction,
    LossWithGradient,
    Reduction,
    by_autograd,
    half_squares,
    laid_flat,
    loss_with_gradient,
)
from inkcap.engine.torch_operations import torch_dtype
from inkcap.engine.universal import Plan, Seed, plan
from inkcap.network import Network, structure_of
from inkcap.program import Program, lower_to_layers, lower_to_steps
from inkcap.recipes import LOSSES, LossSpec
from inkcap.structures import FLOATING, InkcapError, Structure, show_shape
from inkcap.symbols import MAIN_PORT, socket

Losses = Mapping[str, str | LossSpec | LossFunction]
"""A loss for each output: a recipe's kind, a recipe's loss with weight and options, or a function of value and target.

An output that is not named has the paper's ½‖Y − T‖².
"""


class BackpropagationError(InkcapError):
    """Weights, inputs or targets that do not fit the network, or a loss that there is not."""


@dataclass(frozen=True)
class Backpropagation:
    """What one pass forwards and backwards gives, by the names of the drawing.

    δ is ∂L/∂U, for a data capsule ∂L/∂X; U and δ of further ports are named as in ``h.label``.
    Values have a batch axis if the inputs had one. What is not trainable has no
    update, and data of whole numbers have no δ.
    """

    loss: Tensor
    losses: dict[str, Tensor]
    U: dict[str, Tensor]
    Y: dict[str, Tensor]
    delta: dict[str, Tensor]
    weight_updates: dict[str, Tensor]
    bias_updates: dict[str, Tensor]

    @property
    def updates(self) -> dict[str, Tensor]:
        """ΔW and ΔB together: a step of gradient descent takes η times them from the weights."""
        return {**self.weight_updates, **self.bias_updates}


def backpropagate(
    network: Network,
    weights: Mapping[str, Any],
    inputs: Mapping[str, Any],
    targets: Mapping[str, Any],
    losses: Losses | None = None,
    reduction: Reduction = "sum",
) -> Backpropagation:
    """Run Equations 4 to 8 once over a network: arrays, tensors or lists by name, a sample or a batch of them.

    Gradients of a batch are summed as Equations 10 to 12 print it; ``reduction="mean"`` takes their mean.
    """
    return Backpropagator(network, losses, reduction)(weights, inputs, targets)


class Backpropagator:
    """A network's universal backpropagation, planned once and called many times."""

    def __init__(
        self, network: Network, losses: Losses | None = None, reduction: Reduction = "sum", *, wide: bool = False
    ) -> None:
        """Plan; ``wide`` is for checks: float64 whatever the drawing's data types are, and nothing drawn at random."""
        if network.plain is not None:
            raise BackpropagationError(
                f"{network.name} holds its neurons in columns, whose kernels go backwards by themselves; "
                "'inkcap contract' turns them into capsules"
            )
        self.network, self.wide = network, wide
        given = dict(losses or {})
        for id in given:
            if id not in network.outputs:
                raise BackpropagationError(f"losses: {id!r} is no output; the outputs are {_listed(network.outputs)}")
        if reduction not in ("sum", "mean", "all"):
            raise BackpropagationError(f"reduction: {reduction!r} is not one of sum, mean, all")
        program = lower_to_steps(network, training=not wide, apart=True)
        self.program = widened(program) if wide else program
        self.lowered = lower_to_layers(self.program)
        seeds = [self._seed(id, given.get(id), reduction) for id in network.outputs]
        self.sockets = list(self.program.total_inputs)
        self.reached = [
            socket(id, port)
            for id, capsule in network.capsules.items()
            for port in (MAIN_PORT, *capsule.ports)
            if self._structure(id).dtype in FLOATING
        ]
        self.trained = [name for name, weight in network.weights.items() if weight.trainable]
        totals, outputs = self.program.total_inputs, self.program.outputs
        self.plan: Plan = plan(
            self.lowered,
            seeds,
            steps=self.program.trace.steps,
            values=[*totals.values(), *(outputs[id] for id in network.capsules)],
            gradients=[*(totals[socket] for socket in self.reached), *(self.program.weights[n] for n in self.trained)],
            training=not wide,
        )

    @property
    def source(self) -> str:
        """The straight-line source that runs."""
        return self.plan.source

    def __call__(
        self, weights: Mapping[str, Any], inputs: Mapping[str, Any], targets: Mapping[str, Any]
    ) -> Backpropagation:
        """Go forwards and backwards once."""
        stored = self.weights(weights)
        fed, batched = self.inputs(inputs)
        wanted = self.targets(targets, len(next(iter(fed.values()))) if fed else 1)
        with torch.no_grad():
            total, losses, values, slopes = self.plan.run(
                list(fed.values()),
                [stored[name] for name in (*self.program.weights, *self.program.states)],
                list(wanted.values()),
            )
        ids = list(self.network.capsules)
        shown = [value if batched else value[0] for value in values]
        U = dict(zip(self.sockets, shown, strict=False))
        Y = dict(zip(ids, shown[len(self.sockets) :], strict=True))
        found = [*slopes]
        delta = {
            id: torch.zeros_like(U[id]) if slope is None else (slope if batched else slope[0])
            for id, slope in zip(self.reached, found, strict=False)
        }
        updates = {
            name: torch.zeros_like(stored[name]) if slope is None else slope
            for name, slope in zip(self.trained, found[len(self.reached) :], strict=True)
        }
        biases = {capsule.bias.name for capsule in self.network.capsules.values() if capsule.bias}
        return Backpropagation(
            loss=total,
            losses=dict(zip(self.network.outputs, losses, strict=True)),
            U=U,
            Y=Y,
            delta=delta,
            weight_updates={name: update for name, update in updates.items() if name not in biases},
            bias_updates={name: update for name, update in updates.items() if name in biases},
        )

    def weights(self, given: Mapping[str, Any]) -> dict[str, Tensor]:
        """Give the weights as tensors that fit, in the network's order."""
        records = {**self.network.weights, **self.network.states}
        # States that are not given are those of a network that has seen nothing.
        fresh = {
            name: torch.full(state.structure.sizes, float(state.initialiser == "ones"))
            for name, state in self.network.states.items()
        }
        given = {**fresh, **given}
        _same_names("weights", "weight", records, given)
        return {
            name: _fitting(f"the weight {name}", self._dtype(record.structure), record.structure, given[name])
            for name, record in records.items()
        }

    def inputs(self, given: Mapping[str, Any]) -> tuple[dict[str, Tensor], bool]:
        """Give the inputs with a batch axis, and whether they came with one."""
        _same_names("inputs", "input", self.network.inputs, given)
        found: dict[str, tuple[Tensor, bool]] = {id: self._batch("input", id, given[id]) for id in self.network.inputs}
        counts = {id: len(value) for id, (value, _) in found.items()}
        if len(set(counts.values())) > 1:
            told = ", ".join(f"{id} has {count}" for id, count in counts.items())
            raise BackpropagationError(f"inputs: samples differ in number ({told}); give as many of each")
        return {id: value for id, (value, _) in found.items()}, any(batched for _, batched in found.values())

    def targets(self, given: Mapping[str, Any], samples: int) -> dict[str, Tensor]:
        """Give the targets with a batch axis: numbers in the shape of the output, or labels where the loss has them."""
        _same_names("targets", "target", self.network.outputs, given)
        found: dict[str, Tensor] = {}
        for id in self.network.outputs:
            value = _tensor(f"the target {id}", given[id])
            if value.dtype.is_floating_point or value.numel() == samples * self._structure(id).elements:
                value, _ = self._batch("target", id, value)
            elif value.numel() and value.ndim == len(self._structure(id).sizes[1:]):
                value = value[None]
            if len(value) != samples:
                raise BackpropagationError(
                    f"the target {id} has {len(value)} samples, the inputs have {samples}; give one for each"
                )
            found[id] = value
        return found

    def _structure(self, id: str) -> Structure:
        return structure_of(self.network.capsules[id])

    def _dtype(self, structure: Structure) -> torch.dtype:
        return torch_dtype("float64" if self.wide and structure.dtype in FLOATING else structure.dtype)

    def _batch(self, what: str, id: str, given: Any) -> tuple[Tensor, bool]:
        structure = self._structure(id)
        value = _tensor(f"the {what} {id}", given).to(self._dtype(structure))
        if tuple(value.shape) == structure.sizes:
            return value[None], False
        if tuple(value.shape[1:]) == structure.sizes and value.ndim == len(structure.sizes) + 1 and len(value):
            return value, True
        raise BackpropagationError(
            f"the {what} {id} has the shape {tuple(value.shape)}; the capsule is {show_shape(structure.shape)}: "
            f"give {structure.sizes} for one sample, with the number of samples in front for several"
        )

    def _seed(self, id: str, loss: str | LossSpec | LossFunction | None, reduction: Reduction) -> Seed:
        symbol = self.network.capsules[id].symbol
        compute: LossWithGradient
        kind, weight = "", 1.0
        if loss is None:
            compute = half_squares(reduction)
        elif isinstance(loss, str | LossSpec):
            spec = loss if isinstance(loss, LossSpec) else None
            kind, weight = (spec.kind, spec.weight) if spec else (str(loss), 1.0)
            if kind not in LOSSES:
                raise BackpropagationError(f"losses: {id}: there is no {kind!r}; there are {', '.join(LOSSES)}")
            compute = loss_with_gradient(kind, spec.options if spec else None, reduction)
        else:
            compute = by_autograd(loss)
        from_total = (kind, symbol) in FROM_TOTAL_INPUT
        capsule = self.network.capsules[id]
        if from_total and capsule.output is not None and capsule.output.rank < capsule.rank:
            compute = laid_flat(compute)
        return Seed((self.program.arguments if from_total else self.program.outputs)[id], compute, weight)


def widened(program: Program) -> Program:
    """Give a program in which every floating data type is float64; gradients are checked in it."""

    def wide(dtype: str) -> str:
        return "float64" if dtype in FLOATING else dtype

    steps = [
        replace(
            step,
            dtype=wide(step.dtype),
            attributes={**step.attributes, "dtype": wide(step.attributes["dtype"])}
            if "dtype" in step.attributes
            else step.attributes,
        )
        for step in program.trace.steps
    ]
    inputs = [replace(value, dtype=wide(value.dtype)) for value in program.trace.inputs]
    return replace(program, trace=replace(program.trace, inputs=inputs, steps=steps))


def _tensor(what: str, given: Any) -> Tensor:
    if isinstance(given, Tensor):
        return given.detach()
    try:
        array = np.asarray(given)
        # Numbers without a point in a list are numbers all the same; labels come as arrays, or are told by their count.
        return (
            torch.from_numpy(np.array(array)) if array.dtype.kind in "fiub" else torch.from_numpy(array.astype(float))
        )
    except (TypeError, ValueError):
        raise BackpropagationError(f"{what} is no array of numbers; give nested lists, an array or a tensor") from None


def _fitting(what: str, dtype: torch.dtype, structure: Structure, given: Any) -> Tensor:
    value = _tensor(what, given).to(dtype)
    if tuple(value.shape) != structure.sizes:
        raise BackpropagationError(f"{what} has the shape {tuple(value.shape)}, the network needs {structure.sizes}")
    return value


def _same_names(place: str, what: str, known: Iterable[str], given: Mapping[str, Any]) -> None:
    names = list(known)
    missing, unknown = [n for n in names if n not in given], [n for n in given if n not in names]
    if missing:
        raise BackpropagationError(f"{place}: no {what} for {_listed(missing)}; the network has {_listed(names)}")
    if unknown:
        raise BackpropagationError(
            f"{place}: the network has no {what} {_listed(unknown)}; it has {_listed(names) or 'none'}"
        )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
