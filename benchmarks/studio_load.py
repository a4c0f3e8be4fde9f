"""The studio under load: four people on a large drawing beside two trainings, a huge drawing opened, a cold start."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from figures import percentile, processor_time
from serving import Server, Tab
from steered import add, await_run, begin_training, drawn, post
from studio_answers import chain, counted, record_at

from inkcap.drawing import save_drawing

CLIENTS, RATE = 4, 5.0
"""How many draw at once, and how many edits each makes in a second."""
EDITED, OPENED = 5_000, 20_000
AIMS = {"acknowledged": 0.100, "opened": 3.0, "started": 2.0}
"""Seconds within which nineteen edits of twenty are acknowledged, a huge drawing is shown, a studio answers."""


@dataclass
class Load:
    """Seconds from an edit to its acknowledgement, of all who drew."""

    acknowledged: list[float] = field(default_factory=list[float])
    trainings: int = 0


class Person(threading.Thread):
    """Someone who moves and changes capsules of their own part of a drawing, so many times a second."""

    def __init__(self, server: Server, drawing: str, number: int, edits: int, capsules: int) -> None:
        super().__init__(daemon=True)
        self.tab = Tab(server, drawing, f"person-{number}")
        self.number, self.edits, self.capsules = number, edits, capsules
        self.seconds: list[float] = []
        self.problem = ""

    def run(self) -> None:
        """Draw, at an even pace."""
        begun = time.monotonic()
        try:
            for turn in range(self.edits):
                time.sleep(max(0.0, begun + turn / RATE - time.monotonic()))
                start = time.perf_counter()
                answer = self.tab.edit(self.patch(turn))
                self.seconds.append(time.perf_counter() - start)
                if answer["type"] != "applied":
                    self.problem = str(answer)
                    return
        except Exception as problem:
            self.problem = repr(problem)

    def patch(self, turn: int) -> dict[str, object]:
        """Three times of four a thing is moved, else it becomes another."""
        id = f"c{1 + (self.number * self.capsules // CLIENTS + turn) % (self.capsules - 1)}"
        if turn % 4:
            return {"put": "position", "id": id, "record": [turn, self.number]}
        return {"put": "capsule", "id": id, "record": {**record_at("end", self.capsules, turn // 4), "id": id}}


def edit_under_load(capsules: int = EDITED, edits: int = 60, trainings: int = 2) -> Load:
    """Let four people edit a drawing while trainings hold the processors."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "work"
        workspace.mkdir()
        save_drawing(chain(capsules), workspace / "chain.inkcap.json")
        with Server(workspace) as server, server.client() as client:
            (id,) = counted(client)
            trained = add(client, drawn())
            recipe = {"batch": 4, "epochs": 100_000, "engine": "eager", "threads": 1}
            runs = [begin_training(client, trained, recipe)["id"] for _ in range(trainings)]
            people = [Person(server, id, number, edits, capsules) for number in range(CLIENTS)]
            for person in people:
                person.start()
            for person in people:
                person.join()
                person.tab.close()
                assert not person.problem, person.problem
            going = sum(row["state"] == "running" for row in client.get("/api/runs").json())
            for run in runs:
                post(client, f"/api/runs/{run}/stop")
                await_run(client, run, "interrupted")
    return Load(sorted(second for person in people for second in person.seconds), going)


def open_huge(capsules: int = OPENED) -> float:
    """Give the seconds from asking for a huge drawing until its whole state is there."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "work"
        workspace.mkdir()
        save_drawing(chain(capsules), workspace / "chain.inkcap.json")
        with Server(workspace) as server, server.client() as client:
            (id,) = [one["id"] for one in client.get("/api/workspace").json()["drawings"]]
            start = time.perf_counter()
            with Tab(server, id) as tab:
                seconds = time.perf_counter() - start
                assert len(tab.state["document"]["capsules"]) == capsules
    return seconds


def start_cold(rounds: int = 5) -> tuple[float, float]:
    """Give the seconds from starting a studio to its first answer, and those of its own work: medians."""
    walls: list[float] = []
    spent: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "work"
        workspace.mkdir()
        for _ in range(rounds):
            start = time.perf_counter()
            with Server(workspace) as server, server.client() as client:
                client.get("/api/workspace").raise_for_status()
                walls.append(time.perf_counter() - start)
                spent.append(processor_time(server.process.pid))
    return statistics.median(walls), statistics.median(spent)


def main() -> None:
    """Print a line for each figure."""
    load = edit_under_load()
    slow, typical = percentile(load.acknowledged), statistics.median(load.acknowledged)
    opened, (started, spent) = open_huge(), start_cold()
    print(f"on {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    print(f"{CLIENTS} people on {EDITED:,} capsules, {load.trainings} trainings beside")
    told = f"p50 {typical * 1000:.0f} ms, p95 {slow * 1000:.0f} ms"
    for name, words, value, aim in (
        ("  an edit is acknowledged", told, slow, AIMS["acknowledged"]),
        (f"{OPENED:,} capsules are opened", f"{opened:.2f} s", opened, AIMS["opened"]),
        ("a cold start to the first answer", f"{started:.2f} s, {spent:.2f} s of work", started, AIMS["started"]),
    ):
        print(f"{name:<36}{words:<26}aim {aim:g} s, {'held' if value <= aim else 'missed'}")


if __name__ == "__main__":
    main()
