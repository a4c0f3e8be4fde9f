"""Rules: how each operation is written in the straight-line source of a planned backpropagation.

An operation without a rule of its own is called by its entry in ``TORCH``. A rule is there where a kernel of torch
does in one call what the product does in several, or where a part of the product is often not wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from inkcap.engine.torch_operations import TORCH
from inkcap.operations import VOCABULARY, Operation, ShapeError, Step
from inkcap.structures import Shape


@dataclass
class Page:
    """The source as it is written: its lines, the things that they name, and for which mode it is."""

    training: bool = True
    lines: list[str] = field(default_factory=list[str])
    namespace: dict[str, Any] = field(default_factory=dict[str, Any])

    def write(self, line: str) -> None:
        """Add a line."""
        self.lines.append(line)

    def bind(self, name: str, thing: Any) -> str:
        """Give a thing a name in the source."""
        self.namespace[name] = thing
        return name


@dataclass(frozen=True)
class Call:
    """One step in the source: the names of its arguments, its result and its gradient, and what is wanted of it."""

    step: Step
    arguments: Sequence[str]
    result: str = ""
    saved: str = ""
    gradient: str = ""
    wanted: Sequence[bool] = ()

    @property
    def rank(self) -> int:
        """The axes of the result, with the batch."""
        return len(self.step.shape) + 1


@dataclass(frozen=True)
class Piece:
    """The gradient of a part of a value: what lies from start to stop along an axis, counted with the batch."""

    text: str
    axis: int
    start: int
    stop: int


Parts = Sequence[str | Piece | None]
Backward = Callable[[Page, Call], Parts]


@dataclass(frozen=True)
class Rule:
    """How an operation is written forwards, and for each argument what carries the gradient back.

    A rule that ``saves`` makes a second value beside the result for its way back: chosen places, a mask, a mean.
    One that takes what is ``beside`` its first argument is given what the step of that argument saved.
    What differs between training and evaluation asks the page; what changes a state writes a line of its own.
    """

    forward: Callable[[Page, Call], str]
    backward: Backward
    saves: bool = False
    beside: bool = False


def _no_shape(*_: Shape, **__: Any) -> Shape:
    raise ShapeError("a rewrite knows the shapes of its steps")


@dataclass(frozen=True, kw_only=True)
class Written(Operation):
    """An operation that no symbol uses: a rewrite puts it into a program, and it brings its rule."""

    shape: Callable[..., Shape] = _no_shape
    rule: Rule
    flat: bool = False
    """Whether no gradient passes it."""


_aten = torch.ops.aten


def _threshold_backward_(gradient: Tensor, result: Tensor, threshold: float) -> Tensor:
    return _aten.threshold_backward.grad_input(gradient, result, threshold, grad_input=gradient)


LIBRARY: dict[str, Any] = {
    "torch": torch,
    "linear": functional.linear,
    "conv2d": torch.conv2d,
    "conv3d": torch.conv3d,
    "conv_transpose2d": torch.conv_transpose2d,
    "conv_transpose3d": torch.conv_transpose3d,
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "softmax": torch.softmax,
    "max_pool2d": functional.max_pool2d_with_indices,
    "max_pool3d": functional.max_pool3d_with_indices,
    "relu_": torch.relu_,
    "sigmoid_": torch.sigmoid_,
    "tanh_": torch.tanh_,
    "threshold_backward": _aten.threshold_backward.default,
    "threshold_backward_": _threshold_backward_,
    "sigmoid_backward": _aten.sigmoid_backward.default,
    "tanh_backward": _aten.tanh_backward.default,
    "softmax_backward": _aten._softmax_backward_data.default,
    "convolution_backward": _aten.convolution_backward.default,
    "max_pool2d_backward": _aten.max_pool2d_with_indices_backward.default,
    "max_pool3d_backward": _aten.max_pool3d_with_indices_backward.default,
}
"""The torch calls that rules name."""


def reduced(gradient: str, per: str, rank: int) -> str:
    """Write the sum over all that share a number: the batch, and the positions or elements."""
    if per == "channel":
        return f"{gradient}.sum({(0, *range(2, rank))})"
    if per == "item":
        return f"{gradient}.flatten(0, -2).sum(0)"
    return f"{gradient}.sum()" if per == "one" else f"{gradient}.sum(0)"


def _spread(call: Call, weight: str) -> str:
    axes = call.rank - 2
    return f"{weight}[:{', None' * axes}]" if call.step.attributes["per"] == "channel" and axes else weight


def _scale_back(page: Page, call: Call) -> Parts:
    x, w = call.arguments
    by_x = f"{call.gradient} * {_spread(call, w)}" if call.wanted[0] else None
    per = call.step.attributes["per"]
    return by_x, reduced(f"({call.gradient} * {x})", per, call.rank) if call.wanted[1] else None


def items(name: str, call: Call) -> str:
    """Write all vectors along the last axis as the rows of a matrix."""
    return name if call.rank == 2 else f"{name}.flatten(0, -2)"


def geometry(step: Step) -> str:
    """Write a convolution's stride, padding, dilation and groups as its backward takes them."""
    at = step.attributes
    stride, padding, dilation = (list(at[name]) for name in ("stride", "padding", "dilation"))
    back = list(at.get("output_padding", [0] * len(stride)))
    return f"{stride}, {padding}, {dilation}, {step.operation.name == 'deconvolve'}, {back}, {at['groups']}"


