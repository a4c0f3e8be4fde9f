"""Weights and what the optimiser remembers of them, parted over the members by torch's `fully_shard`.

A member holds the same part of every weight, by its first axis. The optimiser works on these parts as on weights of
their own, since its rules go number by number; a checkpoint holds the whole, so that any number of members goes on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

from inkcap.training.group.membership import Group, losing
from inkcap.training.planning import APART
from inkcap.training.session import Session
from inkcap.training.snapshots import MODULE, OPTIMISER, Snapshot, optimised_of


class ShardedModule:
    """A module whose weights are parted; the module itself gathers them layer by layer while it computes."""

    def __init__(self, group: Group, module: nn.Module, learning: Sequence[nn.Parameter], source: str) -> None:
        self.group, self.module = group, module
        names = {id(parameter): path for path, parameter in module.named_parameters()}
        paths = [names[id(parameter)] for parameter in learning]
        device = next(module.parameters()).device.type
        mesh = init_device_mesh(device, (group.world,))
        with losing():
            for name, layer in module.named_children():
                # A layer whose weights are used without calling it is gathered with the whole.
                called = f"self.{name}." not in source
                if called and sum(parameter.numel() for parameter in layer.parameters()) >= APART:
                    fully_shard(layer, mesh=mesh)
            fully_shard(module, mesh=mesh)
        # While a module computes, and after it has measured, whole weights may stand in the place of the parts.
        self._all = {path: cast("DTensor", value) for path, value in module.named_parameters()}
        self._parted = [self._all[path] for path in paths]
        self.learning = [nn.Parameter(value.to_local().detach(), requires_grad=True) for value in self._parted]
        self.collected: dict[str, Tensor] = {}
        """What was brought together last, by the names of a checkpoint; only the first member has it."""

    @property
    def parted_weights(self) -> list[nn.Parameter]:
        """The weights that learn, as the module has them."""
        return [cast("nn.Parameter", value) for value in self._parted]

    def forget(self) -> None:
        """Forget the old gradients, which stay with the parts even while the module shows whole weights."""
        for parted in self._parted:
            parted.grad = None

    def take_gradients(self) -> None:
        """Give the parts of the weights the parts of their gradients."""
        for parted, own in zip(self._parted, self.learning, strict=True):
            slope = parted.grad
            own.grad = None if slope is None else cast("DTensor", slope).to_local()

    def clip(self, norm: float) -> None:
        """Shorten the gradient to a norm, which is that of all parts."""
        slopes = [parameter.grad for parameter in self.learning if parameter.grad is not None]
        squares = sum((slope.double().square().sum() for slope in slopes), torch.zeros((), dtype=torch.float64))
        length = math.sqrt(float(self.group.sum(squares.cpu())))
        factor = norm / (length + 1e-6)
        if factor < 1:
            for slope in slopes:
                slope.mul_(factor)

    def collect(self, session: Session | None) -> None:
        """Bring all parts together, on the first member; every member has to call it at the same step."""
        whole: dict[str, Tensor] = {}
        keep = self.group.writes
        with losing():
            for path, value in self._all.items():
                found = cast("DTensor", value.detach()).full_tensor()
                if keep:
                    whole[MODULE + path] = found.to("cpu", copy=True)
            if session is not None:
                for name, found in self._remembered(session):
                    if keep:
                        whole[name] = found
        self.collected = whole

    def _remembered(self, session: Session) -> Any:
        for number, (parted, own) in enumerate(zip(self._parted, optimised_of(session), strict=True)):
            for name, value in sorted(session.optimiser.state.get(own, {}).items()):
                if isinstance(value, Tensor) and value.shape == own.shape and own.ndim:
                    laid = DTensor.from_local(
                        value,
                        parted.device_mesh,
                        parted.placements,
                        run_check=False,
                        shape=parted.shape,
                        stride=parted.stride(),
                    )
                    yield f"{OPTIMISER}{number}/{name}", laid.full_tensor().to("cpu", copy=True)

    def weights(self) -> dict[str, Tensor]:
        """Give the weights and states by their names in the drawing, as they were brought together last."""
        if not self.collected:
            return {}
        names = cast("Mapping[str, str]", self.module.weight_names)
        states = dict(self.module.named_buffers())
        found: dict[str, Tensor] = {}
        for name, path in names.items():
            value = self.collected.get(MODULE + path, states.get(path))
            if value is not None:
                found[name] = value.detach().cpu().clone()
        return found

    def parted(self, snapshot: Snapshot) -> Snapshot:
        """Give this member's part of a snapshot."""
        weights = {MODULE + path for path in self._all}
        shapes = [tuple(value.shape) for value in self._parted]
        tensors: dict[str, Tensor] = {}
        for name, value in snapshot.tensors.items():
            if name.startswith(OPTIMISER):
                number = int(name.removeprefix(OPTIMISER).partition("/")[0])
                mine = number < len(shapes) and tuple(value.shape) == shapes[number] and value.ndim > 0
            else:
                mine = name in weights
            tensors[name] = self._cut(value) if mine else value
        return replace(snapshot, tensors=tensors)

    def _cut(self, value: Tensor) -> Tensor:
        pieces = value.chunk(self.group.world, 0)
        return pieces[self.group.rank] if self.group.rank < len(pieces) else value[:0]
