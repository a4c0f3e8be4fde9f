"""Blocks of the Keras file: a function for each group, called for each use with what differs between them."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from small_zoo import draw_small

from inkcap import Drawing
from inkcap.exchange.exporting import notes_of
from inkcap.exchange.keras_file import KerasFile, print_keras
from inkcap.exchange.keras_proof import prove_keras

pytestmark = pytest.mark.filterwarnings("ignore")


def proven(drawing: Drawing) -> KerasFile:
    file = print_keras(drawing)
    assert prove_keras(file).outputs <= 1e-4
    return file


def functions(file: KerasFile) -> list[str]:
    return [node.name for node in ast.parse(file.source).body if isinstance(node, ast.FunctionDef)]


def test_uses_are_calls_with_their_numbers_and_names() -> None:
    file = print_keras(draw_small("resnet18"))
    assert functions(file) == ["block", "widen", "make_resnet_18"]
    assert "def block(x: keras.KerasTensor, width: int, name: str) -> keras.KerasTensor:" in file.source
    assert '    a = layers.Conv2D(width, 3, padding="same", use_bias=False, name=f"{name}_a")(x)\n' in file.source
    assert '    L1_0 = block(pool1, width=4, name="L1_0")  # 9×9×4\n' in file.source
    assert '    L4 = block(L4_0, width=32, name="L4")  # 2×2×32\n' in file.source
    assert {"conv1", "L1_0_a", "L1_1_b_batch_norm", "L4_0_projection", "prob"} < file.layers.keys()


def test_arguments_are_called_as_in_the_group_also_where_a_capsule_is_called_so() -> None:
    source = print_keras(draw_small("googlenet_tv_main")).source
    assert "ones=8, reduce3=12, reduce5=2, threes=16, fives=4, pooled=4, name=" in source
    assert 'reduce3_2 = layers.Conv2D(reduce3, 1, use_bias=False, name=f"{name}_reduce3")(x)' in source


def test_long_rows_are_loops() -> None:
    source = print_keras(draw_small("alphagozero_19")).source
    loop = '    b = stem\n    for number in range(19):\n        b = block(b, name=f"b_{number}")  # 5×5×4\n'
    assert loop in source


@pytest.mark.parametrize("name", ["resnet50", "densenet121", "googlenet_tv_main", "alphagozero_39", "squeezenet1_1"])
def test_files_with_blocks_are_formatted(name: str, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(print_keras(draw_small(name)).source, "utf-8")
    ruff = [sys.executable, "-m", "ruff"]
    for how in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [*ruff, *how, "--isolated", "--no-cache", "--line-length=120", tmp_path], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout


# Small drawings ----------------------------------------------------------------------------------------------


def image(name: str, *groups: tuple[str, Drawing]) -> Drawing:
    drawing = Drawing(name)
    for group, body in groups:
        drawing.define(group, body)
    drawing.add("image", "2D-data", height=8, width=8, channels=2)
    return drawing


def cell(face: str = "2D-relu") -> Drawing:
    body = Drawing("cell", arguments={"width": 4, "stride": 1})
    body.add("a", face)
    body.add("in", "2D-identical")
    body.connect("in", "a", "convolution", kernels="=width", kernel=1, stride="=stride")
    return body


def test_strides_that_keras_takes_for_granted_are_an_argument() -> None:
    drawing = image("strides", ("cell", cell()))
    drawing.then("p", "cell", stride=1)
    drawing.then("q", "cell", stride=2)
    source = proven(drawing).source
    assert 'return layers.Conv2D(4, 1, strides=stride, activation="relu", name=f"{name}_a")(x)\n' in source
    assert '    p = cell(image, stride=1, name="p")  # 8×8×4\n' in source


def test_windows_keep_the_stride_that_only_convolutions_have_for_granted() -> None:
    body = Drawing("pool", arguments={"step": 1})
    body.add("in", "2D-identical")
    body.then("m", "2D-downsampling", window=2, stride="=step")
    drawing = image("windows", ("pool", body))
    drawing.then("p", "pool", step=1)
    drawing.then("q", "pool", step=5)
    drawing.then("r", "2D-downsampling", window=2, stride=1)
    source = proven(drawing).source
    assert "layers.MaxPooling2D(2, strides=step)(x)" in source
    assert "p = pool(image, step=1)  # 7×7×2\n" in source
    assert "r = layers.MaxPooling2D(2, strides=1)(q)  # 1×1×2\n" in source


def test_groups_in_groups_hand_their_names_and_numbers_on() -> None:
    outer = Drawing("stage", arguments={"wide": 4})
    outer.define("cell", cell())
    outer.add("in", "2D-identical")
    outer.then("row", "cell", repeat=3, width="=wide")
    outer.then("end", "cell", width="=2*wide")
    drawing = image("nested", ("stage", outer))
    drawing.then("s", "stage", repeat=2, wide=3)
    drawing.then("t", "stage", wide=5)
    file = proven(drawing)
    assert functions(file) == ["cell", "stage", "make_nested"]
    lines = [
        "    row = x",
        "    for number in range(3):",
        '        row = cell(row, width=wide, name=f"{name}_row_{number}")  # 8×8×wide',
        '    return cell(row, width=2 * wide, name=f"{name}_end")',
    ]
    assert "\n".join(lines) in file.source
    uses = ("s_0", "s_1", "t")
    assert set(file.layers) == {f"{use}_{own}_a" for use in uses for own in ("row_0", "row_1", "row_2", "end")}


def test_uses_that_differ_in_more_than_numbers_have_functions_of_their_own() -> None:
    body = Drawing("cell", arguments={"stride": 1})
    body.add("in", "2D-identical")
    body.then("a", "2D-relu", "convolution", kernels=3, kernel=3, padding=1, stride="=stride")
    drawing = image("two", ("cell", body))
    drawing.then("p", "cell", stride=1)
    drawing.then("q", "cell", stride=2)
    file = proven(drawing)
    assert functions(file) == ["cell", "cell_2", "make_two"]
    assert list(file.layers) == ["p_a", "q_a"]


def test_several_inputs_and_outputs() -> None:
    body = Drawing("cell", arguments={"size": 3})
    body.add("h", "1D-identical")
    body.add("x", "1D-identical")
    body.add("next", "1D-tanh", dimension="=size")
    body.connect("h", "next", "full")
    body.connect("x", "next", "full")
    body.add("said", "1D-relu", dimension=2)
    body.connect("next", "said", "full")
    drawing = Drawing("unrolled")
    drawing.define("cell", body, inputs={"h": "h", "x": "x"}, outputs={"h": "next", "said": "said"})
    drawing.add("start", "1D-data", dimension=4)
    drawing.add("input", "1D-data", dimension=5)
    drawing.add("steps", "cell", repeat=4)
    drawing.connect("start", "steps", port="h")
    drawing.connect("input", "steps", port="x")
    file = proven(drawing)
    assert "-> tuple[keras.KerasTensor, ...]:" in file.source
    assert len(file.layers) == len(set(file.layers)) == 12


def test_what_cannot_be_a_call_is_written_out_and_it_is_said_why() -> None:
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
    file = proven(drawing)
    assert functions(file) == ["make_around"]
    assert list(file.layers) == ["two_a", "between", "two_b"]
    assert [note.partition(":")[0] for note in notes_of(file)] == ["two is written out"]


# Names -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "group", ["class", "layers", "keras", "make_names", "name", "x", "number", "range", "str", "名"]
)
def test_groups_may_be_called_like_anything(group: str) -> None:
    outer = Drawing("outer")
    outer.define(group, cell())
    outer.add("in", "2D-identical")
    outer.then("layers", group, repeat=3, width=3)
    outer.then("name", group, width=5)
    drawing = image("names", ("outer", outer))
    drawing.then("u", "outer")
    drawing.then("range", group, repeat=3, width=4)
    drawing.then(group if group != "range" else "number", "2D-relu", "convolution", kernels=2, kernel=1)
    file = proven(drawing)
    assert len(functions(file)) == 3
    assert len(file.layers) == 8


@pytest.mark.parametrize("id", ["class", "layers", "keras", "name", "x", "width", "cell", "a" * 60, "0", "名"])
def test_capsules_in_groups_may_be_called_like_anything(id: str) -> None:
    body = Drawing("cell", arguments={"width": 4, "name": 3, "x": 2})
    body.add("in", "2D-identical")
    body.then(id, "2D-relu", "convolution", kernels="=width", kernel=1)
    body.then("b", "2D-relu", "convolution", kernels="=name", kernel=1)
    body.then("c", "2D-relu", "convolution", kernels="=x", kernel=1)
    drawing = image("names", ("cell", body))
    drawing.then("p", "cell", width=3, name=2, x=5)
    drawing.then("q", "cell", width=5, name=7, x=1)
    file = proven(drawing)
    assert functions(file) == ["cell", "make_names"]
    assert len(file.layers) == 6


def test_long_names_that_are_cut_alike_stay_apart() -> None:
    long = "a" * 60
    body = Drawing("cell", arguments={long: 4})
    body.add("in", "2D-identical")
    body.then(long, "2D-relu", "convolution", kernels=f"={long}", kernel=1)
    body.then(f"{long}b", "2D-relu", "convolution", kernels=f"={long}", kernel=1)
    drawing = image("long", (f"{long}1", body), (f"{long}2", body))
    drawing.then(f"{long}1", f"{long}1", **{long: 3})
    drawing.then(f"{long}2", f"{long}1", **{long: 2})
    drawing.then(f"{long}3", f"{long}2", **{long: 3})
    assert len(proven(drawing).layers) == 6


def test_groups_and_uses_that_are_alike_after_cleaning_stay_apart() -> None:
    drawing = image("alike", ("a-b", cell()), ("a_b", cell("2D-tanh")))
    drawing.then("u-0", "a-b")
    drawing.then("u", "a_b", repeat=3)
    drawing.then("u_0", "2D-relu", "convolution", kernels=2, kernel=1)
    drawing.then("u_0_a", "2D-relu", "convolution", kernels=2, kernel=1)
    file = proven(drawing)
    assert functions(file) == ["a_b", "a_b_2", "make_alike"]
    assert len(file.layers) == 6
