"""Diagnostics: every rule is found, says where and with which numbers, and its edit mends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from wrong_drawings import CASES

from inkcap.drawing import flatten
from inkcap.network import RULES, Diagnostic, NotWellFormed, check

WHERE = {
    "opaque-operator": {"ranked"},
    "cycle": {"b", "c"},
    "direction-ambiguous": {"a-b"},
    "disconnected": {"p", "q"},
    "data-has-input": {"z", "d-z"},
    "no-input": {"z"},
    "rank-mismatch": {"a-b"},
    "structure-mismatch": {"a-b", "b"},
    "structure-unknown": {"a"},
    "dtype-mismatch": {"b-c", "c"},
    "not-floating": {"a-b"},
    "not-whole": {"a-b", "a"},
    "missing-attribute": {"a-b"},
    "window-does-not-divide": {"c"},
    "window-too-large": {"c-d"},
    "padding-too-large": {"c"},
    "attributes-clash": {"c"},
    "groups-do-not-divide": {"c-d"},
    "bounds-in-disorder": {"h"},
    "nothing-to-normalise": {"b"},
    "unknown-port": {"a-c", "c"},
    "port-taken": {"m", "b-m", "b-m-2"},
    "too-large": {"b-c"},
    "tie-mismatch": {"a-b", "a-c"},
    "unused-border": {"a-b"},
    "group-explodes": {"v"},
    "group-misused": {"u"},
    "group-recursive": {"g", "h"},
    "empty": set(),
}
WORDS = {
    "opaque-operator": ["TopK", "put capsules that do the same in its place"],
    "cycle": ["b→c→b", "c-b"],
    "direction-ambiguous": ["a—b", "a→b"],
    "disconnected": ["p, q"],
    "data-has-input": ["d→z", "identical"],
    "no-input": ["ReLU capsule z"],
    "rank-mismatch": ["matrix array (2D) a", "vector (1D) b", "reshaping"],
    "structure-mismatch": ["28×28×1", "24×24×32", "20×20×32"],
    "structure-unknown": ["dimension"],
    "dtype-mismatch": ["float32", "float64"],
    "not-floating": ["int64", "cast"],
    "not-whole": ["a holds float32", "int64"],
    "missing-attribute": ["kernel", "3"],
    "window-does-not-divide": ["25", "floor", "ceil"],
    "window-too-large": ["13", "12"],
    "padding-too-large": ["2", "1"],
    "attributes-clash": ["window and bins", "one of the two"],
    "groups-do-not-divide": ["32", "3 groups", "1 would do"],
    "too-large": ["2^40"],
    "tie-mismatch": ["3×2", "4×2"],
    "unused-border": ["4", "28"],
    "group-explodes": ["200000003", "20000 are allowed", "repeat it less often"],
    "group-misused": ["no argument 'widht'", "width"],
    "group-recursive": ["g → h → g", "remove that use"],
    "bounds-in-disorder": ["lower bound 4", "upper bound 1"],
    "nothing-to-normalise": ["each group", "fewer groups"],
    "unknown-port": ["'by'", "only port is in"],
    "port-taken": ["b-m and b-m-2", "port label"],
    "empty": ["data capsule"],
}


def test_every_rule_has_a_case() -> None:
    assert set(CASES) == set(RULES) == set(WHERE) == set(WORDS)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_finds_its_case(rule: str) -> None:
    drawing = CASES[rule]()
    found = [d for d in check(drawing).diagnostics if d.rule == rule]
    assert found, [d.rule for d in check(drawing).diagnostics]
    first = found[0]
    assert WHERE[rule] <= set(first.where) or set(first.where) <= WHERE[rule]
    for word in WORDS[rule]:
        assert any(word in d.message for d in found), (word, [d.message for d in found])
    described = json.loads(json.dumps(first.to_json(), allow_nan=False))
    assert described["rule"] == rule
    assert described["severity"] == ("note" if rule == "unused-border" else "error")


@pytest.mark.parametrize("rule", RULES)
def test_following_the_proposed_edits_leads_out(rule: str) -> None:
    """Press the first fix again and again: each removes its own diagnostic, and undo brings the drawing back."""
    drawing = CASES[rule]()
    original = drawing.to_text()
    depth = 0
    for _ in range(6):
        with_fix = [d for d in check(drawing).errors if d.fix]
        if not with_fix:
            break
        chosen = with_fix[0]
        drawing.apply(chosen.fix)
        depth += 1
        assert (chosen.rule, chosen.where) not in [(d.rule, d.where) for d in check(drawing).errors]
    left = [d for d in check(drawing).errors if d.fix]
    assert not left
    for _ in range(depth):
        drawing.undo()
    assert drawing.to_text() == original


MENDED = [
    "cycle",
    "rank-mismatch",
    "structure-mismatch",
    "dtype-mismatch",
    "not-whole",
    "missing-attribute",
    "window-does-not-divide",
    "window-too-large",
    "padding-too-large",
    "attributes-clash",
    "groups-do-not-divide",
]


@pytest.mark.parametrize("rule", MENDED)
def test_these_have_an_edit(rule: str) -> None:
    assert any(d.fix for d in check(CASES[rule]()).errors if d.rule == rule)


def test_reports_of_broken_drawings_are_whole() -> None:
    for rule, make in CASES.items():
        report = check(make())
        described = json.loads(json.dumps(report.to_json(), allow_nan=False))
        assert described["capsules"] == len(flatten(make()).drawing.capsules), rule
        if not report.well_formed:
            with pytest.raises(NotWellFormed, match=r"\["):
                _ = report.network


def test_an_unknown_rule_cannot_be_used() -> None:
    with pytest.raises(ValueError, match="no rule"):
        Diagnostic("nonsense", (), "x")


def test_every_rule_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "diagnostics.md").read_text()
    for rule, meaning in RULES.items():
        assert f"`{rule}`" in page
        assert meaning in page
