"""S5: mutants of ONNX files through the importer: each is read or refused in one clear line, within the limits.

A mutant that broke is repeated by `python tests/support/onnx_campaign.py SEED NUMBER`.
"""

from __future__ import annotations

import time

import numpy as np
import onnx
import pytest
from foreign import model_of
from limited_forks import run
from onnx_campaign import Judgement, judge_refusal
from onnx_mutants import mutant

from inkcap.exchange.importing import ImportRefused
from inkcap.exchange.importing.model import translate
from inkcap.exchange.importing.onnx_reader import read_onnx
from inkcap.structures.errors import one_line

QUICK, FULL = 2_500, 200_000


def campaign(seed: int, count: int, patience: float, tally) -> None:
    told = run("onnx_campaign", seed, count, patience)
    tally(
        "S5",
        cases=count,
        **{end.replace(" ", "_"): number for end, number in told.ends.items()},
        broken=len(told.broken),
        longest_ms=round(told.longest * 1000),
        memory_mb=told.memory // 2**20,
        seconds=round(told.seconds, 1),
    )
    assert told.broken == []
    assert sum(told.ends.values()) == count
    assert told.ends["drawn"] > count // 20, "the mutants are so broken that they prove little"
    assert told.memory < 2**31


def test_some_mutants_are_read_or_refused(tally) -> None:
    campaign(1, QUICK, 300, tally)


@pytest.mark.soak
def test_all_mutants_are_read_or_refused(tally) -> None:
    campaign(100, FULL, 7200, tally)


@pytest.mark.parametrize("number", [28_854, 121_481], ids=["a tensor of weights for axes", "a shape of NaN"])
def test_mutants_that_once_broke_the_importer_are_read_or_refused(number) -> None:
    begun = time.process_time()
    try:
        translate(read_onnx(mutant(100, number), "mutant"))
    except ImportRefused as refused:
        judge_refusal(str(refused))
    assert time.process_time() - begun < 1.0


def test_a_campaign_notices_every_way_of_breaking() -> None:
    told = run("planted_campaign", 7, 8, 60)
    words = dict(told.broken)
    assert sorted(words) == [1, 2, 3, 4]
    assert "planted by seed 7" in words[1]
    assert "ended with -11" in words[2]
    assert "0.2 s of the processor" in words[3]
    assert "MemoryError" in words[4]
    assert told.ends == {"well": 4}


@pytest.mark.parametrize(
    "words", ["two\nlines of the model", "the model \u2028", "this is a fault of Inkcap in the model", "no", "w" * 2000]
)
def test_a_refusal_that_is_not_clear_is_noticed(words) -> None:
    with pytest.raises(Judgement):
        judge_refusal(words)


def refusal(content: bytes) -> str:
    with pytest.raises(ImportRefused) as refused:
        translate(read_onnx(content, "mutant"))
    judge_refusal(str(refused.value))
    return str(refused.value)


def test_names_of_any_length_and_letters_are_shown_in_one_line() -> None:
    nodes = [("Conv\n\x1b[2J", "x", ("y" * 20_000,), {})]
    words = refusal(model_of(nodes, {"x": ("N", 4)}, ["y" * 20_000]))
    assert "Conv\\n\\x1b[2J" in words
    assert len(one_line("a " * 9000)) < 1000


def test_whole_numbers_where_none_are_known_are_the_models_own_matter() -> None:
    content = model_of(
        [("Gemm", "xw", "y", {})],
        {"x": ("N", 4)},
        ["y"],
        {"w": np.ones((4, 3), np.uint8)},
        dtype=onnx.TensorProto.UINT8,
    )
    assert "uint8 at its input" in refusal(content)


def test_a_number_that_no_drawing_holds_is_told_with_its_node() -> None:
    assert "alpha is inf" in refusal(model_of([("Elu", "x", "y", {"alpha": float("inf")})], {"x": ("N", 4)}, ["y"]))


def test_numbers_in_the_field_of_another_type_are_not_there() -> None:
    model = onnx.load_from_string(model_of([("Mul", "xw", "y", {})], {"x": ("N", 4)}, ["y"], {"w": np.float32(2)}))
    (tensor,) = model.graph.initializer
    tensor.ClearField("raw_data")
    tensor.int64_data.append(2)
    assert "declares 1 numbers of float32 and holds 0" in refusal(model.SerializeToString())


def test_padding_that_nothing_reaches_is_refused() -> None:
    nodes = [("ConvTranspose", "xw", "y", {"output_padding": [7, 7]})]
    content = model_of(nodes, {"x": ("N", 2, 5, 5)}, ["y"], {"w": np.ones((2, 3, 2, 2), np.float32)})
    made = translate(read_onnx(content, "mutant"))
    assert "output_padding (7, 7)" in made.missing[0].reason


def test_an_axis_that_is_put_in_twice_is_refused() -> None:
    nodes = [("Unsqueeze", "xa", "p", {}), ("Relu", "p", "y", {})]
    assert "twice" in refusal(model_of(nodes, {"x": ("N", 4)}, ["y"], {"a": np.array([1, 1])}))


def test_an_operator_without_a_symbol_behind_whole_numbers_finds_what_it_reads() -> None:
    nodes = [("Relu", "x", "p", {}), ("CumSum", ("p", "axis"), "y", {})]
    content = model_of(nodes, {"x": ("N", 4)}, ["y"], {"axis": [1]}, dtype=onnx.TensorProto.INT32)
    assert "int32 at its input" in refusal(content)
