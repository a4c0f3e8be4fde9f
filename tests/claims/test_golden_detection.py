"""Golden numbers of boxes: anchors, corrections, the best that do not overlap, and what maps hold inside of boxes."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from inkcap.drawing import Drawing
from inkcap.engine import build, initialise, load_weights, named_weights, source_of, weights_of
from inkcap.engine.gradient_check import check_gradients
from inkcap.engine.losses import by_autograd
from inkcap.engine.universal import Seed, plan
from inkcap.network import check
from inkcap.program import lower_to_layers, lower_to_steps
from inkcap.training.facts import facts_of

FLOAT = torch.float64


def regions(boxes: list[list[float]], size: int = 6, **attributes) -> torch.Tensor:
    """What a map of the numbers 1, 2, 3 … holds inside of boxes."""
    drawing = Drawing("regions", "float64")
    drawing.add("x", "2D-data", channels=1, height=size, width=size)
    drawing.add("boxes", "2D-data", channels=1, height=len(boxes), width=4)
    drawing.add("y", "2D-region", strides="1", **attributes)
    drawing.connect("x", "y", "transfer")
    drawing.connect("boxes", "y", "transfer", port="boxes")
    numbers = torch.arange(1, size * size + 1, dtype=FLOAT).reshape(1, 1, size, size)
    return build(check(drawing).network)(numbers, torch.tensor([[boxes]], dtype=FLOAT))[0, 0]


def test_region_align_by_hand() -> None:
    box = [[0.5, 1, 4, 3.5]]
    assert regions(box, bins=2).tolist() == [[[12.125, 13.875], [19.625, 21.375]]]
    assert regions(box, bins=2, aligned=True).tolist() == [[[8.625, 10.375], [16.125, 17.875]]]


def test_region_maximum_by_hand() -> None:
    assert regions([[1, 1, 4, 3]], bins=2, kind="maximum").tolist() == [[[15, 17], [21, 23]]]


def anchors(height: int, width: int, **attributes) -> list[list[float]]:
    drawing = Drawing("anchors", "float64")
    drawing.add("x", "2D-data", channels=1, height=height, width=width)
    drawing.then("y", "2D-anchors", "transfer", **attributes)
    return build(check(drawing).network)(torch.zeros(1, 1, height, width, dtype=FLOAT))[0, 0].tolist()


def test_the_anchors_of_faster_r_cnn() -> None:
    """The nine boxes as they are published, whose last pixel belongs to them."""
    found = anchors(38, 50, scales="128 256 512", ratios="0.5 1 2", stride=16, rounding="cell")
    assert len(found) == 17_100
    assert [(a, b, c - 1, d - 1) for a, b, c, d in found[:9]] == [
        (-84, -40, 99, 55),
        (-176, -88, 191, 103),
        (-360, -184, 375, 199),
        (-56, -56, 71, 71),
        (-120, -120, 135, 135),
        (-248, -248, 263, 263),
        (-36, -80, 51, 95),
        (-80, -168, 95, 183),
        (-168, -344, 183, 359),
    ]
    assert found[9] == [x + s for x, s in zip(found[0], (16, 0, 16, 0), strict=True)]


def test_the_default_boxes_of_ssd() -> None:
    scales = f"21 {300 * math.sqrt(0.07 * 0.15)!r} 21 21"
    found = anchors(38, 38, scales=scales, ratios="1 1 0.5 2", stride=300 / 38, paired=True)
    assert len(found) == 5776
    shown = [((a + c) / 600, (b + d) / 600, (c - a) / 300, (d - b) / 300) for a, b, c, d in found[:4]]
    assert shown[0] == pytest.approx((0.5 / 38, 0.5 / 38, 0.07, 0.07))
    assert shown[1][2:] == pytest.approx((0.10246950765959599, 0.10246950765959599))
    assert shown[2][2:] == pytest.approx((0.09899494936611666, 0.049497474683058325))
    assert shown[3][2:] == pytest.approx((0.049497474683058325, 0.09899494936611666))


def selected(offsets, scores, boxes, **attributes) -> list[list[float]]:
    """What a selection gives of rows, without the places that nothing fills."""
    drawing = Drawing("selection", "float64")
    for name, rows in (("offsets", offsets), ("scores", scores), ("boxes", boxes)):
        drawing.add(name, "2D-data", channels=1, height=len(rows), width=len(rows[0]))
    drawing.add("y", "2D-selection", **attributes)
    for name, port in (("offsets", "in"), ("scores", "scores"), ("boxes", "boxes")):
        drawing.connect(name, "y", "transfer", port=port)
    given = [torch.tensor([[rows]], dtype=FLOAT) for rows in (offsets, scores, boxes)]
    found = build(check(drawing).network)(*given)[0, 0].tolist()
    filled = [row for row in found if any(row)]
    assert found == filled + [[0.0] * 6] * (len(found) - len(filled))
    return filled


def test_a_box_is_corrected_by_hand() -> None:
    """A box of 10×20 moved by a tenth of its sizes, its width doubled."""
    (found,) = selected([[1, 1, math.log(2) / 0.2, 0]], [[0]], [[10, 10, 20, 30]])
    assert found == pytest.approx([1, 0.5, 6, 12, 26, 32])


def overlap(a: tuple[int, ...], b: tuple[int, ...]) -> Fraction:
    common = max(min(a[2], b[2]) - max(a[0], b[0]), 0) * max(min(a[3], b[3]) - max(a[1], b[1]), 0)
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (a, b))
    return Fraction(common, areas - common)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(*[st.integers(0, 12)] * 2, *[st.integers(1, 9)] * 2, st.integers(1, 2)), min_size=1, max_size=14
    ),
    st.sampled_from([Fraction(1, 10), Fraction(3, 10), Fraction(1, 2)]),
    st.randoms(),
)
def test_the_best_stay_one_by_one(drawn, share, random) -> None:
    """Boxes at whole places, each of one class: taken one by one from the best, none that overlaps one taken before."""
    boxes = [(x, y, x + w, y + h) for x, y, w, h, _ in drawn]
    logits = random.sample(range(-60, 60), len(drawn))
    scores = [
        [0, *(n / 8 if label == i else -30 for i in (1, 2))] for n, (*_, label) in zip(logits, drawn, strict=True)
    ]
    found = selected([[0] * 4] * len(boxes), scores, boxes, count=20, overlap=float(share), least=1e-6)
    kept: list[int] = []
    for i in sorted(range(len(boxes)), key=lambda i: -logits[i]):
        same = [j for j in kept if drawn[j][4] == drawn[i][4]]
        if all(overlap(boxes[i], boxes[j]) <= share for j in same):
            kept.append(i)
    assert [row[0] for row in found] == [drawn[i][4] for i in kept]
    for row, i in zip(found, kept, strict=True):
        assert row[2:] == pytest.approx(boxes[i])
        assert row[1] == pytest.approx(1 / (1 + math.exp(-logits[i] / 8)), abs=1e-9)


@settings(max_examples=60)
@given(
    st.tuples(*[st.floats(-50, 50)] * 2, *[st.floats(1, 40)] * 2),
    st.tuples(*[st.floats(-3, 3)] * 4),
    st.sampled_from(["1 1 1 1", "0.1 0.1 0.2 0.2"]),
)
def test_what_an_offset_says_comes_back(box, offset, variances) -> None:
    """The offset that leads from a box to the corrected one is the offset that was given."""
    x, y, w, h = box
    ((_, _, *found),) = selected([offset], [[0]], [[x, y, x + w, y + h]], variances=variances)
    width, height = found[2] - found[0], found[3] - found[1]
    centre = ((found[0] + found[2]) / 2 - x - w / 2) / w, ((found[1] + found[3]) / 2 - y - h / 2) / h
    by = [float(number) for number in variances.split()]
    encoded = [*centre, math.log(width / w), math.log(height / h)]
    assert [n / v for n, v in zip(encoded, by, strict=True)] == pytest.approx(offset, abs=1e-6)


def behind(drawing: Drawing, id: str, face: str, by: str, back: str, **attributes) -> str:
    drawing.add(id, face)
    drawing.connect(back, id, by, **attributes)
    return id


def tiny() -> Drawing:
    """A detector of two levels, whose proposals are then looked at and named."""
    drawing = Drawing("tiny detector", "float64")
    drawing.add("x", "2D-data", channels=2, height=8, width=8)
    behind(drawing, "a", "2D-tanh", "convolution", "x", kernels=3, kernel=3, padding=1)
    behind(drawing, "b", "2D-tanh", "convolution", "a", kernels=3, kernel=3, stride=2, padding=1)
    for level in ("a", "b"):
        behind(drawing, f"box-{level}", "2D-identical", "convolution", level, kernels=8, kernel=1)
        behind(drawing, f"cls-{level}", "2D-sigmoid", "convolution", level, kernels=2, kernel=1)
    anchored = {"scales": "3 5", "ratios": "1 2", "strides": "1 2", "picture": 8, "variances": "1 1 1 1"}
    for id in ("rpn", "proposals"):
        drawing.add(id, "2D-selection", count=5, before=50, probabilities=True, **anchored)
        for level in ("a", "b"):
            drawing.connect(f"box-{level}", id, "transfer")
            drawing.connect(f"cls-{level}", id, "transfer", port="scores")
    drawing.add("inside", "2D-region", bins=2, strides="1 2", usual=64)
    for level in ("a", "b"):
        drawing.connect(level, "inside", "transfer")
    drawing.connect("proposals", "inside", "transfer", port="boxes")
    behind(drawing, "seen", "2D-tanh", "full", "inside", height=4, list="depth")
    behind(drawing, "cls", "2D-identical", "full", "seen", height=3)
    behind(drawing, "box", "2D-identical", "full", "seen", height=12)
    drawing.add("detections", "2D-selection", count=4, picture=8)
    drawing.connect("box", "detections", "transfer")
    drawing.connect("cls", "detections", "transfer", port="scores")
    drawing.connect("proposals", "detections", "transfer", port="boxes")
    return drawing


def test_a_loss_is_given_candidates() -> None:
    """Rows of offsets, logits and boxes, whose gradients by both ways are the same and pass no box."""
    network = check(tiny()).network
    assert network.outputs == ("rpn", "detections")
    facts = facts_of(network)
    assert [(f.scores, f.variances) for f in facts.outputs] == [(1, (1, 1, 1, 1)), (3, (0.1, 0.1, 0.2, 0.2))]
    x = torch.randn(2, 2, 8, 8, dtype=FLOAT, generator=torch.Generator().manual_seed(3))
    both = dict.fromkeys(network.outputs, "U")
    module = build(network, both)
    initialise(module, network, 1)
    rows = module(x)
    assert [tuple(value.shape) for value in rows] == [(2, 1, 2 * 64 + 2 * 16, 4 + 1 + 4), (2, 1, 5, 12 + 3 + 4)]
    full = build(network)
    load_weights(full, weights_of(module))
    seen = full(x)
    assert [tuple(value.shape) for value in seen] == [(2, 1, 5, 6), (2, 1, 4, 6)]
    assert not any(value.requires_grad for value in seen)
    torch.testing.assert_close(rows[1][..., -4:].detach(), seen[0][..., -4:])
    slopes = [torch.randn(value.shape, dtype=FLOAT, generator=torch.Generator().manual_seed(4)) for value in rows]
    sum((value * slope).sum() for value, slope in zip(rows, slopes, strict=True)).backward()
    program = lower_to_steps(network, training=True)
    lowered = lower_to_layers(program, both)
    seeds = [Seed(n, by_autograd(lambda value, slope: (value * slope).sum())) for n in lowered.returned]
    planned = plan(lowered, seeds, gradients=program.weights.values())
    stored = weights_of(module)
    with torch.no_grad():
        *_, found = planned.run([x], [stored[name] for name in program.weights], slopes)
    for name, slope in zip(program.weights, found, strict=True):
        theirs = named_weights(module)[name].grad
        assert theirs.abs().max() > 0, name
        torch.testing.assert_close(slope, theirs, rtol=1e-9, atol=1e-11)


def test_the_printed_detector_names_torch_alone() -> None:
    source = source_of(check(tiny()).network)
    assert {line for line in source.splitlines() if "import" in line} == {
        "import torch",
        "from torch import Tensor, nn",
        "from torch.nn import functional as F",
    }
    namespace: dict = {}
    exec(compile(source, "tiny", "exec"), namespace)  # noqa: S102 - our own print
    made = namespace["TinyDetector"]()(torch.randn(1, 2, 8, 8, dtype=FLOAT))
    assert [tuple(value.shape) for value in made] == [(1, 1, 5, 6), (1, 1, 4, 6)]


def test_all_gradients_of_a_detector() -> None:
    """Those of its rows too, which pass the region and no box."""
    drawing = tiny()
    for id in ("rpn", "detections"):
        drawing.remove(id)
    for drawn in (tiny(), drawing):
        found = {one.symbol: one for one in check_gradients(check(drawn).network, numbers=2)}
        assert all(one.passed for one in found.values())
    assert found["region"].compared > 0


def test_levels_of_a_port_are_told_by_their_place() -> None:
    drawing = tiny()
    drawing.change("b-cls-b", kernels=3)
    (error,) = check(drawing).errors[:1]
    assert error.rule == "structure-mismatch"
    drawing = tiny()
    drawing.connect("x", "proposals", "convolution", port="scores", kernels=2, kernel=1)
    assert any("offsets enter by 2 connections, scores by 3" in e.message for e in check(drawing).errors)