def convolved(call: Call, x: str, w: str, b: str = "None") -> str:
    """Write a convolution forwards."""
    at = call.step.attributes
    if call.step.operation.name == "deconvolve":
        places = f"{at['stride']}, {at['padding']}, {at['output_padding']}, {at['groups']}, {at['dilation']}"
        return f"conv_transpose{call.rank - 2}d({x}, {w}, {b}, {places})"
    places = f"{at['stride']}, {at['padding']}, {at['dilation']}, {at['groups']}"
    return f"conv{call.rank - 2}d({x}, {w}, {b}, {places})"


def _convolve_back(page: Page, call: Call) -> Parts:
    """Write the gradients by the input, the kernels and a bias, if there is one, in one call."""
    x, w, *bias = call.arguments
    made = f"p_{call.gradient}"
    sizes, mask = [call.step.shape[0]] if bias else None, [*call.wanted, *([] if bias else [False])]
    page.write(f"{made} = convolution_backward({call.gradient}, {x}, {w}, {sizes}, {geometry(call.step)}, {mask})")
    return [f"{made}[{i}]" if wanted else None for i, wanted in enumerate(call.wanted)]


def _product_back(page: Page, call: Call) -> Parts:
    w, x, *_ = call.arguments
    gradient, wanted = call.gradient, call.wanted
    parts = (
        f"{items(gradient, call)}.t().mm({items(x, call)})" if wanted[0] else None,
        f"{gradient}.{'mm' if call.rank == 2 else 'matmul'}({w})" if wanted[1] else None,
        *(f"{items(gradient, call)}.sum(0)" if by_bias else None for by_bias in wanted[2:]),
    )
    return parts


def _window(call: Call) -> tuple[str, str]:
    at = call.step.attributes
    return f"{list(at['window'])}, {list(at['stride'])}, {list(at['padding'])}", str(at["edge"] == "ceil")


def _pool(page: Page, call: Call) -> str:
    window, ceil = _window(call)
    return f"max_pool{call.rank - 2}d({call.arguments[0]}, {window}, 1, {ceil}, True)"


def _pool_back(page: Page, call: Call) -> Parts:
    window, ceil = _window(call)
    x, chosen = call.arguments[0], call.saved
    ones = [1] * (call.rank - 2)
    return (f"max_pool{len(ones)}d_backward({call.gradient}, {x}, {window}, {ones}, {ceil}, {chosen})",)


def _flip(call: Call, name: str) -> str:
    return f"{name}.flip({tuple(range(-call.step.attributes['axes'], 0))})"


def _softmax_back(page: Page, call: Call) -> Parts:
    axis = call.step.attributes["axis"]
    return (f"softmax_backward({call.gradient}, {call.result}, {axis}, {call.result}.dtype)",)


def _normalised(x: Tensor, groups: int, epsilon: float) -> tuple[Tensor, Tensor]:
    """Normalise over groups of channels; beside it stands by how much each group was scaled."""
    sizes = (x.shape[0], x.shape[1], x[0, 0].numel(), groups, epsilon)
    made, _, spread = _aten.native_group_norm.default(x.contiguous(), None, None, *sizes)
    return made, spread


def _normalised_back(gradient: Tensor, result: Tensor, spread: Tensor, groups: int) -> Tensor:
    """Leave out what changes a group's mean or its length, which normalising takes away again."""
    slope, found = (t.reshape(t.shape[0], groups, -1) for t in (gradient, result))
    along = (slope * found).mean(2, keepdim=True)
    by_x = (slope - slope.mean(2, keepdim=True)).addcmul_(found, along, value=-1)
    return by_x.mul_(spread[..., None]).reshape(result.shape)


LIBRARY.update(group_normalised=_normalised, group_normalised_backward=_normalised_back)


def _cat_back(page: Page, call: Call) -> Parts:
    axis, made = 1 + call.step.attributes["axis"], f"p_{call.gradient}"
    page.write(f"{made} = {call.gradient}.split([{', '.join(f'{x}.shape[{axis}]' for x in call.arguments)}], {axis})")
    return [f"{made}[{i}]" if wanted else None for i, wanted in enumerate(call.wanted)]


