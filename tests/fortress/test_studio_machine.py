"""P2: whatever people do in a studio, and however often it is started anew, it is as a short model says."""

import asyncio
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from steered import DATA, drawn, recipe_of
from studio_model import Model, Past
from studio_rules import COPY, Beside
from wires import PORT, TOKEN, Reader, client_of, kill

from inkcap.drawing import Drawing, Edit, from_text, to_text
from inkcap.recipes import RunFolder, layout
from inkcap.structures.errors import InkcapError
from inkcap.studio import create_app
from inkcap.studio.store import Store

IDS = ("a", "b", "c", "d")
NAMES = ("net", "Net", "net 2", "ü/..", "con", "x" * 60)
capsules = st.builds(
    lambda id, symbol: {"put": "capsule", "id": id, "record": {"id": id, "symbol": symbol, "rank": 1}},
    st.sampled_from(IDS),
    st.sampled_from(["relu", "tanh", "identical"]),
)
moves = st.builds(
    lambda id, x: {"put": "position", "id": id, "record": [float(x), 0.0]}, st.sampled_from(IDS), st.integers(0, 9)
)
removals = st.builds(lambda id: {"remove": "capsule", "id": id}, st.sampled_from(IDS))
lines = st.builds(
    lambda back, front: {
        "put": "connection",
        "id": f"{back}-{front}",
        "record": {"id": f"{back}-{front}", "symbol": "full", "back": back, "front": front},
    },
    st.sampled_from(IDS),
    st.sampled_from(IDS),
)
patches = st.lists(st.one_of(capsules, moves, removals, lines), min_size=1, max_size=3)
commands = st.one_of(
    st.builds(lambda ids: ("group", {"ids": ids, "name": "block"}), st.lists(st.sampled_from(IDS), min_size=1)),
    st.just(("paste", {"text": to_text(drawn("pasted"))})),
    st.builds(lambda old, new: ("rename", {"id": old, "to": new}), st.sampled_from(IDS), st.sampled_from(IDS)),
    st.builds(lambda face: ("add", {"face": face}), st.sampled_from(["1D-relu", "1D-data", "nonsense"])),
    st.builds(lambda ids: ("remove", {"ids": ids}), st.lists(st.sampled_from(IDS), min_size=1)),
    st.just(("arrange", {})),
)


