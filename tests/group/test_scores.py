"""What several processes have counted is, joined, what one would have counted."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
import torch

from inkcap.training.facts import CapsuleFacts
from inkcap.training.mask_loss import MaskIou
from inkcap.training.scores import Detected, MeanIou, OutputScore, Retrieval

GENERATOR = torch.Generator().manual_seed(5)
VECTOR = CapsuleFacts("y", "1D-softmax", (4,), "float32")
MAP = CapsuleFacts("y", "2D-softmax", (3, 5, 5), "float32")
BOXES = CapsuleFacts("y", "detect", (6, 6), "float32")


class _Rows:
    """Gives masks as they are."""

    def matched(self, value: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return value, target


def _numbers(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=GENERATOR)


def _boxes(scored: bool) -> torch.Tensor:
    corners = torch.rand((12, 6, 2), generator=GENERATOR) * 20
    sizes = torch.rand((12, 6, 2), generator=GENERATOR) * 20 + 4
    labels = torch.randint(1, 3, (12, 6, 1), generator=GENERATOR).float()
    scores = torch.rand((12, 6, 1), generator=GENERATOR)
    return torch.cat([*([scores] if scored else []), labels, corners, corners + sizes], -1)


CASES: dict[str, tuple[Any, torch.Tensor, torch.Tensor]] = {
    "labels": (
        lambda: OutputScore(VECTOR, "cross-entropy", "classes"),
        _numbers(12, 4),
        torch.randint(0, 4, (12,), generator=GENERATOR),
    ),
    "numbers": (lambda: OutputScore(VECTOR, "mean-squared-error", "numbers"), _numbers(12, 4), _numbers(12, 4)),
    "pixels": (lambda: MeanIou(MAP), _numbers(12, 3, 5, 5), torch.randint(0, 3, (12, 5, 5), generator=GENERATOR)),
    "neighbours": (lambda: Retrieval(VECTOR), _numbers(12, 4), torch.randint(0, 3, (12,), generator=GENERATOR)),
    "boxes": (lambda: Detected(BOXES, 0, "map", lambda value: value), _boxes(True), _boxes(False)),
    "masks": (
        lambda: MaskIou(MAP, 0, _Rows()),  # type: ignore[arg-type]
        _numbers(12, 5, 5),
        (_numbers(12, 5, 5) > 0).float(),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_parts_join_to_the_whole(name: str) -> None:
    make, values, targets = CASES[name]
    whole = make()
    whole.add(values, targets)
    parts = [make() for _ in range(3)]
    for part, (first, last) in zip(parts, ((0, 5), (5, 12), (12, 12)), strict=True):
        if last > first:
            part.add(values[first:last], targets[first:last])
    counted = [pickle.loads(pickle.dumps(part.counted())) for part in parts]  # noqa: S301
    for part in parts:
        part.join(counted)
        assert part.value() == pytest.approx(whole.value(), rel=1e-6)
    assert 0 <= whole.value() < 10
