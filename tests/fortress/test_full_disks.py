"""R6: a disk that is full to the last byte damages nothing, loses no acknowledged edit and holds a training up only."""

import asyncio
import json
import random
import threading

import pytest
from disks import Disk, small_disk
from steered import DATA, drawn
from wires import PORT, TOKEN, Reader, client_of, kill

from inkcap.drawing import load_drawing, to_text
from inkcap.recipes import layout, recipe_from_json
from inkcap.recipes.text import FORMAT, VERSION
from inkcap.studio import create_app

STEPS = 40


class Drawer:
    """Someone who draws, names, copies and deletes on a disk that is full now and then."""

    def __init__(self, disk: Disk, seed: int) -> None:
        self.disk, self.luck = disk, random.Random(seed)  # noqa: S311
        self.folder = disk.folder / "work"
        self.folder.mkdir()
        self.places: dict[str, list[float]] = {}
        self.count = {"acknowledged": 0, "refused": 0, "fills": 0, "restarts": 0}

    async def play(self) -> dict[str, int]:
        self.app = create_app(self.folder, PORT, TOKEN)
        async with client_of(self.app) as client:
            made = await client.post("/api/drawings", json={"name": "d", "text": to_text(drawn("d"))})
        self.id = made.json()["id"]
        self.tab: Reader | None = None
        for _ in range(STEPS):
            await self.step()
        self.disk.free()
        await self.restart()
        assert await self.joined(), "the drawing does not open though there is room"
        live = await self.app.state.hub.live(self.id)
        await live.save()
        row = self.app.state.hub.row(self.id)
        assert load_drawing(self.folder / row.path) == live.ledger.drawing
        await self.restart()
        return self.count

    async def step(self) -> None:
        dice = self.luck.random()
        if dice < 0.55:
            await self.draw()
        elif dice < 0.7:
            self.count["fills"] += 1
            self.disk.fill()
        elif dice < 0.8:
            self.disk.free()
        elif dice < 0.88:
            await self.restart()
        else:
            await self.ask()

    async def joined(self) -> bool:
        if self.tab is None:
            self.tab = Reader(self.app, self.id, "client-drawer")
            state = await self.tab.join()
            if state is None:
                await self.away()
                return False
            shown = state["document"]["positions"]
            lost = {id: place for id, place in self.places.items() if shown.get(id) != place}
            assert not lost, f"acknowledged and lost: {lost}"
        return True

    async def draw(self) -> None:
        if not await self.joined():
            self.count["refused"] += 1
            return
        assert self.tab is not None
        id, place = self.luck.choice(["x", "h", "y"]), [self.luck.random(), self.luck.random()]
        # A note beside, so that one edit is of any size from one page to many.
        note = {"put": "note", "id": "n", "record": {"id": "n", "text": "w" * self.luck.choice([1, 5_000, 19_000])}}
        answer = await self.tab.edit({"put": "position", "id": id, "record": place}, note)
        assert answer is not None, "neither acknowledged nor refused"
        if answer["type"] == "applied":
            self.places[id] = place
            self.count["acknowledged"] += 1
        else:
            assert "could not be written" in answer["message"], answer
            self.count["refused"] += 1

    async def ask(self) -> None:
        """Ask for anything: what cannot be done is refused in words, and is no fault."""
        async with client_of(self.app) as client:
            what = self.luck.choice(["workspace", "new", "duplicate", "history", "rename"])
            if what == "workspace":
                answer = await client.get("/api/workspace")
            elif what == "new":
                answer = await client.post("/api/drawings", json={"name": "more", "text": to_text(drawn("more"))})
            elif what == "history":
                answer = await client.get(f"/api/drawings/{self.id}/history")
            elif what == "duplicate":
                answer = await client.post(f"/api/drawings/{self.id}/duplicate")
            else:
                name = f"d{self.luck.randrange(5)}"
                answer = await client.post(f"/api/drawings/{self.id}/rename", json={"name": name})
                await self.away()
            assert answer.status_code in (200, 409), (what, answer.status_code, answer.text)
            if answer.status_code == 409:
                self.count["refused"] += 1

    async def away(self) -> None:
        if self.tab is not None:
            await self.tab.wire.kill()
            self.tab = None

    async def restart(self) -> None:
        self.count["restarts"] += 1
        await self.away()
        if self.luck.random() < 0.5:
            await kill(self.app)
        else:
            await self.app.state.hub.stop()
        try:
            self.app = create_app(self.folder, PORT, TOKEN)
        except Exception as problem:
            # A studio need not start without room, but it must say so, and start when there is some.
            assert "room" in str(problem) or "full" in str(problem), problem  # noqa: PT017
            self.disk.free()
            self.app = create_app(self.folder, PORT, TOKEN)


@pytest.mark.parametrize("moments", [4, pytest.param(70, marks=pytest.mark.soak)], ids=["few", "many"])
def test_what_was_acknowledged_on_a_full_disk_is_there_and_the_rest_is_refused(tmp_path, tally, moments):
    total: dict[str, int] = {}
    seed = 0
    while total.get("fills", 0) < moments:
        with small_disk(tmp_path / f"disk-{seed}", "3m") as disk:
            count = asyncio.run(Drawer(disk, seed).play())
        total = {name: total.get(name, 0) + many for name, many in count.items()}
        seed += 1
    assert min(total["acknowledged"], total["refused"]) > 0
    tally("R6", kind="drawing", lost=0, **total)


@pytest.mark.parametrize("moments", [2, pytest.param(30, marks=pytest.mark.soak)], ids=["few", "many"])
def test_a_training_waits_for_room_says_so_and_comes_to_the_same_bits(tmp_path, tally, moments):
    from inkcap.training import EpochEvent, Listener, PauseEvent, train

    settings = {"batch": 20, "epochs": 60 * moments, "threads": 1, "checkpoint": 0.05, "seed": 3, "data": DATA}
    recipe = recipe_from_json({"format": FORMAT, "version": VERSION, **settings}, "recipe")
    undisturbed = train(drawn(), recipe, tmp_path / "whole").run.path
    with small_disk(tmp_path / "disk", "4m") as disk:
        words: list[str] = []
        luck = random.Random(moments)  # noqa: S311

        class Watching(Listener):
            fills = 0

            def on_epoch(self, event: EpochEvent) -> None:
                # A full disk stays full until something was to be written, however long that takes.
                if self.fills == len(words) < moments and luck.random() < 0.2:
                    self.fills += 1
                    disk.fill()

            def on_pause(self, event: PauseEvent) -> None:
                if event.waiting:
                    words.append(event.reason)
                    threading.Timer(0.3, disk.free).start()

        run = train(drawn(), recipe, disk.folder, Watching()).run.path
        assert len(words) == moments, "the disk was full that often when something was to be written"
        assert all("could not be written" in told and "goes on when there is room" in told for told in words), words
        for name in (layout.WEIGHTS, layout.BEST, layout.METRICS):
            assert (run / name).read_bytes() == (undisturbed / name).read_bytes(), name
        assert json.loads((run / layout.RUN).read_text())["state"] == "finished"
    tally("R6", kind="training", pauses=len(words))
