"""The command inspect, as a person types it: the same numbers as in Python."""

from __future__ import annotations

import json

from inkcap.recipes import RunFolder, signal_courses
from inkcap.training import Inspection


def test_a_run_is_looked_into(run, tmp_path) -> None:
    run("new", "mlp")
    trained = run("train", "mlp.inkcap.json", "--data", "moons", "--epochs", 2, "--signals", "--quiet", "--json")
    assert trained.code == 0, trained.err
    name = json.loads(trained.out)["run"]
    folder = RunFolder.open(tmp_path / "runs" / name)
    shown = run("inspect", name)
    assert "signals after epoch 2" in shown.out
    assert "weights are kept of epochs 0, 1, 2" in shown.out
    assert [line.split()[0] for line in shown.out.splitlines()[3:7]] == ["a", "b", "c", "d"]
    assert "signals after epoch 0" in run("inspect", name, "--epoch", 0).out
    assert json.loads(run("inspect", name, "--json").out)["signals"] == signal_courses(folder)

    inspection = Inspection(folder)
    held = run("inspect", name, "--item", "b", "--epoch", 1)
    told = inspection.values("b", 1)
    norm, dead = told["output"]["norm"], told["output"]["dead"]
    assert f"Y over {told['samples']} samples: norm {norm:.3g}, {100 * dead:.0f} % of the units dead" in held.out
    assert json.loads(run("inspect", name, "--item", "b", "--epoch", 1, "--json").out)["values"] == inspection.values(
        "b", 1
    )

    measured = inspection.confusion(worst=3)
    both = run("inspect", name, "--confusion", "--worst", 3)
    assert f"accuracy {100 * measured['accuracy']:.2f} %" in both.out
    assert [line.split()[0] for line in both.out.splitlines()[-3:]] == [str(one["number"]) for one in measured["worst"]]


def test_what_cannot_be_seen_is_one_line(run) -> None:
    run("new", "mlp")
    name = "MLP-moons-0001"
    run("train", "mlp.inkcap.json", "--data", "moons", "--epochs", 1, "--quiet")
    for arguments, words in (
        ((), "trained without signals"),
        (("--item", "q"), "no capsule or connection 'q'"),
        (("--item", "b", "--epoch", 7), "after epoch 7 are not kept; choose one of 1"),
        (("--confusion", "--part", "every"), "there is no part 'every'"),
    ):
        answer = run("inspect", name, *arguments)
        assert (answer.code, words in answer.err, "Traceback" in answer.err) == (2, True, False), answer.err
    assert run("inspect", "nothing-0001").code == 2
