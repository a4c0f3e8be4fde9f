"""Diagnostics: every rule is found, says where and with which numbers, and its edit mends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inkcap.drawing import Drawing, flatten, from_text
from inkcap.network import RULES, Diagnostic, NotWellFormed, check
from inkcap.zoo import draw


def empty() -> Drawing:
    return Drawing("x")


def cycle() -> Drawing:
    drawing = draw("mlp")
    drawing.connect("c", "b", "full")
    return drawing


def direction_ambiguous() -> Drawing:
    drawing = Drawing("x")
    drawing.add("d", "data neuron")
    drawing.add("a", "relu neuron")
    drawing.add("b", "relu neuron")
    for back, front in (("d", "a"), ("d", "b"), ("a", "b")):
        drawing.connect(back, front, arrow=False)
    return drawing


def disconnected() -> Drawing:
    drawing = draw("mlp")
    drawing.add("p", "1D-data", dimension=3)
    drawing.then("q", "1D-relu", "full", dimension=3)
    return drawing


def data_has_input() -> Drawing:
    drawing = draw("mlp")
    drawing.add("z", "1D-data", dimension=2)
    drawing.connect("d", "z", "transfer")
    return drawing


def no_input() -> Drawing:
    drawing = draw("mlp")
    drawing.add("z", "1D-relu", dimension=2)
    drawing.connect("z", "d", "full")
    return drawing


def rank_mismatch() -> Drawing:
    drawing = Drawing("x")
    drawing.add("a", "2D-data", height=4, width=4, channels=1)
    drawing.add("b", "1D-relu", dimension=3)
    drawing.connect("a", "b", "full")
    return drawing


def structure_mismatch() -> Drawing:
    drawing = draw("lenet")
    drawing.change("b", height=20, width=20)
    return drawing


def structure_unknown() -> Drawing:
    drawing = Drawing("x")
    drawing.add("a", "1D-data")
    drawing.then("b", "1D-relu", "transfer")
    return drawing


def dtype_mismatch() -> Drawing:
    drawing = draw("mlp")
    drawing.change("c", dtype="float64")
    return drawing


def not_floating() -> Drawing:
    drawing = draw("mlp")
    drawing.change("a", dtype="int64")
    return drawing


def missing_attribute() -> Drawing:
    drawing = draw("lenet")
    drawing.change("a-b", kernel=None)
    return drawing


def window_does_not_divide() -> Drawing:
    drawing = draw("lenet")
    drawing.change("a-b", kernel=4)
    return drawing


def window_too_large() -> Drawing:
    drawing = draw("lenet")
    drawing.change("c-d", kernel=13)
    return drawing


def padding_too_large() -> Drawing:
    drawing = draw("lenet")
    drawing.change("c", padding=2)
    return drawing


def attributes_clash() -> Drawing:
    drawing = draw("lenet")
    drawing.change("c", bins=2)
    return drawing


def groups_do_not_divide() -> Drawing:
    drawing = draw("lenet")
    drawing.change("c-d", groups=3)
    return drawing


def too_large() -> Drawing:
    drawing = draw("mlp")
    drawing.change("b", dimension=2**31 - 1)
    drawing.change("c", dimension=2**31 - 1)
    return drawing


def tie_mismatch() -> Drawing:
    drawing = Drawing("x")
    drawing.add("a", "1D-data", dimension=2)
    drawing.add("b", "1D-relu", dimension=3)
    drawing.add("c", "1D-relu", dimension=4)
    drawing.connect("a", "b", "full", tie="t")
    drawing.connect("a", "c", "full", tie="t")
    return drawing


def unused_border() -> Drawing:
    drawing = draw("lenet")
    drawing.change("a-b", kernel=4, stride=5)
    return drawing


def unknown_port() -> Drawing:
    drawing = draw("mlp")
    drawing.connect("a", "c", "full", port="by")
    return drawing


def port_taken() -> Drawing:
    drawing = Drawing("x")
    drawing.add("a", "2D-data", height=4, width=3, channels=1)
    drawing.add("b", "1D-data", dimension=4)
    drawing.add("m", "2D-mask")
    drawing.connect("a", "m")
    drawing.connect("b", "m", port="label")
    drawing.connect("b", "m", port="label")
    return drawing


def nothing_to_normalise() -> Drawing:
    drawing = draw("mlp")
    drawing.wear("b", "group-norm", groups=6)
    return drawing


def with_groups(repeat: int = 1, **arguments: object) -> Drawing:
    body = Drawing("block", arguments={"width": 6})
    body.add("x", "1D-identical")
    body.then("h", "1D-relu", "full", dimension="=width")
    drawing = Drawing("groups")
    drawing.define("block", body)
    drawing.add("a", "1D-data", dimension=6)
    drawing.then("u", "block", repeat=repeat, **arguments)
    return drawing


def group_misused() -> Drawing:
    return with_groups(widht=3)


def group_explodes() -> Drawing:
    drawing = with_groups()
    document = json.loads(drawing.to_text())
    document["groups"].append({"id": "g", "uses": [{"id": "u", "group": "block", "repeat": 10_000}]})
    document["uses"].append({"id": "v", "group": "g", "repeat": 10_000})
    return from_text(json.dumps(document))


def group_recursive() -> Drawing:
    document = json.loads(with_groups().to_text())
    document["groups"] += [
        {"id": "g", "uses": [{"id": "v", "group": "h"}]},
        {"id": "h", "uses": [{"id": "v", "group": "g"}]},
    ]
    return from_text(json.dumps(document))


def bounds_in_disorder() -> Drawing:
    drawing = draw("mlp")
    drawing.then("h", "1D-hard-tanh", "transfer", low=4)
    return drawing


CASES = {name.replace("_", "-"): value for name, value in globals().items() if name.replace("_", "-") in RULES}
WHERE = {
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
