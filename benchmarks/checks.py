"""What checks cost: a whole drawing, an edit in it, the same over the studio's socket, and opening a large network.

Figures are processor time: on a busy machine clocks tell more of the others than of what is measured.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from serving import Server, Tab
from studio_answers import PLACES, chain, counted, measure, record_at, spent_by

from inkcap.drawing import Drawing, Edit, Put, save_drawing
from inkcap.network import Memory, check
from inkcap.studio.reports import Telling, outline_of, told_change
from inkcap.zoo import draw

FULL, LINEAR = 100e-6, 2.0
"""Aims of a full check: seconds a capsule, and how many times as much one may cost in the largest drawing."""
EDIT, OPEN = 0.020, 0.5
"""Aims in seconds: an edit of 20,000 capsules that reaches a few of them, and opening DenseNet-201."""
SIZES = (500, 2_000, 5_000, 10_000, 20_000)
LARGEST = SIZES[-1]
INSIDE = 10
"""The capsules of a group in the drawings with groups."""


@dataclass(frozen=True)
class Figure:
    """Seconds of one thing, sorted."""

    name: str
    seconds: list[float]
    aim: float | None = None

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.seconds)

    def line(self, unit: str) -> str:
        """Show the median, the quartiles and the aim in a row of a table."""
        scale = {"µs": 1e6, "ms": 1e3}[unit]
        low, median, high = (q * scale for q in statistics.quantiles(self.seconds, n=4))
        aim = "" if self.aim is None else f"{self.aim * scale:.0f} {unit}"
        return f"| {self.name} | {median:.1f} {unit} | {low:.1f} to {high:.1f} | {aim} |"


def grouped(count: int) -> Drawing:
    """Draw the chain with half of its capsules in groups, each of which is used ten times in a row."""
    drawing = Drawing(f"groups of {count}")
    drawing.add("x", "2D-data", height=32, width=32, channels=16)
    inside = Drawing("inside", arguments={"width": 16})
    inside.add("in", "2D-identical")
    for i in range(INSIDE):
        inside.then(f"h{i}", "2D-relu", kernels="=width", kernel=3, padding=1)
    drawing.define("block", inside)
    drawing.define("other", inside)
    drawing.then("o", "other")
    # Inputs of groups count as capsules until they are opened.
    made, row = 2 + INSIDE, 10 * INSIDE
    while made + 2 * row + 10 <= count:
        drawing.then(f"u{made}", "block", repeat=10)
        for i in range(row):
            drawing.then(f"c{made}-{i}", "2D-relu", kernels=16, kernel=3, padding=1)
        made += 2 * row + 10
    return drawing


def _spent(work: Callable[[], object]) -> float:
    # What lies about is collected before, and not by whoever comes next.
    gc.collect()
    start = time.thread_time()
    work()
    return time.thread_time() - start


def full(make: Callable[[int], Drawing], sizes: tuple[int, ...] = SIZES, rounds: int = 7) -> dict[int, Figure]:
    """Check drawings of growing sizes in turn, each as if it were seen for the first time; seconds a capsule."""
    drawings = {size: make(size) for size in sizes}
    capsules = {size: len(check(drawing).capsules) for size, drawing in drawings.items()}
    found: dict[int, list[float]] = {size: [] for size in sizes}
    for _ in range(rounds):
        for size, drawing in drawings.items():
            found[size].append(_spent(lambda drawing=drawing: check(drawing.copy())) / capsules[size])
    return {size: Figure(f"{capsules[size]:,} capsules", sorted(s), FULL) for size, s in found.items()}


class Edited:
    """A drawing that is edited and told of again and again, as the studio does it, but in one process."""

    def __init__(self, drawing: Drawing) -> None:
        """Check and tell it for the first time."""
        self.drawing, self.memory, self.telling = drawing, Memory(), Telling()
        self.items = self.telling.items(check(drawing.copy(), self.memory))

    def edit(self, edit: Edit) -> None:
        """Make an edit, check it, and say what has changed."""
        self.drawing.perform(edit)
        report = check(self.drawing.copy(), self.memory)
        outline, items = outline_of(report), self.telling.items(report)
        told_change(self.telling, outline, items, self.items)
        self.items = items

    def measure(self, name: str, edit: Callable[[int], Edit], turns: int = 12, aim: float | None = EDIT) -> Figure:
        """Edit some times; the first time warms up and is not counted."""
        spent = [_spent(lambda turn=turn: self.edit(edit(turn))) for turn in range(turns)]
        return Figure(name, sorted(spent[1:]), aim)


def edits(count: int = LARGEST, turns: int = 12, places: Sequence[str] = PLACES) -> Iterator[Figure]:
    """Edit the chain in its middle, at its end and at its input, and join two of its capsules."""
    chained = Edited(chain(count))
    for place in places:
        reaches = place == "input"

        def put(turn: int, place: str = place) -> Edit:
            record = record_at(place, count, turn)
            return Edit.from_json(
                {"label": "edit", "patches": [{"put": "capsule", "id": record["id"], "record": record}]}
            )

        name = f"{count:,} capsules, at the {place}"
        yield chained.measure(name, put, 4 if reaches else turns, None if reaches else EDIT)

    def join(turn: int) -> Edit:
        line = {"id": "new", "symbol": "transfer", "back": f"c{count // 2}", "front": f"c{count // 2 + 2}"}
        patch = (
            {"remove": "connection", "id": "new"} if turn % 2 else {"put": "connection", "id": "new", "record": line}
        )
        return Edit.from_json({"label": "join", "patches": [patch]})

    yield chained.measure(f"{count:,} capsules, a connection more or less", join, turns)


def edits_of_groups(count: int = LARGEST, turns: int = 12) -> Iterator[Figure]:
    """Edit a drawing with groups outside of them, and inside of one that is used once."""
    edited = Edited(grouped(count))
    size = len(edited.memory.flatten(edited.drawing).drawing.capsules)
    last = next(reversed(edited.drawing.capsules))

    def outside(turn: int) -> Edit:
        record = replace(edited.drawing.capsules[last], symbol=("tanh", "relu")[turn % 2])
        return Edit("edit", (Put(record),))

    def inside(turn: int) -> Edit:
        group = edited.drawing.groups["other"]
        symbol = ("tanh", "relu")[turn % 2]
        capsules = tuple(replace(c, symbol=symbol) if c.id == "h1" else c for c in group.capsules)
        return Edit("edit", (Put(replace(group, capsules=capsules)),))

    yield edited.measure(f"{size:,} capsules, half in groups, outside of them", outside, turns)
    yield edited.measure(f"{size:,} capsules, half in groups, inside of one", inside, turns)


def over_the_socket(count: int = LARGEST, turns: int = 12) -> Iterator[Figure]:
    """Edit over a real socket: what the server spends until the report has come, and how long that takes."""
    for answers in measure(count, turns, PLACES[:2]):
        name = f"{count:,} capsules, at the {answers.place}"
        yield Figure(f"{name}, the server's processor time", answers.spent, EDIT)
        yield Figure(f"{name}, from edit to report", answers.reported)


@contextmanager
def _studio(drawing: Drawing, times: int) -> Iterator[tuple[Server, list[str]]]:
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "work"
        workspace.mkdir()
        for number in range(times):
            save_drawing(drawing, workspace / f"{number}.inkcap.json")
        with Server(workspace) as server, server.client() as client:
            yield server, counted(client)


def opening(name: str = "densenet201", rounds: int = 7) -> Iterator[Figure]:
    """Open a network of the zoo in the studio: read, checked, laid out and told whole."""
    spent: list[float] = []
    taken: list[float] = []
    with _studio(draw(name), rounds + 1) as (server, ids):
        for id in ids:
            before, start = spent_by(server), time.perf_counter()
            with Tab(server, id) as tab:
                assert tab.state["report"] is not None
                taken.append(time.perf_counter() - start)
                spent.append(spent_by(server) - before)
    yield Figure(f"{name}, the server's processor time", sorted(spent[1:]), OPEN)
    yield Figure(f"{name}, until all is told", sorted(taken[1:]), OPEN)


def main(rounds: int = 7) -> None:
    """Print tables for the page of benchmarks."""
    print("| a full check, a capsule | median | quartiles | aim |\n|---|---|---|---|")
    shares: list[str] = []
    for kind, make in (("", chain), (", half in groups", grouped)):
        figures = list(full(make, rounds=rounds).values())
        for figure in figures:
            print(replace(figure, name=figure.name + kind).line("µs"))
        share = [f"{figure.median / figures[0].median:.2f}" for figure in figures[1:]]
        shares.append(f"{', '.join(share)} times as much a capsule as in the smallest{kind}")
    print("\nLarger drawings take " + "; ".join(shares) + f" (aim: at most {LINEAR:.0f}).")
    for title, made in (
        ("an edit in process", [*edits(), *edits_of_groups()]),
        ("an edit over the socket", over_the_socket()),
        ("opening", opening(rounds=rounds)),
    ):
        print(f"\n| {title} | median | quartiles | aim |\n|---|---|---|---|")
        for figure in made:
            print(figure.line("ms"), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="rounds of every full check and opening")
    main(parser.parse_args().rounds)
