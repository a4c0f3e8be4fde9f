"""Every known operator: a small ONNX file of it computes what onnxruntime computes, in the symbols that it should."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from foreign import compare, model_of
from onnx_cases import CASES, FUNCTIONS, IMAGE, POSITIVE, VECTOR, case_file, numbers, opset_of, whole

from inkcap.exchange.bins import shares_of_bins


@pytest.mark.parametrize("name", CASES)
def test_an_operator_computes_the_same(name) -> None:
    *_, capsules, connections = CASES[name]
    made, difference = compare(case_file(name))
    assert difference <= 1e-5
    assert not made.missing
    drawn = list(made.drawing.capsules.values())[1:]
    if capsules is not None:
        assert [capsule.symbol for capsule in drawn] == capsules
    if connections is not None:
        assert [connection.symbol for connection in made.drawing.connections.values()] == connections


@pytest.mark.parametrize("operator", [*FUNCTIONS, *POSITIVE])
def test_a_function_of_numbers(operator) -> None:
    nodes = [(operator, "x", "y", {})]
    for shape in (VECTOR, IMAGE):
        attributes = {"axis": 1} if "Softmax" in operator else {}
        content = model_of([(operator, "x", "y", attributes)], {"x": shape}, ["y"], opset=opset_of(nodes))
        made, difference = compare(content, positive=operator in POSITIVE)
        assert difference <= 1e-5
        assert list(made.drawing.capsules.values())[1].symbol == (FUNCTIONS | POSITIVE)[operator]


def test_forms_of_old_versions() -> None:
    """Attributes that are inputs today, and a softmax that flattens."""
    nodes = [
        ("Slice", "x", "p", {"starts": [0], "ends": [2], "axes": [1]}),
        ("Clip", "p", "q", {"min": 0.0, "max": 6.0}),
        ("Unsqueeze", "q", "r", {"axes": [1]}),
        ("Squeeze", "r", "s", {"axes": [1]}),
        ("Upsample", "sf", "t", {"mode": "nearest"}),
        ("Dropout", "t", "u", {"ratio": 0.3}),
        ("Softmax", "u", "y", {}),
    ]
    made, difference = compare(model_of(nodes, {"x": IMAGE}, ["y"], {"f": np.array([1, 1, 2, 2], np.float32)}, 9))
    assert difference <= 1e-6
    assert [c.symbol for c in made.drawing.capsules.values()][-2:] == ["position-softmax", "identical"]


def test_a_batch_that_the_model_states() -> None:
    nodes = [("Reshape", "xr", "p", {}), ("Gemm", "pw", "y", {})]
    content = model_of(nodes, {"x": (2, 4, 7, 6)}, ["y"], {"r": whole(2, 168), "w": numbers(168, 3)})
    assert compare(content)[1] <= 1e-6


def test_shapes_that_are_computed_on_the_way() -> None:
    nodes = [
        ("Shape", "x", "s", {}),
        ("Gather", "si", "b", {}),
        ("Unsqueeze", "bz", "c", {}),
        ("Concat", "cm", "r", {"axis": 0}),
        ("Reshape", "xr", "p", {}),
        ("Gemm", "pw", "y", {}),
    ]
    stored = {"i": np.array(0), "z": whole(0), "m": whole(-1), "w": numbers(168, 3)}
    assert compare(model_of(nodes, {"x": IMAGE}, ["y"], stored))[1] <= 1e-6


@pytest.mark.parametrize(("operator", "attributes"), [("Div", {}), ("Mod", {}), ("Mod", {"fmod": 1})])
@pytest.mark.parametrize("dividend", [-7, 7])
def test_whole_numbers_are_divided_as_onnx_divides_them(operator, attributes, dividend) -> None:
    """What is cut is told by a quotient: -7/2 is -3, its rest 1 or -1."""
    nodes = [(operator, "ab", "q", attributes), ("Add", "qc", "s", {}), ("Slice", ["x", "s", "e", "z"], "y", {})]
    stored = {"a": whole(dividend), "b": whole(2), "c": whole(3), "e": whole(9), "z": whole(1)}
    made, difference = compare(model_of(nodes, {"x": ("N", 9)}, ["y"], stored))
    assert difference == 0
    assert not made.missing


def test_means_of_bins_that_overlap_are_found_in_matrices() -> None:
    nodes = [("MatMul", "ax", "p", {}), ("MatMul", "pb", "y", {})]
    bins = {"a": shares_of_bins(7, 3), "b": np.ascontiguousarray(shares_of_bins(6, 4).T)}
    made, difference = compare(model_of(nodes, {"x": IMAGE}, ["y"], bins))
    assert difference <= 1e-6
    (capsule,) = list(made.drawing.capsules.values())[1:]
    assert (capsule.symbol, capsule.attributes) == ("downsampling", {"kind": "average", "bins": (3, 4)})
    x = numbers(2, 4, 7, 6)
    means = torch.nn.functional.adaptive_avg_pool2d(torch.from_numpy(x), (3, 4)).numpy()
    np.testing.assert_allclose(bins["a"] @ x @ bins["b"], means, atol=1e-6)


def test_a_hidden_value_may_be_an_output_too() -> None:
    nodes = [("Relu", "x", "p", {}), ("Gemm", "pw", "y", {})]
    made, difference = compare(model_of(nodes, {"x": VECTOR}, ["y", "p"], {"w": numbers(5, 3)}))
    assert difference <= 1e-6
    assert len(made.outputs) == 2


def test_a_shared_weight_is_stored_once() -> None:
    nodes = [("Gemm", "xw", "p", {}), ("Relu", "p", "q", {}), ("Gemm", "qw", "y", {})]
    made, difference = compare(model_of(nodes, {"x": VECTOR}, ["y"], {"w": numbers(5, 5)}))
    assert difference <= 1e-6
    assert made.report.parameters == 25
    assert list(made.weights) == ["tie:w-1-0.weight"]
