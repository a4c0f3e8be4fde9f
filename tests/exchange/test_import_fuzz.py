"""Mutants of ONNX files: every one is read or refused with one line, within the limits, and none hangs or breaks."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from inkcap.exchange.importing import sandbox

PROGRAM = """
import json, random, sys, time
sys.path[:0] = ["tests/support"]
import numpy as np, onnx
from foreign import LIGHT, model_of
from inkcap.exchange.importing.model import translate
from inkcap.exchange.importing.onnx_reader import read_onnx
from inkcap.exchange.importing.sandbox import limit_this_process
from inkcap.structures import InkcapError
import importlib
cases = importlib.import_module("test_import_operators")
seeds = [model_of(n, {"x": s}, ["y"], w, cases.opset_of(n)) for s, n, w, *_ in cases.CASES.values()]
seeds.append((LIGHT / "light_squeezenet.onnx").read_bytes())
limit_this_process()
import resource
"""
WALK = """
OTHERS = "Loop Concat Softmax Reshape Slice Gather Split MatMul Pad Transpose Range Expand".split()
def bytes_changed(content, luck):
    data = bytearray(content)
    for _ in range(luck.choice((1, 1, 2, 4, 16))):
        where = luck.randrange(len(data))
        how = luck.randrange(4)
        if how == 0: data[where] = luck.randrange(256)
        elif how == 1: del data[where : where + luck.choice((1, 4, 64))]
        elif how == 2: data[where:where] = bytes(luck.randrange(256) for _ in range(luck.choice((1, 8))))
        else: data[where : where + 8] = luck.choice((b"\\xff" * 8, b"\\x00" * 8, b"\\x80" * 8))
        if not data: data = bytearray(b"\\x08")
    return bytes(data)

def structure_changed(content, luck):
    model = onnx.load_from_string(content)
    graph = model.graph
    for _ in range(luck.choice((1, 1, 2, 3))):
        node = luck.choice(graph.node) if graph.node else None
        how = luck.randrange(9)
        if node is None: break
        names = [n for other in graph.node for n in (*other.input, *other.output)] or ["x"]
        if how == 0 and node.input: node.input[luck.randrange(len(node.input))] = luck.choice(names)
        elif how == 1 and node.input: del node.input[luck.randrange(len(node.input))]
        elif how == 2: node.op_type = luck.choice([other.op_type for other in graph.node] + OTHERS)
        elif how == 3 and node.attribute:
            attribute = luck.choice(node.attribute)
            place = luck.randrange(max(1, len(attribute.ints)))
            if attribute.ints: attribute.ints[place] = luck.choice((-1, 0, 1, 7, 2**31, -(2**62)))
            elif attribute.i: attribute.i = luck.choice((-9, -1, 0, 2, 99, 2**62))
        elif how == 4 and graph.initializer:
            tensor = luck.choice(graph.initializer)
            if tensor.dims: tensor.dims[luck.randrange(len(tensor.dims))] = luck.choice((0, 1, 3, 2**31, 2**62))
        elif how == 5 and graph.initializer:
            tensor = luck.choice(graph.initializer)
            tensor.raw_data = bytes(luck.randrange(256) for _ in range(len(tensor.raw_data)))
        elif how == 6: graph.node.append(node)
        elif how == 7 and node.output: node.output[0] = luck.choice(names)
        elif how == 8:
            dims = graph.input[0].type.tensor_type.shape.dim
            if dims: dims[luck.randrange(len(dims))].dim_value = luck.choice((0, 1, 2, 1000, 2**40, -1))
    return model.SerializeToString()

seed, count = int(sys.argv[1]), int(sys.argv[2])
luck = random.Random(seed)
told = {"read": 0, "refused": 0, "longest": 0.0, "broken": []}
for number in range(count):
    content = luck.choice(seeds)
    if len(content) > 20000 and luck.random() < 0.8: content = seeds[0]
    content = (bytes_changed if luck.random() < 0.5 else structure_changed)(content, luck)
    started = time.monotonic()
    try:
        translate(read_onnx(content, "mutant"))
        told["read"] += 1
    except InkcapError as error:
        told["refused"] += 1
        if "\\n" in str(error).strip() or "fault of Inkcap" in str(error):
            told["broken"].append([number, str(error)[:300]])
    except Exception as error:
        import traceback
        told["broken"].append([number, traceback.format_exc()[-700:]])
    told["longest"] = max(told["longest"], time.monotonic() - started)
told["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps(told))
"""


def mutants(seed: int, count: int) -> dict:
    environment = sandbox._environment()
    environment["PYTHONPATH"] += ":tests/exchange:tests/support"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM + WALK, str(seed), str(count)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def check_all(told: dict, count: int) -> None:
    assert told["broken"] == []
    assert told["read"] + told["refused"] == count
    assert told["longest"] < 5
    assert told["memory"] < 2**31


def test_some_mutants() -> None:
    check_all(mutants(1, 400), 400)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
def test_many_mutants(seed) -> None:
    check_all(mutants(100 + seed, 2000), 2000)
