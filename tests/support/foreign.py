"""Models that are not ours, for imports: small ONNX graphs, the light models of onnx with new weights, comparisons."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper

from inkcap.exchange.importing.importing import Imported, _difference
from inkcap.exchange.importing.model import Translated, translate
from inkcap.exchange.importing.onnx_reader import read_onnx

LIGHT = Path(importlib.util.find_spec("onnx").origin).parent / "backend/test/data/light"


def model_of(
    nodes: list[Any],
    inputs: dict[str, tuple[Any, ...]],
    outputs: list[str],
    stored: dict[str, Any] | None = None,
    opset: int = 17,
    dtype: int = TensorProto.FLOAT,
) -> bytes:
    """Make an ONNX file of nodes ``(operator, inputs, outputs, attributes)``."""
    made = [helper.make_node(op, list(i), list(o), name=f"n{k}", **a) for k, (op, i, o, a) in enumerate(nodes)]
    graph = helper.make_graph(
        made,
        "foreign",
        [helper.make_tensor_value_info(name, dtype, list(shape)) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in (stored or {}).items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return model.SerializeToString()


def run_there(content: bytes, given: dict[str, np.ndarray]) -> dict[str, torch.Tensor]:
    """Compute by onnxruntime."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    names = [entry.name for entry in session.get_outputs()]
    asked = [entry.name for entry in session.get_inputs()]
    return dict(zip(names, map(torch.from_numpy, session.run(None, {n: given[n] for n in asked})), strict=True))


def compare(content: bytes, seed: int = 0, positive: bool = False) -> tuple[Translated, float]:
    """Import a model in this process and give the largest difference to what onnxruntime computes."""
    graph = read_onnx(content, "foreign")
    generator = np.random.default_rng(seed)
    count = graph.batch or 3
    given = {
        name: generator.standard_normal((count, *shape[1:])).astype(dtype)
        for name, (shape, dtype) in graph.inputs.items()
    }
    if positive:
        given = {name: np.abs(array) + np.asarray(0.1, array.dtype) for name, array in given.items()}
    made = translate(graph)
    weights = {name: torch.from_numpy(np.array(c.array(), np.float32)) for name, c in made.weights.items()}
    imported = Imported(made.drawing, weights, made.inputs, made.outputs, made.missing, None)
    return made, _difference(imported, given, run_there(content, given))


def refilled(name: str, seed: int = 0) -> bytes:
    """Give a light model of onnx with every weight drawn anew: its own are constants and prove nothing."""
    model = onnx.load(LIGHT / f"{name}.onnx")
    generator = np.random.default_rng(seed)
    around_one = _around_one(model.graph)
    shapes = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    kept = []
    made: dict[str, np.ndarray] = {}
    for node in model.graph.node:
        if node.op_type != "ConstantOfShape":
            kept.append(node)
            continue
        made[node.output[0]] = _numbers(tuple(int(n) for n in shapes[node.input[0]]), generator)
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            made[tensor.name] = _numbers(tuple(tensor.dims), generator)
    for factor in sorted(around_one & made.keys()):
        made[factor] = generator.uniform(0.6, 1.4, made[factor].shape).astype(np.float32)
    used = {name for node in kept for name in node.input}
    others = [tensor for tensor in model.graph.initializer if tensor.name not in made and tensor.name in used]
    inputs = [entry for entry in model.graph.input if entry.name not in shapes.keys() | made and entry.name in used]
    del model.graph.node[:], model.graph.initializer[:], model.graph.input[:]
    model.graph.node.extend(kept)
    model.graph.input.extend(inputs)
    model.graph.initializer.extend(others)
    model.graph.initializer.extend(numpy_helper.from_array(array, key) for key, array in made.items() if key in used)
    model.ir_version = 8
    _temper(model)
    return model.SerializeToString()


def _temper(model: onnx.ModelProto, wanted: float = 2.0) -> None:
    """Scale the last layer so that a softmax behind it is neither even nor saturated."""
    graph = model.graph
    source = {name: node for node in graph.node for name in node.output}
    last = source[graph.output[0].name]
    if last.op_type != "Softmax":
        return
    scores = last.input[0]
    stored = {tensor.name: tensor for tensor in graph.initializer}
    while last.op_type not in ("Gemm", "Conv"):
        last = source[last.input[0]]
    graph.output.append(helper.make_tensor_value_info(scores, TensorProto.FLOAT, None))
    shape = tuple(dim.dim_value for dim in graph.input[0].type.tensor_type.shape.dim)
    found = run_there(model.SerializeToString(), {graph.input[0].name: patches(shape, 0)})[scores]
    del graph.output[1:]
    factor = np.float32(wanted / float(found.std()))
    for name in last.input[1:]:
        tensor = stored[name if name in stored else source[name].input[0]]
        tensor.CopyFrom(numpy_helper.from_array(factor * numpy_helper.to_array(tensor), tensor.name))


def _around_one(graph: onnx.GraphProto) -> set[str]:
    """Name the scales and variances: those of a batch norm, and what a product reads, if through an Unsqueeze."""
    source = {name: node for node in graph.node for name in node.output}
    found: set[str] = set()
    for node in graph.node:
        if node.op_type == "BatchNormalization":
            found |= {node.input[1], node.input[4]}
        if node.op_type == "Mul":
            found.update(node.input)
            found.update(source[n].input[0] for n in node.input if n in source and source[n].op_type == "Unsqueeze")
    return found


def _numbers(shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    """Draw a kernel or a matrix that keeps the size of what passes it, or a bias that is small beside it."""
    spread = np.sqrt(2 / max(1, int(np.prod(shape[1:])))) if len(shape) > 1 else 0.1
    return (generator.standard_normal(shape) * spread).astype(np.float32)


def patches(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Give an image of large patches: fine noise is gone where a network means over all positions."""
    generator = np.random.default_rng(seed)
    coarse = generator.standard_normal((*shape[:-2], 4, 4))
    wide = coarse.repeat(-(-shape[-2] // 4), axis=-2).repeat(-(-shape[-1] // 4), axis=-1)[..., : shape[-2], : shape[-1]]
    return (2 * wide + 0.3 * generator.standard_normal(shape)).astype(np.float32)
