"""A guard, not a figure: Inkcap's step stays near the same network written by hand. `make bench` has the figures."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from inkcap.bench import torch_steps
from inkcap.bench.cases import find_case
from inkcap.bench.ours import inkcap
from inkcap.training.allocator import kept_memory

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def ratio(name: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> float:
    """Give the time of our step in steps written by hand; other work is here, so a quiet moment of three is enough."""
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    from measure import compare

    case = find_case(name)
    with kept_memory():
        ours, hand = inkcap(case, "training", engine), torch_steps.eager(case, "training")
        contenders = {"ours": lambda: ours.run(1), "hand": lambda: hand.run(1)}
        return min(compare("step", contenders, "hand", 9, 0.03).ratios["ours"].median for _ in range(3))


@pytest.mark.parametrize("name", ["figure20-64", "lenet"])
def test_a_step_is_no_slower_than_one_written_by_hand(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ratio(name, "eager", monkeypatch) < 1.25


@pytest.mark.parametrize("name", ["mlp-2-6-4-2@1", "figure20-64"])
def test_an_explicit_step_is_faster_than_the_loop_that_everyone_writes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ratio(name, "explicit", monkeypatch) < 0.8
