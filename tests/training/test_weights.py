"""Weights on disk, borrowed weights and frozen ones."""

from pathlib import Path

import pytest
import torch
from failing import Failing
from tracing import can_trace, traced

from inkcap.recipes import RunFolderError
from inkcap.structures.atomic import remove_temporaries
from inkcap.training.errors import TrainingError
from inkcap.training.weights import Borrowed, fitting, freeze, matching, put_back, read_weights, save_weights

NAMES = ("a-b.weight", "b.bias", "b-c.weight", "c.bias")


def test_weights_come_back(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    weights = {"a-b.weight": torch.randn(2, 3).t(), "b.bias": torch.tensor(1.5, dtype=torch.float64)}
    seal = save_weights(path, weights)
    found = read_weights(path)
    assert len(seal) == 64
    assert {name: value.dtype for name, value in found.items()} == {n: v.dtype for n, v in weights.items()}
    assert all(torch.equal(found[name], weights[name]) for name in weights)
    assert save_weights(path, dict(reversed(weights.items()))) == seal
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(RunFolderError, match="no weights can be read"):
        read_weights(path)


def test_weights_of_all_widths_are_read_where_they_lie(tmp_path: Path) -> None:
    given = {f"w{i}": torch.ones(3, dtype=dtype) for i, dtype in enumerate((torch.bool, torch.float32, torch.float64))}
    save_weights(tmp_path / "weights.safetensors", {**given, "none": torch.zeros(0), "half": torch.ones(1).half()})
    found = read_weights(tmp_path / "weights.safetensors")
    assert found["none"].shape == (0,)
    assert all(torch.equal(found[name], value) for name, value in given.items())


@pytest.mark.skipif(not can_trace(), reason="no tracing of children here")
@pytest.mark.parametrize("kind", ["KILL", "ENOSPC", "EIO"])
def test_weights_that_are_cut_off_anywhere_leave_the_old_ones_and_nothing_unknown(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "weights.safetensors"
    save_weights(path, {"old": torch.ones(3)})
    old, place = path.read_bytes(), 0
    while path.read_bytes() == old:
        place += 1
        traced(lambda: save_weights(path, {"new": torch.zeros(40, 1000)}) and None, Failing(place, kind))
        remove_temporaries(tmp_path, path.name)
        assert [left.name for left in tmp_path.iterdir()] == [path.name], place
    assert list(read_weights(path)) == ["new"]
    assert place > 3


def test_patterns_match_weights_capsules_and_connections() -> None:
    assert matching(NAMES, ["a-b"]) == {"a-b.weight"}
    assert matching(NAMES, ["b"]) == {"b.bias"}
    assert matching(NAMES, ["*.bias", "b-?"]) == {"b.bias", "c.bias", "b-c.weight"}
    with pytest.raises(TrainingError, match=r"'B'.*a-b\.weight, b\.bias"):
        matching(NAMES, ["b", "B"])


def test_frozen_parameters_and_buffers_stay() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    paths = {"a-b.weight": "0.weight", "b.bias": "0.bias", "n.scale": "1.weight", "n.mean": "1.running_mean"}
    learning, buffers = freeze(module, paths, ["n"])
    assert [tuple(parameter.shape) for parameter in learning] == [(2, 2), (2,), (2,)]
    assert list(buffers) == ["1.running_mean"]
    module(torch.randn(8, 2) + 5)
    assert module[1].running_mean.abs().sum() > 0
    put_back(module, buffers)
    assert module[1].running_mean.tolist() == [0, 0]
    with pytest.raises(TrainingError, match="all 4 weights are frozen"):
        freeze(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)), paths | {"n.b": "1.bias"}, ["*"])
    with pytest.raises(TrainingError, match="no weights"):
        freeze(torch.nn.ReLU(), {}, [])


def test_what_fits_is_taken_and_the_rest_is_explained() -> None:
    own = {"a": torch.zeros(2, 3), "b": torch.zeros(4), "c": torch.zeros(1, dtype=torch.float64)}
    other = {"a": torch.ones(2, 3), "b": torch.ones(5), "c": torch.ones(1), "d": torch.ones(1)}
    taken, report = fitting(own, other, "run-1")
    assert report.taken == ("a", "c")
    assert taken["c"].dtype == torch.float64
    assert dict(report.left) == {"b": "its shape is 4, the other run's is 5", "d": "this drawing has no such weight"}
    assert report.lines()[0] == "2 weights taken from run-1: a, c"
    assert report.lines()[1] == "not taken: b: its shape is 4, the other run's is 5"
    assert Borrowed().lines() == []
    with pytest.raises(TrainingError, match="no weight of run-1 fits"):
        fitting({"q": torch.zeros(1)}, other, "run-1")
