"""Small maps: a convolution over few positions is a product of matrices.

Where there are fewer positions than taps, most taps meet nothing but padding, at every position other ones. The matrix
has the numbers of the kernels where an output sees an input, position by position, so nothing is multiplied by padding.
Taps that see no input have the gradient 0, as they have in a convolution. Kernels of a single tap are a matrix already,
and on the smallest maps a product with it is faster than a convolution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from inkcap.engine.draft import Draft
from inkcap.engine.rules import Call, Page, Parts, Rule, Written
from inkcap.operations import Step
from inkcap.structures import Shape

FEW_POSITIONS = 4
"""Up to so many positions a kernel of one tap is taken for a matrix; beyond, convolutions were found to be faster."""

Span = tuple[int, tuple[slice, ...], tuple[slice, ...]]
"""An output position by its number, the inputs that it sees, and the taps through which it sees them."""


def make_matrices(draft: Draft) -> Draft:
    """Write the convolutions of small maps as matrices."""
    shapes = draft.shapes()
    instead: dict[int, Sequence[Step]] = {}
    for step in draft.steps:
        if step.operation.name != "convolve" or step.attributes["groups"] != 1:
            continue
        sizes, taps = _known(shapes[step.arguments[0]][1:]), _known(shapes[step.arguments[1]][2:])
        made = _known(step.shape[1:])
        if math.prod(taps) == 1 and math.prod(sizes) <= FEW_POSITIONS and made == sizes:
            instead[step.target] = (replace(step, operation=_POINTWISE, attributes={}),)
        elif math.prod(sizes) < math.prod(taps):
            spans = _spans(step, sizes, taps, made)
            instead[step.target] = (replace(step, operation=_MATRIX, attributes={"spans": spans, "made": made}),)
    return draft.rewritten(instead)


def _known(sizes: Shape) -> tuple[int, ...]:
    """Give sizes as numbers: what is to be trained has no others."""
    known = tuple(size for size in sizes if isinstance(size, int))
    assert len(known) == len(sizes)
    return known


def _spans(step: Step, sizes: tuple[int, ...], taps: tuple[int, ...], made: tuple[int, ...]) -> tuple[Span, ...]:
    """Find what every output position sees; one that sees nothing is left out."""
    at, found = step.attributes, list[Span]()
    for number, place in enumerate(product(*(range(size) for size in made))):
        here, through = list[slice](), list[slice]()
        for axis, o in enumerate(place):
            apart, first = at["dilation"][axis], o * at["stride"][axis] - at["padding"][axis]
            seen = [tap for tap in range(taps[axis]) if 0 <= first + tap * apart < sizes[axis]]
            if not seen:
                break
            here.append(slice(first + seen[0] * apart, first + seen[-1] * apart + 1, apart))
            through.append(slice(seen[0], seen[-1] + 1))
        else:
            found.append((number, tuple(here), tuple(through)))
    return tuple(found)


def small_convolved(
    x: Tensor, weight: Tensor, bias: Tensor | None, spans: Sequence[Span], made: tuple[int, ...]
) -> Tensor:
    """Convolve by a matrix."""
    matrix = _matrix(x, weight, spans, made)
    flat = functional.linear(_rows(x), matrix, None if bias is None else bias.repeat(math.prod(made)))
    return flat.reshape(len(x), *made, len(weight)).movedim(-1, 1)


def small_convolved_backward(
    gradient: Tensor, x: Tensor, weight: Tensor, spans: Sequence[Span], wanted: Sequence[bool]
) -> tuple[Tensor | None, ...]:
    """Give the gradients by the input, the kernels and a bias; the matrix is made anew, for it may be large."""
    rows = _rows(gradient)
    kernels, channels = weight.shape[:2]
    by_x = by_weight = None
    if wanted[0]:
        matrix = _matrix(x, weight, spans, gradient.shape[2:])
        by_x = rows.mm(matrix).reshape(len(x), *x.shape[2:], channels).movedim(-1, 1)
        del matrix
    if wanted[1]:
        # Position by position: the gradient by the whole matrix would be as large as it is.
        by_weight = torch.zeros_like(weight)
        taps, maps, slopes = by_weight.movedim(1, -1), x.movedim(1, -1), rows.reshape(len(x), -1, kernels)
        for number, here, through in spans:
            seen = maps[(slice(None), *here)]
            taps[(slice(None), *through)] += slopes[:, number].t().mm(_flat(seen)).reshape(kernels, *seen.shape[1:])
    return by_x, by_weight, rows.reshape(-1, kernels).sum(0) if wanted[2] else None


def _matrix(x: Tensor, weight: Tensor, spans: Sequence[Span], made: Sequence[int]) -> Tensor:
    """Lay the numbers of the kernels where an output sees an input, both position by position."""
    kernels, channels = weight.shape[:2]
    matrix = weight.new_zeros((math.prod(made), kernels, *x.shape[2:], channels))
    taps = weight.movedim(1, -1)
    for number, here, through in spans:
        matrix[(number, slice(None), *here)] = taps[(slice(None), *through)]
    return matrix.reshape(len(matrix) * kernels, -1)


def pointwise(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Convolve by kernels of a single tap."""
    made = functional.linear(x.movedim(1, -1), weight.flatten(1), bias)
    return made.movedim(-1, 1)


