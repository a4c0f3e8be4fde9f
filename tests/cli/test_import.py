"""inkcap import, as a person walks it."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest
import torch
from foreign import model_of
from safetensors.torch import load_file

SMALL = """
import torch
from torch import nn


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2))
        self.b = nn.Linear(64, 10)

    def forward(self, x):
        return self.b(self.a(x).flatten(1))


def wide(width):
    return width

def leave():
    raise SystemExit(3)

def broken():
    raise OSError("no such thing")


answer = 42
"""


def test_a_file_goes_in_is_trained_and_goes_out(run, tmp_path) -> None:
    nodes = [
        ("Conv", "xw", "p", {"pads": [1] * 4}),
        ("Relu", "p", "q", {}),
        ("Flatten", "q", "r", {}),
        ("Gemm", "rv", "s", {}),
        ("Softmax", "s", "y", {"axis": 1}),
    ]
    stored = {"w": np.full((2, 1, 3, 3), 0.1, np.float32), "v": np.full((128, 10), 0.01, np.float32)}
    (tmp_path / "digits.onnx").write_bytes(model_of(nodes, {"x": ("N", 1, 8, 8)}, ["y"], stored))
    answer = run("import", "digits.onnx")
    assert answer.code == 0, answer.err
    assert "proven on random inputs: outputs differ by" in answer.out
    assert "wrote digits.inkcap.json (4 capsules, 3 connections, 1 298 parameters)" in answer.out
    weights = load_file(tmp_path / "digits.weights.safetensors")
    assert {name: tuple(value.shape) for name, value in weights.items()} == {
        "x-n0.weight": (2, 1, 3, 3),
        "r-n3.weight": (10, 128),
    }
    assert run("check", "digits.inkcap.json").code == 0
    again = run("import", "digits.onnx")
    assert again.code == 2
    assert "is there already" in again.err
    words = ["--data", "digits", "--epochs", "1", "--init-from", "digits.weights.safetensors", "--json"]
    trained = json.loads(run("train", "digits.inkcap.json", *words).out)
    assert sorted(trained["init_from"]["taken"]) == ["r-n3.weight", "x-n0.weight"]
    assert run("evaluate", trained["run"]).code == 0
    out = run("export", "digits.inkcap.json", "--to", "torch", "--run", "digits.weights.safetensors")
    assert out.code == 0, out.err
    assert len(load_file(tmp_path / "digits.safetensors")) == 2
    assert load_file(tmp_path / "digits.weights.safetensors").keys() == weights.keys()


def test_a_class_of_a_python_file_with_its_weights(run, tmp_path) -> None:
    (tmp_path / "net.py").write_text(SMALL)
    spec = importlib.util.spec_from_file_location("net", tmp_path / "net.py")
    source = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(source)
    module = source.Small()
    torch.save(module.state_dict(), tmp_path / "net.pt")
    words = ["--input", "8x8x1", "--weights", "net.pt", "--json", "-o", "small.inkcap.json"]
    answer = run("import", "net.py:Small", *words)
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    assert told["difference"] <= 1e-6
    assert told["parameters"] == sum(p.numel() for p in module.parameters())
    weights = load_file(tmp_path / "small.weights.safetensors")
    assert torch.equal(weights["x-a-0.weight"], module.a[0].weight)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nothing.onnx"], "nothing.onnx: cannot be read: No such file"),
        (["net.pt"], "neither a file .onnx nor file.py:Class"),
        (["net.py:Small"], "--input is missing"),
        (["net.py:Small", "--input", "8xx1"], "is no size"),
        (["net.py:Large", "--input", "8x8x1"], "there is no 'Large' in it; there are Small"),
        (["net.py:broken", "--input", "8x8x1"], "running it failed: OSError: no such thing"),
        (["net.py:answer", "--input", "8x8x1"], "is no torch.nn.Module"),
        (["net.py"], "net.py: name the class or function behind it"),
        (["net.py:wide", "--input", "8x8x1"], "'width'; write a function without arguments that makes it"),
        (["net.py:leave", "--input", "8x8x1"], "running it failed: SystemExit: 3"),
        (["gone.py:Small", "--input", "8x8x1"], "there is no such file"),
        (["net.py:Small", "--input", "6x6x1"], "torch cannot follow the example"),
        (["model.onnx", "--input", "8x8x1"], "--input and --weights belong to file.py:Class"),
        (["model.onnx", "-o", "model.json"], "a drawing is called NAME.inkcap.json"),
        (["net.py:Small", "--input", "8x8x1", "--weights", "evil.pt"], "evil.pt: it holds more than tensors"),
    ],
)
def test_a_mistake_gets_one_line(run, tmp_path, words, told) -> None:
    (tmp_path / "net.py").write_text(SMALL)
    (tmp_path / "net.pt").write_bytes(b"")
    torch.save({"a": _Evil()}, tmp_path / "evil.pt")
    answer = run("import", *words)
    assert answer.code == 2
    assert told in answer.err
    assert answer.err.count("\n") == 1
    assert not list(tmp_path.glob("*.inkcap.json"))


class _Evil:
    """Would run a command when it is unpickled."""

    def __reduce__(self):
        return (print, ("unpickled",))
