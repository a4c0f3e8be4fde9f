"""Rewrites save work and change nothing: losses, values, states that move and all gradients stay, in float64."""

from __future__ import annotations

import re
from itertools import permutations

import pytest
import torch
from drawn import random_drawings
from hypothesis import given, settings
from hypothesis import strategies as st
from rewritten import assert_same_results, branching_drawings, planned, run_once
from small_zoo import draw_small
from torch.func import functionalize
from torch.fx.experimental.proxy_tensor import make_fx
from training_alike import in_float64

from inkcap.drawing import Drawing
from inkcap.engine.rewrites import REWRITES, TRACEABLE, USUAL
from inkcap.network import Network, check
from inkcap.structures import InkcapError

ALL = tuple(REWRITES)
OF_STEPS = tuple(name for name in ALL if REWRITES[name].steps)


@settings(max_examples=30, deadline=None)
@given(random_drawings(), st.lists(st.sampled_from(ALL), unique=True))
def test_random_drawings_stay_as_they_are(drawing: Drawing, names: list[str]) -> None:
    network = in_float64(drawing)
    assert_same_results(network, names)
    assert_same_results(network, ALL)


@settings(max_examples=60, deadline=None)
@given(branching_drawings(), st.lists(st.sampled_from(ALL), unique=True), st.data())
def test_branching_drawings_stay_as_they_are(drawing: Drawing, names: list[str], data: st.DataObject) -> None:
    """Any of the rewrites in any order, and all of them, whatever is asked for."""
    network = check(drawing).network
    capsules = st.lists(st.sampled_from(list(network.capsules)), max_size=2, unique=True)
    asked = {"values": data.draw(capsules), "graded": data.draw(capsules)}
    assert_same_results(network, names, **asked)
    assert_same_results(network, ALL, **asked)


@pytest.mark.parametrize(
    ("name", "working"),
    [
        ("lenet-digits", {"dead", "pooling", "in-place"}),
        ("googlenet_caffe_main", {"siblings", "small-maps", "pooling", "filling", "in-place"}),
        ("googlenet_tv_main", {"siblings", "pooling", "normalisation", "filling", "in-place"}),
        ("resnet18", {"small-maps", "pooling", "normalisation", "in-place"}),
        ("capsnet_sabour", {"common", "in-place"}),
        ("vit_b_16", {"siblings", "in-place"}),
        ("gpt_small", {"siblings", "in-place"}),
    ],
)
def test_networks_of_the_zoo_stay_as_they_are(name: str, working: set[str]) -> None:
    network = in_float64(draw_small(name))
    before = planned(network).source
    # Cross-entropy is taken from U, so that a softmax at the end is dead there; here every output has a loss.
    assert {one for one in ALL if planned(network, [one]).source != before} == working - {"dead"}
    for one in working - {"dead"}:
        assert_same_results(network, [one], batch=4)
    assert_same_results(network, ALL, batch=4)
    if "siblings" in working:
        assert_same_results(network, ALL, batch=4, layout=torch.channels_last)


def test_a_dense_network_stays_as_it_is() -> None:
    network = in_float64(_dense(6))
    for names in (["growth"], ["growth", "in-place"], ["normalisation", "growth"], ALL):
        before, after = assert_same_results(network, names, batch=4)
        assert before.count("torch.cat(") == 6
        assert "torch.cat(" not in after
        assert_same_results(network, names, batch=4, layout=torch.channels_last)


def test_growing_concatenations_collect_their_gradients_in_the_longest() -> None:
    network = in_float64(_dense(6))
    before, after = assert_same_results(network, ["normalisation", "collecting", "in-place"], batch=4)
    # c1 is h0 alone, and so is no concatenation; "all" is the longest.
    assert len(re.findall(r"d_(U_c\d) = d_\1\.add_\(p_\w+\[0\]\)", after)) == 5
    assert before.count("torch.cat(") == after.count("torch.cat(") == 6
    assert "torch.cat((Y_h0, Y_h1,), 1)" in after
    assert "torch.cat((U_c2, Y_h2,), 1)" in after
    _, asked = assert_same_results(network, ["collecting"], batch=4, graded=["c3"])
    assert "torch.cat((Y_h0, Y_h1, Y_h2, Y_h3,), 1)" in asked


