"""`inkcap bench` as a command: what it measures, whom it leaves out, what it writes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from inkcap.bench import CONTENDERS, NETWORKS, BenchError, Options, find_case, join, read, run
from inkcap.bench.cases import costs_of
from inkcap.bench.chart import picture
from inkcap.bench.contenders import Contender, environment_for, installed
from inkcap.bench.measuring import Figure, Quartiles
from inkcap.bench.records import CaseResult, Growth, Result, Row
from inkcap.bench.table import markdown, missing_lines, to_json, write_into_page


def bench(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "inkcap", "bench", *arguments], cwd=folder, capture_output=True, text=True
    )


def test_a_quick_benchmark_of_one_network(tmp_path: Path) -> None:
    told = bench(
        "mlp-8-8-2@16", "--quick", "--with", "inkcap", "--rounds", "2", "--threads", "1", "--json", "figures.json",
        "--picture", "figures.svg", folder=tmp_path,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())
    (case,) = figures["cases"]
    assert [row["contender"] for row in case["rows"]] == ["eager", "inkcap"]
    ours = case["rows"][1]["figure"]
    # So small a network takes many steps in one call.
    assert 0.5 < ours["ratio"]["median"] < 2000
    assert case["gigaflops"] > 0.1
    assert case["gigabytes"] > 0.05
    assert "Inkcap" in (tmp_path / "figures.svg").read_text()
    assert json.loads(json.dumps(to_json(read(tmp_path / "figures.json")))) == figures


def test_names_that_there_are_not_get_one_sentence(tmp_path: Path) -> None:
    for arguments, told in (
        (("lenett",), "there is no network 'lenett' to measure; did you mean lenet?"),
        (("lenet", "--with", "egaer"), "there is no contender 'egaer'; did you mean eager?"),
        (("mlp-0-2",), "sizes and batch must be at least 1"),
        (("lenet", "--rounds", "0"), "rounds must be at least 1"),
        (("--read", "nothing.json"), "nothing.json: cannot be read"),
    ):
        answer = bench(*arguments, folder=tmp_path)
        assert answer.returncode == 2
        assert told in answer.stderr
        assert "Traceback" not in answer.stderr


def test_the_list_names_everyone(tmp_path: Path) -> None:
    told = bench("--list", folder=tmp_path).stdout
    for name in (*NETWORKS, *CONTENDERS):
        assert f"  {name} " in told


def test_peers_that_are_not_installed_are_left_out_and_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = Contender("absent", "Absent", "inkcap.bench.torch_steps:eager", ("there_is_no_such_package",))
    able, missing = installed([CONTENDERS["eager"], absent])
    assert [contender.name for contender in able] == ["eager"]
    assert missing == {"absent": ["there_is_no_such_package"]}
    (line,) = missing_lines(example(missing=missing))
    assert line == "left out: absent, for there_is_no_such_package is not installed: pip install 'inkcap[bench]'"


def test_a_peer_that_is_another_network_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    support = str(Path(__file__).parent)
    monkeypatch.setenv("PYTHONPATH", support + ":" + ":".join(sys.path))
    wider = Contender("wider", "Wider", "tiny_contenders:wider")
    monkeypatch.setattr("inkcap.bench.running.find_contender", lambda _: wider)
    options = Options(("mlp-4-4-2@8",), ("wider",), rounds=1, threads=1, seconds=0.01, limits=False)
    (case,) = run(options).cases
    assert case.rows[1].figure is None
    assert case.rows[1].reason == "has 1 parameters, the drawing 30: not the same network"


def test_everyone_but_the_favoured_gets_no_allocator_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_MMAP_MAX_", "0")
    assert "MALLOC_MMAP_MAX_" not in environment_for(CONTENDERS["eager"], 1)
    assert environment_for(CONTENDERS["eager-here"], 1)["MALLOC_MMAP_MAX_"] == "0"


@pytest.mark.parametrize(
    ("name", "parameters", "multiply_adds"),
    [("mlp", 669_706, 668_672), ("lenet", 582_026, None), ("resnet18", 11_181_642, None), ("dag", 99_000, 90_000)],
)
def test_costs_are_those_of_the_drawing(name: str, parameters: int, multiply_adds: int | None) -> None:
    costs = costs_of(find_case(name))
    assert costs.parameters == parameters
    if multiply_adds is not None:
        assert costs.multiply_adds == multiply_adds
        assert costs.operations(10, "training") == 60 * multiply_adds
        assert costs.operations(10, "inference") == 20 * multiply_adds


def example(**changed) -> Result:
    one, two = Quartiles(1, 1, 1), Quartiles(1.5, 2.0, 2.5)
    rows = (
        Row("eager", "PyTorch, eager", Figure(one, Quartiles(0.01, 0.01, 0.01), False), 0.1, 1.0),
        Row("jax", "JAX, jit", reason="its process was killed by signal 9"),
        Row("inkcap", "Inkcap", Figure(two, Quartiles(0.005, 0.005, 0.006), True), 0.2, 1.0),
    )
    case = CaseResult("lenet", "LeNet", 64, 10, 1e9, rows, 100.0, 10.0, 0.5, False)
    growth = (Growth("width of an MLP", "eager", (1, 2), (1.0, 4.0), 2.0),)
    told = {
        "work": "training", "date": "2026-01-02", "machine": "2 cores", "threads": 2, "rounds": 3,
        "versions": {"torch": "2"}, "missing": {}, "cases": (case,), "growth": growth, "load_before": 1.5,
    }  # fmt: skip
    return Result(**{**told, **changed})


def test_the_table_says_what_was_measured_and_what_was_not() -> None:
    text = markdown(example(), "inkcap bench lenet")
    assert "`inkcap bench lenet` on 2026-01-02: 2 cores, 2 threads, 3 rounds at a load of 1.5" in text
    assert "| Inkcap | ~2.00 (1.50 to 2.50) | 2.00 |" in text
    assert "- LeNet, JAX, jit: its process was killed by signal 9." in text
    assert "| LeNet | 10.0 ms | 100 GFLOP/s | 10 GB/s | 10% | 20% | 20%, Inkcap |" in text
    assert "| width of an MLP | 1 … 2 | 2.00 |  |" in text


def test_a_table_takes_the_place_of_the_one_before_it(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Before\n")
    write_into_page(page, example(), "first")
    page.write_text(page.read_text() + "\nAfter\n")
    write_into_page(page, example(), "second")
    text = page.read_text()
    assert text.startswith("# Before\n")
    assert text.endswith("\nAfter\n")
    assert "second" in text
    assert "first" not in text


def test_results_are_joined_and_kinds_are_kept_apart() -> None:
    later = example(date="2026-01-03", cases=())
    both = join([example(), later])
    assert both.date == "2026-01-02 to 2026-01-03"
    assert [case.case for case in both.cases] == ["lenet"]
    with pytest.raises(BenchError, match="tables of their own"):
        join([example(), example(work="inference")])


def test_the_picture_has_a_bar_for_each_that_was_measured() -> None:
    root = ElementTree.fromstring(picture(example()))  # noqa: S314
    bars = root.findall("{http://www.w3.org/2000/svg}rect")[1:]
    assert [bar.get("class") for bar in bars] == ["reference", "ours"]
    assert float(bars[1].get("width")) == pytest.approx(2 * float(bars[0].get("width")), rel=0.01)