class StudioMachine(Beside, RuleBasedStateMachine):
    """Everything that can be asked of a studio, one after another."""

    TRAINS = False
    """Whether trainings are started for real, each a process of its own."""
    drawings = Bundle("drawings")
    bins = Bundle("bins")
    runs = Bundle("runs")
    run_bins = Bundle("run_bins")

    def __init__(self):
        super().__init__()
        memory = Path("/dev/shm")  # noqa: S108
        self.folder = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
        self.model, self.tabs, self.trained = Model(), {}, 0
        self.runner = asyncio.Runner()
        self.app = self.runner.run(self.started())

    async def started(self):
        return create_app(self.folder, PORT, TOKEN)

    def teardown(self):
        try:
            if self.app is not None:
                self.runner.run(self.look_at_everything())
                self.runner.run(self.stop(graceful=True))
        finally:
            self.runner.close()
            shutil.rmtree(self.folder)

    # Asking ----------------------------------------------------------------------------------------------------

    def ask(self, method, path, status=200, **body):
        async def one():
            async with client_of(self.app) as client:
                more = body if "content" in body else {"json": body} if method == "POST" else {"params": body}
                return await client.request(method, path, **more)

        answer = self.runner.run(one())
        assert answer.status_code == status, (path, body, answer.status_code, answer.text)
        return answer.json()

    async def tab(self, id):
        past = self.model.drawings[id]
        client = f"client-{past.writer:04d}"
        there = self.tabs.get(id)
        if there is not None and there.client == client and not there.wire.ended and not there.wire.task.done():
            return there
        await self.leave(id)
        tab = self.tabs[id] = Reader(self.app, id, client)
        assert await tab.join() is not None
        return tab

    async def leave(self, id):
        if id in self.tabs:
            await self.tabs.pop(id).wire.kill()

    async def stop(self, graceful):
        for id in list(self.tabs):
            await self.leave(id)
        app, self.app = self.app, None
        await (app.state.hub.stop() if graceful else kill(app))

    def say(self, id, accepted, message):
        """Let a tab say something numbered, and hold its answer against what the model says."""

        async def one():
            tab = await self.tab(id)
            tab.number += 1
            return await tab.ask({**message, "number": tab.number})

        answer = self.runner.run(one())
        assert answer is not None, message
        past = self.model.drawings[id]
        assert (answer["type"] == "applied") == accepted, (answer, message)
        if accepted:
            assert answer["seq"] == len(past.states) - 1

    # Drawings --------------------------------------------------------------------------------------------------

    @rule(target=drawings, name=st.sampled_from(NAMES), whole=st.booleans())
    def create(self, name, whole):
        given = {"text": to_text(drawn("other"))} if whole else {}
        id = self.ask("POST", "/api/drawings", name=name, **given)["id"]
        drawing = drawn(name) if whole else Drawing(name)
        self.model.drawings[id] = Past.begin(from_text(to_text(drawing)), name)
        return id

    @rule(id=drawings, given=patches)
    def edit(self, id, given):
        if id in self.model.drawings:
            edit = {"label": "edit", "patches": given}
            accepted = self.model.drawings[id].edit(Edit.from_json(edit))
            self.say(id, accepted, {"type": "edit", "edit": edit})

    @rule(id=drawings, given=commands)
    def command(self, id, given):
        if id in self.model.drawings:
            name, arguments = given
            accepted = self.model.drawings[id].command(name, arguments)
            self.say(id, accepted, {"type": "command", "command": name, "arguments": arguments})

    @rule(id=drawings, what=st.sampled_from(["undo", "redo"]))
    def undo_or_redo(self, id, what):
        if id in self.model.drawings:
            past = self.model.drawings[id]
            accepted = past.undo() if what == "undo" else past.redo()
            self.say(id, accepted, {"type": "command", "command": what, "arguments": {}})

    @rule(id=drawings, share=st.floats(0, 1))
    def restore(self, id, share):
        if id in self.model.drawings:
            past = self.model.drawings[id]
            seq = past.since + round(share * (len(past.states) - 1 - past.since))
            client = f"client-{past.writer:04d}"
            self.ask("POST", f"/api/drawings/{id}/restore", 200 if past.restore(seq) else 409, seq=seq, client=client)

    @rule(id=drawings, name=st.sampled_from(NAMES))
    def rename(self, id, name):
        if id in self.model.drawings:
            self.ask("POST", f"/api/drawings/{id}/rename", name=name)
            self.model.drawings[id].rename(name)

    @rule(target=drawings, id=drawings)
    def duplicate(self, id):
        if id not in self.model.drawings:
            self.ask("POST", f"/api/drawings/{id}/duplicate", 404)
            return id
        past = self.model.drawings[id]
        made = self.ask("POST", f"/api/drawings/{id}/duplicate")["id"]
        name = f"{past.name} copy"[:200]
        copied = Past.begin(from_text(past.drawing.to_text()), name)
        copied.rename(name)
        self.model.drawings[made] = Past.begin(copied.drawing, name)
        return made

    @rule(target=bins, id=consumes(drawings))
    def delete(self, id):
        if id not in self.model.drawings:
            self.ask("POST", f"/api/drawings/{id}/delete", 404)
            return ""
        token = self.ask("POST", f"/api/drawings/{id}/delete")["undo"]
        self.model.delete(id, token)
        return token

    @rule(target=drawings, token=bins)
    def undelete(self, token):
        if token not in self.model.binned:
            self.ask("POST", "/api/undelete", 404, undo=token or "0" * 32)
            return "gone"
        id = self.ask("POST", "/api/undelete", undo=token)["id"]
        assert self.model.undelete(token) == id
        return id

    # Runs ------------------------------------------------------------------------------------------------------

    @rule(target=runs)
    def begin_run(self):
        """A run that goes on in this process, as one that was started at the command line."""
        run = RunFolder.create(self.folder, "net", "moons")
        run.write_text(layout.DRAWING, to_text(drawn()))
        run.write_recipe(recipe_of({"epochs": 3}))
        for name in (layout.ENVIRONMENT, layout.DATA):
            run.write_json(name, {})
        run.update(state="running")
        self.model.runs[run.id], self.model.copies[run.id] = "running", COPY
        return run.id

    @rule(name=runs)
    def end_run(self, name):
        if self.model.runs.get(name) == "running":
            RunFolder.open(self.folder / "runs" / name).update(state="interrupted", finished=layout.now())
            self.model.runs[name] = "interrupted"

    @precondition(lambda self: self.TRAINS and self.trained < 2)
    @rule(target=runs, id=drawings)
    def train(self, id):
        """A training for real, which is stopped again."""
        if id not in self.model.drawings or self.model.drawings[id].drawing.to_text() != to_text(drawn("net")):
            return ""
        self.trained += 1
        recipe = {"batch": 4, "epochs": 10_000, "threads": 1}
        run = self.ask("POST", f"/api/drawings/{id}/train", data=DATA, recipe=recipe)["run"]
        self.ask("POST", f"/api/runs/{run}/stop")
        for _ in range(600):
            row = next(row for row in self.ask("GET", "/api/runs") if row["id"] == run)
            if row["state"] == "interrupted":
                break
            self.runner.run(asyncio.sleep(0.1))
        name = row["name"]
        self.model.runs[name], self.model.origins[name] = row["state"], id
        self.model.copies[name] = self.model.drawings[id].drawing.to_text()
        assert row["state"] == "interrupted"
        return row["name"]

    @rule(target=run_bins, name=runs)
    def delete_run(self, name):
        id = next((row["id"] for row in self.ask("GET", "/api/runs") if row["name"] == name), "nothing")
        state = self.model.runs.get(name)
        if state != "interrupted":
            self.ask("POST", f"/api/runs/{id}/delete", 409 if state else 404)
            return ""
        token = self.ask("POST", f"/api/runs/{id}/delete")["undo"]
        self.model.put_run_away(name, token)
        return token

    @rule(target=runs, token=run_bins)
    def undelete_run(self, token):
        if token not in self.model.binned_runs:
            self.ask("POST", "/api/runs/any/undelete", 404, undo=token or "0" * 32)
            return ""
        run = self.ask("POST", "/api/runs/any/undelete", undo=token)["run"]
        name = next(row["name"] for row in self.ask("GET", "/api/runs") if row["id"] == run)
        self.model.bring_run_back(token, name)
        return name

    # The studio ------------------------------------------------------------------------------------------------

    @rule(graceful=st.booleans())
    def start_anew(self, graceful):
        self.runner.run(self.stop(graceful))
        if graceful:
            texts = {from_text(path.read_text()).to_text() for path in self.folder.glob("*.inkcap.json")}
            assert texts == {past.drawing.to_text() for past in self.model.drawings.values()}
        self.app = self.runner.run(self.started())
        self.runner.run(self.look_at_everything())

    async def look_at_everything(self):
        for id, past in self.model.drawings.items():
            live = await self.app.state.hub.live(id)
            assert live.ledger.drawing == past.drawing, id
            assert live.ledger.seq == len(past.states) - 1
            middle = len(past.states) // 2
            assert live.ledger.at(middle) == from_text(past.states[middle])

    @invariant()
    def lists_are_those_of_the_model(self):
        listed = self.ask("GET", "/api/workspace")["drawings"]
        assert {one["id"] for one in listed} == set(self.model.drawings)
        assert len({one["path"].lower() for one in listed}) == len(listed)
        assert {row["name"]: row["state"] for row in self.ask("GET", "/api/runs")} == self.model.runs


class TrainingMachine(StudioMachine):
    """The same, with trainings."""

    TRAINS = True


@pytest.mark.parametrize(
    ("examples", "steps", "part"),
    [(20, 30, 0), *(pytest.param(200, 60, part, marks=pytest.mark.soak) for part in range(10))],
    ids=["some", *(f"many-{part}" for part in range(10))],
)
def test_the_studio_is_as_a_short_model_says(tally, request, examples, steps, part):
    full = request.node.get_closest_marker("soak") is not None
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        derandomize=not full,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(seed(part)(TrainingMachine) if full else StudioMachine, settings=chosen)
    tally("P2", examples=examples, steps=steps)


def test_the_model_sees_a_studio_that_forgets_an_edit(monkeypatch):
    append = Store.append

    def forgetful(self, drawing, entry, snapshot=None):
        if entry.seq != 3:
            append(self, drawing, entry, snapshot)

    monkeypatch.setattr(Store, "append", forgetful)
    chosen = settings(
        max_examples=20,
        stateful_step_count=30,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        # One is enough; how many more are found is a question of time, and several come as a group.
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    with pytest.raises((AssertionError, InkcapError)):
        run_state_machine_as_test(StudioMachine, settings=chosen)
