"""Many hands on one drawing: the page's own model in Node, the studio's own application, and a bad line between them.

The line drops what is under way when it is cut, doubles frames, keeps them back, and lets the studio read frames of a
connection that its tab has given up long ago. The studio is started anew in between, with and without a goodbye.
"""

import json
import random
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wires import PORT, TOKEN, Wire, kill

from front_end import SOURCE, install, node_folder
from inkcap.drawing import Drawing, from_text, save_drawing
from inkcap.network import check
from inkcap.studio import create_app
from inkcap.studio.catalogue import catalogue
from inkcap.studio.ledger import Ledger
from inkcap.studio.live import document_of

QUIET = frozenset({"report", "clients", "saved", "pong", "layout"})
"""Messages that change no drawing; they are brought at once, since when they come is not for a seed to say."""


class Hands:
    """The tabs' models, in one process of Node."""

    def __init__(self, folder: Path) -> None:
        node = node_folder()
        install(node)
        program = folder / "hands.mjs"
        bundler = SOURCE / "node_modules" / "rolldown" / "bin" / "cli.mjs"
        source = SOURCE / "src" / "campaign" / "hands.ts"
        words = [str(node / "node"), str(bundler), str(source), "--platform", "node", "--format", "esm", "-o", program]
        subprocess.run(words, check=True, capture_output=True, cwd=SOURCE)
        self.process = subprocess.Popen(
            [str(node / "node"), str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._catalogue: Any = catalogue()

    def ask(self, do: str, hand: int = 0, **more: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"do": do, "hand": hand, **more}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, "the tabs' process has ended"
        return json.loads(answer)

    def begin(self, clients: list[str], seed: int) -> None:
        more = {"catalogue": self._catalogue} if self._catalogue else {}
        self._catalogue = None
        self.ask("begin", clients=clients, seed=seed, **more)

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@dataclass
class Tally:
    """What happened in a game."""

    operations: int = 0
    applied: int = 0
    refused: int = 0
    cuts: int = 0
    doubled: int = 0
    late: int = 0
    restarts: int = 0
    reloads: int = 0
    problems: list[str] = field(default_factory=list[str])


class Game:
    """One seed: some tabs, each with so many gestures, until all have come to rest."""

    def __init__(self, hands: Hands, folder: Path, seed: int, clients: int, operations: int) -> None:
        self.hands, self.folder, self.seed = hands, folder, seed
        self.luck = random.Random(seed)  # noqa: S311
        self.names = [f"client-{number}-{seed}" for number in range(clients)]
        self.left = [operations] * clients
        self.tally = Tally()
        self.wires: list[Wire | None] = [None] * clients
        self.zombies: list[Wire] = []

    async def play(self) -> Tally:
        drawing = Drawing("many hands")
        drawing.add("x", "1D-data", dimension=4)
        save_drawing(drawing, self.folder / "d.inkcap.json")
        self.app = create_app(self.folder, PORT, TOKEN)
        self.id = self.app.state.hub.store.id_of("d.inkcap.json")
        self.hands.begin(self.names, self.seed)
        try:
            while any(self.left):
                await self.turn()
            await self.come_to_rest()
            await self.judge()
        finally:
            await self.stop(graceful=True)
        return self.tally

    # The studio ----------------------------------------------------------------------------------------------

    async def stop(self, graceful: bool) -> None:
        hub = self.app.state.hub
        for hand, wire in enumerate(self.wires):
            if wire is not None:
                await self.lose(hand, seen=False)
        for wire in self.zombies:
            await wire.kill()
        self.zombies = []
        if graceful:
            await hub.stop()
            return
        await kill(self.app)

    async def restart(self) -> None:
        self.tally.restarts += 1
        await self.stop(graceful=self.luck.random() < 0.3)
        self.app = create_app(self.folder, PORT, TOKEN)

    # The line ------------------------------------------------------------------------------------------------

    async def turn(self) -> None:
        hand = self.luck.randrange(len(self.names))
        wire, dice = self.wires[hand], self.luck.random()
        if dice < 0.4:
            self.act(hand)
        elif wire is None:
            self.connect(hand)
        elif dice < 0.965:
            await self.carry(hand, wire)
        elif dice < 0.985:
            await self.lose(hand, seen=self.luck.random() < 0.5)
        elif dice < 0.992 and self.zombies:
            await self.let_read(self.luck.choice(self.zombies))
        elif dice < 0.996:
            self.tally.reloads += 1
            await self.lose(hand, seen=self.luck.random() < 0.5, told=False)
            self.hands.ask("reload", hand)
        elif dice < 0.9985:
            await self.restart()

    def act(self, hand: int) -> None:
        if self.left[hand]:
            self.left[hand] -= 1
            self.tally.operations += 1
            self.sent(hand, self.hands.ask("act", hand))

    def connect(self, hand: int) -> None:
        self.hands.ask("wake", hand)
        self.wires[hand] = Wire(self.app, self.id)
        self.sent(hand, self.hands.ask("open", hand))

    def sent(self, hand: int, answer: dict[str, Any]) -> None:
        wire = self.wires[hand]
        if wire is not None:
            wire.up.extend(answer["sent"])

    async def carry(self, hand: int, wire: Wire) -> None:
        """Bring some frames up and some down."""
        for _ in range(self.luck.randrange(4)):
            if wire.up:
                frame = wire.up.popleft()
                await wire.give(frame)
                if self.luck.random() < 0.05:
                    self.tally.doubled += 1
                    await wire.give(frame)
        self.bring(hand, wire, self.luck.randrange(6))
        if wire.ended and not wire.down:
            await self.lose(hand, seen=True)

    def bring(self, hand: int, wire: Wire, most: int) -> None:
        frames: list[str] = []
        while wire.down:
            quiet = json.loads(wire.down[0])["type"] in QUIET
            if not quiet and most == 0:
                break
            most -= not quiet
            frames.append(wire.down.popleft())
            if not quiet and self.luck.random() < 0.05:
                self.tally.doubled += 1
                frames.append(frames[-1])
        if frames:
            self.sent(hand, self.hands.ask("hear", hand, frames=frames))

    async def lose(self, hand: int, seen: bool, told: bool = True) -> None:
        """Cut a line; where the studio has not seen it, frames that are under way may still come to it later."""
        wire = self.wires[hand]
        if wire is None:
            return
        self.tally.cuts += 1
        self.wires[hand] = None
        if told:
            self.hands.ask("lose", hand)
        for _ in range(self.luck.randrange(len(wire.up) + 1)):
            wire.up.pop()
        if seen:
            await wire.cut()
        else:
            self.zombies.append(wire)

    async def let_read(self, wire: Wire) -> None:
        if wire.up:
            self.tally.late += 1
            await wire.give(wire.up.popleft())
        else:
            self.zombies.remove(wire)
            await wire.cut()

    async def come_to_rest(self) -> None:
        while self.zombies:
            await self.let_read(self.zombies[0])
        for _ in range(10_000):
            busy = False
            for hand in range(len(self.names)):
                wire = self.wires[hand]
                if wire is None:
                    self.connect(hand)
                    busy = True
                    continue
                busy = busy or bool(wire.up) or any(json.loads(frame)["type"] not in QUIET for frame in wire.down)
                while wire.up:
                    await wire.give(wire.up.popleft())
                self.bring(hand, wire, 10_000)
                if wire.ended:
                    await self.lose(hand, seen=True)
                    busy = True
            if not busy:
                return
        self.tally.problems.append("the tabs do not come to rest")

    # What must hold ------------------------------------------------------------------------------------------

    async def judge(self) -> None:
        hub = self.app.state.hub
        live = await hub.live(self.id)
        drawing = live.ledger.drawing
        entries = hub.store.entries(self.id)
        log = {(entry.client, entry.number) for entry in entries}
        problems = self.tally.problems
        if len(log) != len(entries):
            problems.append("an edit is in the log twice")
        expected = replica_of(document_of(drawing))
        for hand, name in enumerate(self.names):
            told = self.hands.ask("tell", hand)
            if told["seq"] != live.ledger.seq or told["drawing"] != expected:
                problems.append(f"{name} shows another drawing than the studio has")
            if told["pending"] or told["outbox"]:
                problems.append(f"{name} still waits for {told['pending']}, keeps {told['outbox']}")
            lost = [number for number in told["done"] if (name, number) not in log]
            back = [number for number in told["refused"] if (name, number) in log]
            twice = len(told["done"]) - len(set(told["done"]))
            if lost or back or twice:
                problems.append(f"{name}: lost {lost}, came back after a refusal {back}, told {twice} twice")
            unsaid = set(range(1, self.own_numbers(hand) + 1)) - {n for c, n in log if c == name} - {*told["refused"]}
            if unsaid:
                problems.append(f"{name}: {sorted(unsaid)} were dropped without a word")
            self.tally.applied += len(told["done"])
            self.tally.refused += len(told["refused"])
        if Ledger(hub.store, self.id).drawing != drawing:
            problems.append("the log gives another drawing than the one that is shown")
        if from_text(drawing.to_text()) != drawing:
            problems.append("the drawing does not survive its file")
        check(drawing)
        await live.save()
        if (self.folder / "d.inkcap.json").read_text() != drawing.to_text():
            problems.append("the file has another drawing than the log")

    def own_numbers(self, hand: int) -> int:
        return self.hands.ask("tell", hand)["next"] - 1


def replica_of(document: dict[str, Any]) -> dict[str, Any]:
    """Give a drawing as a tab tells it: by kind, in order, each record with its id."""
    sections = {"capsule": "capsules", "connection": "connections", "group": "groups", "use": "uses", "note": "notes"}
    found: dict[str, Any] = {
        kind: [[one["id"], one] for one in document.get(section, [])] for kind, section in sections.items()
    }
    found["meta"] = [["meta", {"name": document["name"], "dtype": document["dtype"]}]]
    found["position"] = [[id, list(place)] for id, place in document["positions"].items()]
    found["plain"] = [["plain", document["plain"]]] if "plain" in document else []
    return json.loads(json.dumps(found))
