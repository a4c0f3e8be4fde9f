"""Training a plain network: whole epochs inside compiled calls, or as matrix products where it is contracted."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray

from inkcap.engine.plain.columns import CODES, PlainError
from inkcap.engine.plain.dense import DenseLayers, Scratch
from inkcap.engine.plain.network import PlainNetwork
from inkcap.engine.plain.threads import share

Array = NDArray[Any]

LOSSES = {"mean-squared-error": 0, "cross-entropy": 1, "binary-cross-entropy": 2}
RULES = {"sgd": 0, "momentum": 1, "adam": 2}

_PART = 1 << 16
"""How many parameters one call updates: enough to repay the call, few enough to share."""


@dataclass(frozen=True)
class UpdateRule:
    """How parameters follow their gradients; rules and options mean what they mean in a recipe."""

    kind: Literal["sgd", "momentum", "adam"] = "adam"
    rate: float = 1e-3
    momentum: float = 0.9
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8

    @property
    def setting(self) -> Array:
        """The numbers as the kernels read them: rate, first decay, second decay, epsilon."""
        first = self.beta1 if self.kind == "adam" else self.momentum
        return np.array([self.rate, first, self.beta2, self.eps])


class _Memory:
    """Parameters, their gradient, and what the rule remembers."""

    def __init__(self, parameters: Array, rule: UpdateRule) -> None:
        self.rule, self.setting, self.time = RULES[rule.kind], rule.setting, 0
        self.p, self.g = parameters, np.zeros_like(parameters)
        self.m, self.v = (np.zeros(parameters.size if self.rule >= n else 0, parameters.dtype) for n in (1, 2))


class _Engine(Protocol):
    memory: _Memory

    def parameters(self) -> tuple[Array, Array]: ...

    def pack(self, weight: Array, bias: Array) -> Array: ...

    def unpack(self, packed: Array) -> tuple[Array, Array]: ...

    def arrange(self) -> None: ...

    def steps(self, x: Array, target: Array, order: Array, batch: int, losses: Array) -> None: ...


class PlainTrainer:
    """Trains a network's parameters in batches of a fixed size.

    ``loss`` is ``mean-squared-error``, ``cross-entropy`` (softmax over the output neurons; targets are class numbers)
    or ``binary-cross-entropy`` (sigmoid outputs are taken before their sigmoid, others as they are). The same seed and
    data give the same bits; in the kernels also on another number of threads.
    """

    def __init__(
        self,
        network: PlainNetwork,
        loss: str,
        rule: UpdateRule | None = None,
        *,
        batch: int = 32,
        dtype: DTypeLike = np.float32,
        threads: int | None = None,
        contract: bool | None = None,
    ) -> None:
        rule = UpdateRule() if rule is None else rule
        if loss not in LOSSES:
            raise PlainError(f"there is no loss {loss!r} for plain networks; there are {', '.join(LOSSES)}")
        if rule.kind not in RULES:
            raise PlainError(
                f"there is no rule {rule.kind!r} in the kernels; train a PlainModule with torch's optimiser"
            )
        if batch < 1:
            raise PlainError(f"batch: {batch} samples are no batch; take 1 or more")
        self.network, self.loss, self.batch, self.dtype = network, loss, batch, np.dtype(dtype)
        if self.dtype.name not in ("float32", "float64"):
            raise PlainError(f"dtype: {self.dtype} is not computed; take float32 or float64")
        raw = loss == "binary-cross-entropy" and _check_raw(network)
        dense = DenseLayers.of(network.layout, raw) if network.contracts(batch, contract) else None
        self._engine: _Engine = (
            _Sparse(network, LOSSES[loss], rule, batch, self.dtype, threads, raw)
            if dense is None
            else _Dense(network, dense, LOSSES[loss], rule, self.dtype, network.threads(batch, threads))
        )
        self.contracted = dense is not None

    @property
    def weight(self) -> Array:
        """The weights as they are now, in the drawing's order, tied ones once."""
        return self._engine.parameters()[0]

    @property
    def bias(self) -> Array:
        """The biases as they are now, in the drawing's order."""
        return self._engine.parameters()[1]

    def remembered(self) -> list[tuple[Array, Array]]:
        """Give what the rule remembers of the weights and of the biases: nothing, a mean, or a mean and a square."""
        memory = self._engine.memory
        return [self._engine.unpack(part) for part in (memory.m, memory.v) if part.size]

    def load(self, weight: Array, bias: Array, remembered: Sequence[tuple[Array, Array]] = (), time: int = 0) -> None:
        """Go on from parameters, from what the rule remembers of them, and from the steps that it has taken."""
        memory = self._engine.memory
        kept = [part for part in (memory.m, memory.v) if part.size]
        for part, numbers in zip((memory.p, *kept), ((weight, bias), *remembered), strict=True):
            part[:] = self._engine.pack(*numbers)
        memory.time = time
        self._engine.arrange()

    def set_rate(self, rate: float) -> None:
        """Set the learning rate of the steps that follow."""
        self._engine.memory.setting[0] = rate

    def checked(self, x: Array, target: Array) -> tuple[Array, Array]:
        """Give samples and targets as the steps take them, for many calls."""
        x = self.network.samples(x, self.dtype)
        return x, self._targets(target, x.shape[0])

    def train_steps(self, x: Array, target: Array, order: Array | None = None) -> Array:
        """Go once through the samples that ``order`` names, batch after batch; give the loss of every step.

        Without an order the samples are taken as they stand. The last batch may be smaller.
        """
        return self.go_on(*self.checked(x, target), order)

    def go_on(self, x: Array, target: Array, order: Array | None = None) -> Array:
        """Take steps on samples that were checked before."""
        given = np.arange(x.shape[0], dtype=np.int64) if order is None else order
        rows: NDArray[np.int64] = np.ascontiguousarray(given, np.int64)
        if rows.ndim != 1 or (rows.size and not 0 <= rows.min() <= rows.max() < x.shape[0]):
            raise PlainError(f"order: must be one row of numbers of samples, from 0 to {x.shape[0] - 1}")
        losses = np.empty(-(-rows.size // self.batch))
        self._engine.steps(x, target, rows, self.batch, losses)
        self._engine.memory.time += losses.size
        return losses

    def forward(self, x: Array) -> Array:
        """Compute the outputs of samples with the parameters as they are now."""
        return self.network.forward(x, self.weight, self.bias, dtype=self.dtype)

    def _targets(self, target: Array, samples: int) -> Array:
        outputs = self.network.outputs.size
        if self.loss == "cross-entropy":
            if target.shape != (samples,) or target.dtype.kind not in "iu":
                raise PlainError(
                    f"target: cross-entropy needs {samples} class numbers, not {target.dtype} {target.shape}"
                )
            if samples and not 0 <= target.min() <= target.max() < outputs:
                raise PlainError(f"target: classes must be from 0 to {outputs - 1}, one for each output neuron")
            target = target[:, np.newaxis]
        elif target.shape != (samples, outputs):
            raise PlainError(f"target: has the shape {target.shape}, {self.loss} needs ({samples}, {outputs})")
        return np.ascontiguousarray(target, self.dtype)


def _check_raw(network: PlainNetwork) -> bool:
    """Tell whether outputs are sigmoid neurons, whose total input is what binary cross-entropy wants."""
    s = network.layout.structure
    is_sigmoid = s.code[s.outputs] == CODES["sigmoid"]
    if not is_sigmoid.any():
        return False
    if (used := is_sigmoid & (np.diff(s.out_start)[s.outputs] > 0)).any():
        neuron = network.outputs[int(used.argmax())]
        raise PlainError(
            f"binary-cross-entropy: the sigmoid output {neuron} is used by other neurons; add one behind it"
        )
    if not is_sigmoid.all():
        neuron = network.outputs[int((~is_sigmoid).argmax())]
        raise PlainError(
            f"binary-cross-entropy: some outputs are sigmoid, but neuron {neuron} is not; make all the same"
        )
    return True


class _Sparse:
    """The kernels: small steps many in one call, large ones shared among threads."""

    def __init__(
        self, network: PlainNetwork, loss: int, rule: UpdateRule, batch: int, dtype: np.dtype[Any],
        threads: int | None, raw: bool,
    ) -> None:  # fmt: skip
        s = network.layout.structure
        if raw:
            code = s.code.copy()
            code[s.outputs] = CODES["identical"]
            s = s._replace(code=code)
        self._network, self._structure, self._loss = network, s, loss
        self.memory = _Memory(network.pack(None, None, dtype), rule)
        self._in_order, self._out_order = np.empty((2, s.front.size), dtype)
        self.arrange()
        self._chunks = np.zeros((network.chunks(batch), s.front.size + s.code.size - s.data), dtype)
        self._threads = network.threads(batch, threads)
        self._spare: list[tuple[Array, Array, Array]] = []

    def parameters(self) -> tuple[Array, Array]:
        return self.unpack(self.memory.p)

    def pack(self, weight: Array, bias: Array) -> Array:
        return self._network.pack(weight, bias, self.memory.p.dtype)

    def unpack(self, packed: Array) -> tuple[Array, Array]:
        return self._network.unpack(packed)

    def arrange(self) -> None:
        """Lay the weights out for the kernels."""
        from inkcap.engine.plain.parameters import arrange

        arrange(self._structure, self.memory.p, self._in_order, self._out_order, 0, self.memory.p.size)

    def _room(self) -> tuple[Array, Array, Array]:
        """Give a tile's activations, δ and targets: one that is free, or a new one."""
        from inkcap.engine.plain.lanes import LANES

        with suppress(IndexError):  # asking first would leave a moment for another thread
            return self._spare.pop()
        s, dtype = self._structure, self.memory.p.dtype
        y, d = np.zeros((2, s.code.size * LANES), dtype)
        return y, d, np.zeros(max(3, s.outputs.size) * LANES, dtype)

    def steps(self, x: Array, target: Array, order: Array, batch: int, losses: Array) -> None:
        from inkcap.engine.plain.steps import train_steps

        if len(self._chunks) > 1:
            for step in range(losses.size):
                part = order[step * batch : (step + 1) * batch]
                losses[step] = self._step(x, target, part, self.memory.time + step + 1)
            return
        memory, room = self.memory, self._room()
        train_steps(
            self._structure, self._in_order, self._out_order, x, target, order, batch, self._loss,
            memory.rule, memory.setting, memory.time + 1, memory.p, memory.m, memory.v, memory.g, *room,
            self._chunks, losses,
        )  # fmt: skip
        self._spare.append(room)

    def _step(self, x: Array, target: Array, order: Array, time: int) -> float:
        """Take one step with its tiles, and then its parameters, shared among threads."""
        from inkcap.engine.plain.lanes import LANES
        from inkcap.engine.plain.parameters import finish_step
        from inkcap.engine.plain.steps import train_tiles

        s, memory, chunks = self._structure, self.memory, self._chunks
        bias = memory.p[s.slots :]
        tiles, parts = -(-order.size // LANES), -(-memory.p.size // _PART)
        errors = np.zeros(len(chunks))

        def tile(i: int) -> None:
            room = self._room()
            errors[i] = train_tiles(
                s, self._in_order, self._out_order, bias, x, target, order, 0, order.size, self._loss,
                i * tiles // len(chunks), (i + 1) * tiles // len(chunks), *room, chunks[i],
            )  # fmt: skip
            self._spare.append(room)

        def finish(i: int) -> None:
            finish_step(
                s, memory.rule, memory.setting, time, memory.p, memory.m, memory.v, memory.g, chunks,
                self._in_order, self._out_order, i * _PART, min((i + 1) * _PART, memory.p.size),
            )  # fmt: skip

        share(tile, len(chunks), self._threads)
        share(finish, parts, self._threads)
        return float(sum(errors.tolist()))


class _Dense:
    """Matrix products by torch, backpropagation written out, and the kernels' update of all parameters at once."""

    def __init__(
        self, network: PlainNetwork, dense: DenseLayers, loss: int, rule: UpdateRule, dtype: np.dtype[Any], threads: int
    ) -> None:
        self._dense, self._loss, self._threads, self._weights = dense, loss, threads, network.weight.size
        self._scratch = Scratch()
        self.memory = _Memory(np.concatenate([network.weight, network.bias]).astype(dtype), rule)

    def parameters(self) -> tuple[Array, Array]:
        return self.unpack(self.memory.p)

    def pack(self, weight: Array, bias: Array) -> Array:
        return np.concatenate([weight, bias])

    def unpack(self, packed: Array) -> tuple[Array, Array]:
        return packed[: self._weights].copy(), packed[self._weights :].copy()

    def arrange(self) -> None:
        """Leave the weights where they are: the matrices are views of them."""

    def steps(self, x: Array, target: Array, order: Array, batch: int, losses: Array) -> None:
        from inkcap.engine.plain.parameters import update_range

        memory, dense, scratch = self.memory, self._dense, self._scratch
        samples, targets, turn = (torch.from_numpy(array) for array in (x, target, order))
        weight, bias = (torch.from_numpy(part) for part in np.split(memory.p, [self._weights]))
        by_weight, by_bias = (torch.from_numpy(part) for part in np.split(memory.g, [self._weights]))
        parts = -(-memory.p.size // _PART)
        for step in range(losses.size):
            rows = turn[step * batch : (step + 1) * batch]
            batch_x = torch.index_select(
                samples, 0, rows, out=scratch.take("data", 0, rows.numel(), x.shape[1], weight)
            )
            values = dense.forward(batch_x, weight, bias, scratch)
            error, seed = _seed(self._loss, dense.outputs(values), targets[rows])
            dense.backward(values, weight, seed, by_weight, by_bias, False, scratch)
            time = memory.time + step + 1

            def finish(i: int, time: int = time) -> None:
                first, last = i * _PART, min((i + 1) * _PART, memory.p.size)
                update_range(
                    memory.rule, memory.setting, time, memory.p, memory.m, memory.v, memory.g, first, last
                )  # fmt: skip

            share(finish, parts, self._threads)
            losses[step] = error


def _seed(loss: int, y: torch.Tensor, target: torch.Tensor) -> tuple[float, torch.Tensor]:
    """Give a batch's loss and its derivative by the outputs."""
    if loss == 0:
        difference = y - target
        return float(difference.square().mean()), difference.mul_(2 / difference.numel())
    if loss == 1:
        classes = target.long()
        chance = torch.log_softmax(y, 1)
        error = -float(chance.gather(1, classes).mean())
        seed = chance.exp_()
        seed.scatter_add_(1, classes, seed.new_full((1, 1), -1.0).expand(classes.shape))
        return error, seed.div_(y.shape[0])
    error = torch.nn.functional.binary_cross_entropy_with_logits(y, target)
    return float(error), torch.sigmoid(y).sub_(target).div_(y.numel())
