"""ONNX files come in through the limited process: whole models are proven, bad ones get one clear error."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import onnx
import pytest
import torch
from foreign import LIGHT, model_of, patches, refilled, run_there
from onnx import TensorProto, helper

from inkcap.exchange import ImportRefused, import_onnx
from inkcap.exchange.importing import limits, sandbox
from inkcap.exchange.importing.onnx_reader import read_onnx
from inkcap.network import check

QUICK = {"light_squeezenet", "light_shufflenet"}
NAMES = sorted(path.stem for path in LIGHT.glob("*.onnx"))
EACH = [name if name in QUICK else pytest.param(name, marks=pytest.mark.soak) for name in NAMES]
KNOWN = {
    "light_bvlc_alexnet": 60_965_224,
    "light_densenet121": 7_978_856,
    "light_inception_v1": 6_998_552,
    "light_inception_v2": 11_194_984,
    "light_resnet50": 25_557_032,
    "light_shufflenet": 1_393_320,
    "light_squeezenet": 1_235_496,
    "light_vgg19": 143_667_240,
    "light_zfnet512": 87_250_536,
}
"""Parameters that the networks are known for; a norm and the scale behind it are one."""


def test_there_are_nine_light_models() -> None:
    assert sorted(KNOWN) == NAMES


@pytest.mark.parametrize("name", EACH)
def test_a_light_model_with_random_weights(name) -> None:
    content = refilled(name)
    imported = import_onnx(content, name)
    assert imported.missing == ()
    assert imported.difference is not None, imported.unproven
    assert imported.difference <= 1e-4
    assert check(imported.drawing).parameters == KNOWN[name]
    (entry,) = imported.inputs
    images = [patches((1, 3, 224, 224), seed) for seed in (1, 2)]
    with torch.no_grad():
        ours = [imported.module()(torch.from_numpy(image)).reshape(1, -1) for image in images]
    theirs = [next(iter(run_there(content, {entry: image}).values())).reshape(1, -1) for image in images]
    largest = max(float(there.abs().max()) for there in theirs)
    assert float((theirs[0] - theirs[1]).abs().max()) > 0.05 * largest, "what enters must matter, or nothing is shown"
    for mine, other in zip(ours, theirs, strict=True):
        assert float((mine - other).abs().max()) <= 1e-4 * largest


def test_weights_that_the_file_states_by_one_number(tmp_path) -> None:
    """A kilobyte of a file may stand for megabytes of weights; they are written piece by piece."""
    imported = import_onnx(LIGHT / "light_squeezenet.onnx")
    files = imported.save(tmp_path / "squeeze.inkcap.json")
    assert [path.name for path in files] == ["squeeze.inkcap.json", "squeeze.weights.safetensors"]
    assert files[1].stat().st_size > 4 * KNOWN["light_squeezenet"]


def test_an_operator_without_a_symbol_is_named_and_listed() -> None:
    nodes = [("Relu", "x", "p", {}), ("CumSum", "pa", "q", {}), ("Gemm", "qw", "y", {})]
    stored = {"a": np.array(1), "w": np.ones((5, 2), np.float32)}
    imported = import_onnx(model_of(nodes, {"x": ("N", 5)}, ["y"], stored))
    assert [(m.node, m.operator, m.capsule) for m in imported.missing] == [("node 'n1'", "CumSum", "n1")]
    assert imported.drawing.capsules["n1"].label == "CumSum"
    assert [entry.rule for entry in check(imported.drawing).errors] == ["opaque-operator"]


def _model() -> onnx.ModelProto:
    nodes = [("Gemm", "xw", "p", {}), ("Relu", "p", "y", {})]
    return onnx.load_from_string(model_of(nodes, {"x": ("N", 5)}, ["y"], {"w": np.ones((5, 2), np.float32)}))


def _external(model) -> None:
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../../etc/passwd")


def _bomb(model) -> None:
    del model.graph.initializer[0].dims[:]
    model.graph.initializer[0].dims.extend([2**20, 2**19])


def _huge(model) -> None:
    del model.graph.initializer[0].dims[:]
    model.graph.initializer[0].dims.extend([2**40, 2**40])


def _cut(model) -> None:
    model.graph.initializer[0].raw_data = model.graph.initializer[0].raw_data[:-3]


def _filled(model) -> None:
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([2**33, 2], np.int64), "s"))
    model.graph.node.insert(0, helper.make_node("ConstantOfShape", ["s"], ["w2"], name="big"))
    model.graph.node[1].input[1] = "w2"


def _many(model) -> None:
    model.graph.node.extend(helper.make_node("Relu", ["y"], [f"r{i}"]) for i in range(limits.NODES))


def _nested(depth: int) -> onnx.ModelProto:
    model = _model()
    graph = onnx.GraphProto(name="inner")
    for _ in range(depth):
        outer = onnx.GraphProto(name="outer")
        empty = onnx.GraphProto(name="empty")
        outer.node.append(helper.make_node("If", ["x"], ["z"], then_branch=graph, else_branch=empty))
        graph = outer
    model.graph.node.extend(graph.node)
    return model


def test_graphs_in_graphs_are_counted(monkeypatch) -> None:
    """protobuf itself reads no deeper than some 30; the limit holds whatever it does."""
    assert read_onnx(_nested(8).SerializeToString(), "deep").outputs == ("y",)
    monkeypatch.setattr(limits, "DEPTH", 5)
    with pytest.raises(ImportRefused, match="deeper than 5"):
        read_onnx(_nested(8).SerializeToString(), "deep")


def _unsized(model) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "width"


def _shapeless(model) -> None:
    model.graph.input[0].type.tensor_type.ClearField("shape")


def _nowhere(model) -> None:
    model.graph.node[0].input[0] = "nothing"


def _twice(model) -> None:
    model.graph.node[1].output[0] = "p"


def _no_output(model) -> None:
    model.graph.output[0].name = "z"


def _old(model) -> None:
    model.opset_import[0].version = 3


def _complex(model) -> None:
    model.graph.initializer[0].data_type = TensorProto.COMPLEX64


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_external, "the stored tensor 'w' lies in another file, which is never opened"),
        (_bomb, "the stored tensor 'w' declares 549755813888 numbers of float32 and holds 10"),
        (_huge, "which no tensor has"),
        (_cut, "declares 10 numbers of float32 and holds -1"),
        (_filled, "node 'big': ConstantOfShape asks for 17179869184 numbers; 2 GiB are allowed"),
        (_many, "more than 50000 nodes"),
        (_unsized, r"axis 1 of the input 'x' has no fixed size .'width'."),
        (_shapeless, "the input 'x' has no shape"),
        (_nowhere, "node 'n0': Gemm: its input 'nothing' is given by nothing before it"),
        (_twice, r"is given twice|is given by nothing"),
        (_no_output, "the output 'z' is given by nothing"),
        (_old, "states version 3 of ONNX's operators; versions 7 to 26 are known"),
        (_complex, "has the data type COMPLEX64"),
    ],
)
def test_a_bad_model_gets_one_clear_error(change, told) -> None:
    model = _model()
    change(model)
    with pytest.raises(ImportRefused, match=told):
        import_onnx(model.SerializeToString())


@pytest.mark.parametrize("content", [b"", b"\x00" * 64, b"not onnx at all", b"{}"])
def test_what_is_no_model_is_refused(content) -> None:
    with pytest.raises(ImportRefused, match=r"no ONNX|no operator|empty"):
        import_onnx(content)


def test_the_limited_process_is_limited(tmp_path, monkeypatch) -> None:
    """More memory than is allowed, and more time: each ends with a reason, not with a traceback."""
    program = (
        "from inkcap.exchange.importing.sandbox import limit_this_process; limit_this_process()\n"
        "import sys\n"
        "try:\n    block = bytearray(3 * 2**30)\nexcept MemoryError:\n    print('no room')\n"
        "import resource as r; print(r.getrlimit(r.RLIMIT_CPU)[0], r.getrlimit(r.RLIMIT_FSIZE)[0])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=sandbox._environment())
    assert done.stdout.split() == ["no", "room", "20", str(2**30)], done.stderr
    monkeypatch.setattr(limits, "WALL_SECONDS", 0.05)
    with pytest.raises(ImportRefused, match=r"took more than 0.05 s"):
        import_onnx(_model().SerializeToString())


def test_nothing_of_the_environment_reaches_the_limited_process(monkeypatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "x")
    assert "SECRET_TOKEN" not in sandbox._environment()
