"""The printed forms of what slides over axes, cuts blocks and pads: as an experienced person writes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

from inkcap.engine.printed import Printed
from inkcap.operations import Step


def pair(values: Any) -> str:
    """Print a value per axis: one number where all are equal."""
    first, *rest = values
    return str(first) if all(value == first for value in rest) else str(tuple(values))


def options(step: Step, defaults: dict[str, Any]) -> str:
    """Print the attributes that are not what torch takes them for."""
    stated = ((name, step.attributes[name], default) for name, default in defaults.items())
    given = ((name, value) for name, value, default in stated if value not in (default, (default,) * _count(value)))
    return "".join(f", {name}={pair(value) if isinstance(value, tuple) else value}" for name, value in given)


def _count(value: Any) -> int:
    return len(cast("tuple[int, ...]", value)) if isinstance(value, tuple) else 0


TRANSPOSED_DEFAULTS: dict[str, Any] = {"stride": 1, "padding": 0, "output_padding": 0, "groups": 1, "dilation": 1}
CONVOLUTION_DEFAULTS: dict[str, Any] = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}


def _pool(kind: str, step: Step, x: Printed, more: str = "") -> Printed:
    at = step.attributes
    stride = "" if at["stride"] == at["window"] else f", stride={pair(at['stride'])}"
    padding = "" if not any(at["padding"]) else f", padding={pair(at['padding'])}"
    ceil = ", ceil_mode=True" if at["edge"] == "ceil" else ""
    return Printed(f"F.{kind}_pool{_over(step)}({x.text}, {pair(at['window'])}{stride}{padding}{ceil}{more})")


def _over(step: Step) -> str:
    """Print over how many axes something slides."""
    return f"{len(step.shape) - 1}d"


def _mean(step: Step, x: Printed) -> Printed:
    counts = step.attributes["count_padding"] or not any(step.attributes["padding"])
    return _pool("avg", step, x, "" if counts else ", count_include_pad=False")


def _sum(step: Step, x: Printed) -> Printed:
    at = step.attributes
    if at["edge"] == "ceil":
        # A window that reaches over the edge has a mean of fewer numbers.
        return _pool("avg", step, x, ", divisor_override=1")
    return Printed(f"{math.prod(at['window'])} * {_pool('avg', step, x).text}", loose=True)


def _bins(kind: str, step: Step, x: Printed) -> Printed:
    return Printed(f"F.adaptive_{kind}_pool{_over(step)}({x.text}, {pair(step.attributes['bins'])})")


def _resample(step: Step, x: Printed) -> Printed:
    at = step.attributes
    linear = f', mode="{"trilinear" if len(step.shape) == 4 else "bilinear"}'
    mode = f'{linear}", align_corners={at["align"]}' if at["mode"] == "linear" else ""
    return Printed(f"F.interpolate({x.text}, {pair(at['size'])}{mode})")


def _block(step: Step, x: Printed) -> Printed:
    at = step.attributes
    spans = [
        f"{first or ''}:{first + size}" if size is not None else ":"
        for first, size in zip(at["first"], at["sizes"], strict=True)
    ]
    cut = next(i for i, span in enumerate(spans) if span != ":")
    return Printed(f"{x.tight}[{', '.join(['...' if cut else ':', *spans[cut:]])}]")


def _pad(step: Step, x: Printed) -> Printed:
    # torch pads the last axis first, and leaves alone what is not named.
    pairs = list(zip(step.attributes["before"], step.attributes["after"], strict=True))
    while len(pairs) > 1 and pairs[0] == (0, 0):
        pairs.pop(0)
    return Printed(f"F.pad({x.text}, ({', '.join(str(n) for pair in reversed(pairs) for n in pair)}))")


def _place_kernels(step: Step, w: Printed, index: Printed) -> Printed:
    kernels, channels, *kernel = step.shape
    sizes = ", ".join(map(str, (kernels * channels, *kernel)))
    return Printed(f"{w.text}.new_zeros({sizes}).index_copy(0, {index.text}, {w.text}).reshape{tuple(step.shape)}")


def _difference(step: Step, x: Printed) -> Printed:
    axis, apart = step.attributes["axis"], step.attributes["apart"]
    rest = ", :" * (-axis - 1)
    return Printed(f"{x.tight}[..., {apart}:{rest}] - {x.tight}[..., :-{apart}{rest}]", loose=True)


WINDOW_FORMS: dict[str, Callable[[Step, Sequence[Printed]], Printed]] = {
    "convolve": lambda step, v: Printed(
        f"F.conv{_over(step)}({v[0].text}, {v[1].text}{options(step, CONVOLUTION_DEFAULTS)})"
    ),
    "place_kernels": lambda step, v: _place_kernels(step, *v),
    "difference": lambda step, v: _difference(step, v[0]),
    "deconvolve": lambda step, v: Printed(
        f"F.conv_transpose{_over(step)}({v[0].text}, {v[1].text}{options(step, TRANSPOSED_DEFAULTS)})"
    ),
    "convolve_local": lambda step, v: Printed(
        f"convolve_local({v[0].text}, {v[1].text}, {', '.join(str(value) for value in step.attributes.values())})"
    ),
    "resample": lambda step, v: _resample(step, v[0]),
    "permute": lambda step, v: Printed(
        f"{v[0].tight}.permute(0, {', '.join(str(axis + 1) for axis in step.attributes['order'])})"
    ),
    "window_max": lambda step, v: _pool("max", step, v[0]),
    "window_sum": lambda step, v: _sum(step, v[0]),
    "window_mean": lambda step, v: _mean(step, v[0]),
    "bins_max": lambda step, v: _bins("max", step, v[0]),
    "bins_mean": lambda step, v: _bins("avg", step, v[0]),
    "block": lambda step, v: _block(step, v[0]),
    "pad": lambda step, v: _pad(step, v[0]),
    "root": lambda step, v: Printed(f"root({v[0].text})"),
}
