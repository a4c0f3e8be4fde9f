"""How soon the studio answers an edit: from sending it to the acknowledgement and to the report, over a real socket."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from serving import Server, Tab

from inkcap.drawing import Drawing, save_drawing

AIMS = {200: 0.050, 2_000: 0.150}
"""By the number of capsules the seconds within which an edit is answered."""
PLACES = ("middle", "end", "input")
EDITS = 12
"""How many edits are made in each place; the first of them warms up and is not counted."""


@dataclass(frozen=True)
class Answers:
    """Seconds from an edit to its acknowledgement and to the report of what it changed, sorted."""

    capsules: int
    place: str
    acknowledged: list[float]
    reported: list[float]
    spent: list[float]
    """Seconds of the server's processor time from an edit to its report."""

    @property
    def typical(self) -> float:
        """The median of the answers."""
        return statistics.median(self.reported)

    @property
    def slow(self) -> float:
        """What nineteen answers of twenty keep to."""
        return self.reported[min(len(self.reported) - 1, round(0.95 * len(self.reported)))]


def chain(count: int) -> Drawing:
    """Draw convolutions one after another, every fourth with a shortcut."""
    drawing = Drawing(f"chain of {count}")
    drawing.add("c0", "2D-data", height=32, width=32, channels=3)
    for i in range(1, count):
        drawing.add(f"c{i}", "2D-relu")
        drawing.connect(f"c{i - 1}", f"c{i}", "convolution", kernels=16, kernel=3, padding=1)
        if i % 4 == 0 and i > 5:
            drawing.connect(f"c{i - 3}", f"c{i}", "transfer")
    return drawing


def record_at(place: str, count: int, turn: int) -> dict[str, Any]:
    """Give another record of the capsule in some place of the chain."""
    if place == "input":  # reaches every capsule
        sizes = {"height": 32 + turn, "width": 32, "channels": 3}
        return {"id": "c0", "symbol": "data", "rank": 2, "attributes": sizes}
    number = count // 2 if place == "middle" else count - 1
    return {"id": f"c{number}", "symbol": ("tanh", "relu")[turn % 2], "rank": 2}


def spent_by(server: Server) -> float:
    """Give the seconds of processor time that a studio has had; where that is not told, those of the clock."""
    if not sys.platform.startswith("linux"):
        return time.perf_counter()
    # The clock of another process, as clock_getcpuclockid(3) makes its number.
    return time.clock_gettime((~server.process.pid << 3) | 2)


def counted(client: httpx.Client) -> list[str]:
    """Give the ids of a workspace's drawings, once the list has counted all of them and works no more."""
    while True:
        drawings = client.get("/api/workspace").json()["drawings"]
        if all(one["counted"] for one in drawings):
            return [one["id"] for one in drawings]
        time.sleep(0.2)


def measure(count: int, edits: int = EDITS, places: Sequence[str] = PLACES) -> list[Answers]:
    """Open a drawing of so many capsules and edit it in some places."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "work"
        workspace.mkdir()
        save_drawing(chain(count), workspace / "chain.inkcap.json")
        with Server(workspace) as server, server.client() as client:
            (id,) = counted(client)
            with Tab(server, id) as tab:
                if tab.state["report"] is None:
                    tab.hear("report", timeout=60)
                return [_edit_at(server, tab, place, count, edits) for place in places]


def _edit_at(server: Server, tab: Tab, place: str, count: int, edits: int) -> Answers:
    acknowledged: list[float] = []
    reported: list[float] = []
    spent: list[float] = []
    for turn in range(edits):
        record = record_at(place, count, turn)
        before, start = spent_by(server), time.perf_counter()
        tab.edit({"put": "capsule", "id": record["id"], "record": record})
        acknowledged.append(time.perf_counter() - start)
        tab.hear("report")
        reported.append(time.perf_counter() - start)
        spent.append(spent_by(server) - before)
        time.sleep(max(0.4, count / 15_000))  # the file is written meanwhile
    return Answers(count, place, sorted(acknowledged[1:]), sorted(reported[1:]), sorted(spent[1:]))


def main() -> None:
    """Print a line for each size and place."""
    print(f"{'answer to an edit':<34}{'p50':>8}{'p95':>8}   aim")
    for count, aim in AIMS.items():
        for answers in measure(count):
            told = f"{answers.typical * 1000:>5.0f} ms{answers.slow * 1000:>5.0f} ms"
            verdict = "held" if answers.slow <= aim else "held by the median" if answers.typical <= aim else "missed"
            print(f"{f'{count} capsules, at the {answers.place}':<34}{told}   {aim * 1000:.0f} ms, {verdict}")


if __name__ == "__main__":
    main()
