"""R4: a studio that is killed again and again under people who draw and trainings that run loses nothing.

R5: nor does one that is killed while it starts, that finds another in its place, or numbers of processes given anew.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time

import pytest
from editors import Editor, Now, logged
from figures import percentile, processor_time
from nursery import Nursery
from serving import Server, Tab, place
from steered import add, await_run, begin_training, drawn, post, recipe_of

from inkcap.drawing import to_text
from inkcap.recipes import RunFolder, layout
from inkcap.recipes.liveness import mark_of
from inkcap.studio.store import Store

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes in sessions of their own")
FILES = (layout.WEIGHTS, layout.BEST, layout.METRICS)
COLD_EVERY = 20
"""Every so many starts is one from nothing, imports and all: those are timed."""
BACK_EVERY = 3
"""Every so many lives of the studio last until everyone is back: a large drawing on a busy machine takes its time."""
RECOVERY = 2.0
BUSY = 5
"""How much slower a machine may be that does other things beside."""


@pytest.mark.parametrize(
    ("kills", "epochs", "part"),
    [(40, 250, 0), *(pytest.param(500, 3_000, part, marks=pytest.mark.soak) for part in range(6))],
    ids=["forty", *(f"three-thousand-{part}" for part in range(6))],
)
def test_no_acknowledged_edit_is_lost_and_trainings_go_on_through_every_kill(
    tmp_path, tally, request, kills, epochs, part
):
    workspace = tmp_path / "work"
    workspace.mkdir()
    chance = random.Random(kills + part)  # noqa: S311
    recipe = {"batch": 4, "epochs": epochs, "engine": "eager", "threads": 1, "checkpoint": 0.2, "seed": 3}
    cold, spent, warm, going = [], [], [], 0
    with contextlib.ExitStack() as stack:
        nursery = stack.enter_context(Nursery(workspace))
        now = Now(nursery.start())
        stack.callback(now.kill)
        with now.server.client() as client:
            trained, other = add(client, drawn("trained")), add(client, drawn("other"))
            runs = [begin_training(client, trained, recipe)["id"] for _ in range(2)]
            processes = {row["id"]: row for row in client.get("/api/runs").json()}
        editors = [Editor(name, id, now) for name, id in (("a", other), ("b", other), ("c", trained), ("d", trained))]
        for editor in editors:
            editor.start()
        for number in range(kills):
            if number % BACK_EVERY == 0:
                now.await_all(editors)
            time.sleep(chance.uniform(0.02, 0.35))
            begun = time.monotonic()
            now.server.kill()
            from_nothing = number % COLD_EVERY == COLD_EVERY // 2
            now.server = Server(workspace) if from_nothing else nursery.start()
            with now.server.client() as client:
                rows = client.get("/api/runs", params={"drawing": trained}).json()
            (cold if from_nothing else warm).append(time.monotonic() - begun)
            if from_nothing:
                spent.append(processor_time(now.server.process.pid))
            assert {row["id"] for row in rows} == set(runs)
            assert all(row["state"] in ("running", "finished") for row in rows), rows
            going += sum(row["state"] == "running" for row in rows)
        assert going, "the trainings were over before the first kill: give them more epochs"
        for editor in editors:
            editor.stop()
            assert editor.lives > kills / 4
            assert editor.acknowledged
        with now.server.client() as client:
            for run in runs:
                row = await_run(client, run, "finished", patience=3600)
                assert (row["resumed"], row["created"]) == (0, processes[run]["created"])
            tidied_up(client, workspace)
        now.server.kill()
        store = Store(workspace)
        for editor in editors:
            editor.judge(logged(store, editor.drawing))
        store.close()
    compare_runs(workspace, recipe, tmp_path, full=request.node.get_closest_marker("soak") is not None)
    # By its own processor time: what others take on a machine that tests is no fault of the studio's.
    assert percentile(spent) <= RECOVERY * BUSY, f"a studio worked {percentile(spent):.1f} s until it answered"
    tally(
        "R4",
        kills=kills,
        edits=sum(len(editor.acknowledged) for editor in editors),
        lost=0,
        doubled=0,
        recovery_p95_s=round(percentile(cold), 2),
        recovery_processor_p95_s=round(percentile(spent), 2),
        recovery_without_imports_p95_s=round(percentile(warm), 2),
    )


def tidied_up(client, workspace):
    """Wait until nothing is left of the trainings but their runs."""
    until = time.monotonic() + 20
    with contextlib.suppress(OSError):
        while list((workspace / ".inkcap" / "trainings").iterdir()):
            assert time.monotonic() < until, "what has ended is not tidied up"
            client.get("/api/runs")
            time.sleep(0.2)


def compare_runs(workspace, recipe, elsewhere, full):
    """Hold both runs against each other, and where there is time against one that nobody disturbed."""
    one, other = sorted((workspace / "runs").iterdir())
    for name in FILES:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    if full:
        from inkcap.training import train

        undisturbed = train(drawn("trained"), recipe_of(recipe), elsewhere)
        for name in FILES:
            assert (one / name).read_bytes() == (undisturbed.run.path / name).read_bytes(), name


# R5 ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cases", [8, pytest.param(200, marks=pytest.mark.soak)], ids=["few", "many"])
def test_a_studio_that_is_killed_while_it_starts_again_loses_nothing(tmp_path, tally, cases):
    workspace = tmp_path / "work"
    workspace.mkdir()
    chance, shown = random.Random(cases), {}  # noqa: S311
    with Nursery(workspace) as nursery:
        server = nursery.start()
        with server.client() as client:
            drawing = add(client, drawn())
        for case in range(cases):
            with Tab(server, drawing, "client-steady") as tab:
                assert {id: tab.state["document"]["positions"].get(id) for id in shown} == shown, case
                # An edit that the file may not have yet, or may have been half way to.
                shown["x"] = [float(case), 1.0]
                assert tab.edit(place("x", *shown["x"]))["type"] == "applied"
                time.sleep(chance.choice([0.0, 0.2, 0.26, 0.3]))
                server.kill()
            for _ in range(chance.randint(1, 3)):
                pid = nursery.fork()
                time.sleep(chance.uniform(0.0, 0.12))
                nursery.end(pid)
            server = nursery.start()
        with server.client() as client:
            found = client.get(f"/api/drawings/{drawing}/file").json()
            assert found["positions"]["x"] == shown["x"]
            assert len(client.get("/api/workspace").json()["drawings"]) == 1
        server.kill()
    tally("R5", cases=cases, kind="killed while it starts")


@pytest.mark.parametrize("cases", [3, pytest.param(50, marks=pytest.mark.soak)], ids=["few", "many"])
def test_of_two_studios_on_one_folder_one_says_who_has_it(tmp_path, tally, cases):
    workspace = tmp_path / "work"
    workspace.mkdir()
    with Nursery(workspace) as nursery:
        server = nursery.start()
        with server.client() as client:
            drawing = add(client, drawn())
        for case in range(cases):
            with pytest.raises(AssertionError, match="has this folder open already"):
                nursery.start()
            with Tab(server, drawing) as tab:
                assert tab.edit(place("x", case, 0))["type"] == "applied"
            if case % 3 == 2:
                # Both at once, over what a killed one has left: one of them has it, and the other says so.
                server.kill()
                server = one_of([nursery.fork(), nursery.fork()], nursery)
        server.kill()
    tally("R5", cases=cases, kind="two studios")


def one_of(pids, nursery):
    """Wait for studios that start at once, and give the one that has the folder; every other has said who has it."""
    found = []
    for pid in pids:
        try:
            found.append(nursery.await_start(pid))
        except AssertionError as refused:
            assert "has this folder open already" in str(refused)  # noqa: PT017
    assert len(found) == 1, "a folder has one studio"
    return found[0]


@pytest.mark.parametrize("cases", [4, pytest.param(50, marks=pytest.mark.soak)], ids=["few", "many"])
def test_a_number_that_another_process_has_now_is_no_training_and_is_left_alone(tmp_path, tally, cases):
    workspace = tmp_path / "work"
    workspace.mkdir()
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
    machine = mark_of(stranger.pid).rpartition(":")[0]
    # Another has the number now; one that nobody has asked after; one of before the machine's last start; none.
    owners = [
        (stranger.pid, f"{machine}:1"),
        (dead.pid, mark_of(os.getpid()).rpartition(":")[0] + ":1"),
        (stranger.pid, f"{machine.partition(':')[0]}:{'0' * 12}:{mark_of(stranger.pid).rpartition(':')[2]}"),
        (2**22 - 1, f"{machine}:77"),
    ]
    try:
        for case in range(cases):
            run = RunFolder.create(workspace, "net", "moons", owner=owners[case % len(owners)])
            run.write_text(layout.DRAWING, to_text(drawn()))
            run.write_recipe(recipe_of({"epochs": 3}))
            for name in (layout.ENVIRONMENT, layout.DATA):
                run.write_json(name, {})
            run.update(state="running")
        with Server(workspace) as server, server.client() as client:
            rows = client.get("/api/runs").json()
            assert len(rows) == cases
            for row in rows:
                assert row["state"] == "interrupted", row
                status, words = post(client, f"/api/runs/{row['id']}/stop")
                assert (status, "interrupted already" in words) == (409, True), words
        assert stranger.poll() is None, "a stranger was stopped in a run's place"
    finally:
        stranger.send_signal(signal.SIGKILL)
        stranger.communicate()
        dead.wait()
    tally("R5", cases=cases, kind="numbers given anew")
