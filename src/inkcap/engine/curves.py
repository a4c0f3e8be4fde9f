"""Curves: functions of one number by their names, each with its torch call, slope, NumPy reference and printed form.

At a kink the slope is the one that torch gives, so that printed modules learn what the steps learn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - printed modules call it so

from inkcap.engine.printed import Printed

Array = NDArray[Any]
Attributes = Mapping[str, Any]


@dataclass(frozen=True)
class Curve:
    """A function of one number: torch, its slope from x and y, NumPy, how it is printed, and where it has kinks."""

    compute: Callable[[Tensor, Attributes], Tensor]
    slope: Callable[[Tensor, Tensor, Attributes], Tensor]
    reference: Callable[[Array, Attributes], Array]
    printed: Callable[[Printed, Attributes], Printed]
    kinks: Callable[[Attributes], tuple[float, ...]] = lambda at: ()
    backward: Callable[[Tensor, Tensor, Attributes], Tensor] | None = None
    """The gradient by x from the one by y and x, where that is had without the slope of every number."""

    def product(self, x: Tensor, y: Tensor, gradient: Tensor, at: Attributes) -> Tensor:
        """Carry a gradient back."""
        return gradient * self.slope(x, y, at) if self.backward is None else self.backward(gradient, x, at)


_aten = torch.ops.aten


def square_root(x: Tensor) -> Tensor:
    """√x, with the slope zero at zero, where it has none."""
    zero = x == 0
    return torch.where(zero, 0, torch.where(zero, 1, x).sqrt())


def _called(name: str, **usual: float) -> Callable[[Printed, Attributes], Printed]:
    """Print a call of torch with its numbers behind, unless they are all the usual ones."""

    def form(x: Printed, at: Attributes) -> Printed:
        plain = all(at[number] == value for number, value in usual.items())
        numbers = () if plain else (repr(at[number]) for number in usual)
        return Printed(f"{name}({', '.join((x.text, *numbers))})")

    return form


def _affine(x: Printed, at: Attributes) -> Printed:
    scale, shift = at["scale"], at["shift"]
    if scale == -1 and shift:
        return Printed(f"{shift!r} - {x.tight}", loose=True)
    scaled = {1: x.tight, -1: f"-{x.tight}"}.get(scale, f"{scale!r} * {x.tight}")
    if not shift:
        return Printed(scaled, loose=True)
    return Printed(f"{scaled} {'-' if shift < 0 else '+'} {abs(shift)!r}", loose=True)


def _power(x: Printed, at: Attributes) -> Printed:
    exponent = at["exponent"]
    return Printed(f"{x.tight}.square()") if exponent == 2 else Printed(f"{x.tight} ** {exponent!r}", loose=True)


def _least(x: Printed, at: Attributes) -> Printed:
    number = at["number"]
    return Printed(f"F.threshold({x.text}, {number!r}, {number!r})" if at["strict"] else f"{x.tight}.clamp({number!r})")


def _most(x: Printed, at: Attributes) -> Printed:
    number = at["number"]
    if at["strict"]:
        return Printed(f"-F.threshold(-{x.tight}, {-number!r}, {-number!r})", loose=True)
    return Printed(f"{x.tight}.clamp(max={number!r})")


def _gelu_slope(x: Tensor, y: Tensor, at: Attributes) -> Tensor:
    below = (1 + torch.erf(x / math.sqrt(2))) / 2
    return below + x * torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def _tanh_inside(x: Any, cube: Any) -> Any:
    inside: Any = math.sqrt(2 / math.pi) * (x + 0.044715 * cube)
    return inside


def _gelu_tanh_slope(x: Tensor, y: Tensor, at: Attributes) -> Tensor:
    t = torch.tanh(_tanh_inside(x, x**3))
    return (1 + t) / 2 + x / 2 * (1 - t * t) * _tanh_inside(1, 3 * x * x)


def _inside(x: Tensor, low: float, high: float) -> Tensor:
    return ((x > low) & (x < high)).to(x.dtype)


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


_SIXTH = float(np.float32(1) / np.float32(6))
"""torch's hard sigmoid multiplies by 1/6 in float32, whatever the data type."""
_ERF = np.vectorize(math.erf, otypes=[np.float64])


