"""Memory: what is needed is told before anything starts, and a run that gets no more fails with one sentence."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from steered import wide

import inkcap
from inkcap.drawing import save_drawing
from inkcap.network import check
from inkcap.recipes import DataSpec, OptimiserSpec, Recipe, list_runs
from inkcap.training.jobs import make_job, plan_job
from inkcap.training.needs import estimate_before
from inkcap.training.stopping import StopRequest
from inkcap.zoo import draw

SOURCE = str(Path(inkcap.__file__).parents[1])


@pytest.mark.parametrize("kind", ["adam", "sgd", "momentum"])
def test_what_is_told_before_anything_is_built_is_what_is_told_after(tmp_path, kind):
    recipe = Recipe(DataSpec("digits"), batch=32, optimiser=OptimiserSpec(kind))
    drawing = draw("lenet-digits")
    built = make_job(plan_job(drawing, recipe, tmp_path), 1, None, StopRequest()).needs
    before = estimate_before(check(drawing), recipe)
    assert (before.weights, before.optimiser, before.activations) == (
        built.weights,
        built.optimiser,
        built.activations,
    )


LIMITED = """
import resource
from inkcap.training.environment import prepare_environment
prepare_environment()
import torch
from inkcap.cli import main
torch.randn(64, 64) @ torch.randn(64, 64)
with open("/proc/self/statm") as file:
    now = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + 300_000_000, resource.RLIM_INFINITY))
main()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is Linux's")
@pytest.mark.parametrize(
    ("neurons", "more", "sizes", "states"),
    [
        # Ten gigabytes of weights cannot even be built, so there is no run; large batches fail in the first step.
        (35_000, [], r"weights and gradients 9\.\d GB", []),
        (2_000, ["--option", "n=25000", "--batch", "20000"], r"a batch of 20000 \d+\.\d MB", ["failed"]),
    ],
)
def test_a_run_that_gets_no_more_memory_fails_with_one_sentence_that_names_the_sizes(
    tmp_path, neurons, more, sizes, states
):
    save_drawing(wide(neurons), tmp_path / "wide.inkcap.json")
    words = ["train", "wide.inkcap.json", "--data", "moons", "--threads", "1", "--epochs", "1", "--quiet", *more]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": SOURCE, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    said = done.stderr.strip().splitlines()
    assert (done.returncode, len(said)) == (1, 1), done.stderr
    runs = list_runs(tmp_path)[0]
    assert [run.record.state for run in runs] == states
    for text in (said[0], *(run.record.reason for run in runs)):
        assert re.search(r"out of memory; the training needs about \d", text), text
        assert re.search(sizes, text), text
        assert "give a smaller batch" in text
