"""A studio under schemathesis: a workspace in which nothing can be trained, and every call that its description allows.

Nothing starts hundreds of processes: the run and the sweep that are there are of data that are not, the drawings fit
no set, and a made-up name is no set's.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from serving import SOURCE, Server

from inkcap.drawing import Drawing, to_text
from inkcap.recipes import DataSpec, MetricWriter, Recipe, RunFolder, layout
from inkcap.studio.run_list import run_id
from inkcap.sweeps import read_space
from inkcap.sweeps.running import begin_sweep, plan_sweep

SUPPORT = Path(__file__).parent
ABSENT = "data/absent.csv"
PHASES = "examples,coverage,fuzzing,stateful"
SETTINGS = """# What is too large for the description may be refused for its bytes (413) before it is read.
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429, "5xx"]
"""


@dataclass(frozen=True)
class Called:
    """What came of it: schemathesis's own report, its text, the seconds of the processor, and the runs there are."""

    code: int
    told: str
    cases: int
    seconds: float
    runs: int
    sweeps: int
    said: str
    """What the studio wrote to its terminal about faults of its own."""


def drawn() -> Drawing:
    """A small network of seven numbers, which no known set has."""
    drawing = Drawing("seven")
    drawing.add("x", "1D-data", dimension=7)
    drawing.then("a", "1D-tanh", dimension=5)
    drawing.then("y", "1D-softmax", dimension=3)
    return drawing


def furnished(workspace: Path) -> dict[str, list[str]]:
    """Put a run and a sweep into a workspace; give their ids by the paths under which they are asked for."""
    run = RunFolder.create(workspace, "seven", "absent")
    run.write_text(layout.DRAWING, to_text(drawn()))
    recipe = Recipe(DataSpec(ABSENT), epochs=2)
    run.write_recipe(recipe)
    run.write_json(layout.ENVIRONMENT, {})
    run.write_json(layout.DATA, {"split": {"training_samples": 10}})
    run = run.update(state="running")
    with MetricWriter(run.path / layout.METRICS) as log:
        for step in (1, 2):
            log.write("step", step, step, {"loss": 1.0 / step, "rate": 1e-3})
            log.write("epoch", step, step, {"loss": 1.0 / step, "val_loss": 1.0})
    told = {"epochs": 2, "steps": 2, "best_epoch": 1, "best_value": 1.0, "monitor": "loss", "values": {"loss": 0.5}}
    run.write_json(layout.SUMMARY, {**told, "seconds": 1.0, "state": "finished"})
    run = run.update(state="finished", finished=layout.now())
    space = read_space({"recipe.optimiser.rate": [0.001, 0.1]}, drawn(), recipe)
    begin_sweep(workspace, plan_sweep(space, workspace, name="tried"), space)
    return {"/api/runs": [run_id(run.path.name)], "/api/sweeps": ["tried"]}


def call_all(
    folder: Path,
    examples: int,
    seed: int,
    patience: float,
    *options: str,
    every: int = 1,
    hooks: Path = SUPPORT / "openapi_hooks.py",
) -> Called:
    """Let schemathesis call a real studio, all phases and all checks, of all operations or of each so many-th."""
    workspace = folder / "workspace"
    workspace.mkdir()
    known = furnished(workspace)
    with Server(workspace) as server:
        with server.client() as client:
            made = [{"name": "seven", "text": to_text(drawn())}, {"name": "empty"}, {"name": "more", "zoo": "lenet"}]
            known["/api/drawings"] = [client.post("/api/drawings", json=one).json()["id"] for one in made]
            if every > 1:
                paths = client.get("/api/openapi.json").json()["paths"].values()
                names = sorted(one["operationId"] for methods in paths for one in methods.values())
                options += tuple(word for name in names[::every] for word in ("--include-operation-id", name))
        heard: list[str] = []
        # What it writes of faults is taken away, else it would wait with a full pipe.
        listening = threading.Thread(target=lambda: heard.extend(server.process.stderr or ()))
        listening.start()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        report, settings = folder / "report.json", folder / "schemathesis.toml"
        settings.write_text(SETTINGS)
        done = subprocess.run(
            [
                *(str(Path(sys.executable).with_name("st")), "--config-file", str(settings)),
                *("run", f"{server.address}api/openapi.json"),
                *("-H", f"Authorization: Bearer {server.token}", "--checks", "all", "--phases", PHASES),
                *("-n", str(examples), "--seed", str(seed), "--continue-on-failure", "--output-sanitize", "false"),
                # How long an answer takes on a shared machine has tests of its own.
                *("--request-timeout", "180", "--max-response-time", "170", "--workers", "1"),
                *("--report", "json", "--report-json-path", str(report), "--warnings", "off", *options),
            ],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=patience,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join((str(hooks.parent), str(SOURCE))),
                "SCHEMATHESIS_HOOKS": hooks.stem,
                "INKCAP_KNOWN": json.dumps(known),
            },
        )
        with server.client() as client:
            runs, sweeps = len(client.get("/api/runs").json()), len(client.get("/api/sweeps").json())
        server.process.send_signal(signal.SIGINT)
        server.process.wait(60)
        listening.join()
        for stream in filter(None, (server.process.stdout, server.process.stderr)):
            stream.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Called(
        done.returncode, done.stdout + done.stderr, _cases(done.stdout), seconds, runs, sweeps, "".join(heard)
    )


def _cases(told: str) -> int:
    """Read how many calls were made."""
    line = next((line for line in told.splitlines() if " generated" in line), "0 generated")
    return int(line.split()[0])
