"""Checks keep to five times the aims of `make bench`, by processor time, and cost a capsule the same in any drawing."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import checks

TIMES = 5


@pytest.mark.parametrize("make", [checks.chain, checks.grouped])
def test_a_full_check_costs_tens_of_microseconds_a_capsule(make):
    small, large = checks.full(make, (1_000, 10_000), rounds=3).values()
    assert large.seconds[0] <= TIMES * checks.FULL
    # The quickest of three: what others on the machine do to the caches is none of ours.
    assert large.seconds[0] <= 2 * checks.LINEAR * small.seconds[0]


def test_an_edit_of_a_large_drawing_costs_what_it_touches():
    # At its input an edit touches all of a chain, and there is no aim for that.
    places = [place for place in checks.PLACES if place != "input"]
    figures = [*checks.edits(turns=5, places=places), *checks.edits_of_groups(turns=5)]
    assert len(figures) == len(places) + 3
    for figure in figures:
        assert figure.aim is not None
        assert figure.median <= TIMES * figure.aim, figure


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processor time of another process is told on Linux")
def test_the_studio_answers_and_opens_within_its_share():
    spent = [
        figure for figure in (*checks.over_the_socket(turns=5), *checks.opening(rounds=3)) if "processor" in figure.name
    ]
    assert len(spent) == 3
    for figure in spent:
        assert figure.aim is not None
        assert figure.median <= TIMES * figure.aim, figure
