"""L2: what is asked of a drawing takes as much more work as the drawing is larger, whatever its shape."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable

import pytest

from inkcap.drawing import Drawing
from inkcap.engine import source_of
from inkcap.network import Report, check
from inkcap.network.picture import picture_of
from inkcap.recipes import DataSpec, Recipe
from inkcap.studio.commands import COMMANDS
from inkcap.training.needs import estimate_before

SMALL, TIMES = 120, 4
MOST = 1.4 * TIMES
"""What grows with the square of a drawing takes sixteen times the calls here; sorting a little more than four times."""


def chain(count: int) -> Drawing:
    drawing = Drawing("chain")
    drawing.add("n0", "1D-data", dimension=4)
    for number in range(1, count):
        drawing.then(f"n{number}", "1D-tanh", dimension=4)
    return drawing


def fan(count: int) -> Drawing:
    drawing = Drawing("fan")
    drawing.add("n0", "1D-data", dimension=4)
    drawing.add("out", "1D-tanh", dimension=4)
    for number in range(1, count):
        drawing.add(f"n{number}", "1D-tanh", dimension=4)
        drawing.connect("n0", f"n{number}", "full")
        drawing.connect(f"n{number}", "out", "full")
    return drawing


def dense(count: int) -> Drawing:
    drawing, luck = chain(count), random.Random(1)  # noqa: S311
    for number in range(5, count):
        for back in luck.sample(range(max(number - 20, 0), number - 1), 3):
            drawing.connect(f"n{back}", f"n{number}", "full")
    return drawing


def inputs(count: int) -> Drawing:
    drawing = Drawing("inputs")
    drawing.add("out", "1D-tanh", dimension=4)
    for number in range(count):
        drawing.add(f"n{number}", "1D-data", dimension=4)
        drawing.connect(f"n{number}", "out", "full")
    return drawing


def loose(count: int) -> Drawing:
    drawing = Drawing("loose")
    for number in range(count):
        drawing.add(f"n{number}", "1D-tanh")
    return drawing


ASKED: dict[str, Callable[[Report], object]] = {
    "check": lambda report: check(report.drawing),
    "report": lambda report: report.to_json(),
    "picture": picture_of,
    "memory": lambda report: estimate_before(report, Recipe(DataSpec("any"))),
    "code": lambda report: source_of(report.network) if report.well_formed else None,
}


COMMANDED: dict[str, Callable[[int], dict[str, object]]] = {
    "rename": lambda _: {"id": "n5", "to": "other"},
    "remove": lambda count: {"ids": [f"n{number}" for number in range(count // 2)]},
    "group": lambda count: {"ids": [f"n{number}" for number in range(5, count - 5)], "name": "block"},
    "paste": lambda count: {"text": chain(count).to_text()},
    "change": lambda _: {"id": "n7", "attributes": {"dimension": 5}},
    "replace_symbol": lambda _: {"id": "n7", "symbol": "relu"},
    "insert": lambda _: {"connection": "n3-n4", "face": "1D-relu"},
}


def calls_of(work: Callable[[Report], object], report: Report) -> int:
    """Count the functions that are called: the same on every machine, however busy it is."""
    count = 0

    def note(_: object, event: str, __: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work(report)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("shape", [chain, fan, dense, inputs, loose])
def test_a_drawing_that_is_four_times_as_large_takes_four_times_the_work(shape, asked: str) -> None:
    work = ASKED[asked]
    work(check(shape(10)))  # what is made once is made before
    small, large = (calls_of(work, check(shape(count))) for count in (SMALL, TIMES * SMALL))
    assert large <= MOST * small + 1000, f"{small} calls grew to {large}"


@pytest.mark.parametrize("command", COMMANDED)
def test_a_command_takes_as_much_more_work_as_the_drawing_is_larger(command: str) -> None:
    counts: list[int] = []
    for count in (20, SMALL, TIMES * SMALL):
        drawing, arguments = chain(count), COMMANDED[command](count)

        def work(_: object, drawing: Drawing = drawing, arguments: dict[str, object] = arguments) -> None:
            COMMANDS[command][0](drawing, arguments)
            drawing.undo()

        counts.append(calls_of(work, check(drawing)))
    _, small, large = counts
    assert large <= MOST * small + 1000, f"{small} calls grew to {large}"


def test_work_that_grows_with_the_square_is_noticed() -> None:
    def work(report: Report) -> None:
        for _ in report.drawing.capsules:
            for id in report.drawing.capsules:
                str.lower(id)

    small, large = (calls_of(work, check(loose(count))) for count in (SMALL, TIMES * SMALL))
    assert large > MOST * small
