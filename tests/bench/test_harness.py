"""The harness of the benchmark, with tiny workers that are real processes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from inkcap.bench.contenders import ENVIRONMENT, Contender
from inkcap.bench.growth import fitted_exponent
from inkcap.bench.measuring import DISAGREEMENT, Quartiles, Sample, figure_of, take_turns
from inkcap.bench.processes import Lost, Process

HERE = [str(Path(__file__).parent)]


def process(function: str, **options) -> Process:
    environment = options.pop("environment", {})
    contender = Contender(function, function, f"tiny_contenders:{function}", environment=environment, options=options)
    return Process(contender, ["mlp-2-6-4-2@16"], "training", 1, path=HERE)


@pytest.fixture
def start(request: pytest.FixtureRequest):
    def started(function: str, **options) -> Process:
        made = process(function, **options)
        request.addfinalizer(made.close)
        return made

    return started


def test_twice_the_cost_is_half_the_ratio(start) -> None:
    fast, slow = start("sleeping", seconds=0.01), start("sleeping", seconds=0.02)
    fast.ready()
    slow.ready()
    turns = take_turns({"slow": slow}, fast, {"slow": 3}, 6, rounds=3)
    assert 0.3 < figure_of(turns.samples["slow"], 3).ratio.median < 0.8


def test_a_contender_that_dies_is_one_line_and_the_others_go_on(start) -> None:
    reference, steady, dying = start("sleeping"), start("sleeping"), start("dying")
    for each in (reference, steady, dying):
        each.ready()
    contenders = {"steady": steady, "dying": dying}
    turns = take_turns(
        contenders, reference, dict.fromkeys(contenders, 2), 2, rounds=6, lose=lambda _, error: str(error)
    )
    assert turns.lost == {"dying": "its process ended with exit code 7"}
    assert len(turns.samples["steady"]) >= 6
    assert len(turns.samples["dying"]) == 2


def test_a_contender_that_cannot_be_built_says_why_in_one_line(start) -> None:
    with pytest.raises(Lost, match=r"^ValueError: this one cannot be built$"):
        start("failing").ready()


def test_what_a_library_prints_is_no_answer(start) -> None:
    chattering = start("chattering")
    assert chattering.ready().step > 0
    assert chattering.slot(2) >= 0


def test_a_contender_has_its_own_environment_from_the_start(start) -> None:
    assert start("environment", environment=ENVIRONMENT).ready().step >= 0
    with pytest.raises(Lost, match="None"):
        start("environment").ready()


class Scripted:
    """Slots whose seconds are known before."""

    def __init__(self, seconds: Sequence[float]) -> None:
        self.seconds = list(seconds)

    def slot(self, steps: int, case: int = 0) -> float:
        return self.seconds.pop(0)


def test_a_noisy_round_is_taken_again() -> None:
    # The reference's slots around the second round differ by half.
    reference = Scripted([1.0, 1.0, 1.0, 1.5, 1.0, 1.0])
    turns = take_turns({"a": Scripted([0.5, 0.7, 0.5])}, reference, {"a": 1}, 1, rounds=2)
    assert [sample.noisy for sample in turns.samples["a"]] == [False, True, False]
    assert turns.repeated == 1
    figure = figure_of(turns.samples["a"], 2)
    assert figure.ratio == Quartiles(2.0, 2.0, 2.0)
    assert not figure.noisy


def test_what_stays_noisy_is_marked() -> None:
    reference = Scripted([1.0, 2.0] * 4)
    turns = take_turns({"a": Scripted([0.5] * 4)}, reference, {"a": 1}, 1, rounds=2)
    assert len(turns.samples["a"]) == 4
    assert figure_of(turns.samples["a"], 2).noisy
    apart = [Sample(1.0, ratio, 0.0) for ratio in (0.5, 1.0, 2.0, 4.0)]
    assert figure_of(apart, 4).noisy
    assert not figure_of([Sample(1.0, 1.0, DISAGREEMENT / 2)] * 3, 3).noisy


def test_the_order_alternates_and_the_reference_stands_around_every_group() -> None:
    seen: list[str] = []

    class Seen:
        def __init__(self, name: str) -> None:
            self.name = name

        def slot(self, steps: int, case: int = 0) -> float:
            seen.append(self.name)
            return 1.0

    names = "abcd"
    take_turns({name: Seen(name) for name in names}, Seen("r"), dict.fromkeys(names, 1), 1, rounds=2)
    assert "".join(seen) == "rabcrdr" + "rdrcbar"


def test_exponents_of_growth() -> None:
    assert fitted_exponent((1, 2, 4, 8), (3.0, 12.0, 48.0, 192.0)) == pytest.approx(2)
