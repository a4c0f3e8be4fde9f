"""Steering runs: paused, gone on with, stopped, also by a studio that did not start them; never a stranger."""

import json
import os
import subprocess
import sys
import time

import pytest
from serving import Server
from steered import DATA, PATIENCE, add, await_run, drawn, post, recipe_of

from inkcap.recipes import RunFolder, layout
from inkcap.recipes.liveness import has_ended, interrupt, mark_of
from inkcap.training import train

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a process is interrupted by a signal")
FILES = (layout.WEIGHTS, layout.BEST, layout.METRICS)
RECIPE = {"batch": 4, "epochs": 150, "threads": 1, "checkpoint": 0.05, "seed": 3}


@pytest.fixture
def workspace(tmp_path):
    made = tmp_path / "work"
    made.mkdir()
    return made


def test_a_run_is_paused_gone_on_with_and_found_again_by_the_next_studio_to_the_same_bits(workspace, tmp_path):
    trainings = workspace / ".inkcap" / "trainings"
    with Server(workspace) as server, server.client() as client:
        drawing = add(client, drawn())
        status, told = post(client, f"/api/drawings/{drawing}/train", data=DATA, recipe=RECIPE)
        assert status == 200, told
        run = told["run"]
        row = await_run(client, run, "running", epoch=2)
        pid = RunFolder.open(workspace / "runs" / row["name"]).record.pid
        with open(f"/proc/{pid}/oom_score_adj") as file:
            assert file.read().strip() == "800"
        assert os.getpriority(os.PRIO_PROCESS, pid) == min(os.getpriority(os.PRIO_PROCESS, 0) + 5, 19)
        assert post(client, f"/api/runs/{run}/resume") == (
            409,
            f"{row['name']}: the run is running in the process {pid}; pause or stop it first.",
        )
        server.kill()
    # The next studio knows whose it is and how far it has come, and steers it as if it had started it.
    with Server(workspace) as server, server.client() as client:
        row = await_run(client, run, "running", epoch=row["epoch"])
        assert row["drawing"] == drawing
        assert post(client, f"/api/runs/{run}/pause")[0] == 200
        row = await_run(client, run, "paused")
        assert (row["reason"], row["inexact"], row["left"]) == ("", "", None)
        assert 0 < row["share"] < 1
        assert "already" in post(client, f"/api/runs/{run}/pause")[1]
        until = time.monotonic() + 20
        while not has_ended(pid, mark_of(pid)) or list(trainings.iterdir()):
            assert time.monotonic() < until
            # Whoever asks for the runs lets what has ended be tidied up.
            client.get("/api/runs")
            time.sleep(0.1)
        assert post(client, f"/api/runs/{run}/resume")[0] == 200
        row = await_run(client, run, "running", epoch=row["epoch"] + 1)
        assert (row["resumed"], row["inexact"]) == (1, "")
        assert row["rate"] > 0
        # Its speed is known from its first steps on, and it may not have taken them yet.
        until = time.monotonic() + 20
        while row["throughput"] is None:
            assert time.monotonic() < until
            row = await_run(client, run, "running", epoch=row["epoch"])
        assert row["throughput"] > 0
        row = await_run(client, run, "finished")
        assert (row["epoch"], row["resumed"]) == (RECIPE["epochs"], 1)
        status, refused = post(client, f"/api/runs/{run}/resume")
        assert (status, "say how many epochs more" in refused) == (409, True)
        assert "already" in post(client, f"/api/runs/{run}/stop")[1]
        undisturbed = train(drawn(), recipe_of(RECIPE), tmp_path)
        for name in FILES:
            found = (workspace / "runs" / row["name"] / name).read_bytes()
            assert found == (undisturbed.run.path / name).read_bytes(), name
        assert post(client, f"/api/runs/{run}/resume", epochs=152)[0] == 200
        await_run(client, run, "finished", epoch=152)


def test_a_run_whose_studio_was_killed_while_it_loaded_its_data_is_told_its_drawing(workspace):
    with Server(workspace) as server, server.client() as client:
        drawing = add(client, drawn())
        trainings = workspace / ".inkcap" / "trainings"
        with pytest.raises(Exception, match=r"disconnected|refused|timed out|reset"):
            client.post(f"/api/drawings/{drawing}/train", json={"data": DATA, "recipe": RECIPE}, timeout=0.05)
        until = time.monotonic() + 20
        while not any(json.loads(path.read_text())["pid"] for path in trainings.glob("*/started.json")):
            assert time.monotonic() < until
            time.sleep(0.01)
        server.kill()
    assert not (workspace / "runs").exists()
    with Server(workspace) as server, server.client() as client:
        until = time.monotonic() + PATIENCE
        while not (rows := client.get("/api/runs", params={"drawing": drawing}).json()):
            assert time.monotonic() < until
            time.sleep(0.1)
        (row,) = rows
        assert post(client, f"/api/runs/{row['id']}/stop")[0] == 200
        row = await_run(client, row["id"], "interrupted")
        assert row["reason"] == "stopped by SIGINT"
        until = time.monotonic() + 20
        while list(trainings.iterdir()):
            assert time.monotonic() < until
            client.get("/api/runs")
            time.sleep(0.1)


def test_a_killed_run_says_where_it_goes_on_and_a_process_with_its_number_is_left_alone(workspace):
    train(drawn(), recipe_of(RECIPE | {"epochs": 2}), workspace)
    (path,) = (workspace / "runs").iterdir()
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        mark = mark_of(stranger.pid)
        machine, boot, start = mark.split(":")
        # The number of the run's process was given away: the time of its start is another one.
        old = f"{machine}:{boot}:{int(start) - 1}"
        RunFolder.open(path).update(state="running", reason="", pid=stranger.pid, process=old)
        (path / layout.SUMMARY).unlink()
        with Server(workspace) as server, server.client() as client:
            (row,) = client.get("/api/runs").json()
            assert (row["state"], row["checkpoint"], row["step"]) == ("interrupted", 80, 80)
            for wish in ("stop", "pause"):
                status, refused = post(client, f"/api/runs/{row['id']}/{wish}")
                assert (status, "interrupted already" in refused) == (409, True)
        assert interrupt(stranger.pid, old) == "its process has ended"
        assert "not surely" in interrupt(stranger.pid, f"{machine}:{boot}:")
        assert "another machine" in interrupt(stranger.pid, f"elsewhere:{boot}:{start}")
        time.sleep(0.1)
        assert stranger.poll() is None
        assert interrupt(stranger.pid, mark) == ""
        assert stranger.wait(20) != 0
    finally:
        stranger.kill()
        stranger.wait()
