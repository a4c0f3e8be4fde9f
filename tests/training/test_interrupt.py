"""A real process, a real signal: the step is finished, the weights are saved, the process ends well."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from inkcap.recipes import list_runs
from inkcap.training import evaluate

SCRIPT = """
import sys
from inkcap.drawing import Drawing
from inkcap.recipes import DataSpec, Recipe
from inkcap.training import train
drawing = Drawing("small")
drawing.add("x", "1D-data", dimension=4)
drawing.then("h", "1D-tanh", dimension=8)
drawing.then("y", "1D-softmax", dimension=3)
result = train(drawing, Recipe(DataSpec("iris"), epochs=100000, threads=1), sys.argv[1])
print(result.state, result.reason, result.epochs > 2, sep="|")
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of this kind are those of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_training_kindly(tmp_path: Path, number: signal.Signals) -> None:
    source = str(Path(__file__).parents[2] / "src")
    environment = {**os.environ, "PYTHONPATH": source, "OMP_WAIT_POLICY": "passive"}
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        try:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                runs, _ = list_runs(tmp_path)
                if runs and len(runs[0].metrics().epochs()) > 3:
                    break
                assert process.poll() is None, process.stderr.read() if process.stderr else ""
                time.sleep(0.05)
            assert runs[0].record.state == "running"
            assert runs[0].record.pid == process.pid
            process.send_signal(number)
            output, errors = process.communicate(timeout=30)
        finally:
            if process.poll() is None:
                process.kill()
    assert process.returncode == 0, errors.decode()
    assert output.decode().strip() == f"interrupted|stopped by {number.name}|True"
    run = list_runs(tmp_path)[0][0]
    assert run.record.state == "interrupted"
    assert run.metrics().note == ""
    for which in ("best", "last"):
        assert evaluate(run, weights=which).values["loss"] < 2.0  # type: ignore[arg-type]