def _dense(layers: int) -> Drawing:
    drawing = Drawing("dense", "float64")
    drawing.add("x", "2D-data", height=4, width=4, channels=1)
    seen = [drawing.then("h0", "2D-relu", "convolution", kernels=3, kernel=3, padding=1)]
    for i in range(1, layers + 1):
        drawing.add(f"c{i}", "2D-relu", bias="none")
        for back in seen:
            drawing.connect(back, f"c{i}", "inject" if len(seen) > 1 else "transfer")
        drawing.wear(f"c{i}", "batch-norm")
        seen.append(drawing.then(f"h{i}", "2D-identical", "convolution", kernels=2, kernel=3, padding=1, bias="none"))
    drawing.add("all", "2D-relu", bias="none")
    for back in seen:
        drawing.connect(back, "all", "inject")
    return drawing


def _siblings(**other: object) -> Network:
    """Draw two capsules that convolve one input, the second with other attributes."""
    drawing = Drawing("siblings", "float64")
    drawing.add("x", "2D-data", height=6, width=6, channels=2)
    drawing.add("h", "2D-relu")
    drawing.connect("x", "h", "convolution", kernels=4, kernel=3, padding=1)
    usual = {"kernels": 4, "kernel": 3, "padding": 1}
    for i, attributes in enumerate(({}, {}, other)):
        drawing.add(f"h{i}", "2D-tanh", bias=attributes.pop("bias", "channel"))
        tie = attributes.pop("tie", "")
        drawing.connect("h", f"h{i}", "convolution", tie=tie, **{**usual, **attributes})
        if tie:
            drawing.add("tied", "2D-tanh")
            drawing.connect("h", "tied", "convolution", tie=tie, **usual)
    return check(drawing).network


def test_siblings_are_one_convolution_and_one_function() -> None:
    before, after = assert_same_results(_siblings(), ["siblings"])
    assert before.count("conv2d(") == 4
    assert after.count("conv2d(") == 2
    assert after.count("convolution_backward(") == 2
    assert after.count("tanh(") == after.count("tanh_backward(") == 1
    # Five kernels and biases of each kind are laid together, and their gradients are slices.
    assert "d_W_h_h1_weight = d_V_h0[4:8]" in after
    assert "d_W_h2_bias = d_V_h0_2[8:12]" in after


def test_siblings_whose_values_are_asked_for_keep_their_functions_apart() -> None:
    asked = {"values": ["h1"], "graded": ["h1", "h2"]}
    _, after = assert_same_results(_siblings(), ["siblings"], **asked)
    assert after.count("conv2d(") == 2
    assert after.count("tanh(") == 3


@pytest.mark.parametrize(
    "other",
    [
        {"kernel": 1, "padding": 0},
        {"groups": 2},
        {"stride": 2},
        {"dilation": 2, "padding": 2},
        {"bias": "none"},
        {"tie": "t"},
    ],
    ids=str,
)
def test_other_geometry_groups_and_ties_are_no_siblings(other: dict) -> None:
    convolutions = 5 if "tie" in other else 4
    before, after = assert_same_results(_siblings(**other), ["siblings"])
    assert before.count("conv2d(") == convolutions
    assert after.count("conv2d(") == convolutions - 1


def test_a_sibling_on_which_no_loss_depends_has_no_gradient() -> None:
    drawing = Drawing("half", "float64")
    drawing.add("x", "1D-data", dimension=3)
    drawing.add("h", "1D-tanh", dimension=4)
    drawing.connect("x", "h", "full")
    for i in range(3):
        drawing.add(f"o{i}", "1D-identical" if i != 1 else "1D-step", dimension=2)
        drawing.connect("h", f"o{i}", "full")
    _, after = assert_same_results(check(drawing).network, ["siblings"])
    assert after.count("linear(") == 3
    assert re.search(r"= torch.cat\(\(d_U_o0, d_U_o2,\), 1\)", after)


def _small(height: int, width: int, **attributes: object) -> Network:
    drawing = Drawing("small", "float64")
    drawing.add("x", "2D-data", height=height, width=width, channels=2)
    drawing.then("h", "2D-tanh", "convolution", kernels=3, kernel=1)
    drawing.then("y", "2D-tanh", "convolution", kernels=4, **attributes)
    return check(drawing).network