CURVES: dict[str, Curve] = {
    "affine": Curve(
        lambda x, at: at["scale"] * x + at["shift"],
        lambda x, y, at: torch.full_like(x, at["scale"]),
        lambda x, at: at["scale"] * x + at["shift"],
        _affine,
        backward=lambda gradient, x, at: gradient * at["scale"],
    ),
    "power": Curve(
        lambda x, at: x ** at["exponent"],
        lambda x, y, at: at["exponent"] * x ** (at["exponent"] - 1) if at["exponent"] else torch.zeros_like(x),
        lambda x, at: x ** at["exponent"],
        _power,
    ),
    "over": Curve(
        lambda x, at: at["number"] / x,
        lambda x, y, at: -y / x,
        lambda x, at: at["number"] / x,
        lambda x, at: Printed(f"{at['number']!r} / {x.tight}", loose=True),
    ),
    "at_least": Curve(
        lambda x, at: F.threshold(x, at["number"], at["number"]) if at["strict"] else x.clamp(at["number"]),
        lambda x, y, at: (x > at["number"] if at["strict"] else x >= at["number"]).to(x.dtype),
        lambda x, at: np.maximum(x, at["number"]),
        _least,
        lambda at: (at["number"],),
    ),
    "at_most": Curve(
        lambda x, at: -F.threshold(-x, -at["number"], -at["number"]) if at["strict"] else x.clamp(max=at["number"]),
        lambda x, y, at: (x < at["number"] if at["strict"] else x <= at["number"]).to(x.dtype),
        lambda x, at: np.minimum(x, at["number"]),
        _most,
        lambda at: (at["number"],),
    ),
    "leaky_relu": Curve(
        lambda x, at: F.leaky_relu(x, at["slope"]),
        lambda x, y, at: torch.where(x > 0, torch.ones_like(x), at["slope"]),
        lambda x, at: np.where(x > 0, x, at["slope"] * x),
        _called("F.leaky_relu", slope=0.01),
        lambda at: (0.0,),
    ),
    "elu": Curve(
        lambda x, at: F.elu(x, at["alpha"]),
        lambda x, y, at: torch.where(x > 0, 1, y + at["alpha"]),
        lambda x, at: np.where(x > 0, x, at["alpha"] * (np.exp(np.minimum(x, 0)) - 1)),
        _called("F.elu", alpha=1),
        lambda at: (0.0,),
    ),
    "gelu": Curve(
        lambda x, at: F.gelu(x),
        _gelu_slope,
        lambda x, at: x * (1 + _ERF(x / math.sqrt(2))) / 2,
        _called("F.gelu"),
        backward=lambda gradient, x, at: _aten.gelu_backward.default(gradient, x),
    ),
    "gelu_tanh": Curve(
        lambda x, at: F.gelu(x, approximate="tanh"),
        _gelu_tanh_slope,
        lambda x, at: x / 2 * (1 + np.tanh(_tanh_inside(x, x**3))),
        lambda x, at: Printed(f'F.gelu({x.text}, approximate="tanh")'),
        backward=lambda gradient, x, at: _aten.gelu_backward.default(gradient, x, approximate="tanh"),
    ),
    "silu": Curve(
        lambda x, at: F.silu(x),
        lambda x, y, at: torch.sigmoid(x) * (1 + x - y),
        lambda x, at: x * _sigmoid(x),
        _called("F.silu"),
    ),
    "softplus": Curve(
        lambda x, at: F.softplus(x, at["beta"]),
        lambda x, y, at: torch.where(at["beta"] * x > 20, 1, torch.sigmoid(at["beta"] * x)),
        lambda x, at: np.logaddexp(0, at["beta"] * x) / at["beta"],
        _called("F.softplus", beta=1),
    ),
    "hard_sigmoid": Curve(
        lambda x, at: F.hardsigmoid(x),
        lambda x, y, at: _inside(x, -3, 3) * _SIXTH,
        lambda x, at: np.clip(x / 6 + 0.5, 0, 1),
        _called("F.hardsigmoid"),
        lambda at: (-3.0, 3.0),
    ),
    "hard_tanh": Curve(
        lambda x, at: F.hardtanh(x, at["low"], at["high"]),
        lambda x, y, at: _inside(x, at["low"], at["high"]),
        lambda x, at: np.clip(x, at["low"], at["high"]),
        _called("F.hardtanh", low=-1, high=1),
        lambda at: (at["low"], at["high"]),
    ),
    "hard_swish": Curve(
        lambda x, at: F.hardswish(x),
        lambda x, y, at: torch.where(x <= -3, 0, torch.where(x < 3, x / 3 + 0.5, 1)),
        lambda x, at: x * np.clip(x / 6 + 0.5, 0, 1),
        _called("F.hardswish"),
        lambda at: (-3.0, 3.0),
    ),
    "sqrt": Curve(
        lambda x, at: square_root(x),
        lambda x, y, at: torch.where(x == 0, 0, 0.5 / torch.where(x == 0, 1, y)),
        lambda x, at: np.sqrt(x),
        _called("square_root"),
    ),
    "abs": Curve(
        lambda x, at: x.abs(),
        lambda x, y, at: x.sign(),
        lambda x, at: np.abs(x),
        lambda x, at: Printed(f"{x.tight}.abs()"),
        lambda at: (0.0,),
    ),
    "sign": Curve(
        lambda x, at: x.sign(),
        lambda x, y, at: torch.zeros_like(x),
        lambda x, at: np.sign(x),
        lambda x, at: Printed(f"{x.tight}.sign()"),
        lambda at: (0.0,),
    ),
    "exp": Curve(lambda x, at: torch.exp(x), lambda x, y, at: y, lambda x, at: np.exp(x), _called("torch.exp")),
    "log": Curve(lambda x, at: torch.log(x), lambda x, y, at: 1 / x, lambda x, at: np.log(x), _called("torch.log")),
    "sin": Curve(
        lambda x, at: torch.sin(x), lambda x, y, at: torch.cos(x), lambda x, at: np.sin(x), _called("torch.sin")
    ),
    "cos": Curve(
        lambda x, at: torch.cos(x), lambda x, y, at: -torch.sin(x), lambda x, at: np.cos(x), _called("torch.cos")
    ),
    "atan": Curve(
        lambda x, at: torch.atan(x),
        lambda x, y, at: 1 / (1 + x * x),
        lambda x, at: np.arctan(x),
        _called("torch.atan"),
    ),
}


def chosen_side(x: Tensor, at: Attributes) -> Tensor:
    """Tell on which side of its kinks a curve works, for every element."""
    kinks = torch.tensor(CURVES[at["of"]].kinks(at), dtype=x.dtype, device=x.device)
    return (x[..., None] > kinks).sum(-1)
