"""The commands step, check --gradients and signals, as a person types them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from worked import INPUTS, TARGETS, WEIGHTS, draw_worked_example

from inkcap.drawing import Drawing, save_drawing
from inkcap.recipes import RunFolder


@pytest.fixture
def example(tmp_path) -> list[str]:
    """The worked example as a file, with its numbers as options."""
    save_drawing(draw_worked_example(), tmp_path / "example.inkcap.json")
    (tmp_path / "weights.json").write_text(json.dumps(WEIGHTS), encoding="utf-8")
    given = ["--inputs", json.dumps(INPUTS), "--targets", json.dumps(TARGETS), "--weights", "weights.json"]
    return ["step", "example.inkcap.json", *given]


def test_a_step_tells_algorithm_1(run, example) -> None:
    answer = run(*example)
    assert answer.code == 0, answer.err
    lines = [line.strip() for line in answer.out.splitlines()]
    for line in (
        "H1  U = W(X1-H1) × Y(X1) + Y(X2) + B = (−2, 6)",
        "Y = relu(U) = (0, 6)",
        "O2  U = W(H2-O2) × Y(H2) + Y(X2) + B = (2, 4)",
        "total 3",
        "δ = (−2, 2)",
        "δ = (0, −1.167)",
        "H1-H2.weight  ΔW = [(0, −12), (0, 12)]",
        "The loss was 3 and is now 2.859073832.",
    ):
        assert line in lines, answer.out
    # Backwards is the reverse of forwards.
    back = answer.out.split("Backwards")[1].split("Updates")[0]
    assert [back.index(f"\n  {id} ") for id in ("O2", "O1", "H2", "H1", "X2", "X1")] == sorted(
        back.index(f"\n  {id} ") for id in ("O2", "O1", "H2", "H1", "X2", "X1")
    )


def test_a_step_as_json(run, example) -> None:
    told = json.loads(run(*example, "--json", "--rate", "0.01").out)
    assert told["loss"]["before"] == 3
    assert told["loss"]["after"] == pytest.approx(2.859073832279111, rel=1e-12)
    assert told["loss"]["outputs"] == {"O1": 0.5, "O2": 2.5}
    assert [one["capsule"] for one in told["forward"]] == ["X1", "X2", "H1", "H2", "O1", "O2"]
    assert {one["capsule"]: one["delta"] for one in told["backward"]}["H2"] == [-2, 2]
    updates = {one["weight"]: one for one in told["updates"]}
    assert updates["H1-O1.weight"]["update"] == [[0, 6]]
    assert updates["H1-O1.weight"]["after"] == [[3, pytest.approx(0.44)]]


def test_a_step_chooses_what_is_not_given_by_its_seed(run) -> None:
    run("new", "lenet-digits")
    first, same = run("step", "lenet-digits.inkcap.json"), run("step", "lenet-digits.inkcap.json")
    other = run("step", "lenet-digits.inkcap.json", "--seed", "1")
    assert first.out == same.out
    assert first.out != other.out
    assert "64×32×3×3, norm" in first.out
    assert max(map(len, first.out.splitlines())) < 160


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--inputs", "nothing.json"], "no such file"),
        (["--inputs", "{"], "--inputs: no JSON"),
        (["--weights", '{"Z": 1}'], "--weights: the drawing has no 'Z'; it has X1-H1.weight"),
        (["--inputs", '{"X1": [1]}'], "the input X1 has the shape (1,)"),
        (["--rate", "nan"], "nan is no learning rate"),
    ],
)
def test_what_a_step_cannot_take_is_told_in_one_line(run, example, options: list[str], told: str) -> None:
    answer = run(*example[:2], *options)
    assert answer.code == 2
    assert told in answer.err
    assert answer.err.count("\n") == 1


def test_gradients_are_checked_per_symbol(run, example) -> None:
    answer = run("check", "example.inkcap.json", "--gradients")
    assert answer.code == 0
    rows = [line.split() for line in answer.out.splitlines()]
    assert {row[0] for row in rows if len(row) == 5 and row[1].isdigit()} == {"data", "relu", "identical", "full"}
    told = json.loads(run("check", "example.inkcap.json", "--gradients", "--json").out)["gradients"]
    assert all(one["passed"] for one in told)
    assert "gradients" not in json.loads(run("check", "example.inkcap.json", "--json").out)


def test_wrong_gradients_end_with_1(run, example, monkeypatch) -> None:
    from inkcap.engine import rules

    right = rules.RULES["relu"]

    def slightly_wrong(page, call):
        (gradient,) = right.backward(page, call)
        return (f"({gradient}) * 1.0001",)

    monkeypatch.setitem(rules.RULES, "relu", replace(right, backward=slightly_wrong))
    answer = run("check", "example.inkcap.json", "--gradients")
    assert answer.code == 1
    assert "too large" in answer.err


def test_a_drawing_that_is_no_network_has_no_gradients(run, tmp_path) -> None:
    save_drawing(Drawing("empty"), tmp_path / "empty.inkcap.json")
    assert run("check", "empty.inkcap.json", "--gradients").code == 2


def test_signals_of_a_run(run, tmp_path) -> None:
    run("new", "mlp")
    trained = run("train", "mlp.inkcap.json", "--data", "moons", "--epochs", 2, "--signals", "--quiet", "--json")
    assert trained.code == 0, trained.err
    name = json.loads(trained.out)["run"]
    answer = run("signals", name)
    assert "epoch 0 → 2" in answer.out
    assert [line.split()[0] for line in answer.out.splitlines()[2:]] == ["a", "b", "c", "d"]
    told = json.loads(run("signals", name, "--json").out)
    assert [one["epoch"] for one in told["epochs"]] == [0, 1, 2]
    signals = RunFolder.open(tmp_path / "runs" / name).signals()
    assert signals[2].capsules["b"].delta == told["epochs"][2]["capsules"]["b"]["delta"]
    run("train", "mlp.inkcap.json", "--data", "moons", "--epochs", 1, "--quiet")
    bare = run("signals", "MLP-moons-0002")
    assert bare.code == 2
    assert "train with --signals" in bare.err
