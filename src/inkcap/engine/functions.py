"""Operations of capsule functions beside the elementwise curves: torch calls, products, references and printed forms.

``unit_vectors``, ``sampling_noise``, ``normalise_nearby``, ``larger`` and ``indicate`` are printed into modules as they
stand here, so they name nothing but torch and each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - printed modules call it so

from inkcap.engine.curves import CURVES, square_root
from inkcap.engine.printed import Printed
from inkcap.engine.vectors import vector_length
from inkcap.operations import Step

Array = NDArray[Any]
Attributes = Mapping[str, Any]
Compute = Callable[[Sequence[Tensor], Attributes], Tensor]
Product = Callable[[Sequence[Tensor], Tensor, Tensor, Attributes], tuple[Tensor, ...]]


def unit_vectors(x: Tensor, dim: int) -> Tensor:
    """Give vectors along an axis the length 1; zero stays zero, with slope zero."""
    n = vector_length(x, dim)
    return torch.where(n > 0, x, 0) / torch.where(n > 0, n, 1)


def sampling_noise(p: Tensor, training: bool) -> Tensor:
    """What makes zeros and ones of probabilities in training when it is added; it has no slope."""
    return ((torch.rand_like(p) < p).to(p.dtype) - p).detach() if training else torch.zeros_like(p)


def normalise_nearby(x: Tensor, size: int, alpha: float, beta: float, k: float) -> Tensor:
    """Divide by (k + α·mean of squares)^β, the mean over size×size positions of the same channel."""
    before, after = size // 2, (size - 1) // 2
    squares = F.pad(x.square(), (before, after, before, after))
    return x / (k + alpha * F.avg_pool2d(squares, size, 1)) ** beta


def larger(x: Tensor, y: Tensor) -> Tensor:
    """Give the larger of two; where they are equal the first counts."""
    return torch.where(x >= y, x, y)


def indicate(index: Tensor, size: int) -> Tensor:
    """Give 1 at the place of an index, counted from 0, and 0 elsewhere; outside there is no such place."""
    return (index.round() == torch.arange(size, device=index.device)).to(index.dtype)


PRINTED = {
    "sqrt": (square_root,),
    "unit": (vector_length, unit_vectors),
    "sampling_noise": (sampling_noise,),
    "positions": (normalise_nearby,),
    "maximum": (larger,),
    "indicate": (indicate,),
}
"""The functions that the printed form of an operation, a curve or a choice calls."""


def called_by(step: Step) -> tuple[Callable[..., Any], ...]:
    """Give the functions of this module that the printed form of a step calls."""
    variant = step.attributes.get("of") or step.attributes.get("over") or step.operation.name
    return PRINTED.get(variant, ())


def _window_sums(x: Tensor, before: int, after: int, over: str) -> Tensor:
    size = before + after + 1
    if over == "channels":
        padded = F.pad(x, (*(0, 0) * (x.ndim - 2), before, after))
        return padded.unfold(1, size, 1).sum(-1)
    padded = F.pad(x, (before, after, before, after))
    return padded.unfold(2, size, 1).unfold(3, size, 1).sum((-1, -2))


def _share(at: Attributes) -> float:
    """Give how much the mean of the squares in a window counts."""
    count = at["size"] if at["over"] == "channels" else at["size"] ** 2
    return at["alpha"] if at["divided"] else at["alpha"] * count


def _local_response(x: Tensor, at: Attributes) -> Tensor:
    if at["over"] == "channels":
        return F.local_response_norm(x, at["size"], _share(at), at["beta"], at["k"])
    return normalise_nearby(x, at["size"], _share(at), at["beta"], at["k"])


def _local_response_product(v: Sequence[Tensor], y: Tensor, g: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    x, size = v[0], at["size"]
    count = size if at["over"] == "channels" else size**2
    share, before, after = _share(at) / count, size // 2, (size - 1) // 2
    denominator = at["k"] + share * _window_sums(x * x, before, after, at["over"])
    # A number is in the windows of those that it lies behind, so the windows of the way back are turned around.
    spread = _window_sums(g * x * denominator ** (-at["beta"] - 1), after, before, at["over"])
    return (g * denominator ** -at["beta"] - 2 * share * at["beta"] * x * spread,)


def _unit_product(v: Sequence[Tensor], y: Tensor, g: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    n = vector_length(v[0], 1)
    along = (g * y).sum(1, keepdim=True)
    return (torch.where(n > 0, g - y * along, 0) / torch.where(n > 0, n, 1),)


def _pieces(x: Any, pieces: int) -> Any:
    return x.reshape(x.shape[0], -1, pieces, *x.shape[2:])


def _piece_max_product(v: Sequence[Tensor], y: Tensor, g: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    chosen = _pieces(v[0], at["pieces"]).max(2, keepdim=True).indices
    by_x = torch.zeros_like(_pieces(v[0], at["pieces"])).scatter_(2, chosen, g.unsqueeze(2))
    return (by_x.reshape(v[0].shape),)


def _slopes(w: Any, x: Any) -> Any:
    return w.reshape(-1, *(1,) * (x.ndim - 2)) if x.ndim > 1 else w


def _prelu_product(v: Sequence[Tensor], y: Tensor, g: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    x, w = v
    by_w = torch.where(x > 0, 0, g * x)
    shared = w.numel() == 1
    axes = tuple(range(x.ndim)) if shared else (0, *range(2, x.ndim))
    return g * torch.where(x > 0, 1, _slopes(w, x)), by_w.sum(axes).reshape(w.shape)


def _divide_product(v: Sequence[Tensor], y: Tensor, g: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    return g / v[1], -g * y / v[1]


def _maximum_product(v: Sequence[Tensor], y: Tensor, g: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    first = v[0] >= v[1]
    return g * first, g * ~first


def _spread_total(g: Tensor, like: Tensor, axes: tuple[int, ...]) -> Tensor:
    kept = [1 if i - like.ndim in axes else size for i, size in enumerate(like.shape)]
    return g.reshape(kept).expand_as(like)


def _code_distance_product(v: Sequence[Tensor], y: Tensor, g: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    away = 2 * g[:, :, None] * (v[1][:, None] - v[0])
    return -away.sum(0), away.sum(1)


FUNCTIONS: dict[str, tuple[Compute, Product]] = {
    "curve": (
        lambda v, at: CURVES[at["of"]].compute(v[0], at),
        lambda v, y, g, at: (CURVES[at["of"]].product(v[0], y, g, at),),
    ),
    "prelu": (lambda v, at: F.prelu(v[0], v[1]), _prelu_product),
    "piece_max": (lambda v, at: _pieces(v[0], at["pieces"]).max(2).values, _piece_max_product),
    "local_response": (lambda v, at: _local_response(v[0], at), _local_response_product),
    "unit": (lambda v, at: unit_vectors(v[0], 1), _unit_product),
    "subtract": (lambda v, at: v[0] - v[1], lambda v, y, g, at: (g, -g)),
    "matrix_product": (lambda v, at: v[0] @ v[1], lambda v, y, g, at: (g @ v[1].mT, v[0].mT @ g)),
    "divide": (lambda v, at: v[0] / v[1], _divide_product),
    "maximum": (lambda v, at: larger(*v), _maximum_product),
    "total": (
        lambda v, at: v[0].sum(at["axes"], keepdim=at["keep"]),
        lambda v, y, g, at: (_spread_total(g, v[0], at["axes"]),),
    ),
    "indicate": (
        lambda v, at: indicate(v[0], at["size"]),
        lambda v, y, g, at: (torch.zeros_like(v[0]),),
    ),
    "sampling_noise": (
        lambda v, at: sampling_noise(v[0], at["training"]),
        lambda v, y, g, at: (torch.zeros_like(v[0]),),
    ),
    "code_distance": (
        lambda v, at: (v[1][:, None] - v[0]).square().sum(2),
        _code_distance_product,
    ),
}
"""How torch computes each operation, and how its gradient goes back."""


def _reference_response(x: Array, at: Attributes) -> Array:
    size, sums = at["size"], np.zeros_like(x)
    count = size if at["over"] == "channels" else size**2
    before, after = size // 2, (size - 1) // 2
    for place in np.ndindex(x.shape[1:]):
        window: list[slice] = [slice(max(i - before, 0), i + after + 1) for i in place]
        near = (window[0], *place[1:]) if at["over"] == "channels" else (place[0], *window[1:])
        sums[(slice(None), *place)] = (x[(slice(None), *near)] ** 2).reshape(x.shape[0], -1).sum(1)
    return x / (at["k"] + at["alpha"] / (count if at["divided"] else 1) * sums) ** at["beta"]


def _reference_unit(x: Array) -> Array:
    length = np.sqrt((x**2).sum(1, keepdims=True))
    return np.divide(x, length, out=np.zeros_like(x), where=length > 0)


def _reference_noise(p: Array, at: Attributes) -> Array:
    if not at["training"]:
        return np.zeros_like(p)
    return (np.random.default_rng().random(p.shape) < p) - p


def _reference_total(x: Array, at: Attributes) -> Array:
    found: Array = x.sum(at["axes"], keepdims=True)
    return found if at["keep"] else found.squeeze(at["axes"])


def _reference_indicate(index: Array, size: int) -> Array:
    places: Array = np.arange(size)
    found: Array = np.equal(np.round(index), places)
    return found.astype(index.dtype)


FUNCTIONS_REFERENCE: dict[str, Callable[[Sequence[Array], Attributes], Array]] = {
    "curve": lambda v, at: CURVES[at["of"]].reference(v[0], at),
    "prelu": lambda v, at: np.where(v[0] > 0, v[0], _slopes(v[1], v[0]) * v[0]),
    "piece_max": lambda v, at: _pieces(v[0], at["pieces"]).max(2),
    "local_response": lambda v, at: _reference_response(v[0], at),
    "unit": lambda v, at: _reference_unit(v[0]),
    "subtract": lambda v, at: v[0] - v[1],
    "matrix_product": lambda v, at: np.einsum("zcij,zcjk->zcik", v[0], v[1]),
    "divide": lambda v, at: v[0] / v[1],
    "maximum": lambda v, at: np.maximum(v[0], v[1]),
    "total": lambda v, at: _reference_total(v[0], at),
    "indicate": lambda v, at: _reference_indicate(v[0], at["size"]),
    "sampling_noise": lambda v, at: _reference_noise(v[0], at),
    "code_distance": lambda v, at: ((v[1][:, None] - v[0]) ** 2).sum(2),
}


def _print_response(step: Step, x: Printed) -> Printed:
    at = step.attributes
    name = "F.local_response_norm" if at["over"] == "channels" else "normalise_nearby"
    return Printed(f"{name}({x.text}, {at['size']}, {_share(at)!r}, {at['beta']!r}, {at['k']!r})")


def _print_total(step: Step, x: Printed) -> Printed:
    axes = step.attributes["axes"]
    keep = ", keepdim=True" if step.attributes["keep"] else ""
    return Printed(f"{x.tight}.sum({axes[0] if len(axes) == 1 else axes}{keep})")


def _print_pieces(step: Step, x: Printed) -> Printed:
    sizes = (-1, step.shape[0], step.attributes["pieces"], *step.shape[1:])
    return Printed(f"{x.tight}.reshape({', '.join(map(str, sizes))}).max(2).values")


FUNCTION_FORMS: dict[str, Callable[[Step, Sequence[Printed]], Printed]] = {
    "curve": lambda step, v: CURVES[step.attributes["of"]].printed(v[0], step.attributes),
    "prelu": lambda step, v: Printed(f"F.prelu({v[0].text}, {v[1].text})"),
    "piece_max": lambda step, v: _print_pieces(step, v[0]),
    "local_response": lambda step, v: _print_response(step, v[0]),
    "unit": lambda step, v: Printed(f"unit_vectors({v[0].text}, 1)"),
    "subtract": lambda step, v: Printed(f"{v[0].text} - {v[1].tight}", loose=True),
    "matrix_product": lambda step, v: Printed(f"{v[0].tight} @ {v[1].tight}", loose=True),
    "divide": lambda step, v: Printed(f"{v[0].tight} / {v[1].tight}", loose=True),
    "maximum": lambda step, v: Printed(f"larger({v[0].text}, {v[1].text})"),
    "total": lambda step, v: _print_total(step, v[0]),
    "indicate": lambda step, v: Printed(f"indicate({v[0].text}, {step.attributes['size']})"),
    "sampling_noise": lambda step, v: Printed(f"sampling_noise({v[0].text}, self.training)"),
    "code_distance": lambda step, v: Printed(f"({v[1].tight}[:, None] - {v[0].tight}).square().sum(2)"),
}