@pytest.mark.parametrize(
    ("sizes", "attributes", "written"),
    [
        ((1, 1), {"kernel": 3, "padding": 1}, "small_convolved"),
        ((2, 2), {"kernel": 3, "padding": 1}, "small_convolved"),
        ((2, 3), {"kernel": 3, "padding": 1}, "small_convolved"),
        ((2, 2), {"kernel": 3, "padding": 1, "stride": 2}, "small_convolved"),
        ((4, 2), {"kernel": 3, "padding": 2, "dilation": 2}, "small_convolved"),
        ((3, 3), {"kernel": 5, "padding": 4}, "small_convolved"),
        ((2, 2), {"kernel": 1}, "pointwise"),
        ((2, 2), {"kernel": 1, "padding": 1}, "conv2d"),
        ((4, 4), {"kernel": 3, "padding": 1}, "conv2d"),
    ],
    ids=str,
)
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_convolutions_of_small_maps_are_matrices(
    sizes: tuple[int, int], attributes: dict, written: str, layout: torch.memory_format
) -> None:
    _, after = assert_same_results(_small(*sizes, **attributes), ["small-maps"], batch=4, layout=layout)
    assert re.search(rf"U_y = {written}\(", after)


def _pooled(symbol: str = "2D-relu", **pool: object) -> Drawing:
    drawing = Drawing("pooled", "float64")
    drawing.add("x", "2D-data", height=6, width=6, channels=1)
    drawing.add("h", symbol, bias="channel")
    drawing.connect("x", "h", "convolution", kernels=2, kernel=3, padding=1)
    drawing.then("m", "2D-downsampling", **{"window": 2, **pool})
    return drawing


def test_the_maximum_is_taken_before_a_relu_alone() -> None:
    _, after = assert_same_results(check(_pooled()).network, ["pooling"])
    assert after.index("max_pool2d(") < after.index("relu(")
    _, both = assert_same_results(check(_pooled()).network, ["pooling", "in-place"])
    assert "Y_m = relu_(V_m)" in both
    for drawing in (
        _pooled("2D-tanh"),
        _pooled("2D-sigmoid"),
        _pooled(kind="average"),
        _pooled(window=3, stride=1, padding=1),
    ):
        before, after = assert_same_results(check(drawing).network, ["pooling"])
        assert before == after


@pytest.mark.parametrize("asked", [{"values": ["h"]}, {"graded": ["m"]}])
def test_a_relu_that_is_asked_for_or_used_twice_stays_before_the_maximum(asked: dict) -> None:
    # Transfers give the maximum the very value that the ReLU made: its U is that capsule's Y.
    before, after = assert_same_results(check(_pooled()).network, ["pooling"], **asked)
    assert before == after
    twice = _pooled()
    twice.add("n", "2D-identical", bias="none")
    twice.connect("h", "n", "transfer")
    before, after = assert_same_results(check(twice).network, ["pooling"])
    assert before == after


@pytest.mark.parametrize(
    "pool", [{}, {"window": 3, "stride": 2, "edge": "ceil"}, {"window": 3, "stride": 3, "padding": 1, "edge": "ceil"}]
)
def test_ties_zeros_and_negative_windows_get_the_same_gradient_bit_by_bit(pool: dict) -> None:
    """All maps of few small whole numbers: windows full of ties, of zeros, and of nothing above 0."""
    drawing = Drawing("ties", "float64")
    drawing.add("x", "2D-data", height=6, width=6, channels=1)
    drawing.add("h", "2D-relu", bias="channel")
    drawing.connect("x", "h", "transfer")
    drawing.then("m", "2D-downsampling", **{"window": 2, **pool})
    network = check(drawing).network
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(-2, 3, (500, 1, 6, 6), generator=generator).double()
    x[::5] = x[::5].clamp_max(0)
    x[1::5] = -x[1::5].abs() * 0.0
    target = torch.randn((500, *network.capsules["m"].output.sizes), generator=generator, dtype=torch.float64)
    found = []
    for names in ((), ("pooling",), ALL):
        with torch.no_grad():
            plan = planned(network, names, graded=["h"])
            found.append(plan.run([x], [torch.zeros(1, dtype=torch.float64)], [target]))
    assert "relu(V_m)" in planned(network, ("pooling",), graded=["h"]).source
    for other in found[1:]:
        assert torch.equal(other[0], found[0][0])
        assert torch.equal(other[2][0], found[0][2][0])
        for ours, theirs in zip(other[3], found[0][3], strict=True):
            assert torch.equal(ours, theirs)


