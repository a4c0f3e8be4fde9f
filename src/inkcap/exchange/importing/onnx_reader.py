"""The ONNX reader: bytes become a graph; nothing is executed, nothing is allocated before it was counted."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import onnx
from google.protobuf.message import DecodeError

from inkcap.exchange.importing import limits
from inkcap.exchange.importing.errors import ImportRefused
from inkcap.exchange.importing.graph import BATCH, Constant, Graph, Node, Sizes

DEFAULT_DOMAINS = ("", "ai.onnx")
SCOPES, CLASSES = "pkg.torch.onnx.name_scopes", "pkg.torch.onnx.class_hierarchy"
OLDEST, NEWEST = 7, 26
"""Versions of ONNX's operators whose forms are known."""


def read_onnx(content: bytes, name: str) -> Graph:
    """Read a model from the bytes of its file."""
    if len(content) > limits.FILE_BYTES:
        raise ImportRefused(f"the file has {len(content)} bytes; {limits.FILE_BYTES} are allowed")
    model: Any = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except (DecodeError, RecursionError, ValueError) as error:
        told = type(error).__name__
        raise ImportRefused(
            f"these {len(content)} bytes are no ONNX model, or one that is cut off ({told}); export the model again as "
            ".onnx, or copy it again"
        ) from None
    if not model.graph.node:
        raise ImportRefused("there is no operator in it: this is no ONNX model, or an empty one")
    version = _version(model)
    _check_size(model)
    return _Reading(model, version).graph(name)


def _version(model: Any) -> int:
    versions = [entry.version for entry in model.opset_import if entry.domain in DEFAULT_DOMAINS]
    if not versions or not OLDEST <= versions[0] <= NEWEST:
        told = f"version {versions[0]}" if versions else "no version"
        raise ImportRefused(
            f"the model states {told} of ONNX's operators; versions {OLDEST} to {NEWEST} are known here. "
            "onnx.version_converter, or another export, makes one of them"
        )
    return int(versions[0])


def _subgraphs(node: Any) -> Iterator[Any]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _check_size(model: Any) -> None:
    """Count nodes and depth before anything is read."""
    count = 0
    stack: list[tuple[Any, int]] = [(model.graph, 1), *((function, 1) for function in model.functions)]
    while stack:
        graph, depth = stack.pop()
        count += len(graph.node)
        if count > limits.NODES:
            raise ImportRefused(f"the model has more than {limits.NODES} nodes, which is the most that is read")
        if depth > limits.DEPTH:
            raise ImportRefused(f"graphs lie deeper than {limits.DEPTH} in each other, which is the most that is read")
        for node in graph.node:
            stack.extend((inner, depth + 1) for inner in _subgraphs(node))


