"""The commands with two workers: paused, killed with their Ray, beheaded, and gone on with to the same bits."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processes import descendants
from together import curve, small_drawing, whole, workers_of

from inkcap.recipes import list_runs
from inkcap.recipes.liveness import has_ended
from inkcap.recipes.steering import pause

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at the system's own tables"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

LONG = 20_000
"""Epochs of a run that does not end by itself while it is looked at."""
RECIPE = [
    *["--data", "moons", "--option", "n=151", "--batch", "15", "--seed", "3", "--rate", "0.01", "--epochs"],
    str(LONG),
]
WORKERS = ("--workers", "2", "--threads", "1", "--checkpoint", "0.05")


PATIENCE = 240
"""Seconds; a few are enough where nothing else goes on."""


class Command:
    """A command in a process of its own, and what it has said so far."""

    def __init__(self, folder, *words):
        self.folder, self.out = folder, folder / f"out-{time.monotonic_ns()}.txt"
        self.processes = []
        with open(self.out, "wb") as out:
            command = [sys.executable, "-m", "inkcap", *words, "--workspace", str(folder)]
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=folder)

    def said(self):
        return self.out.read_text()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def wait_for(self, form, seconds=PATIENCE):
        until = time.monotonic() + seconds
        while not re.search(form, self.said()):
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < until, self.said()
            time.sleep(0.02)
        self.processes = descendants(self.process.pid)

    def end(self, seconds=PATIENCE):
        code = self.process.wait(seconds)
        until = time.monotonic() + 60
        while left := [pid for pid, mark in self.processes if not has_ended(pid, mark)]:
            assert time.monotonic() < until, f"{left} are still there"
            time.sleep(0.05)
        return code


def _kill(command, part):
    """Kill one of the processes of a command's Ray."""
    for pid, _ in command.processes:
        if part in Path(f"/proc/{pid}/cmdline").read_text().partition("\0")[0]:
            os.kill(pid, signal.SIGKILL)
            return
    raise AssertionError(f"no {part} among the processes")


def _standing(folder):
    (run,), damaged = list_runs(folder)
    assert not damaged
    return run


def _paused(folder, *words):
    with Command(folder, *words) as command:
        command.wait_for(rf"epoch \d+/{LONG}")
        assert len(workers_of(command.process.pid)) == 2
        run = _standing(folder)
        assert run.record.pid == command.process.pid
        pause(run)
        assert command.end() == 0, command.said()
    assert _standing(folder).record.standing == "paused"
    assert f"next: inkcap resume {run.id}" in command.said()


def _killed(folder, *words):
    with Command(folder, *words) as command:
        command.wait_for(rf"epoch \d+/{LONG}")
        command.process.kill()
        command.end()
    assert _standing(folder).record.state == "interrupted"


def _beheaded(folder, *words):
    with Command(folder, *words) as command:
        command.wait_for(rf"epoch \d+/{LONG}")
        _kill(command, "gcs_server")
        assert command.end() == 1, command.said()
    *_, last = command.said().strip().splitlines()
    name = _standing(folder).id
    assert re.fullmatch(rf"inkcap: {name}: the head of the cluster at 127\.0\.0\.1:\d+ is gone; .*", last), last
    assert _standing(folder).record.state == "interrupted"


@pytest.mark.parametrize(
    "blows",
    [
        pytest.param((_killed, _beheaded), id="killed, beheaded"),
        # Pausing is tried from the panel, too.
        pytest.param((_paused, _beheaded, _killed), id="paused, beheaded, killed", marks=pytest.mark.soak),
    ],
)
def test_a_run_whose_command_or_head_is_killed_goes_on_to_the_same_bits(blows, cluster, undisturbed, tmp_path):
    drawing, rough = tmp_path / "small.inkcap.json", tmp_path / "rough"
    small_drawing().save(drawing)
    rough.mkdir()
    words = ("train", str(drawing), *RECIPE, *WORKERS)
    for blow in blows:
        blow(rough, *words)
        words = ("resume", _standing(rough).id)

    # Over another command's Ray, by its address and its token, which are in the environment here.
    until = curve(_standing(rough))[-1][1] + 5
    with Command(rough, *words, "--cluster", cluster.address, "--until", str(until)) as last:
        assert last.end() == 0, last.said()
    assert "to the same bits" in last.said()
    run = _standing(rough)
    assert run.record.reason == f"paused after epoch {until} of {LONG}"
    assert whole(run)
    ours, theirs = curve(run), curve(undisturbed[0].run)
    shared = min(len(ours), len(theirs))
    assert shared > 4
    assert ours[:shared] == theirs[:shared]
    assert len(json.loads((run.path / "resumes.json").read_text())["resumes"]) == len(blows)
    assert run.recipe().workers == 2


def test_one_worker_needs_no_cluster(run, tmp_path):
    small_drawing().save(tmp_path / "small.inkcap.json")
    told = run("train", "small.inkcap.json", *RECIPE, "--cluster", "127.0.0.1:6379")
    assert told.code == 2
    assert "one worker needs no cluster" in told.err


def test_workers_without_ray_are_told_in_one_line_how_to_get_it(tmp_path):
    small_drawing().save(tmp_path / "small.inkcap.json")
    (tmp_path / "sitecustomize.py").write_text(
        "import sys, importlib.abc\n"
        "class Absent(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name.partition('.')[0] == 'ray': raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "inkcap", "train", "small.inkcap.json", *RECIPE, "--workers", "2"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 2
    assert "need Ray, which is not installed: pip install 'inkcap[cluster]'" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "runs").exists()
