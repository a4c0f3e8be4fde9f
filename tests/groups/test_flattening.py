"""Groups flattened: what they stand for, whichever way they are drawn."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkcap.drawing import Drawing, DrawingError, flatten, from_text
from inkcap.network import check


def block() -> Drawing:
    """A residual block of vectors: two full connections and a sum."""
    body = Drawing("block", arguments={"width": 4, "inner": 6})
    body.add("x", "1D-identical")
    body.then("h", "1D-relu", "full", dimension="=inner")
    body.then("y", "1D-identical", "full", dimension="=width")
    body.connect("x", "y", "transfer")
    return body


def chain(*uses: dict[str, object]) -> Drawing:
    """Uses of the block one behind another."""
    drawing = Drawing("chain")
    drawing.define("block", block())
    drawing.add("a", "1D-data", dimension=4)
    for number, options in enumerate(uses):
        drawing.then(f"u{number}", "block", **options)
    return drawing


def by_hand(inner: list[int]) -> Drawing:
    """The same, drawn without groups."""
    drawing = Drawing("chain")
    last = drawing.add("a", "1D-data", dimension=4)
    for i, size in enumerate(inner):
        drawing.add(f"h{i}", "1D-relu", dimension=size)
        drawing.add(f"y{i}", "1D-identical", dimension=4)
        drawing.connect(last, f"h{i}", "full")
        drawing.connect(f"h{i}", f"y{i}", "full")
        drawing.connect(last, f"y{i}", "transfer")
        last = f"y{i}"
    return drawing


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 5)), min_size=1, max_size=4))
def test_groups_are_what_they_stand_for(uses: list[tuple[int, int]]) -> None:
    grouped = check(chain(*({"repeat": repeat, "inner": inner} for repeat, inner in uses)))
    plain = check(by_hand([inner for repeat, inner in uses for _ in range(repeat)]))
    for number in ("parameters", "multiply_adds", "capsule_count", "connection_count", "depth"):
        assert getattr(grouped, number) == getattr(plain, number)
    assert grouped.classification.kind == plain.classification.kind
    shapes = [c.output for c in grouped.capsules.values()]
    assert shapes == [c.output for c in plain.capsules.values()]


def test_a_grouped_drawing_computes_and_trains_as_the_one_drawn_by_hand() -> None:
    import torch

    from inkcap import backpropagate, build

    grouped, plain = check(chain({"repeat": 2}, {"inner": 3})).network, check(by_hand([6, 6, 3])).network
    names = dict(zip(grouped.weights, plain.weights, strict=True))
    values = {name: torch.randn(w.structure.sizes, dtype=torch.float64) for name, w in grouped.weights.items()}
    x, target = torch.randn(5, 4, dtype=torch.float64), torch.randn(5, 4, dtype=torch.float64)
    found = [
        backpropagate(grouped, values, {"a": x}, {grouped.outputs[0]: target}),
        backpropagate(plain, {names[n]: v for n, v in values.items()}, {"a": x}, {plain.outputs[0]: target}),
    ]
    for ours, theirs in names.items():
        assert torch.equal(found[0].updates[ours], found[1].updates[theirs])
    assert sum(p.numel() for p in build(grouped).parameters()) == check(by_hand([6, 6, 3])).parameters


def test_groups_inside_groups() -> None:
    outer = Drawing("pair", arguments={"wide": 5})
    outer.define("block", block())
    outer.add("in", "1D-identical")
    outer.then("one", "block", inner="=2*wide")
    outer.then("two", "block", inner="=wide", repeat=2)
    drawing = Drawing("nested")
    drawing.define("pair", outer)
    drawing.add("a", "1D-data", dimension=4)
    drawing.then("p", "pair", wide=3)
    report = check(drawing)
    assert report.well_formed, report.diagnostics
    assert list(report.capsules) == [
        "a", "p.one.h", "p.one.y", "p.two.0.h", "p.two.0.y", "p.two.1.h", "p.two.1.y",
    ]  # fmt: skip
    assert [report.capsules[id].output.sizes for id in ("p.one.h", "p.two.0.h")] == [(6,), (3,)]
    assert set(drawing.groups) == {"block", "pair"}
    assert from_text(drawing.to_text()) == drawing


def test_ports_that_are_more_than_wires_stay_capsules() -> None:
    drawing = chain({})
    drawing.add("b", "1D-data", dimension=4)
    drawing.connect("b", "u0", "transfer")
    report = check(drawing)
    assert "u0.x" in report.capsules
    assert report.well_formed
    weighted = Drawing("weighted")
    weighted.define("block", block())
    weighted.add("a", "1D-data", dimension=3)
    weighted.add("u", "block")
    weighted.connect("a", "u", "full")
    report = check(weighted)
    assert report.well_formed, report.diagnostics
    assert report.capsules["u.x"].output.sizes == (4,)


def test_several_ports_are_told_apart() -> None:
    body = Drawing("split", arguments={})
    body.add("x", "1D-identical")
    body.then("left", "1D-relu", "full", dimension=2)
    body.add("right", "1D-tanh", dimension=3)
    body.connect("x", "right", "full")
    drawing = Drawing("ports")
    drawing.define("split", body, outputs={"l": "left", "r": "right"})
    drawing.add("a", "1D-data", dimension=4)
    drawing.then("s", "split")
    drawing.add("b", "1D-identical", dimension=1)
    drawing.connect("s", "b", "full")
    (told,) = check(drawing).errors[:1]
    assert told.rule == "group-misused"
    assert "l, r: say which" in told.message
    drawing.remove("s-b")
    drawing.connect("s", "b", output="r")
    report = check(drawing)
    assert report.connections["s-b"].back == "s.right"
    drawing.remove("s-b")
    drawing.connect("s", "b", output="rr")
    assert "no output 'rr'" in check(drawing).errors[0].message


def test_copies_share_by_a_tie_and_know_their_number() -> None:
    free, tied = check(chain({"repeat": 3})), check(chain({"repeat": 3, "tie": "t"}))
    assert free.parameters == 3 * tied.parameters
    assert set(tied.weights) == {"tie:t.x-h.weight", "tie:t.h.bias", "tie:t.h-y.weight", "tie:t.y.bias"}
    numbered = chain({"repeat": 3, "inner": 2})
    group = json.loads(json.dumps(numbered.groups["block"].to_json()))
    group["capsules"][1]["attributes"]["dimension"] = "=inner+copy"
    document = json.loads(numbered.to_text())
    document["groups"] = [group]
    report = check(from_text(json.dumps(document)))
    assert [report.capsules[f"u0.{i}.h"].output.sizes for i in range(3)] == [(2,), (3,), (4,)]
    two = Drawing("siamese")
    two.define("block", block())
    two.add("a", "1D-data", dimension=4)
    two.then("u", "block", tie="t")
    two.add("v", "block", tie="t", inner=7)
    two.connect("a", "v")
    assert {d.rule for d in check(two).errors} == {"tie-mismatch"}
    two.change("v", inner=6)
    assert check(two).parameters == tied.parameters


def test_running_numbers_are_not_shared() -> None:
    drawing = Drawing("tied")
    drawing.add("a", "2D-data", height=4, width=4, channels=2)
    for id in ("b", "c"):
        drawing.add(id, "2D-relu", tie="t")
        drawing.connect("a", id, "convolution", kernels=2, kernel=1)
        drawing.wear(id, "batch-norm")
    assert "running numbers" in check(drawing).errors[0].message
    for id in ("b", "c"):
        drawing.take_off(id, "batch-norm")
        drawing.wear(id, "group-norm", groups=1)
    report = check(drawing)
    assert report.well_formed
    import torch

    from inkcap import build

    module = build(report.network)
    assert sum(p.numel() for p in module.parameters()) == report.parameters
    assert torch.isfinite(module(torch.randn(2, 2, 4, 4))[0]).all()


def test_an_edit_that_mends_reaches_into_the_group() -> None:
    body = Drawing("odd", arguments={"window": 2})
    body.add("x", "2D-identical")
    body.then("pool", "2D-downsampling", window=2)
    drawing = Drawing("fix")
    drawing.define("odd", body)
    drawing.add("a", "2D-data", height=5, width=5, channels=1)
    drawing.then("u", "odd")
    (found,) = check(drawing).errors
    assert found.where == ("u.pool",)
    assert found.fix is not None
    assert "in every use of odd" in found.fix.label
    drawing.apply(found.fix)
    assert check(drawing).well_formed
    drawing.undo()
    assert not check(drawing).well_formed


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"inner": "wide"}, "must be a whole number"),
        ({"inner": 0}, "must be from 1"),
        ({"inner": 2.5}, "must be a whole number"),
        ({"depth": 3}, "no argument 'depth'"),
    ],
)
def test_arguments_that_do_not_fit_are_told_with_their_place(change: dict[str, object], told: str) -> None:
    drawing = chain({})
    use = drawing.uses["u0"]
    document = json.loads(drawing.to_text())
    document["uses"][0]["arguments"] = {**use.arguments, **change}
    (found, *_) = check(from_text(json.dumps(document))).errors
    assert found.rule == "group-misused"
    assert found.where[0].startswith("u0")
    assert told in found.message


def test_references_are_kept() -> None:
    drawing = chain({})
    with pytest.raises(DrawingError, match="no group 'blok'; did you mean"):
        from_text(drawing.to_text().replace('"group": "block"', '"group": "blok"'))
    with pytest.raises(DrawingError, match="its front end 'hh' is no capsule of the group"):
        from_text(drawing.to_text().replace('"front": "h"', '"front": "hh"'))
    with pytest.raises(DrawingError, match="only a group can be repeated"):
        drawing.add("z", "1D-relu", repeat=2)
    with pytest.raises(DrawingError, match="inside of a group"):
        block().to_text()


def test_nothing_is_made_of_what_explodes() -> None:
    drawing = Drawing("bomb")
    inner = Drawing("b0", arguments={})
    inner.add("x", "1D-identical")
    for level in range(1, 25):
        body = Drawing(f"b{level}", arguments={})
        body.define(f"b{level - 1}", inner)
        body.add("u", f"b{level - 1}", repeat=1000)
        inner = body
    drawing.define("b24", inner)
    drawing.add("u", "b24")
    assert [d.rule for d in check(drawing).errors if d.rule.startswith("group")] == ["group-explodes"]
    assert len(flatten(drawing).drawing.capsules) == 0


def test_copies_that_are_all_given_one_input_count() -> None:
    """Each connection into such an input becomes one for every copy, of inner uses too: few lines, a large network."""
    count, inner = 300, Drawing("inner", arguments={})
    inner.add("h", "1D-identical")
    inner.add("x", "1D-identical")
    inner.add("y", "1D-tanh", dimension=2)
    inner.connect("h", "y", "full")
    inner.connect("x", "y", "full")
    ports = {"inputs": {"h": "h", "x": "x"}, "outputs": {"h": "y"}}
    drawing = Drawing("fan")
    drawing.define("inner", inner, **ports)
    drawing.add("start", "1D-data", dimension=2)
    drawing.add("all", "1D-data", dimension=2)
    drawing.add("u", "inner", repeat=count)
    drawing.connect("start", "u", port="h")
    for _ in range(3):
        drawing.connect("all", "u", port="x")
    report = check(drawing)
    assert report.well_formed, report.diagnostics[:2]
    # Two full connections and three transfers from outside in every copy; its state comes by a wire, which vanishes.
    assert report.connection_count == 5 * count
    for _ in range(220):
        drawing.connect("all", "u", port="x")
    (found,) = check(drawing).errors[:1]
    assert found.rule == "group-explodes"
    assert found.numbers["connections"] > 60_000


def test_an_argument_may_not_be_called_as_the_copy() -> None:
    body = Drawing("block", arguments={"copy": 3})
    body.add("x", "1D-identical")
    with pytest.raises(DrawingError, match="'copy' stands for the number of the copy"):
        Drawing("d").define("block", body)
    with pytest.raises(DrawingError, match="must be a number, a text or true/false"):
        Drawing("d").define("block", Drawing("block", arguments={"width": [1]}))