def test_a_normalisation_is_one_kernel_each_way_and_moves_its_states() -> None:
    drawing = Drawing("normal", "float64")
    drawing.add("x", "2D-data", height=3, width=3, channels=2)
    drawing.add("h", "2D-relu", bias="none")
    drawing.connect("x", "h", "convolution", kernels=4, kernel=1)
    drawing.wear("h", "batch-norm", momentum=0.3)
    network = check(drawing).network
    before, after = assert_same_results(network, ["normalisation"])
    assert "move_variance" in before
    assert "compute_" not in after
    assert after.count("normalised(") == after.count("normalised_backward(") == 1
    _, alone = assert_same_results(network, ["normalisation", "in-place"])
    assert "Y_h = relu_(V_h)" in alone


def test_a_normalisation_over_one_number_is_refused_as_torch_does() -> None:
    drawing = Drawing("one", "float64")
    drawing.add("x", "1D-data", dimension=2)
    drawing.then("h", "1D-tanh", "full", dimension=3)
    drawing.wear("h", "batch-norm")
    network = check(drawing).network
    for names in ([], ["normalisation"]):
        with pytest.raises(ValueError, match="more than 1 value per channel"):
            run_once(network, planned(network, names), batch=1)


def test_relus_fill_the_concatenation_that_they_enter() -> None:
    drawing = Drawing("filled", "float64")
    drawing.add("x", "2D-data", height=4, width=4, channels=2)
    for name, symbol in (("a", "2D-relu"), ("b", "2D-tanh"), ("c", "2D-relu"), ("d", "2D-relu")):
        drawing.add(name, symbol)
        drawing.connect("x", name, "convolution", kernels=3, kernel=1)
    drawing.add("cat", "2D-identical", bias="none")
    for name in "abcd":
        drawing.connect(name, "cat", "inject")
    drawing.then("o", "2D-identical", "convolution", kernels=1, kernel=1)
    network = check(drawing).network
    before, after = assert_same_results(network, ["filling"])
    assert "torch.cat(" in before
    assert "torch.cat(" not in after
    assert after.count("relu_into(") == 3
    assert after.count(".copy_(Y_b)") == 1
    _, asked = assert_same_results(network, ["filling"], values=["c"])
    assert asked.count("relu_into(") == 2


def test_a_growing_concatenation_whose_gradient_is_asked_for_ends_its_chain() -> None:
    network = in_float64(_dense(4))
    _, after = assert_same_results(network, ["growth"], batch=4)
    assert after.count("room_like(") == 1
    _, parted = assert_same_results(network, ["growth"], batch=4, graded=["c3"])
    assert parted.count("room_like(") == 2


def test_dead_steps_go_and_what_moves_a_state_stays() -> None:
    network = in_float64(draw_small("lenet-digits"))
    from inkcap.engine.losses import loss_with_gradient
    from inkcap.engine.universal import Seed, plan
    from inkcap.program import lower_to_layers, lower_to_steps

    program = lower_to_steps(network, training=True)
    lowered = lower_to_layers(program, {network.outputs[0]: "U"})
    seeds = [Seed(lowered.returned[0], loss_with_gradient("cross-entropy"))]
    sources = [plan(lowered, seeds, steps=program.trace.steps, rewrites=names).source for names in ((), ("dead",))]
    assert "softmax(" in sources[0]
    assert "softmax(" not in sources[1]
    states = in_float64(_dense(3))
    before, after = assert_same_results(states, ["dead"], batch=4)
    assert before == after


def _twice(symbol: str, part: str = "") -> Network:
    drawing = Drawing("twice", "float64")
    drawing.add("x", "1D-data", dimension=4)
    drawing.then("h", "1D-tanh", "full", dimension=4)
    for name in ("a", "b"):
        drawing.add(name, symbol, bias="none")
        drawing.connect("h", name, "transfer")
        if part:
            drawing.wear(name, part)
    drawing.add("o", "1D-identical", bias="none")
    drawing.connect("a", "o", "transfer")
    drawing.connect("b", "o", "transfer")
    return check(drawing).network


def test_equal_steps_are_computed_once_unless_drawn() -> None:
    before, after = assert_same_results(_twice("1D-sigmoid"), ["common"])
    assert before.count("sigmoid(") == 2
    assert after.count("sigmoid(") == 1
    _, asked = assert_same_results(_twice("1D-sigmoid"), ["common"], values=["a", "b"])
    assert asked.count("sigmoid(") == 1
    _, drawn = assert_same_results(_twice("1D-sigmoid", "dropout"), ["common"])
    assert drawn.count("sigmoid(") == 1
    assert drawn.count("compute_random_mask(") == 2


