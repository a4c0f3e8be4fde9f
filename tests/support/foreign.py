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
    variances = {node.input[4] for node in model.graph.node if node.op_type == "BatchNormalization"}
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
    for variance in variances & made.keys():
        made[variance] = np.abs(made[variance]) + np.float32(0.5)
    used = {name for node in kept for name in node.input}
    others = [tensor for tensor in model.graph.initializer if tensor.name not in made and tensor.name in used]
    inputs = [entry for entry in model.graph.input if entry.name not in made and entry.name in used]
    del model.graph.node[:], model.graph.initializer[:], model.graph.input[:]
    model.graph.node.extend(kept)
    model.graph.input.extend(inputs)
    model.graph.initializer.extend(others)
    model.graph.initializer.extend(numpy_helper.from_array(array, key) for key, array in made.items())
    model.ir_version = 8
    return model.SerializeToString()


def _numbers(shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    spread = np.sqrt(2 / max(1, int(np.prod(shape[1:])))) if len(shape) > 1 else 0.3
    return (generator.standard_normal(shape) * spread).astype(np.float32)
