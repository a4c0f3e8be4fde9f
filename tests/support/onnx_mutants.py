"""Mutants of ONNX files: each is made anew from the number of its seed and its own, so that both tell how to repeat it.

Half of them are files whose bytes were changed, half are models that protobuf reads and whose parts lie: attributes,
shapes, graphs inside of graphs, versions, types, names and wires.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import onnx
from foreign import LIGHT
from google.protobuf.message import DecodeError
from hostile import FRAGMENTS, UNSEEN
from onnx_cases import CASES, case_file

WHOLE = (-(2**63), -(2**62), -(2**31), -9, -2, -1, 0, 1, 2, 3, 7, 99, 4096, 2**16, 2**31 - 1, 2**31, 2**40, 2**63 - 1)
NUMBERS = (0.0, -0.0, 1.0, -1.0, 1e-45, 1e38, -1e38, float("inf"), float("-inf"), float("nan"), 0.5)
WORDS = (b"", b"NOTSET", b"SAME_UPPER", b"VALID", b"linear", b"cubic", b"bilinear", b"tanh", b"\xff\xfe", b"a" * 70_000)
LITERALS = ("[" * 4000, "['a'] * 9", "(" * 90 + ")" * 90, "9" * 4900, "{1: 2}", "['x', 'y', 'z']", "\x00", "__import__")
LARGE = 20_000
"""Bytes of a seed that is used less often: what changes in a long file is mostly its numbers."""


@cache
def operators() -> tuple[str, ...]:
    """Every operator that ONNX knows."""
    return tuple(sorted({schema.name for schema in onnx.defs.get_all_schemas()}))


@cache
def seeds() -> tuple[bytes, ...]:
    """Whole models: every operator that is known here, and one network of many."""
    return (*(case_file(name) for name in CASES), (LIGHT / "light_squeezenet.onnx").read_bytes())


def mutant(seed: int, number: int) -> bytes:
    """Give the mutant of a number."""
    luck = random.Random(f"{seed}/{number}")  # noqa: S311 - it must come out the same again
    content = luck.choice(seeds())
    if len(content) > LARGE and luck.random() < 0.8:
        content = seeds()[0]
    if luck.random() < 0.5:
        return bytes_changed(content, luck)
    model = onnx.load_from_string(content)
    for _ in range(luck.choice((1, 1, 2, 3, 6))):
        with suppress(DecodeError):
            # protobuf itself refuses to copy what lies too deep.
            luck.choice(CHANGES)(model, luck)
    return model.SerializeToString()


def bytes_changed(content: bytes, luck: random.Random) -> bytes:
    """Change, remove, insert and repeat bytes of a file."""
    data = bytearray(content)
    for _ in range(luck.choice((1, 1, 2, 4, 16))):
        where = luck.randrange(len(data))
        how = luck.randrange(7)
        if how == 0:
            data[where] = luck.randrange(256)
        elif how == 1:
            del data[where : where + luck.choice((1, 4, 64))]
        elif how == 2:
            data[where:where] = luck.randbytes(luck.choice((1, 8)))
        elif how == 3:
            data[where : where + 8] = luck.choice((b"\xff" * 8, b"\x00" * 8, b"\x80" * 8, b"\xff" * 9 + b"\x01"))
        elif how == 4:
            data[where:] = data[where : where + luck.choice((0, 1, len(data) // 2))]
        elif how == 5:
            data[where:where] = data[where : where + luck.choice((2, 40, 400))] * luck.choice((1, 9))
        else:
            other = luck.choice(seeds())[:LARGE]
            data[where:where] = other[luck.randrange(len(other)) :]
        data = data or bytearray(b"\x08")
    return bytes(data)


def _node(model: Any, luck: random.Random) -> Any:
    return luck.choice(model.graph.node) if model.graph.node else model.graph.node.add(op_type="Relu")


def _names(model: Any) -> list[str]:
    return [name for node in model.graph.node for name in (*node.input, *node.output)] or ["x"]


def _text(luck: random.Random) -> str:
    """Give a name that could break a line, a file or a sentence."""
    return luck.choice(("", "x", "y", "w" * 20_000, luck.choice(FRAGMENTS), luck.choice(UNSEEN), "../../etc/passwd"))


def _wires(model: Any, luck: random.Random) -> None:
    node, names = _node(model, luck), _names(model)
    how = luck.randrange(5)
    if how == 0 and node.input:
        node.input[luck.randrange(len(node.input))] = luck.choice(names)
    elif how == 1 and node.input:
        del node.input[luck.randrange(len(node.input))]
    elif how == 2 and node.output:
        node.output[luck.randrange(len(node.output))] = luck.choice(names)
    elif how == 3:
        node.input.extend(luck.choice(names) for _ in range(luck.choice((1, 3, 300))))
    else:
        node.output.append(luck.choice((*names, "more")))


def _nodes(model: Any, luck: random.Random) -> None:
    graph = model.graph
    node = _node(model, luck)
    how = luck.randrange(5)
    if how == 0:
        graph.node.append(node)
    elif how == 1:
        graph.node.remove(node)
    elif how == 2:
        turned = list(graph.node)[::-1]
        del graph.node[:]
        graph.node.extend(turned)
    elif how == 3:
        graph.node.extend(onnx.load_from_string(luck.choice(seeds()[:-1])).graph.node)
    else:
        # A long row of the same operator before what was the end.
        last = graph.output[0].name if graph.output else "y"
        for place in range(luck.choice((3, 40, 200))):
            made = graph.node.add(op_type=luck.choice(("Relu", node.op_type)), name=f"row{place}")
            made.input.append(last)
            last = f"row{place}"
            made.output.append(last)
        if graph.output:
            graph.output[0].name = last


def _operator(model: Any, luck: random.Random) -> None:
    node = _node(model, luck)
    node.op_type = luck.choice((luck.choice(operators()), luck.choice(model.graph.node).op_type, _text(luck)))
    if luck.random() < 0.2:
        node.domain = luck.choice(("ai.onnx.ml", "com.microsoft", "ai.onnx", _text(luck)))


def _attribute(model: Any, luck: random.Random) -> None:
    """Let an attribute lie, come twice, go, or be of another kind."""
    node = _node(model, luck)
    if not node.attribute or luck.random() < 0.3:
        named = luck.choice(("axis", "axes", "perm", "pads", "group", "kernel_shape", "strides", "to", "epsilon", ""))
        node.attribute.add(name=named, type=luck.randrange(15))
    found = luck.choice(node.attribute)
    how = luck.randrange(8)
    if how == 0:
        found.i = luck.choice(WHOLE)
        found.type = onnx.AttributeProto.INT
    elif how == 1 and found.ints:
        found.ints[luck.randrange(len(found.ints))] = luck.choice(WHOLE)
    elif how == 2:
        found.ints.extend(luck.choice(WHOLE) for _ in range(luck.choice((1, 4, 5000))))
        found.type = onnx.AttributeProto.INTS
    elif how == 3:
        found.f = luck.choice(NUMBERS)
        found.floats.append(luck.choice(NUMBERS))
        found.type = luck.choice((onnx.AttributeProto.FLOAT, onnx.AttributeProto.FLOATS))
    elif how == 4:
        found.s = luck.choice(WORDS)
        found.type = onnx.AttributeProto.STRING
    elif how == 5:
        found.type = luck.randrange(15)
    elif how == 6:
        node.attribute.append(found)
    else:
        node.attribute.remove(found)


def _stored(model: Any, luck: random.Random) -> None:
    """Let a stored tensor lie about its shape, its type or where it is."""
    if not model.graph.initializer:
        return
    tensor = luck.choice(model.graph.initializer)
    how = luck.randrange(7)
    if how == 0 and tensor.dims:
        tensor.dims[luck.randrange(len(tensor.dims))] = luck.choice(WHOLE)
    elif how == 1:
        tensor.raw_data = luck.randbytes(len(tensor.raw_data))
    elif how == 2:
        tensor.data_type = luck.choice((*range(24), 99))
    elif how == 3:
        tensor.dims.extend(luck.choice((0, 1, 1, 2)) for _ in range(luck.choice((1, 3, 70))))
    elif how == 4:
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=luck.choice(("/etc/hostname", "../../x", "", "x" * 9000)))
    elif how == 5:
        tensor.ClearField("raw_data")
        field = luck.choice(("float_data", "int32_data", "int64_data", "double_data", "uint64_data"))
        getattr(tensor, field).extend([1] * luck.choice((0, 1, 6, 300)))
    else:
        model.graph.initializer.append(tensor)


def _stated(model: Any, luck: random.Random) -> None:
    """Let a shape be computed on the way, out of numbers that no memory holds."""
    graph = model.graph
    sizes = [luck.choice((1, 3, 2**15, 2**31, 2**45, -1)) for _ in range(luck.choice((1, 2, 4)))]
    graph.initializer.append(onnx.numpy_helper.from_array(onnx.numpy_helper.np.array(sizes, "int64"), "stated"))
    operator = luck.choice(("ConstantOfShape", "Expand", "Tile", "Reshape", "Range", "Resize", "Pad", "OneHot"))
    target = _node(model, luck)
    made = graph.node.add(op_type=operator, name="stating")
    made.input.extend(["stated"] if operator == "ConstantOfShape" else [luck.choice(_names(model)), "stated"])
    made.output.append("huge")
    moved = list(graph.node)[-1:] + list(graph.node)[:-1]
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in moved]
    if target.input:
        copies[1 + list(graph.node).index(target)].input[-1] = "huge"
    del graph.node[:]
    graph.node.extend(copies)


def _shapes(model: Any, luck: random.Random) -> None:
    """Let an input, an output or a value in between have a shape or a kind that it cannot have."""
    graph = model.graph
    entry = luck.choice([*graph.input, *graph.output] or [graph.input.add(name="x")])
    how = luck.randrange(6)
    shape = entry.type.tensor_type.shape
    if how == 0:
        shape.dim.add().dim_value = luck.choice(WHOLE)
    elif how == 1 and shape.dim:
        shape.dim[luck.randrange(len(shape.dim))].dim_value = luck.choice(WHOLE)
    elif how == 2 and shape.dim:
        shape.dim[luck.randrange(len(shape.dim))].dim_param = _text(luck)
    elif how == 3:
        entry.type.tensor_type.elem_type = luck.choice((*range(24), 99))
    elif how == 4:
        entry.type.ClearField("value")
        kind = luck.choice(("sequence_type", "optional_type", "map_type", "sparse_tensor_type"))
        getattr(entry.type, kind).SetInParent()
    else:
        told = graph.value_info.add(name=luck.choice(_names(model)))
        told.type.tensor_type.elem_type = 1
        told.type.tensor_type.shape.dim.add().dim_value = luck.choice(WHOLE)
        told.type.tensor_type.shape.dim.add().dim_value = luck.choice(WHOLE)


def _inner(model: Any, luck: random.Random) -> None:
    """Put graphs into graphs, and functions that call themselves."""
    node = _node(model, luck)
    if luck.random() < 0.3:
        name = luck.choice((node.op_type, "Own"))
        made = model.functions.add(name=name, domain=luck.choice(("", "own")))
        made.node.add(op_type=name, domain=made.domain).output.append("y")
        node.op_type = name
        return
    node.op_type = luck.choice(("If", "Loop", "Scan", "SequenceMap", node.op_type))
    graph = node.attribute.add(
        name=luck.choice(("then_branch", "body", "else_branch")), type=onnx.AttributeProto.GRAPH
    ).g
    for _ in range(luck.choice((0, 1, 5, 30, 45))):
        inside = graph.node.add(op_type="If", name="inner")
        inside.output.append("inner")
        graph = inside.attribute.add(name="then_branch", type=onnx.AttributeProto.GRAPH).g
    graph.node.add(op_type="Relu").output.append("deep")


def _version(model: Any, luck: random.Random) -> None:
    how = luck.randrange(3)
    if how == 0 and model.opset_import:
        model.opset_import[0].version = luck.choice((*range(5, 30), *WHOLE))
    elif how == 1:
        model.opset_import.add(
            domain=luck.choice(("", "ai.onnx", "com.microsoft", _text(luck))), version=luck.choice(WHOLE)
        )
    else:
        model.ir_version = luck.choice(WHOLE)


def _rename(model: Any, luck: random.Random) -> None:
    """Give a name that breaks lines and files to a value wherever it occurs, to a node or to the graph."""
    how = luck.randrange(4)
    if how == 0:
        _node(model, luck).name = _text(luck)
    elif how == 1:
        model.graph.name = model.producer_name = _text(luck)
    elif how == 2:
        node = _node(model, luck)
        told = dict.fromkeys(("pkg.torch.onnx.name_scopes", "pkg.torch.onnx.class_hierarchy"), luck.choice(LITERALS))
        told = {**told, "pkg.torch.onnx.name_scopes": luck.choice((*LITERALS, repr(["", _text(luck), "z"])))}
        for key, value in told.items():
            node.metadata_props.add(key=key, value=value)
    else:
        old, new = luck.choice(_names(model)), _text(luck)
        graph = model.graph
        for entry in (*graph.input, *graph.output, *graph.initializer):
            entry.name = new if entry.name == old else entry.name
        for node in graph.node:
            for names in (node.input, node.output):
                kept = [new if name == old else name for name in names]
                del names[:]
                names.extend(kept)


CHANGES: tuple[Callable[[Any, random.Random], None], ...] = (
    _wires, _wires, _nodes, _operator, _operator, _attribute, _attribute, _attribute, _stored, _stored, _stated,
    _shapes, _shapes, _inner, _version, _rename,
)  # fmt: skip
