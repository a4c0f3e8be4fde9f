"""Long tests begin first, each group of them on a worker of its own, and none is lost on the way."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ordering import LONG, arranged

ROOT = Path(__file__).resolve().parents[2]
SHORT = [f"tests/cli/test_{number}.py::test" for number in range(60)]
FEW = [[f"{group[0]}::test_{number}" for number in range(4)] for group in LONG]


def parts(names: list[str], workers: int) -> list[list[str]]:
    """Part a list as xdist does."""
    found: list[list[str]] = []
    for left in range(workers, 0, -1):
        size = len(names) // left
        found.append(names[:size])
        names = names[size:]
    return found


@pytest.mark.parametrize("workers", [2, 3, 4])
def test_each_group_of_long_tests_begins_on_a_worker_of_its_own(workers: int) -> None:
    names = [*SHORT, *(name for group in FEW for name in group)]
    given_to = parts([names[i] for i in arranged(names, workers)], workers)
    for number, group in enumerate(FEW):
        head = given_to[number % workers]
        assert set(group) <= set(head[: 4 * (1 + len(FEW) // workers)])


@given(
    st.lists(st.sampled_from([*SHORT, *(name for group in FEW for name in group)]), unique=True, max_size=40),
    st.integers(1, 5),
)
def test_every_test_keeps_one_place(names: list[str], workers: int) -> None:
    assert sorted(arranged(names, workers)) == list(range(len(names)))
    assert workers > 1 or arranged(names, workers) == list(range(len(names)))


def test_what_is_called_long_is_there() -> None:
    paths = {beginning.partition("::")[0] for group in LONG for beginning in group}
    assert [path for path in paths if not (ROOT / path).exists()] == []