def _through(page: Page, call: Call) -> Parts:
    return [call.gradient if wanted else None for wanted in call.wanted]


RULES: dict[str, Rule] = {
    "add": Rule(lambda page, c: f"{c.arguments[0]} + {c.arguments[1]}", _through),
    "bias": Rule(
        lambda page, c: f"{c.arguments[0]} + {_spread(c, c.arguments[1])}",
        lambda page, c: (
            c.gradient if c.wanted[0] else None,
            reduced(c.gradient, c.step.attributes["per"], c.rank) if c.wanted[1] else None,
        ),
    ),
    "scale": Rule(lambda page, c: f"{c.arguments[0]} * {_spread(c, c.arguments[1])}", _scale_back),
    "matmul": Rule(
        lambda page, c: f"linear({', '.join((c.arguments[1], c.arguments[0], *c.arguments[2:]))})", _product_back
    ),
    "deconvolve": Rule(lambda page, c: convolved(c, *c.arguments), _convolve_back),
    "convolve": Rule(lambda page, c: convolved(c, *c.arguments), _convolve_back),
    "flip": Rule(lambda page, c: _flip(c, c.arguments[0]), lambda page, c: (_flip(c, c.gradient),)),
    "window_max": Rule(_pool, _pool_back, saves=True),
    "reshape": Rule(
        lambda page, c: f"{c.arguments[0]}.reshape({(-1, *c.step.attributes['shape'])})",
        lambda page, c: (f"{c.gradient}.reshape({c.arguments[0]}.shape)",),
    ),
    "relu": Rule(
        lambda page, c: f"relu({c.arguments[0]})",
        lambda page, c: (f"threshold_backward({c.gradient}, {c.result}, 0)",),
    ),
    "sigmoid": Rule(
        lambda page, c: f"sigmoid({c.arguments[0]})", lambda page, c: (f"sigmoid_backward({c.gradient}, {c.result})",)
    ),
    "tanh": Rule(
        lambda page, c: f"tanh({c.arguments[0]})", lambda page, c: (f"tanh_backward({c.gradient}, {c.result})",)
    ),
    "softmax": Rule(lambda page, c: f"softmax({c.arguments[0]}, {c.step.attributes['axis']})", _softmax_back),
    "concatenate": Rule(
        lambda page, c: f"torch.cat(({', '.join(c.arguments)},), {1 + c.step.attributes['axis']})", _cat_back
    ),
    "normalise": Rule(
        lambda page, c: (
            f"group_normalised({c.arguments[0]}, {c.step.attributes['groups']}, {c.step.attributes['epsilon']})"
        ),
        lambda page, c: (
            f"group_normalised_backward({c.gradient}, {c.result}, {c.saved}, {c.step.attributes['groups']})",
        ),
        saves=True,
    ),
    "same": Rule(lambda page, c: c.arguments[0], _through),
}

FLAT = frozenset(
    {"step", "largest", "random_mask", "indicate", "sampling_noise", "move_mean", "move_variance", "anchors"}
    | {name for name, operation in VOCABULARY.items() if operation.still}
)
"""Operations that no gradient passes: their slope is 0 wherever they have one, or their value is kept for later."""


def is_flat(step: Step) -> bool:
    """Tell whether no gradient passes a step."""
    return step.operation.flat if isinstance(step.operation, Written) else step.operation.name in FLAT


def rule_of(step: Step) -> Rule:
    """Give a step's rule: its own, or calls of its entry in ``TORCH``."""
    if isinstance(step.operation, Written):
        return step.operation.rule
    return RULES.get(step.operation.name, _CALLED)


def _called_forward(page: Page, call: Call) -> str:
    step = call.step
    compute = page.bind(f"compute_{step.operation.name}", TORCH[step.operation.name].compute)
    attributes = page.bind(f"attributes_{step.target}", step.attributes)
    return f"{compute}(({', '.join(call.arguments)},), {attributes})"


def _called_backward(page: Page, call: Call) -> Parts:
    step = call.step
    product = page.bind(f"product_{step.operation.name}", TORCH[step.operation.name].product)
    attributes = page.bind(f"attributes_{step.target}", step.attributes)
    made = f"p_{call.gradient}"
    arguments = ", ".join(call.arguments)
    page.write(f"{made} = {product}(({arguments},), {call.result}, {call.gradient}, {attributes})")
    return [f"{made}[{i}]" if wanted else None for i, wanted in enumerate(call.wanted)]


_CALLED = Rule(_called_forward, _called_backward)
