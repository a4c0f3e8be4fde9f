"""A studio that is killed again and again under people who draw and trainings that run: nothing is lost."""

import contextlib
import os
import random
import threading
import time

import pytest
from serving import Server, Tab
from steered import DATA, add, await_run, drawn, post, recipe_of
from websockets.exceptions import WebSocketException

from inkcap.recipes import layout
from inkcap.training import train

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes in sessions of their own")
FILES = (layout.WEIGHTS, layout.BEST, layout.METRICS)
GONE = (OSError, TimeoutError, EOFError, WebSocketException)
"""What a tab meets when its server is killed."""


class Editor(threading.Thread):
    """Someone who draws one capsule after another, comes back when the server is gone, and sends again what nobody
    answered; what was acknowledged must be there each time."""

    def __init__(self, name, drawing, now):
        super().__init__(name=name, daemon=True)
        self.drawing, self.now = drawing, now
        self.acknowledged, self.number, self.lives = [], 0, 0
        self.problems = []
        self.over = threading.Event()

    def run(self):
        while not self.over.is_set():
            try:
                self.live()
            except GONE:
                time.sleep(0.02)
            except AssertionError as problem:
                self.problems.append(str(problem))
                return

    def live(self):
        with Tab(self.now.server, self.drawing, f"client-{self.name}") as tab:
            self.lives += 1
            there = {capsule["id"] for capsule in tab.state["document"]["capsules"]}
            lost = [id for id in self.acknowledged if id not in there]
            assert not lost, f"{self.name} lost {lost} in life {self.lives}"
            assert tab.state["acknowledged"] in (self.number, self.number - 1)
            while not self.over.is_set():
                if len(self.acknowledged) == self.number:
                    self.number += 1
                id = f"{self.name}{self.number}"
                record = {"id": id, "symbol": "identical", "rank": 1, "attributes": {}}
                tab.say(
                    {
                        "type": "edit",
                        "number": self.number,
                        "edit": {"label": "add", "patches": [{"put": "capsule", "id": id, "record": record}]},
                    }
                )
                # The others' edits are told too, under numbers of their own.
                while True:
                    answer = tab.hear("applied", "rejected", number=self.number, timeout=30)
                    assert answer["type"] == "applied", answer
                    if answer["client"] == tab.client:
                        break
                self.acknowledged.append(id)
                time.sleep(0.03)


class Now:
    """The server that lives now."""

    def __init__(self, server):
        self.server = server


@pytest.mark.parametrize(
    ("kills", "epochs"), [(6, 200), pytest.param(40, 4_000, marks=pytest.mark.soak)], ids=["few", "forty"]
)
def test_no_acknowledged_edit_is_lost_and_trainings_go_on_through_every_kill(tmp_path, kills, epochs):
    workspace = tmp_path / "work"
    workspace.mkdir()
    chance = random.Random(kills)  # noqa: S311
    recipe = {"batch": 4, "epochs": epochs, "threads": 1, "checkpoint": 0.2, "seed": 3}
    now = Now(Server(workspace))
    try:
        with now.server.client() as client:
            trained, other = add(client, drawn("trained")), add(client, drawn("other"))
            told = [post(client, f"/api/drawings/{trained}/train", data=DATA, recipe=recipe) for _ in range(2)]
            assert [status for status, _ in told] == [200, 200], told
            runs = [answer["run"] for _, answer in told]
        editors = [Editor(name, id, now) for name, id in (("a", other), ("b", other), ("c", trained), ("d", trained))]
        for editor in editors:
            editor.start()
        going = 0
        for _ in range(kills):
            time.sleep(chance.uniform(0.05, 0.6))
            now.server.kill()
            now.server = Server(workspace)
            with now.server.client() as client:
                rows = client.get("/api/runs", params={"drawing": trained}).json()
            assert {row["id"] for row in rows} == set(runs)
            assert all(row["state"] in ("running", "finished") for row in rows), rows
            going += sum(row["state"] == "running" for row in rows)
        assert going, "the trainings were over before the first kill: give them more epochs"
        time.sleep(0.5)
        for editor in editors:
            editor.over.set()
        for editor in editors:
            editor.join(60)
            assert not editor.is_alive()
            assert not editor.problems
            assert editor.lives > kills / 2
            assert editor.acknowledged
        for editor in editors:
            with Tab(now.server, editor.drawing) as tab:
                there = [c["id"] for c in tab.state["document"]["capsules"] if c["id"].startswith(editor.name)]
            own = [id for id in there if id[1:].isdigit()]
            # In their order, each once; the very last may have been applied without its answer.
            assert own[: len(editor.acknowledged)] == editor.acknowledged
            assert len(own) <= len(editor.acknowledged) + 1
        undisturbed = train(drawn("trained"), recipe_of(recipe), tmp_path)
        with now.server.client() as client:
            for run in runs:
                row = await_run(client, run, "finished", patience=600)
                assert row["resumed"] == 0
                for name in FILES:
                    found = (workspace / "runs" / row["name"] / name).read_bytes()
                    assert found == (undisturbed.run.path / name).read_bytes(), (row["name"], name)
            with contextlib.suppress(OSError):
                until = time.monotonic() + 20
                while list((workspace / ".inkcap" / "trainings").iterdir()):
                    assert time.monotonic() < until, "what has ended is not tidied up"
                    client.get("/api/runs")
                    time.sleep(0.2)
    finally:
        now.server.kill()
