"""Every known operator of ONNX as a small model: what its file holds, and what it becomes."""

from __future__ import annotations

from typing import Any

import numpy as np
from foreign import model_of

RANDOM = np.random.default_rng(7)


def numbers(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def whole(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


IMAGE, LINE, VECTOR, ROWS, VOLUME = ("N", 4, 7, 6), ("N", 4, 9), ("N", 5), ("N", 6, 8), ("N", 2, 3, 4, 5)
STATISTICS = {"s": numbers(4), "b": numbers(4), "m": numbers(4), "v": np.abs(numbers(4)) + np.float32(0.5)}
CONV = {"w": numbers(6, 4, 3, 3), "c": numbers(6)}

CASES: dict[str, tuple[Any, ...]] = {
    # what: shape of x, nodes before y, stored, the capsules but the data, the connections
    "conv": (IMAGE, [("Conv", "xwc", "y", {})], CONV, ["identical"], ["convolution"]),
    "conv-norm-relu": (
        IMAGE,
        [
            ("Conv", "xw", "p", {"pads": [1, 1, 1, 1], "strides": [2, 1]}),
            ("BatchNormalization", "psbmv", "q", {"epsilon": 1e-3}),
            ("Relu", "q", "y", {}),
        ],
        {"w": numbers(4, 4, 3, 3), **STATISTICS},
        ["relu"],
        ["convolution"],
    ),
    "conv-grouped": (
        IMAGE,
        [("Conv", "xw", "y", {"group": 2, "dilations": [2, 1]})],
        {"w": numbers(6, 2, 3, 3)},
        None,
        None,
    ),
    "conv-depthwise": (IMAGE, [("Conv", "xw", "y", {"group": 4})], {"w": numbers(8, 1, 2, 3)}, None, None),
    "conv-same": (
        IMAGE,
        [("Conv", "xw", "y", {"auto_pad": "SAME_UPPER", "strides": [2, 2]})],
        {"w": numbers(3, 4, 3, 3)},
        None,
        None,
    ),
    "conv-same-lower": (
        IMAGE,
        [("Conv", "xw", "y", {"auto_pad": "SAME_LOWER"})],
        {"w": numbers(3, 4, 2, 2)},
        None,
        None,
    ),
    "conv-uneven": (IMAGE, [("Conv", "xw", "y", {"pads": [0, 1, 2, 0]})], {"w": numbers(3, 4, 3, 3)}, None, None),
    "conv-line": (
        LINE,
        [("Conv", "xwc", "p", {"pads": [1, 1]}), ("Relu", "p", "y", {})],
        {"w": numbers(6, 4, 3), "c": numbers(6)},
        None,
        None,
    ),
    "conv-volume": (VOLUME, [("Conv", "xw", "y", {})], {"w": numbers(3, 2, 2, 2, 2)}, ["identical"], ["convolution"]),
    "deconv": (
        IMAGE,
        [("ConvTranspose", "xwc", "y", {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 0]})],
        {"w": numbers(4, 3, 3, 3), "c": numbers(3)},
        ["identical"],
        ["transposed-convolution"],
    ),
    "gemm": (
        VECTOR,
        [("Gemm", "xwc", "y", {"transB": 1})],
        {"w": numbers(3, 5), "c": numbers(3)},
        ["identical"],
        ["full"],
    ),
    "gemm-scaled": (
        VECTOR,
        [("Gemm", "xwc", "y", {"alpha": 0.5, "beta": 2.0})],
        {"w": numbers(5, 3), "c": numbers(1, 3)},
        ["identical"],
        ["full"],
    ),
    "matmul-add": (
        VECTOR,
        [("MatMul", "xw", "p", {}), ("Add", "pc", "y", {})],
        {"w": numbers(5, 3), "c": numbers(3)},
        ["identical"],
        ["full"],
    ),
    "matmul-rows": (
        ROWS,
        [("MatMul", "xw", "p", {}), ("Add", "cp", "q", {}), ("Gelu", "q", "y", {})],
        {"w": numbers(8, 3), "c": numbers(3)},
        ["gelu"],
        ["full"],
    ),
    "attention": (
        ROWS,
        [
            ("MatMul", "xq", "a", {}),
            ("MatMul", "xk", "b", {}),
            ("MatMul", "xv", "c", {}),
            ("Transpose", "b", "d", {"perm": [0, 2, 1]}),
            ("MatMul", "ad", "e", {}),
            ("Div", "er", "f", {}),
            ("Softmax", "f", "g", {"axis": -1}),
            ("MatMul", "gc", "y", {}),
        ],
        {"q": numbers(8, 4), "k": numbers(8, 4), "v": numbers(8, 4), "r": np.float32(2)},
        None,
        None,
    ),
    "layer-norm-rows": (
        ROWS,
        [("LayerNormalization", "xsb", "y", {"axis": -1})],
        {"s": numbers(8), "b": numbers(8)},
        ["identical"],
        ["transfer"],
    ),
    "layer-norm": (
        VECTOR,
        [("LayerNormalization", "xsb", "y", {"epsilon": 1e-3})],
        {"s": numbers(5), "b": numbers(5)},
        ["identical"],
        ["transfer"],
    ),
    "layer-norm-spelled": (
        ROWS,
        [
            ("ReduceMean", "x", "m", {"axes": [-1]}),
            ("Sub", "xm", "d", {}),
            ("Pow", "dt", "q", {}),
            ("ReduceMean", "q", "v", {"axes": [-1]}),
            ("Add", "ve", "w", {}),
            ("Sqrt", "w", "r", {}),
            ("Div", "dr", "z", {}),
            ("Mul", "zs", "a", {}),
            ("Add", "ab", "y", {}),
        ],
        {"t": np.float32(2), "e": np.float32(1e-5), "s": numbers(8), "b": numbers(8)},
        ["identical"],
        ["transfer"],
    ),
    "instance-norm": (
        IMAGE,
        [("InstanceNormalization", "xsb", "y", {})],
        {"s": numbers(4), "b": numbers(4)},
        ["identical"],
        ["transfer"],
    ),
    "group-norm": (
        IMAGE,
        [("GroupNormalization", "xsb", "y", {"num_groups": 2})],
        {"s": numbers(4), "b": numbers(4)},
        ["identical"],
        ["transfer"],
    ),
    "batch-norm-vector": (
        ("N", 4),
        [("BatchNormalization", "xsbmv", "y", {})],
        STATISTICS,
        ["identical"],
        ["transfer"],
    ),
    "norm-then-scale": (
        IMAGE,
        [("BatchNormalization", "xsbmv", "p", {}), ("Mul", "pf", "q", {}), ("Add", "qg", "y", {})],
        {**STATISTICS, "f": numbers(4, 1, 1), "g": numbers(1, 4, 1, 1)},
        ["identical"],
        ["transfer"],
    ),
    "residual": (
        IMAGE,
        [("Conv", "xw", "p", {"pads": [1] * 4}), ("Add", "px", "q", {}), ("Relu", "q", "y", {})],
        {"w": numbers(4, 4, 3, 3)},
        ["relu"],
        ["convolution", "transfer"],
    ),
    "concat": (
        IMAGE,
        [("Conv", "xw", "p", {}), ("Relu", "p", "q", {}), ("Conv", "xv", "r", {}), ("Concat", "qr", "y", {"axis": 1})],
        {"w": numbers(2, 4, 1, 1), "v": numbers(3, 4, 1, 1)},
        ["relu", "identical", "identical"],
        ["convolution", "convolution", "inject", "inject"],
    ),
    "concat-rows": (ROWS, [("Relu", "x", "p", {}), ("Concat", "px", "y", {"axis": 1})], {}, None, None),
    "max-pool": (
        IMAGE,
        [("MaxPool", "x", "y", {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 0]})],
        {},
        ["downsampling"],
        ["transfer"],
    ),
    "max-pool-ceil": (
        IMAGE,
        [("MaxPool", "x", "y", {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1})],
        {},
        ["downsampling"],
        ["transfer"],
    ),
    "max-pool-uneven": (
        IMAGE,
        [("MaxPool", "x", "y", {"kernel_shape": [3, 3], "strides": [2, 3], "pads": [0, 0, 1, 0]})],
        {},
        None,
        None,
    ),
    "average-pool": (
        IMAGE,
        [("AveragePool", "x", "y", {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4})],
        {},
        ["downsampling"],
        ["transfer"],
    ),
    "average-pool-counted": (
        IMAGE,
        [("AveragePool", "x", "y", {"kernel_shape": [3, 3], "pads": [0, 1, 1, 2], "count_include_pad": 1})],
        {},
        None,
        None,
    ),
    "lp-pool": (IMAGE, [("LpPool", "x", "y", {"kernel_shape": [2, 2], "p": 2})], {}, ["downsampling"], ["transfer"]),
    "global-average": (
        IMAGE,
        [("GlobalAveragePool", "x", "p", {}), ("Flatten", "p", "y", {})],
        {},
        ["downsampling", "identical"],
        None,
    ),
    "global-max": (IMAGE, [("GlobalMaxPool", "x", "y", {})], {}, ["downsampling"], ["transfer"]),
    "mean-of-places": (IMAGE, [("ReduceMean", "x", "y", {"axes": [2, 3], "keepdims": 0})], {}, None, None),
    "mean-of-rows": (ROWS, [("ReduceMean", "x", "y", {"axes": [1], "keepdims": 0})], {}, None, None),
    "max-of-channels": (IMAGE, [("ReduceMax", "x", "y", {"axes": [1]})], {}, None, None),
    "sum-of-width": (IMAGE, [("ReduceSum", "xa", "y", {})], {"a": whole(3)}, None, None),
    "lrn": (
        ("N", 6, 4, 3),
        [("LRN", "x", "y", {"size": 5, "alpha": 0.5, "beta": 0.6, "bias": 2.0})],
        {},
        ["local-response"],
        ["transfer"],
    ),
    "dropout": (VECTOR, [("Relu", "x", "p", {}), ("Dropout", "p", "y", {})], {}, ["relu"], ["transfer"]),
    "reshape": (
        IMAGE,
        [("Reshape", "xr", "p", {}), ("Gemm", "pw", "y", {})],
        {"r": whole(-1, 168), "w": numbers(168, 3)},
        ["identical", "identical"],
        ["reshaping", "full"],
    ),
    "shuffle": (
        IMAGE,
        [("Reshape", "xr", "p", {}), ("Transpose", "p", "q", {"perm": [0, 2, 1, 3, 4]}), ("Reshape", "qs", "y", {})],
        {"r": whole(-1, 2, 2, 7, 6), "s": whole(-1, 4, 7, 6)},
        None,
        None,
    ),
    "transpose": (IMAGE, [("Transpose", "x", "y", {"perm": [0, 2, 3, 1]})], {}, ["identical"], ["reshaping"]),
    "transpose-twice": (
        IMAGE,
        [
            ("Transpose", "x", "p", {"perm": [0, 2, 3, 1]}),
            ("Transpose", "p", "q", {"perm": [0, 3, 1, 2]}),
            ("Relu", "q", "y", {}),
        ],
        {},
        ["relu"],
        ["transfer"],
    ),
    "squeeze": (("N", 4, 1, 1), [("Squeeze", "xa", "y", {})], {"a": whole(2, 3)}, ["identical"], ["reshaping"]),
    "slice": (
        IMAGE,
        [("Slice", "xabc", "y", {})],
        {"a": whole(1, 0), "b": whole(3, 4), "c": whole(1, 3)},
        ["identical", "identical"],
        ["select", "select"],
    ),
    "split": (
        IMAGE,
        [("Split", "xs", "pq", {"axis": 1}), ("Sigmoid", "q", "r", {}), ("Concat", "rp", "y", {"axis": 1})],
        {"s": whole(1, 3)},
        None,
        None,
    ),
    "gather": (ROWS, [("Gather", "xi", "y", {"axis": 1})], {"i": np.array(2)}, None, None),
    "pad": (IMAGE, [("Pad", "xp", "y", {})], {"p": whole(0, 1, 0, 2, 0, 0, 1, 0)}, None, None),
    "resize-nearest": (
        IMAGE,
        [
            (
                "Resize",
                ["x", "", "f"],
                "y",
                {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
            )
        ],
        {"f": np.array([1, 1, 2, 3], np.float32)},
        ["identical"],
        ["resampling"],
    ),
    "resize-linear": (
        IMAGE,
        [("Resize", ["x", "", "", "s"], "y", {"mode": "linear", "coordinate_transformation_mode": "half_pixel"})],
        {"s": whole(3, 4, 14, 9)},
        ["identical"],
        ["resampling"],
    ),
    "squeeze-and-excite": (
        IMAGE,
        [
            ("GlobalAveragePool", "x", "p", {}),
            ("Conv", "pw", "q", {}),
            ("Sigmoid", "q", "r", {}),
            ("Mul", "xr", "y", {}),
        ],
        {"w": numbers(4, 4, 1, 1)},
        ["downsampling", "sigmoid", "product"],
        ["transfer", "convolution", "transfer", "resampling"],
    ),
    "swish": (VECTOR, [("Sigmoid", "x", "p", {}), ("Mul", "xp", "y", {})], {}, ["silu"], ["transfer"]),
    "gelu-spelled": (
        VECTOR,
        [
            ("Div", "xr", "p", {}),
            ("Erf", "p", "q", {}),
            ("Add", "qo", "s", {}),
            ("Mul", "xs", "t", {}),
            ("Mul", "th", "y", {}),
        ],
        {"r": np.float32(2**0.5), "o": np.float32(1), "h": np.float32(0.5)},
        ["gelu"],
        ["transfer"],
    ),
    "hard-swish": (
        VECTOR,
        [("Add", "xt", "p", {}), ("Clip", "plh", "q", {}), ("Mul", "xq", "r", {}), ("Div", "rh", "y", {})],
        {"t": np.float32(3), "l": np.float32(0), "h": np.float32(6)},
        ["hard-swish"],
        ["transfer"],
    ),
    "difference": (VECTOR, [("Relu", "x", "p", {}), ("Sub", "px", "y", {})], {}, None, None),
    "numbers": (
        VECTOR,
        [("Mul", "xa", "p", {}), ("Sub", "bp", "q", {}), ("Pow", "qt", "r", {}), ("Add", "ra", "y", {})],
        {"a": np.float32(0.3), "b": np.float32(1.5), "t": np.float32(2)},
        ["expression"],
        ["transfer"],
    ),
    "scaled-tanh": (
        VECTOR,
        [("Mul", "xa", "p", {}), ("Tanh", "p", "q", {}), ("Mul", "qb", "y", {})],
        {"a": np.float32(0.6), "b": np.float32(1.7)},
        ["tanh"],
        ["transfer"],
    ),
    "scale-channels": (IMAGE, [("Mul", "xa", "y", {})], {"a": numbers(4, 1, 1)}, ["identical"], ["scale"]),
    "position": (ROWS, [("Add", "xa", "y", {})], {"a": numbers(1, 6, 8)}, ["identical"], ["transfer"]),
    "class-token": (
        (1, 6, 8),
        [("Expand", "tn", "p", {}), ("Concat", "px", "y", {"axis": 1})],
        {"t": numbers(1, 1, 8), "n": whole(1, 1, 8)},
        None,
        None,
    ),
    "prelu": (IMAGE, [("PRelu", "xa", "y", {})], {"a": numbers(4, 1, 1)}, ["prelu"], ["transfer"]),
    "prelu-one": (VECTOR, [("PRelu", "xa", "y", {})], {"a": numbers(1)}, ["prelu"], ["transfer"]),
    "softmax-places": (IMAGE, [("Softmax", "x", "y", {"axis": 1})], {}, ["softmax"], ["transfer"]),
    "step": (
        VECTOR,
        [("GreaterOrEqual", "xt", "p", {}), ("Cast", "p", "y", {"to": 1})],
        {"t": np.float32(0.2)},
        ["step"],
        ["transfer"],
    ),
    "unit": (VECTOR, [("LpNormalization", "x", "y", {"axis": 1})], {}, ["l2-normalisation"], ["transfer"]),
}
FUNCTIONS = {
    "Relu": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "Elu": "elu", "Selu": "expression", "Softplus": "softplus",
    "Softsign": "expression", "HardSwish": "hard-swish", "Mish": "expression", "LeakyRelu": "relu",
    "HardSigmoid": "expression", "Abs": "expression", "Neg": "expression", "Exp": "expression", "Sin": "expression",
    "LogSoftmax": "softmax", "Softmax": "softmax",
}  # fmt: skip
POSITIVE = {"Sqrt": "expression", "Log": "expression", "Reciprocal": "expression"}


def opset_of(nodes: list[Any]) -> int:
    needed = {"Gelu": 20, "GroupNormalization": 21, "Split": 13, "Mish": 18}
    return max([17, *(needed.get(node[0], 17) for node in nodes)])


def case_file(name: str) -> bytes:
    """The file of a case."""
    shape, nodes, stored, *_ = CASES[name]
    return model_of(nodes, {"x": shape}, ["y"], stored, opset_of(nodes))
