"""The shares of the learning rate at the places where they are known."""

import pytest

from inkcap.recipes import ScheduleSpec, rate_factor


def _factors(kind: str, steps: list[int], per_epoch: int = 10, epochs: int = 10, **options: float) -> list[float]:
    spec = ScheduleSpec(kind, options)
    return [rate_factor(spec.kind, spec.options, step, per_epoch, epochs) for step in steps]


def test_known_values() -> None:
    assert _factors("constant", [0, 50, 99]) == [1, 1, 1]
    assert _factors("step", [0, 19, 20, 40], every=2, factor=0.5) == [1, 1, 0.5, 0.25]
    assert _factors("exponential", [0, 10, 20], factor=0.5) == [1, 0.5, 0.25]
    assert _factors("cosine", [0, 50, 100]) == pytest.approx([1, 0.5, 0])
    assert _factors("cosine", [0, 50, 100], floor=0.2) == pytest.approx([1, 0.6, 0.2])
    assert _factors("one-cycle", [0, 29, 99]) == pytest.approx([0.04, 1.0, 4e-6])
    assert _factors("plateau", [0, 99]) == [1, 1]


@pytest.mark.parametrize("kind", ["constant", "step", "exponential", "cosine", "plateau", "one-cycle"])
def test_every_schedule_can_warm_up_and_stays_within_bounds(kind: str) -> None:
    warm = _factors(kind, list(range(100)), warm_up=2.0)
    plain = _factors(kind, list(range(100)))
    assert warm[0] == pytest.approx(plain[0] / 20)
    assert warm[9] == pytest.approx(plain[9] / 2)
    assert warm[20:] == plain[20:]
    assert all(0 <= factor <= 1 for factor in plain)


@pytest.mark.parametrize("kind", ["cosine", "one-cycle", "step", "exponential"])
def test_the_shortest_runs_have_rates_too(kind: str) -> None:
    for epochs in (1, 2, 3):
        factors = _factors(kind, list(range(epochs)), per_epoch=1, epochs=epochs)
        assert all(0 <= factor <= 1 for factor in factors)
