"""R8: a clock that jumps, stands still or comes from another time moves no edit, ends no run, makes no time negative.

Order is by numbers, life is by processes, durations are by the monotonic clock; the clock on the wall is for people.
"""

import asyncio
import datetime
import os
import time
from types import SimpleNamespace

import pytest
from steered import drawn, recipe_of
from wires import PORT, TOKEN, Reader, client_of, kill

from inkcap.drawing import load_drawing, to_text
from inkcap.recipes import MetricWriter, RunFolder, layout, steering
from inkcap.studio import create_app

HOUR, DAY = 3600.0, 86400.0


def at(year: int, month: int, day: int, hour: int = 0) -> float:
    return datetime.datetime(year, month, day, hour, 0, 5, tzinfo=datetime.UTC).timestamp()


NOW = at(2026, 6, 1)
JUMPS = {
    "an hour ahead": NOW + HOUR,
    "an hour back": NOW - HOUR,
    "a day ahead": NOW + DAY,
    "a day back": NOW - DAY,
    "summer time begins": at(2026, 3, 29, 1),
    "summer time ends": at(2026, 10, 25, 1),
    "1970": at(1970, 1, 1),
    "2038": at(2038, 1, 19, 3),
    "9999": at(9999, 12, 31, 22),
    "stands still": NOW,
    "a gap of eight hours": NOW + 8 * HOUR,
    "a leap second back": NOW - 1,
}


class Clock:
    """The clock on the wall, set by hand; the monotonic one goes on, as it does in truth."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.runs = NOW, True
        self._set = time.monotonic()
        clock = self

        class Wall(datetime.datetime):
            @classmethod
            def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
                return datetime.datetime.fromtimestamp(clock.time(), tz)

        monkeypatch.setattr(time, "time", self.time)
        monkeypatch.setattr(layout, "datetime", SimpleNamespace(datetime=Wall, UTC=datetime.UTC))

    def time(self) -> float:
        return self.now + (time.monotonic() - self._set if self.runs else 0.0)

    def jump(self, name: str) -> None:
        self.now, self.runs = JUMPS[name], name != "stands still"
        self._set = time.monotonic()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch):
    """A clock, in a place where summer time is known."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield Clock(monkeypatch)
    monkeypatch.undo()
    time.tzset()


class Witness:
    """A studio with a drawing and a run that goes on, before and after the clock jumps."""

    def __init__(self, folder, clock, jump):
        self.folder, self.clock, self.jump = folder, clock, jump
        self.cases = 0

    async def see(self) -> int:
        self.app = create_app(self.folder, PORT, TOKEN)
        async with client_of(self.app) as client:
            text = to_text(drawn("d"))
            self.id = (await client.post("/api/drawings", json={"name": "d", "text": text})).json()["id"]
        self.run = self.begin_run()
        await self.draw(1)
        before = await self.row()
        self.clock.jump(self.jump)
        for check in (self.order, self.life, self.speed, self.steering, self.restart):
            await check(before)
            self.cases += 1
        await kill(self.app)
        return self.cases

    def begin_run(self) -> RunFolder:
        run = RunFolder.create(self.folder, "d", "moons")
        run.write_text(layout.DRAWING, to_text(drawn("d")))
        run.write_recipe(recipe_of({"epochs": 100, "batch": 4}))
        for name in (layout.ENVIRONMENT, layout.DATA):
            run.write_json(name, {})
        run = run.update(state="running")
        self.stamp(run.path / layout.RUN, 0)
        self.learn(run, 1)
        return run

    def learn(self, run: RunFolder, epoch: int) -> None:
        with MetricWriter(run.path / layout.METRICS) as log:
            log.write("epoch", epoch, epoch * 50, {"loss": 1.0 / epoch})
        self.stamp(run.path / layout.METRICS, epoch)

    def stamp(self, path, seconds: float) -> None:
        """Let a file be written at the time on the wall: the kernel's own clock cannot be set by a test."""
        os.utime(path, (self.clock.time() + seconds,) * 2)

    async def draw(self, number: int) -> None:
        tab = Reader(self.app, self.id, "client-witness")
        assert await tab.join() is not None
        answer = await tab.edit({"put": "position", "id": "x", "record": [float(number), 0.0]})
        assert answer is not None
        assert (answer["type"], answer["seq"]) == ("applied", number)
        await tab.leave()

    async def row(self):
        async with client_of(self.app) as client:
            (row,) = (await client.get("/api/runs")).json()
        return row

    async def order(self, before) -> None:
        """What is drawn after the jump comes after what was drawn before it, whatever the times say."""
        await self.draw(2)
        async with client_of(self.app) as client:
            past = (await client.get(f"/api/drawings/{self.id}/history")).json()
            earlier = (await client.get(f"/api/drawings/{self.id}/at/1")).json()["document"]["positions"]["x"]
        assert [one["seq"] for one in past] == [1, 2]
        assert earlier == [1.0, 0.0]

    async def life(self, before) -> None:
        """A run that goes on goes on."""
        row = await self.row()
        assert (before["state"], row["state"]) == ("running", "running")
        assert row["seconds"] is not None
        assert row["seconds"] >= 0

    async def speed(self, before) -> None:
        """How fast it is and how long it will take is told within reason, or not at all."""
        for epoch in (2, 3, 4):
            self.learn(self.run, epoch)
            row = await self.row()
            # Fifty steps of four samples a second is its speed.
            assert row["throughput"] is None or 0 <= row["throughput"] <= 20 * 200, row["throughput"]
            assert row["left"] is None or row["left"] >= 0

    async def steering(self, before) -> None:
        """A wish of before the jump is no wish that was heard just now, and none is sent to what has ended."""
        wish = self.run.path / layout.WISH
        wish.write_text("pause")
        self.stamp(wish, 0)
        assert steering.take_wish(self.run) == "pause"
        assert RunFolder.open(self.run.path).record.state == "running"

    async def restart(self, before) -> None:
        """A studio that starts after the jump finds everything as it was, and takes its own file for no other's."""
        live = await self.app.state.hub.live(self.id)
        await live.save()
        await kill(self.app)
        self.app = create_app(self.folder, PORT, TOKEN)
        live = await self.app.state.hub.live(self.id)
        assert live.outside is None
        assert live.ledger.seq == 2
        assert load_drawing(self.folder / "d.inkcap.json") == live.ledger.drawing
        assert (await self.row())["state"] == "running"
        assert [past.seq for past in self.app.state.hub.store.entries(self.id)] == [1, 2]


def test_a_clock_that_jumps_moves_nothing_and_ends_nothing(tmp_path, clock, tally):
    cases = 0
    for number, jump in enumerate(JUMPS):
        clock.now, clock.runs = NOW, True
        folder = tmp_path / f"{number}"
        folder.mkdir()
        try:
            cases += asyncio.run(Witness(folder, clock, jump).see())
        except AssertionError as problem:
            raise AssertionError(f"the clock: {jump}: {problem}") from problem
    assert cases == 60
    tally("R8", cases=cases)
