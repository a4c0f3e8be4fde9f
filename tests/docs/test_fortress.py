"""The promises and the scoreboard: each promise has a test that is there, and the page shows what was counted."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

import scoreboard

ROOT = Path(__file__).resolve().parents[2]
PROMISE = re.compile(r"^\| (\d+) \| (.+?) \| (.+?) \|$", re.MULTILINE)
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def promises() -> dict[int, str]:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    return {int(number): proof for number, _, proof in PROMISE.findall(text)}


def test_there_are_ten_promises_and_each_names_a_test() -> None:
    found = promises()
    assert sorted(found) == list(range(1, 11))
    assert [number for number, proof in found.items() if not NAMED.findall(proof)] == []


@pytest.mark.parametrize(
    ("file", "name"), sorted({named for proof in promises().values() for named in NAMED.findall(proof)})
)
def test_every_test_that_a_promise_names_is_there_and_runs_in_every_make_test(file: str, name: str) -> None:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert name in functions
    marks = [ast.unparse(decorator) for decorator in functions[name].decorator_list]
    assert "pytest.mark.soak" not in marks


def test_the_page_shows_the_figures_that_are_kept() -> None:
    data = json.loads(scoreboard.DATA.read_text(encoding="utf-8"))
    page = scoreboard.PAGE.read_text(encoding="utf-8")
    assert scoreboard.rendered(page, data) == page, "run python tools/scoreboard.py"
    rows = [row["campaign"] for row in data["rows"]]
    assert len(rows) == len(set(rows))
    assert [row["campaign"] for row in data["rows"] if not row["broken"] or not row["target"]] == []
    assert {entry["campaign"] for entry in data["figures"]} <= set(rows)


def line(campaign: str, test: str, full: bool, **figures: object) -> str:
    return json.dumps({"campaign": campaign, "full": full, "test": test, **figures})


def taken(data: dict[str, Any], today: str, *lines: str) -> dict[str, Any]:
    return scoreboard.updated(data, scoreboard.dated(scoreboard.read_tally("\n".join(lines)), today))


def test_parts_of_one_test_are_put_together_and_each_is_kept_until_it_is_run_again() -> None:
    data = {"rows": [{"campaign": "S4", "broken": "b", "target": "t", "others": "o"}], "figures": []}
    data = taken(
        data,
        "2026-01-01",
        line("S4", "tests/a.py::t[1]", True, cases=10, longest_ms=5.0),
        line("S4", "tests/a.py::t[1]", True, cases=20, longest_ms=7.0),  # it ran again
        line("S4", "tests/a.py::t[2]", True, cases=100_000, longest_ms=6.0),
        line("X9", "tests/b.py::u", False, what="routes", cases=3),
    )
    table = scoreboard.table(data)
    assert "| S4 | b | t | cases 100\u202f020, longest ms 7 | o | `make soak TESTS=tests/a.py` | 2026-01-01 |" in table
    assert "quick: routes: cases 3; the full count was not run" in table
    later = taken(data, "2026-01-02", line("S4", "tests/a.py::t[2]", True, cases=1, longest_ms=2))
    assert "cases 21, longest ms 7 | o | `make soak TESTS=tests/a.py` | 2026-01-02 |" in scoreboard.table(later)


def test_figures_of_a_test_that_had_no_parts_give_way_to_those_of_its_parts() -> None:
    data = taken({"rows": [], "figures": []}, "2026-01-01", line("S4", "tests/a.py::t", True, cases=7))
    later = taken(data, "2026-01-02", line("S4", "tests/a.py::t[1]", True, cases=1))
    assert "| cases 1 |" in scoreboard.table(later)


def test_a_campaign_that_was_not_run_says_so() -> None:
    assert "| not run |" in scoreboard.row_of({"campaign": "Q1", "broken": "", "target": "", "others": ""}, [])


def test_a_campaign_whose_quick_part_is_all_of_it_lacks_nothing() -> None:
    row = {"campaign": "R8", "broken": "", "target": "", "others": "", "whole": True}
    entry = {"campaign": "R8", "full": False, "test": "tests/a.py::t", "what": "", "when": "", "figures": {"cases": 60}}
    assert "| cases 60 |" in scoreboard.row_of(row, [entry])


def test_what_is_whole_in_every_run_counts_beside_the_full_part_of_the_others() -> None:
    row = {"campaign": "S3", "broken": "", "target": "", "others": "", "every_run": ["frames"]}
    entry = {"campaign": "S3", "full": False, "test": "tests/a.py::frames", "what": "", "when": ""}
    daily = [{**entry, "figures": {"bombs": 22}}, {**entry, "test": "tests/a.py::some", "figures": {"bombs": 30}}]
    full = {**entry, "full": True, "test": "tests/a.py::all", "figures": {"bombs": 89}}
    assert "| bombs 89; in every run bombs 22 |" in scoreboard.row_of(row, [*daily, full])


def test_a_campaign_of_which_some_parts_were_run_says_how_far_it_has_come() -> None:
    row = {"campaign": "R1", "broken": "", "target": "", "others": "", "counts": {"kills": 20_000}}
    entry = {"campaign": "R1", "full": True, "test": "tests/a.py::t", "what": "", "when": ""}
    assert "| kills 12\u202f054; so far 12\u202f054 kills of 20\u202f000 |" in scoreboard.row_of(
        row, [{**entry, "figures": {"kills": 12_054}}]
    )
    assert "| kills 20\u202f009 |" in scoreboard.row_of(row, [{**entry, "figures": {"kills": 20_009}}])