def test_nothing_is_overwritten_that_is_read_again() -> None:
    _, after = assert_same_results(_twice("1D-relu"), ["in-place"])
    # U of both is Y of h: neither ReLU may have its memory; the sum is new, and its gradient shared by two.
    assert "relu_(" not in after
    assert "Y_o = Y_a.add_(Y_b)" not in after
    assert "threshold_backward_(" not in after.split("Y_b, 0)")[0].split("d_U_o")[-1]


def test_a_gradient_that_two_values_share_is_not_overwritten() -> None:
    drawing = Drawing("residual", "float64")
    drawing.add("x", "1D-data", dimension=3)
    drawing.then("h", "1D-tanh", "full", dimension=3)
    drawing.then("k", "1D-tanh", "full", dimension=3)
    drawing.add("s", "1D-tanh", bias="none")
    drawing.connect("h", "s", "transfer")
    drawing.connect("k", "s", "transfer")
    drawing.then("o", "1D-identical", "full", dimension=1)
    network = check(drawing).network
    for asked in ({}, {"graded": ["s"]}, {"graded": ["k", "s"]}, {"values": ["s", "k"], "graded": ["h"]}):
        _, after = assert_same_results(network, ["in-place"], **asked)
        assert ("d_Y_h = d_Y_h.add_(" in after) == (not asked or asked["graded"] == ["h"]), asked


def test_orders_of_rewrites_that_touch_one_another() -> None:
    """Siblings, normalisation, filling and growth look at the same concatenations and functions."""
    drawing = Drawing("orders", "float64")
    drawing.add("x", "2D-data", height=4, width=4, channels=2)
    for name in "abc":
        drawing.add(name, "2D-relu", bias="none")
        drawing.connect("x", name, "convolution", kernels=2, kernel=1)
    drawing.wear("c", "batch-norm")
    for front, backs in (("two", "ab"), ("three", "abc")):
        drawing.add(front, "2D-relu", bias="none")
        for back in backs:
            drawing.connect(back, front, "inject")
        drawing.then(f"m{front}", "2D-downsampling", window=2)
    network = check(drawing).network
    for names in permutations([name for name in OF_STEPS if name not in ("dead", "common", "pooling")]):
        assert_same_results(network, [*names, "in-place"])


def test_what_is_rewritten_is_traced_as_one_piece() -> None:
    network = in_float64(_dense(3))
    for names, prepared in ((TRACEABLE, lambda f: f), (USUAL, functionalize), (ALL, functionalize)):
        plan = planned(network, names)
        taken: list = []

        def whole(inputs, weights, targets, plan=plan, taken=taken):
            taken[:] = [inputs, weights, targets]
            return plan.run(inputs, weights, targets)

        class Recorded:
            run = staticmethod(whole)

        expected = run_once(network, Recorded, batch=4)
        with torch.no_grad():
            graph = make_fx(prepared(plan.run))(*taken)
            found = graph(*taken)
        written = [
            str(node.target)
            for node in graph.graph.nodes
            if re.search(r"_\.default|\.out|grad_input", str(node.target))
        ]
        assert not written
        for ours, theirs in zip(found[3], expected[3], strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


def test_a_clock_hears_of_capsules_alone() -> None:
    from inkcap.engine.losses import half_squares
    from inkcap.engine.universal import Seed, plan
    from inkcap.program import lower_to_layers, lower_to_steps

    network = in_float64(_dense(3))
    program = lower_to_steps(network, training=True)
    lowered = lower_to_layers(program)
    heard: list[str] = []
    seeds = [Seed(number, half_squares()) for number in lowered.returned]
    found = plan(lowered, seeds, gradients=program.weights.values(), clock=heard.append, rewrites=ALL)
    run_once(network, found, batch=4)
    assert set(heard) == {*network.capsules, ""} - {"x"}


def test_a_name_that_there_is_not_is_named() -> None:
    with pytest.raises(InkcapError, match="there is no rewrite 'fusion'; there are dead, common"):
        planned(_siblings(), ["fusion"])


def test_every_rewrite_has_one_sentence() -> None:
    for rewrite in REWRITES.values():
        assert rewrite.meaning.endswith(".")
        assert ". " not in rewrite.meaning
        assert (rewrite.steps is None) != (rewrite.source is None)
