"""The table of torch's operators that are read, each with what writes it down."""

from __future__ import annotations

from inkcap.exchange.importing.aten import (
    Handler,
    call_adaptive,
    call_addmm,
    call_cast,
    call_convolution,
    call_dropout,
    call_elu,
    call_gelu,
    call_hard_sigmoid,
    call_linear,
    call_norm,
    call_numbers,
    call_pool,
    call_power,
    call_prelu,
    call_reduction,
    call_relu6,
    call_reverse_root,
    call_reversed,
    call_same,
    call_simple,
    call_softmax,
    call_softplus,
    call_square,
    call_transposed,
    call_two,
    call_upsample,
)
from inkcap.exchange.importing.aten_layers import (
    call_attention,
    call_batch_norm,
    call_group_norm,
    call_instance_norm,
    call_layer_norm,
)
from inkcap.exchange.importing.aten_shapes import (
    call_cat,
    call_expand,
    call_getitem,
    call_pad,
    call_permute,
    call_select,
    call_slice,
    call_split,
    call_stack,
    call_transpose,
    call_unbind,
    call_view,
)

AXES = (1, 2, 3)
SIMPLE = {
    "relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "silu": "Silu", "hardswish": "HardSwish", "selu": "Selu",
    "mish": "Mish", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "abs": "Abs", "neg": "Neg", "sin": "Sin", "cos": "Cos",
    "atan": "Atan", "sign": "Sign", "reciprocal": "Reciprocal", "erf": "Erf",
}  # fmt: skip
TWO = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div"}
SHAPES = (
    "view.default", "reshape.default", "_unsafe_view.default", "flatten.using_ints", "unflatten.int", "squeeze.dim",
    "squeeze.dims", "squeeze.default", "unsqueeze.default",
)  # fmt: skip
NOTHING = ("clone", "contiguous", "detach", "detach_", "alias", "lift_fresh_copy", "alpha_dropout")
PIECES = ("split.Tensor", "split_with_sizes.default", "chunk.default", "split.sizes")
SHARES = {"softmax.int": "Softmax", "_softmax.default": "Softmax", "log_softmax.int": "LogSoftmax"}
LINEAR = ("upsample_bilinear2d", "upsample_trilinear3d", "upsample_linear1d")

SINGLE: dict[str, Handler] = {
    "aten.linear.default": call_linear,
    "aten.addmm.default": call_addmm,
    "aten.batch_norm.default": call_batch_norm,
    "aten.layer_norm.default": call_layer_norm,
    "aten.group_norm.default": call_group_norm,
    "aten.instance_norm.default": call_instance_norm,
    "aten.mean.dim": call_reduction("ReduceMean"),
    "aten.sum.dim_IntList": call_reduction("ReduceSum"),
    "aten.amax.default": call_reduction("ReduceMax"),
    "aten.linalg_vector_norm.default": call_norm,
    "aten.permute.default": call_permute,
    "aten.transpose.int": call_transpose,
    "aten.t.default": call_transpose,
    "aten.cat.default": call_cat,
    "aten.stack.default": call_stack,
    "aten.slice.Tensor": call_slice,
    "aten.select.int": call_select,
    "aten.unbind.int": call_unbind,
    "getitem": call_getitem,
    "aten.constant_pad_nd.default": call_pad,
    "aten.pad.default": call_pad,
    "aten.leaky_relu.default": call_numbers("LeakyRelu", ("alpha", 0.01)),
    "aten.leaky_relu_.default": call_numbers("LeakyRelu", ("alpha", 0.01)),
    "aten.hardtanh.default": call_numbers("Clip", ("min", -1.0), ("max", 1.0)),
    "aten.hardtanh_.default": call_numbers("Clip", ("min", -1.0), ("max", 1.0)),
    "aten.relu6.default": call_relu6,
    "aten.clamp.default": call_numbers("Clip", ("min", None), ("max", None)),
    "aten.clamp_min.default": call_numbers("Clip", ("min", None)),
    "aten.hardsigmoid.default": call_hard_sigmoid,
    "aten.softplus.default": call_softplus,
    "aten.elu.default": call_elu,
    "aten.elu_.default": call_elu,
    "aten.gelu.default": call_gelu,
    "aten.prelu.default": call_prelu,
    "aten.dropout.default": call_dropout("dropout"),
    "aten.dropout_.default": call_dropout("dropout"),
    "aten.feature_dropout.default": call_dropout("channel-dropout"),
    "aten.pow.Tensor_Scalar": call_power,
    "aten.pow.Tensor_Tensor": call_power,
    "aten.square.default": call_square,
    "aten.rsub.Scalar": call_reversed,
    "aten.rsqrt.default": call_reverse_root,
    "aten.ge.Scalar": call_two("GreaterOrEqual"),
    "aten.ge.Tensor": call_two("GreaterOrEqual"),
    "aten.to.dtype": call_cast,
    "aten._to_copy.default": call_cast,
    "aten.expand.default": call_expand,
    "aten.scaled_dot_product_attention.default": call_attention,
    "aten.matmul.default": call_two("MatMul"),
    "aten.mm.default": call_two("MatMul"),
    "aten.bmm.default": call_two("MatMul"),
}

TARGETS: dict[str, Handler] = {
    **SINGLE,
    **{f"aten.{form}": call_view for form in SHAPES},
    **{f"aten.{name}.default": call_same for name in NOTHING},
    **{f"aten.{form}": call_split for form in PIECES},
    **{f"aten.{form}": call_softmax(operator) for form, operator in SHARES.items()},
    **{f"aten.{name}{end}.default": call_simple(op) for name, op in SIMPLE.items() for end in ("", "_")},
    **{f"aten.{n}{end}": call_two(op) for n, op in TWO.items() for end in (".Tensor", "_.Tensor", ".Scalar")},
    **{f"aten.conv{n}d.{form}": call_convolution(n) for n in AXES for form in ("default", "padding")},
    **{f"aten.conv_transpose{n}d.{'input' if n > 1 else 'default'}": call_transposed(n) for n in AXES},
    **{f"aten.max_pool{n}d{end}.default": call_pool("MaxPool", n) for n in AXES for end in ("", "_with_indices")},
    **{f"aten.avg_pool{n}d.default": call_pool("AveragePool", n) for n in AXES},
    **{f"aten.adaptive_avg_pool{n}d.default": call_adaptive("average", n) for n in AXES},
    **{f"aten.adaptive_max_pool{n}d.default": call_adaptive("max", n) for n in AXES},
    **{f"aten.upsample_nearest{n}d.{form}": call_upsample("nearest") for n in AXES for form in ("vec", "default")},
    **{f"aten.{name}.{form}": call_upsample("linear") for name in LINEAR for form in ("vec", "default")},
}
"""By the name that torch gives an operator, with its form."""
