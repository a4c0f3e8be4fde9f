"""A guard, not a figure: Inkcap's step stays near the same network written by hand. `make bench` has the figures."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("number", [1, 3], ids=["MLP", "LeNet"])
def test_a_step_is_no_slower_than_one_written_by_hand(number: int, monkeypatch) -> None:
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    import measure
    import steps

    _, drawing, by_hand, shape, classes, batch = steps.CASES[number]
    x = torch.randn((batch, *shape))
    y = torch.randint(0, classes, (batch,))
    contenders = {
        "ours": steps.our_training_step(drawing, x, y),
        "hand": steps.training_step_by_hand(by_hand(), x, y),
    }
    # Other work shares the machine: a quiet moment among three is enough.
    best = min(
        measure.compare("step", contenders, "hand", rounds=9, seconds=0.03).ratios["ours"].median for _ in range(3)
    )
    assert best < 1.25


@pytest.mark.parametrize("number", [0, 1], ids=["one sample", "a batch"])
def test_a_universal_step_is_faster_than_the_loop_that_everyone_writes(number: int, monkeypatch) -> None:
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    import measure
    import steps
    import universal

    _, drawing, by_hand, shape, classes, batch = universal.CASES[number]
    x = torch.randn((batch, *shape))
    y = torch.randint(0, classes, (batch,))
    contenders = {
        "ours": steps.our_training_step(drawing, x, y, universal.DESCENT, universal=True),
        "hand": steps.training_step_by_hand(by_hand(), x, y, torch.optim.SGD, universal.DESCENT.rate),
    }
    best = min(
        measure.compare("step", contenders, "hand", rounds=9, seconds=0.03).ratios["ours"].median for _ in range(3)
    )
    assert best < 0.8