class _Reading:
    """Reads one model."""

    def __init__(self, model: Any, version: int) -> None:
        self.model = model
        self.version = version
        self.constants: dict[str, Constant] = {}

    def graph(self, name: str) -> Graph:
        source = self.model.graph
        named = (*source.initializer, *source.input, *source.output, *source.value_info)
        _check_text(*(entry.name for entry in named))
        for tensor in source.initializer:
            self._store(tensor.name, tensor)
        if source.sparse_initializer:
            raise ImportRefused("it stores sparse tensors, which are not read; store them as plain ones")
        inputs: dict[str, tuple[Sizes, str]] = {}
        batches: list[int] = []
        for entry in source.input:
            if entry.name not in self.constants:
                shape, dtype, batch = self._input(entry)
                inputs[entry.name] = (shape, dtype)
                batches += [] if batch is None else [batch]
        nodes = [made for node in source.node if (made := self._node(node)) is not None]
        outputs = tuple(entry.name for entry in source.output)
        graph = Graph(name, nodes, inputs, outputs, self.constants, batch=batches[0] if batches else None)
        self._check_names(graph)
        graph.without_idle_nodes()
        graph.infer = self.infer
        if not graph.inputs:
            raise ImportRefused("nothing enters the model: it has no input that is not stored in it")
        return graph

    def infer(self) -> dict[str, tuple[Sizes, str]]:
        """Let onnx tell the shapes of values, for operators that nobody here knows; stored tensors are left out."""
        graph = self.model.graph
        lean: Any = onnx.ModelProto(ir_version=self.model.ir_version, opset_import=self.model.opset_import)
        lean.graph.name = "lean"
        lean.graph.node.extend(graph.node)
        lean.graph.output.extend(onnx.ValueInfoProto(name=entry.name) for entry in graph.output)
        for entry in graph.input:
            if entry.name not in self.constants:
                copied = lean.graph.input.add()
                copied.CopyFrom(entry)
                copied.type.tensor_type.shape.dim[0].dim_value = BATCH
        for tensor in graph.initializer:
            if math.prod(tensor.dims) <= limits.FOLDED:
                lean.graph.initializer.append(tensor)
            else:
                lean.graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
        try:
            known = onnx.shape_inference.infer_shapes(lean, data_prop=True).graph.value_info
        except Exception:
            known = graph.value_info
        told = [*known, *graph.value_info, *graph.output]
        found: dict[str, tuple[Sizes, str]] = {}
        for entry in told:
            shape = _told_shape(entry)
            if shape is not None and entry.name not in found:
                found[entry.name] = (shape, "float32")
        return found

    def _check_names(self, graph: Graph) -> None:
        """Refuse names that nothing gives, or that are given twice, or used before they are given."""
        known = {*graph.inputs, *graph.constants, ""}
        for node in graph.nodes:
            for name in node.inputs:
                if name not in known:
                    raise ImportRefused(
                        f"{node.place}: {node.operator}: its input {name!r} is given by nothing before it"
                    )
            if not node.outputs:
                raise ImportRefused(f"{node.place}: {node.operator}: it gives nothing")
            for name in node.outputs:
                if name and name in known:
                    raise ImportRefused(f"{node.place}: {node.operator}: its output {name!r} is given twice")
                known.add(name)
        for name in graph.outputs:
            if name not in known or not name:
                raise ImportRefused(f"the output {name!r} is given by nothing")
        if not graph.outputs:
            raise ImportRefused("the model has no output")

    def _input(self, entry: Any) -> tuple[Sizes, str, int | None]:
        place = f"the input {entry.name!r}"
        if not entry.type.HasField("tensor_type") or not entry.type.tensor_type.HasField("shape"):
            raise ImportRefused(f"{place} has no shape; a drawing needs to know one")
        kind = entry.type.tensor_type
        dims = list(kind.shape.dim)
        if not dims:
            raise ImportRefused(f"{place} is a single number without a batch; a drawing takes a batch of samples")
        if len(dims) > 8:
            raise ImportRefused(f"{place} has {len(dims)} axes; 5 with the batch are the most")
        sizes: list[int] = []
        for axis, dim in enumerate(dims[1:], 1):
            if not dim.HasField("dim_value") or dim.dim_value < 1:
                told = dim.dim_param or "?"
                raise ImportRefused(
                    f"axis {axis} of {place} has no fixed size ({told[:40]!r}); a drawing needs one. "
                    "'python -m onnxruntime.tools.make_dynamic_shape_fixed' fixes it"
                )
            sizes.append(int(dim.dim_value))
        if math.prod(sizes) > limits.DIMENSIONS:
            raise ImportRefused(f"{place} has {math.prod(sizes)} numbers; {limits.DIMENSIONS} are the most")
        first = dims[0]
        batch = int(first.dim_value) if first.HasField("dim_value") and first.dim_value > 0 else None
        return (BATCH, *sizes), _dtype(kind.elem_type, place), batch

    def _store(self, name: str, tensor: Any) -> None:
        self.constants[name] = self._constant(name, tensor, f"the stored tensor {name!r}")

    def _constant(self, key: str, tensor: Any, place: str) -> Constant:
        if tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.external_data:
            raise ImportRefused(
                f"{place} lies in another file, which is never opened; save the model in one file "
                "(onnx.save with save_as_external_data=False)"
            )
        shape = tuple(int(size) for size in tensor.dims)
        if any(size < 0 for size in shape) or math.prod(shape) > limits.DIMENSIONS:
            raise ImportRefused(f"{place} has the shape {shape[:8]}, which no tensor has")
        dtype = _dtype(tensor.data_type, place)
        declared, held = math.prod(shape), _held(tensor, dtype)
        if declared != held:
            raise ImportRefused(
                f"{place} declares {declared} numbers of {dtype} and holds {held}; the file is damaged or cut off"
            )
        return Constant(key, shape, dtype, lambda: onnx.numpy_helper.to_array(tensor))

    def _node(self, node: Any) -> Node | None:
        _check_text(node.op_type, node.domain, node.name, *node.input, *node.output)
        name = node.name or (node.output[0] if node.output else "")
        place = f"node {name!r}"
        operator = node.op_type if node.domain in DEFAULT_DOMAINS else f"{node.domain}.{node.op_type}"
        if operator == "Constant":
            self._constant_node(node, place)
            return None
        _check_text(*(attribute.name for attribute in node.attribute))
        attributes = {a.name: self._attribute(a, place) for a in node.attribute if a.name}
        if node.domain in DEFAULT_DOMAINS:
            self._check_form(node, attributes, place)
        if operator == "Cast":
            attributes["to"] = _dtype(int(attributes.get("to", 0)), place)
        if operator in ("Softmax", "LogSoftmax") and self.version < 13:
            attributes["flattened"] = True
            attributes.setdefault("axis", 1)
        if operator == "AveragePool" and self.version < 7:
            attributes["count_include_pad"] = 0
        if operator == "Upsample":
            attributes |= {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        return Node(operator, tuple(node.input), tuple(node.output), attributes, name, _scope(node))

    def _check_form(self, node: Any, attributes: dict[str, Any], place: str) -> None:
        """Refuse a node that has too few inputs for its operator, or lacks an attribute that it needs."""
        if not onnx.defs.has(node.op_type, max_inclusive_version=self.version):
            return
        schema: Any = onnx.defs.get_schema(node.op_type, max_inclusive_version=self.version)
        count = len(node.input)
        if not schema.min_input <= count <= schema.max_input or (schema.min_input and not node.input[0]):
            told = f"from {schema.min_input} to {schema.max_input}"
            raise ImportRefused(
                f"{place}: {node.op_type}: it has {count} inputs, and takes {told}; the model is damaged"
            )
        kinds = {entry.name: entry for entry in node.attribute}
        for name, wanted in schema.attributes.items():
            if wanted.required and name not in kinds:
                raise ImportRefused(f"{place}: {node.op_type}: its attribute {name!r} is missing; the model is damaged")
            if name in kinds and kinds[name].type != wanted.type.value:
                raise ImportRefused(
                    f"{place}: {node.op_type}: its attribute {name!r} is of another kind than it must be"
                )

    def _constant_node(self, node: Any, place: str) -> None:
        if len(node.output) != 1 or len(node.attribute) != 1:
            raise ImportRefused(f"{place}: Constant: it must have one output and one value")
        key, attribute = node.output[0], node.attribute[0]
        if attribute.name == "value" and attribute.HasField("t"):
            self.constants[key] = self._constant(key, attribute.t, place)
            return
        value = self._attribute(attribute, place)
        if attribute.name not in ("value_int", "value_ints", "value_float", "value_floats"):
            raise ImportRefused(f"{place}: Constant: {attribute.name!r} is not read; numbers are")
        array = np.array(value, np.int64 if "int" in attribute.name else np.float32)
        self.constants[key] = Constant.of(array, key)

    def _attribute(self, attribute: Any, place: str) -> Any:
        """Give an attribute as a plain value; what is none is left out."""
        kinds = onnx.AttributeProto
        if attribute.type == kinds.INT:
            return int(attribute.i)
        if attribute.type == kinds.FLOAT:
            return float(attribute.f)
        if attribute.type == kinds.STRING:
            return attribute.s.decode("utf-8", "replace")[:200]
        if attribute.type in (kinds.INTS, kinds.FLOATS):
            numbers = attribute.ints if attribute.type == kinds.INTS else attribute.floats
            if len(numbers) > limits.FOLDED:
                raise ImportRefused(f"{place}: its attribute {attribute.name!r} has {len(numbers)} numbers")
            return tuple(numbers)
        if attribute.type == kinds.TENSOR:
            constant = self._constant(attribute.name, attribute.t, f"{place}, attribute {attribute.name!r}")
            return constant.array() if constant.count <= limits.FOLDED else None
        return None


def _check_text(*names: object) -> None:
    """Refuse names that are no text: protobuf gives those as bytes."""
    for name in names:
        if not isinstance(name, str):
            raise ImportRefused(f"the name {name!r:.60} in the model is no text; the file is damaged")


def _told_shape(entry: Any) -> Sizes | None:
    """Give the shape that a model tells of a value, its first axis for the batch."""
    kind = entry.type.tensor_type
    if not entry.type.HasField("tensor_type") or not kind.HasField("shape") or not kind.shape.dim:
        return None
    sizes = [int(dim.dim_value) for dim in kind.shape.dim]
    if any(size < 1 for size in sizes[1:]) or math.prod(sizes[1:]) > limits.DIMENSIONS:
        return None
    return (BATCH, *sizes[1:])


def _held(tensor: Any, dtype: str) -> int:
    """Count the numbers that a tensor holds."""
    if tensor.HasField("raw_data"):
        size = np.dtype(dtype).itemsize
        length = len(tensor.raw_data)
        return length // size if length % size == 0 else -1
    # Each type has a field of its own; numbers in another are not read.
    return len(getattr(tensor, onnx.helper.tensor_dtype_to_field(tensor.data_type)))


def _dtype(kind: int, place: str) -> str:
    """Name a data type as NumPy does."""
    names: dict[int, str] = {
        onnx.TensorProto.FLOAT: "float32",
        onnx.TensorProto.DOUBLE: "float64",
        onnx.TensorProto.FLOAT16: "float16",
        onnx.TensorProto.INT64: "int64",
        onnx.TensorProto.INT32: "int32",
        onnx.TensorProto.INT16: "int16",
        onnx.TensorProto.INT8: "int8",
        onnx.TensorProto.UINT8: "uint8",
        onnx.TensorProto.UINT16: "uint16",
        onnx.TensorProto.UINT32: "uint32",
        onnx.TensorProto.UINT64: "uint64",
        onnx.TensorProto.BOOL: "bool",
    }
    if kind not in names:
        known = onnx.TensorProto.DataType.Name(kind) if kind in onnx.TensorProto.DataType.values() else str(kind)
        raise ImportRefused(f"{place} has the data type {known}, which is not read; numbers of float32 are")
    return names[kind]


def _scope(node: Any) -> tuple[tuple[str, str], ...]:
    """Read the modules around a node that torch wrote down."""
    told = {entry.key: str(entry.value) for entry in node.metadata_props}
    if SCOPES not in told or CLASSES not in told or len(told[SCOPES]) > 5000 or len(told[CLASSES]) > 5000:
        return ()
    try:
        paths, classes = ast.literal_eval(told[SCOPES]), ast.literal_eval(told[CLASSES])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ()
    if not (isinstance(paths, list) and isinstance(classes, list)):
        return ()
    pairs = zip(cast("list[Any]", paths), cast("list[Any]", classes), strict=False)
    # The last is the operator itself, the first the model.
    return tuple((str(path), str(kind).rpartition(".")[2]) for path, kind in pairs)[1:-1]