def pointwise_backward(
    gradient: Tensor, x: Tensor, weight: Tensor, wanted: Sequence[bool]
) -> tuple[Tensor | None, ...]:
    """Give the gradients by the input, the kernels and a bias."""
    slopes = gradient.movedim(1, -1).reshape(-1, gradient.shape[1])
    by_x = by_weight = None
    if wanted[0]:
        by_x = slopes.mm(weight.flatten(1)).reshape(len(x), *x.shape[2:], x.shape[1]).movedim(-1, 1)
    if wanted[1]:
        rows = x.movedim(1, -1).reshape(-1, x.shape[1])
        by_weight = slopes.t().mm(rows).reshape(weight.shape)
    return by_x, by_weight, slopes.sum(0) if wanted[2] else None


def _rows(maps: Tensor) -> Tensor:
    """Lay out every sample as a row, position by position: so maps whose channels lie last are not copied."""
    return _flat(maps.movedim(1, -1))


def _flat(values: Tensor) -> Tensor:
    return values.reshape(len(values), -1)


def _forward(page: Page, call: Call) -> str:
    x, weight, *bias = call.arguments
    page.bind("small_convolved", small_convolved)
    return f"small_convolved({x}, {weight}, {bias[0] if bias else None}, {_bound(page, call)}, {_made(call)})"


def _backward(page: Page, call: Call) -> Parts:
    page.bind("small_convolved_backward", small_convolved_backward)
    x, weight, *_ = call.arguments
    arguments = f"{call.gradient}, {x}, {weight}, {_bound(page, call)}, {_mask(call)}"
    page.write(f"p_{call.gradient} = small_convolved_backward({arguments})")
    return _parts(call)


def _pointwise_forward(page: Page, call: Call) -> str:
    x, weight, *bias = call.arguments
    page.bind("pointwise", pointwise)
    return f"pointwise({x}, {weight}, {bias[0] if bias else None})"


def _pointwise_backward(page: Page, call: Call) -> Parts:
    page.bind("pointwise_backward", pointwise_backward)
    x, weight, *_ = call.arguments
    page.write(f"p_{call.gradient} = pointwise_backward({call.gradient}, {x}, {weight}, {_mask(call)})")
    return _parts(call)


def _mask(call: Call) -> list[bool]:
    """Tell what is wanted of the input, the kernels and the bias, which may not be there."""
    return [*call.wanted, False][:3]


def _parts(call: Call) -> Parts:
    return [f"p_{call.gradient}[{i}]" if wanted else None for i, wanted in enumerate(call.wanted)]


def _bound(page: Page, call: Call) -> str:
    return page.bind(f"spans_{call.step.target}", call.step.attributes["spans"])


def _made(call: Call) -> Any:
    return call.step.attributes["made"]


_MATRIX = Written(name="small_convolved", meaning="a convolution as one matrix", rule=Rule(_forward, _backward))
_POINTWISE = Written(
    name="pointwise", meaning="kernels of one tap as a matrix", rule=Rule(_pointwise_forward, _pointwise_backward)
)
