"""Commands about the theory: what derive and enumerate print, and their exit codes."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys

import pytest

from inkcap.drawing import Drawing, Edit, Plain, Put, save_drawing


def draw(path, capsules: str, edges: str, name: str = "net") -> None:
    drawing = Drawing(name)
    for capsule in capsules.split():
        drawing.add(capsule, "0D-ReLU" if capsule.startswith("h") else "0D-data")
    for edge in edges.split():
        drawing.connect(*edge.split(">"))
    save_drawing(drawing, path)


@pytest.fixture
def figure_10(tmp_path):
    path = tmp_path / "figure-10.inkcap.json"
    draw(path, "x1 x2 h1 h2 h3", "x1>h1 x2>h2 h1>h3 h2>h3", "figure 10")
    return path


def test_derive_prints_numbered_steps(run, figure_10) -> None:
    answer = run("derive", figure_10)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines()[:7] == [
        "✓ figure 10: 5 vertices, 4 edges, generated in 5 steps by four rules",
        "  1. variable: x1",
        "  2. neuron: h1 ← {x1}",
        "  3. variable: x2",
        "  4. neuron: h2 ← {x2}",
        "  5. convergence (K = 2): h3 ← {h1} ∪ {h2}",
        "  variable 2×, neuron 2×, convergence 1×",
    ]
    assert "convergence is needed: growth adds no inputs" in answer.out


def test_derive_by_fewer_rules(run, figure_10) -> None:
    assert "2. growth: h1 ← {x1}" in run("derive", figure_10, "--rules", "three").out
    assert "2. convergence (K = 1): h1 ← {x1}" in run("derive", figure_10, "--rules", "two").out


def test_derive_counts_derivations(run, figure_10, tmp_path) -> None:
    assert run("derive", figure_10, "--count").out == "figure 10: 5 vertices, 4 edges, 1 derivation\n"
    draw(tmp_path / "fan.inkcap.json", "x h1 h2", "x>h1 x>h2")
    assert run("derive", "fan.inkcap.json", "--count").out == "net: 3 vertices, 2 edges, 2 derivations\n"
    assert json.loads(run("derive", "fan.inkcap.json", "--count", "--json").out)["derivations"] == 2


def test_derive_as_json(run, figure_10) -> None:
    report = json.loads(run("derive", figure_10, "--json").out)
    assert (report["rules"], report["vertices"], report["edges"]) == ("four", 5, 4)
    assert report["steps"][4] == {"rule": "convergence", "vertex": "h3", "parts": [["h1"], ["h2"]]}
    assert report["counts"] == {"variable": 2, "neuron": 2, "convergence": 1}
    assert report["convergence"]["needed"] is True
    run("new", "lenet")
    report = json.loads(run("derive", "lenet.inkcap.json", "--json").out)
    assert (report["convergence"]["needed"], report["convergence"]["first"]) == (False, "b")


def test_a_long_derivation_is_shortened(run, tmp_path) -> None:
    names = ["x", *(f"h{i}" for i in range(1, 100))]
    edges = [f"{a}>{b}" for a, b in itertools.pairwise(names)] + [f"{a}>h99" for a in names[:98]]
    draw(tmp_path / "chain.inkcap.json", " ".join(names), " ".join(edges))
    lines = run("derive", "chain.inkcap.json").out.splitlines()
    assert "  30. growth: h29 ← {h28}" in lines
    assert "  … 65 more steps; --all prints them" in lines
    assert not any(line.startswith("  40. ") for line in lines)
    assert lines[36].startswith("  100. growth: h99 ← {x, h1, h2,")
    assert lines[36].endswith("h11, … 87 more}")
    whole = run("derive", "chain.inkcap.json", "--all").out
    assert "  40. growth: h39 ← {h38}" in whole
    assert "…" not in whole


def test_parallel_connections_count_once_and_a_drawing_need_not_be_a_network(run, tmp_path) -> None:
    drawing = Drawing("untyped")
    drawing.add("a", "2D-data")
    drawing.add("b", "1D-ReLU")
    for name in ("one", "two"):
        drawing.connect("a", "b", "full", id=name)
    save_drawing(drawing, tmp_path / "untyped.inkcap.json")
    assert run("check", "untyped.inkcap.json").code == 2
    answer = run("derive", "untyped.inkcap.json")
    assert answer.code == 0
    assert "2 vertices, 1 edge," in answer.out


def test_a_plain_block_is_derived(run, tmp_path) -> None:
    count = 2000
    drawing = Drawing("columns")
    plain = Plain(
        ("data", *("relu" for _ in range(count - 1))),
        (0.0,) * count,
        tuple(range(count - 1)),
        tuple(range(1, count)),
        (1.0,) * (count - 1),
    )
    drawing.apply(Edit("columns", (Put(plain),)))
    save_drawing(drawing, tmp_path / "columns.inkcap.json")
    answer = run("derive", "columns.inkcap.json")
    assert answer.code == 0
    assert "✓ columns: 2 000 vertices, 1 999 edges, generated in 2 000 steps" in answer.out
    assert "  2. neuron: n1 ← {n0}" in answer.out


@pytest.mark.parametrize(
    ("capsules", "edges", "words", "message"),
    [
        ("", "", [], "the graph is empty"),
        ("x1 x2 h1", "x1>h1", [], "the graph is in 2 parts, {x1, h1}; {x2}"),
        ("x1 h1 h2", "x1>h1 h1>h2 h2>h1", [], "the vertices h1→h2→h1 form a cycle"),
        ("x1", "", ["--rules", "five"], "there is no set of rules 'five'; there are four, three, two"),
        ("x1 " + " ".join(f"h{i}" for i in range(20)), " ".join(f"x1>h{i}" for i in range(20)), ["--count"],
         "derivations are counted up to 20 vertices, and the graph has 21"),
    ],
)  # fmt: skip
def test_derive_refuses_in_one_line(run, tmp_path, capsules, edges, words, message) -> None:
    draw(tmp_path / "bad.inkcap.json", capsules, edges)
    answer = run("derive", "bad.inkcap.json", *words)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("inkcap: ")
    assert message in answer.err
    assert answer.err.count("\n") == 1


def test_derive_of_no_file(run) -> None:
    assert run("derive", "none.inkcap.json").code == 2


def test_enumerate_lists(run) -> None:
    answer = run("enumerate", 1, 2)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines() == [
        "1. h1 ← {x1}; h2 ← {x1}",
        "2. h1 ← {x1}; h2 ← {h1}",
        "3. h1 ← {x1}; h2 ← {x1, h1}",
        "3 1-2 networks",
    ]
    assert run("enumerate", 1, 0).out.splitlines() == ["1. trivial", "1 1-0 network"]
    assert run("enumerate", 2, 0).out == "0 2-0 networks\n"


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ("2 3", "105"),
        ("2 3 --up-to labels", "439"),
        ("2 3 --up-to isomorphism", "80"),
        ("2 3 --up-to isomorphism --inputs free", "49"),
        ("2 3 --rules all", "255"),
        ("2 3 --rules all --layered", "28"),
        ("1 6", "615 195"),
    ],
)
def test_enumerate_counts(run, words: str, count: str) -> None:
    answer = run("enumerate", *words.split(), "--count")
    assert (answer.code, answer.out) == (0, f"{count}\n")


def test_enumerate_as_json(run) -> None:
    report = json.loads(run("enumerate", 2, 2, "--json").out)
    assert (report["count"], report["rules"], report["up_to"], report["layered"]) == (7, "growth", "order", False)
    assert report["networks"][2] == {"h1": ["x1", "x2"], "h2": ["x1", "x2"]}
    report = json.loads(run("enumerate", 2, 2, "--json", "--count").out)
    assert report["count"] == 7
    assert "networks" not in report


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("0 1", "inputs: 0, neurons: 1; a network has one input at least"),
        ("9 9", "candidates, and 1 000 000 are allowed"),
        ("2 2 --rules some", "rules cannot be 'some'; it is one of growth, all"),
        ("2 2 --up-to names", "it is one of order, labels, isomorphism"),
        ("2 2 --inputs loose", "it is one of fixed, free"),
    ],
)
def test_enumerate_refuses_in_one_line(run, words: str, message: str) -> None:
    answer = run("enumerate", *words.split())
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize("words", [["enumerate", "2", "3", "--count"], ["derive", "net.inkcap.json"]])
def test_the_commands_do_not_wait_for_torch(words, tmp_path) -> None:
    draw(tmp_path / "net.inkcap.json", "x h", "x>h")
    code = (
        "import sys; from inkcap.cli import main\n"
        f"sys.argv = ['inkcap', *{words!r}]\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code\n"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=dict(os.environ), capture_output=True)
    assert done.returncode == 0, done.stderr
