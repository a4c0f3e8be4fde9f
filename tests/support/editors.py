"""People who draw while their studio is killed again and again."""

import threading
import time

from serving import Tab
from websockets.exceptions import WebSocketException

from inkcap.drawing import Put

GONE = (OSError, TimeoutError, EOFError, WebSocketException)
"""What a tab meets when its server is killed."""
KEPT = 250
"""So many of their capsules stay; with each further one the oldest goes, for a drawing is no larger than it may be."""
PAUSE = 0.05
"""Seconds between two edits of a person: twenty in a second."""


class Now:
    """The studio that lives now."""

    def __init__(self, server):
        self.server = server

    def await_all(self, editors, patience=60):
        """Wait until everyone has come to it."""
        until = time.monotonic() + patience
        while any(editor.at is not self.server for editor in editors):
            problems = [problem for editor in editors for problem in editor.problems]
            assert not problems, problems
            assert time.monotonic() < until, f"not everyone came back within {patience} s"
            time.sleep(0.005)

    def kill(self):
        self.server.kill()


class Editor(threading.Thread):
    """Someone who draws one capsule after another, comes back when the server is gone, and sends again what nobody
    answered; what was acknowledged must be there each time, and what was taken away must not."""

    def __init__(self, name, drawing, now):
        super().__init__(name=name, daemon=True)
        self.drawing, self.now = drawing, now
        self.acknowledged, self.number, self.lives = [], 0, 0
        self.problems = []
        self.at = None
        """The studio to which it came last."""
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
        server = self.now.server
        with Tab(server, self.drawing, f"client-{self.name}") as tab:
            self.lives += 1
            self.at = server
            # The last may have been applied without its answer, and be told now.
            done = tab.state["acknowledged"]
            assert done in (len(self.acknowledged), self.number), (done, self.number, len(self.acknowledged))
            there = [capsule["id"] for capsule in tab.state["document"]["capsules"]]
            found = sorted(id for id in there if id.startswith(f"{self.name}-"))
            wanted = sorted(map(self.id_of, range(max(1, done - KEPT + 1), done + 1)))
            assert found == wanted, f"{self.name} found {found} for {wanted} in life {self.lives}"
            while not self.over.is_set():
                if len(self.acknowledged) == self.number:
                    self.number += 1
                id = self.id_of(self.number)
                record = {"id": id, "symbol": "identical", "rank": 1, "attributes": {}}
                patches = [{"put": "capsule", "id": id, "record": record}]
                if self.number > KEPT:
                    patches.append({"remove": "capsule", "id": self.id_of(self.number - KEPT)})
                tab.say({"type": "edit", "number": self.number, "edit": {"label": "add", "patches": patches}})
                # The others' edits are told too, under numbers of their own.
                while True:
                    answer = tab.hear("applied", "rejected", number=self.number, timeout=30)
                    assert answer["type"] == "applied", answer
                    if answer["client"] == tab.client:
                        break
                self.acknowledged.append(id)
                time.sleep(PAUSE)

    def id_of(self, number):
        return f"{self.name}-{number}"

    def stop(self):
        self.over.set()
        self.join(60)
        assert not self.is_alive()
        assert not self.problems, self.problems

    def judge(self, log):
        """Hold what a drawing's log has of this editor against what was acknowledged: each once, in order."""
        own = [label for client, label in log if client == f"client-{self.name}"]
        assert own[: len(self.acknowledged)] == self.acknowledged, f"{self.name}: {own[-5:]} {self.acknowledged[-5:]}"
        # The very last may have been applied without its answer.
        assert len(own) <= len(self.acknowledged) + 1


def logged(store, drawing):
    """Give every edit of a drawing's log by its client and the capsules that it puts."""
    entries = store.entries(drawing)
    return [(one.client, patch.record.id) for one in entries for patch in one.edit.patches if isinstance(patch, Put)]
