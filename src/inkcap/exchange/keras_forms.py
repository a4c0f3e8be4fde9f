"""Keras forms: each step of a program as the Keras layers that an experienced person would have called.

Keras keeps channels last, and so do these: a value of the drawing C×H×W is H×W×C there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from inkcap.engine.window_forms import pair
from inkcap.operations import Step
from inkcap.program import Layer

Calls = tuple[str, ...]
"""Layers that are called one after another, each as the text of its making."""


Sizes = tuple[int, ...]
"""The shape of a value: a network has whole numbers there."""


class NoLayer(Exception):
    """A step that no layer of Keras does, and why not."""


def sizes_of(step: Step) -> Sizes:
    """Give the shape of what a step makes."""
    return tuple(int(size) for size in step.shape if isinstance(size, int))


def _axes(shape: Sizes) -> str:
    return f"{len(shape) - 1}D"


def _stated(**options: Any) -> str:
    return "".join(f", {name}={value}" for name, value in options.items() if value is not None)


def _pads(before: Sequence[int], after: Sequence[int]) -> str:
    if tuple(before) == tuple(after):
        return pair(before)
    return str(tuple(zip(before, after, strict=True)))


def _zero_padding(shape: Sizes, before: Sequence[int], after: Sequence[int]) -> Calls:
    return (f"layers.ZeroPadding{_axes(shape)}({_pads(before, after)})",) if any((*before, *after)) else ()


# Layers that hold weights ------------------------------------------------------------------------------------


def layer_calls(layer: Layer, name: str, takes: Sizes) -> Calls:
    """Give the calls that a layer of the program becomes; ``takes`` is the shape that it is given."""
    if layer.step.dtype != "float32":
        raise NoLayer(f"it computes in {layer.step.dtype}, and only float32 is exported")
    if layer.worn is not None:
        return _part_calls(layer, name, takes)
    bias = None if "bias" in layer.held else False
    if layer.kind == "Linear":
        if len(takes) != 1:
            raise NoLayer("Dense would weigh channels, here it is the last axis of an array")
        return (f'layers.Dense({layer.weight_shape[0]}{_stated(use_bias=bias)}, name="{name}")',)
    if layer.kind == "PReLU":
        every = list(range(1, len(takes) + (0 if layer.weight_shape[0] > 1 else 1)))
        return (f'layers.PReLU({"shared_axes=" + str(every) + ", " if every else ""}name="{name}")',)
    if layer.kind.startswith("ConvTranspose"):
        return _transposed(layer, name, bias)
    return _convolution(layer, name, takes, bias)


def _convolution(layer: Layer, name: str, takes: Sizes, bias: bool | None) -> Calls:
    at = layer.step.attributes
    kernels, _, *kernel = layer.weight_shape
    reach = [d * (k - 1) for d, k in zip(at["dilation"], kernel, strict=True)]
    middle = all(2 * p == r for r, p in zip(reach, at["padding"], strict=True))
    same = middle and any(at["padding"]) and all(s == 1 for s in at["stride"])
    before = () if same else _zero_padding(takes, at["padding"], at["padding"])
    # What Keras takes for granted is stated as well: other uses of a group may differ in it.
    stated = _stated(
        strides=pair(at["stride"]),
        padding='"same"' if same else None,
        dilation_rate=pair(at["dilation"]),
        groups=at["groups"],
        use_bias=bias,
    )
    return (*before, f'layers.Conv{_axes(takes)}({kernels}, {pair(kernel)}{stated}, name="{name}")')


def _transposed(layer: Layer, name: str, bias: bool | None) -> Calls:
    at = layer.step.attributes
    if at["groups"] > 1 or any(d != 1 for d in at["dilation"]) or any(at["output_padding"]):
        raise NoLayer("its transposed convolution has groups, a dilation or a padding of its output")
    _, kernels, *kernel = layer.weight_shape
    stated = _stated(strides=pair(at["stride"]), use_bias=bias)
    axes = f"{len(kernel)}D"
    after = (f"layers.Cropping{axes}({pair(at['padding'])})",) if any(at["padding"]) else ()
    return (f'layers.Conv{axes}Transpose({kernels}, {pair(kernel)}{stated}, name="{name}")', *after)


def _part_calls(layer: Layer, name: str, takes: Sizes) -> Calls:
    assert layer.worn is not None
    part, at = layer.worn.part.part, layer.worn.part.attributes
    if part == "dropout":
        return (f"layers.Dropout({at['probability']!r})",)
    if part == "channel-dropout":
        return (f"layers.SpatialDropout{_axes(takes)}({at['probability']!r})",)
    affine = None if at.get("affine", True) else False
    stated = f'{_stated(epsilon=at["epsilon"], center=affine, scale=affine)}, name="{name}"'
    if part == "batch-norm":
        return (f"layers.BatchNormalization(momentum={1 - at['momentum']:g}{stated})",)
    if part == "frozen-norm":
        return (f"layers.BatchNormalization(trainable=False{stated})",)
    if part == "layer-norm":
        axis = -1 if len(takes) == 1 else list(range(1, len(takes) + 1))
        return (f"layers.LayerNormalization(axis={axis}{stated})",)
    if part == "group-norm":
        return (f"layers.GroupNormalization({at['groups']}{stated})",)
    if part == "instance-norm":
        return (f"layers.GroupNormalization(-1{stated})",)
    raise NoLayer(f"Keras has no {part}")


# Steps without weights ---------------------------------------------------------------------------------------


Form = Callable[[Step, Sizes, bool], Calls]
"""What makes calls of a step, the shape that it takes, and whether no number in it is below zero."""


def _activation(name: str) -> Form:
    def calls(step: Step, takes: Sizes, positive: bool) -> Calls:
        return (f'layers.Activation("{name}")',)

    return calls


PLAIN_CURVES = {
    "gelu": "gelu", "silu": "silu", "softplus": "softplus", "hard_sigmoid": "hard_sigmoid", "hard_swish": "hard_silu",
    "elu": "elu",
}  # fmt: skip


def _curve(step: Step, takes: Sizes, positive: bool) -> Calls:
    options = dict(step.attributes)
    kind = options.pop("of")
    if kind == "leaky_relu":
        return (f"layers.LeakyReLU({options['slope']!r})",)
    if kind == "affine":
        shift = "" if options["shift"] == 0 else f", offset={options['shift']!r}"
        return (f"layers.Rescaling({options['scale']!r}{shift})",)
    if kind in PLAIN_CURVES and all(value == 1 for value in options.values()):
        return (f'layers.Activation("{PLAIN_CURVES[kind]}")',)
    stated = ", ".join(f"{name} {value}" for name, value in options.items())
    raise NoLayer(f"{kind} {stated}".rstrip())


def _softmax(step: Step, takes: Sizes, positive: bool) -> Calls:
    axis = step.attributes["axis"]
    if len(takes) == 1:
        return ('layers.Activation("softmax")',)
    if axis not in (1, -len(takes)):
        raise NoLayer("its softmax runs over positions")
    return ("layers.Softmax()",)


def _pooling(kind: str) -> Form:
    def calls(step: Step, takes: Sizes, positive: bool) -> Calls:
        at = step.attributes
        window, stride, padding = at["window"], at["stride"], at["padding"]
        sizes = takes[1:]
        reached = [(n - 1) * s + w for n, s, w in zip(sizes_of(step)[1:], stride, window, strict=True)]
        more = [max(0, r - size - 2 * p) for r, size, p in zip(reached, sizes, padding, strict=True)]
        if any(more) and kind != "Max":
            raise NoLayer("its last windows reach over the edge, and a mean of fewer numbers has no layer")
        if any((*padding, *more)):
            if kind == "Max" and not positive:
                raise NoLayer("its windows reach over the edge of numbers below zero, where Keras would see zeros")
            if kind != "Max" and not at["count_padding"]:
                raise NoLayer("its mean leaves the padding out")
        before = _zero_padding(takes, padding, [p + m for p, m in zip(padding, more, strict=True)])
        stated = _stated(strides=pair(stride) if stride != window else None)
        return (*before, f"layers.{kind}Pooling{_axes(takes)}({pair(window)}{stated})")

    return calls


def _sums(step: Step, takes: Sizes, positive: bool) -> Calls:
    many = 1
    for size in step.attributes["window"]:
        many *= size
    plain = Step(
        step.target, step.operation, step.arguments, {"count_padding": True, **step.attributes}, step.shape,
        step.dtype, 0,
    )  # fmt: skip
    return (*_pooling("Average")(plain, takes, positive), f"layers.Rescaling({many})")


def _bins(kind: str) -> Form:
    def calls(step: Step, takes: Sizes, positive: bool) -> Calls:
        bins, sizes = step.attributes["bins"], takes[1:]
        if any(size % count for size, count in zip(sizes, bins, strict=True)):
            raise NoLayer(f"its bins {pair(bins)} do not part {pair(sizes)} evenly")
        if all(count == 1 for count in bins):
            return (f"layers.Global{kind}Pooling{_axes(takes)}(keepdims=True)",)
        window = [size // count for size, count in zip(sizes, bins, strict=True)]
        return (f"layers.{kind}Pooling{_axes(takes)}({pair(window)})",)

    return calls


def _reshape(step: Step, takes: Sizes, positive: bool) -> Calls:
    made = step.attributes["shape"]
    if len(made) == 1 and len(takes) > 1:
        # The drawing counts channel by channel, Keras position by position.
        last = len(takes)
        turned = () if all(size == 1 for size in takes[1:]) else (f"layers.Permute({(last, *range(1, last))})",)
        return (*turned, "layers.Flatten()")
    if len(takes) == 1 and len(made) > 1:
        order = (*range(2, len(made) + 1), 1)
        return (f"layers.Reshape({tuple(made)})", f"layers.Permute({order})")
    raise NoLayer("it turns one array into another")


def _resample(step: Step, takes: Sizes, positive: bool) -> Calls:
    at = step.attributes
    factors = [size / before for size, before in zip(at["size"], takes[1:], strict=True)]
    if any(factor != int(factor) or factor < 1 for factor in factors):
        raise NoLayer("it resamples by no whole number")
    times = pair([int(factor) for factor in factors])
    if at["mode"] == "nearest":
        return (f"layers.UpSampling{_axes(takes)}({times})",)
    if at["align"] or len(takes) != 3:
        raise NoLayer("it resamples between neighbours, corner on corner or in a volume")
    return (f'layers.UpSampling2D({times}, interpolation="bilinear")',)


def joined(step: Step) -> str | None:
    """Give the layer that joins several values, where the step does that."""
    kind = step.operation.name
    if kind == "concatenate":
        axis = step.attributes["axis"]
        return f"layers.Concatenate({'' if axis == 0 else f'axis={axis}'})"
    return {"add": "layers.Add()", "multiply": "layers.Multiply()", "subtract": "layers.Subtract()",
            "maximum": "layers.Maximum()"}.get(kind)  # fmt: skip


FORMS: dict[str, Form] = {
    "relu": _activation("relu"),
    "sigmoid": _activation("sigmoid"),
    "tanh": _activation("tanh"),
    "softmax": _softmax,
    "curve": _curve,
    "same": lambda step, takes, positive: (),
    "window_max": _pooling("Max"),
    "window_mean": _pooling("Average"),
    "window_sum": _sums,
    "bins_max": _bins("Max"),
    "bins_mean": _bins("Average"),
    "reshape": _reshape,
    "resample": _resample,
}
POSITIVE = frozenset({"relu", "sigmoid", "softmax"})
"""Operations that give no number below zero; windows and blocks of such numbers do not either."""
KEEPS_SIGN = frozenset(
    {"same", "local_response", "window_max", "window_mean", "bins_max", "bins_mean", "concatenate", "reshape"}
)
