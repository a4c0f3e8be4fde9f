"""Answers to edits over a real socket keep to five times the aims of `make bench`, whatever else the machine does."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import studio_answers


@pytest.mark.parametrize("count", studio_answers.AIMS)
def test_edits_are_answered_within_five_times_the_aim(count):
    for answers in studio_answers.measure(count, edits=6):
        assert answers.typical <= 5 * studio_answers.AIMS[count], answers
