"""The torch file: blocks for groups, proven for the whole zoo, lint-clean, and safe from any name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from small_zoo import draw_small, each_network

from inkcap.drawing import Drawing, from_text
from inkcap.exchange import NotProven, TorchFile, print_torch, prove_torch
from inkcap.zoo import draw


def check_with_ruff(folder: Path, *how: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *how, "--isolated", "--no-cache", str(folder)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", each_network())
def test_every_network_of_the_zoo_is_proven_and_lint_clean(name: str, tmp_path: Path) -> None:
    drawing = draw_small(name)
    file = print_torch(drawing, train=True)
    proof = prove_torch(file)
    assert proof.outputs <= 1e-6
    assert proof.gradients is None or proof.gradients <= 1e-6
    assert not file.flat
    assert "inkcap" not in file.source
    (tmp_path / "network.py").write_text(file.source, encoding="utf-8")
    check_with_ruff(tmp_path, "check")
    check_with_ruff(tmp_path, "format", "--check", "--line-length", "120")


def test_a_repeated_group_is_a_class_with_its_arguments() -> None:
    source = print_torch(draw("resnet50")).source
    assert "class Block(nn.Module):" in source
    assert "def __init__(self, inputs: int, width: int)" in source or "def __init__(self, width: int)" in source
    assert "self.c = nn.Conv2d(width, 4 * width, 1, bias=False)" in source
    assert "nn.Sequential(*(Block(" in source
    assert source.count("class ") == 3
    assert "Parameters: 25_557_032" in source


def tied() -> Drawing:
    cell = Drawing("cell", arguments={"size": 8})
    cell.add("h", "1D-identical")
    cell.add("x", "1D-identical")
    cell.add("next", "1D-tanh", dimension="=size")
    cell.connect("h", "next", "full")
    cell.connect("x", "next", "full")
    drawing = Drawing("unrolled")
    drawing.define("cell", cell, inputs={"h": "h", "x": "x"}, outputs={"h": "next"})
    drawing.add("start", "1D-data", dimension=8)
    drawing.add("input", "1D-data", dimension=3)
    drawing.add("steps", "cell", repeat=5, tie="shared", size=8)
    drawing.connect("start", "steps", port="h")
    drawing.connect("input", "steps", port="x")
    return drawing


def test_a_class_has_as_many_arguments_as_its_group() -> None:
    source = print_torch(draw("googlenet")).source
    assert source.count("class ") == 2
    assert "self.m3a = Inception(192, 64, 96, 16, 128, 32, 32)" in source


def test_tied_copies_are_one_block_that_is_called_again() -> None:
    file = print_torch(tied())
    assert prove_torch(file).gradients is not None
    assert file.source.count("= Cell(") == 1
    assert file.source.count("self.steps(") == 5


def through_the_outside() -> Drawing:
    """A group whose second input is made of its own first output, by a capsule outside."""
    pair = Drawing("pair")
    pair.add("a", "1D-tanh", dimension=4)
    pair.add("b", "1D-relu", dimension=4)
    drawing = Drawing("around")
    drawing.define("pair", pair, inputs={"a": "a", "b": "b"}, outputs={"a": "a", "b": "b"})
    drawing.add("data", "1D-data", dimension=4)
    drawing.add("two", "pair")
    drawing.connect("data", "two", "full", port="a")
    drawing.add("between", "1D-sigmoid", dimension=4)
    drawing.connect("two", "between", "full", output="a")
    drawing.connect("between", "two", "full", port="b")
    drawing.add("end", "1D-softmax", dimension=3)
    drawing.connect("two", "end", "full", output="b")
    return drawing


def test_a_group_that_cannot_be_a_class_is_written_out_and_it_is_said_why() -> None:
    file = print_torch(through_the_outside())
    assert prove_torch(file).outputs <= 1e-6
    assert list(file.flat) == ["two"]
    assert "outside" in file.flat["two"]
    assert file.source.count("class ") == 1


def test_the_file_runs_without_inkcap_and_trains(tmp_path: Path) -> None:
    file = print_torch(draw("lenet-digits"), train=True)
    (tmp_path / "lenet.py").write_text(file.source, encoding="utf-8")
    torch.save([torch.randn(40, 1, 8, 8), torch.randint(0, 10, (40,))], tmp_path / "samples.pt")
    # Without site-packages of the checkout on its path: only torch is there to import.
    guard = "import sys; sys.modules['inkcap'] = None; import runpy; runpy.run_path('lenet.py', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", guard], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "epoch 10: loss" in done.stdout


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("F.relu(self.b(a))", "F.relu(self.b(a) + 0.001)"),
        (
            "self.d = nn.Conv2d(32, 64, 3, padding=1)",
            "self.d = nn.Conv2d(32, 64, 3, padding=1, dilation=1, padding_mode='reflect')",
        ),
        ("g = F.relu(self.g(f))", "g = F.relu(self.g(f.detach()))"),
    ],
)
def test_a_file_that_computes_something_else_is_not_proven(good: str, bad: str) -> None:
    file = print_torch(draw("lenet-digits"))
    assert good in file.source
    wrong = TorchFile(file.source.replace(good, bad), file.name, file.names, file.flat, file.report)
    with pytest.raises(NotProven, match="the export was not written"):
        prove_torch(wrong)


WORDS = ["class", "self", "torch", "nn", "F", "None", "x", "l", "O", "width", "forward", "Block", "Tensor", "train",
         "cоnv", "ｃlass", "ﬁ", "名", "__init__", "super", "int", "batch", "model", "a" * 20]  # fmt: skip
PLACES = ["Q1x", "Q2x", "Q3x", "Q4x", "Q5x", "Q6x", "Q7x", "Q8x", "Q9x", "Q0x"]


def plain_drawing() -> Drawing:
    """A group in three sizes, one of them in a row, with a dropout and a layer of slopes."""
    group, argument, i, j, k, data, row, wide, other, end = PLACES
    body = Drawing("body", arguments={argument: 4})
    body.add(i, "1D-identical")
    body.then(j, "1D-relu", "full", dimension=f"={argument}")
    body.then(k, "1D-prelu", "full", dimension=f"={argument}")
    body.wear(k, "dropout")
    drawing = Drawing("net")
    drawing.define(group, body, inputs={"in": i}, outputs={"out": k})
    drawing.add(data, "1D-data", dimension=4)
    drawing.then(row, group, repeat=3, **{argument: 4})
    drawing.then(wide, group, **{argument: 6})
    drawing.then(other, group, **{argument: 5})
    drawing.then(end, "1D-softmax", "full", dimension=3)
    return drawing


PLAIN = plain_drawing()


def named(title: str, names: list[str]) -> Drawing:
    """The same drawing under other names."""
    text = PLAIN.to_text()
    for place, name in zip(PLACES, names, strict=True):
        text = text.replace(place, name)
    return from_text(json.dumps({**json.loads(text), "name": title}))


@pytest.mark.parametrize("word", WORDS)
def test_hostile_names_are_proven(word: str) -> None:
    others = [other for other in WORDS if other != word]
    drawing = named(word, [word, word if word.isascii() else "size", word, *others[:2], *others[2:7]])
    assert prove_torch(print_torch(drawing)).outputs <= 1e-6
