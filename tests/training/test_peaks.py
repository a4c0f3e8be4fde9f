"""Memory of a step: what is estimated is what is measured, planned steps need no more, computing again needs less."""

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rewritten import branching_drawings, run_once
from small_zoo import LEARNING, draw_small, each_network
from training_alike import in_float64

from inkcap.bench.live_bytes import LiveBytes, peak_of, trained
from inkcap.drawing import Drawing
from inkcap.engine.losses import half_squares
from inkcap.engine.rewrites import USUAL
from inkcap.engine.universal import Seed, plan
from inkcap.network import as_plain, check
from inkcap.operations import VOCABULARY
from inkcap.program import lower_to_layers, lower_to_steps
from inkcap.program.kept import KEPT, PARTS
from inkcap.recipes import RecipeError
from inkcap.symbols import PARTS as WORN
from inkcap.training.recomputing import parts_in, places_of
from inkcap.zoo import NETWORKS

BATCH = 8


def learnable(drawing: Drawing) -> Drawing:
    """Take away choices of boxes, which learn by a loss of their own kind of data."""
    for id in set(check(drawing).outputs) & drawing.capsules.keys():
        if drawing.capsules[id].symbol == "selection":
            drawing.remove(id)
    return drawing


# Neurons in columns lie in arrays that torch does not see.
MEASURED = [name for name in LEARNING if as_plain(check(draw_small(name)).network).plain is None]


@pytest.mark.parametrize("name", each_network(MEASURED))
def test_the_estimate_is_within_15_percent_of_the_peak_and_planned_steps_need_no_more(name):
    case = trained(learnable(draw_small(name)), BATCH)
    eager = peak_of(case)
    assert case.estimate == pytest.approx(eager, rel=0.15)
    # Running numbers after the step stand beside those before it, and what a loss is computed from beside its gradient;
    # joined kernels weigh where there is little else.
    network = case.report.network
    outputs = BATCH * sum(network.capsules[id].output.bytes for id in network.outputs)
    assert peak_of(case, "explicit", USUAL) <= 1.02 * eager + outputs + 4096


FULL = {
    "lenet_fig21_32-64-512": 64, "lenet5_1998": 64, "alexnet_torchvision": 8, "vgg16": 1, "resnet18": 4,
    "googlenet_tv_main": 4, "densenet121": 2, "capsnet_sabour": 4, "unet": 1, "gpt_small": 16, "vit_b_16": 1,
    "mobilenet_v2": 4, "emcaps_A64_B8_C16_D16": 2, "squeezenet1_1": 4, "facenet_nn2": 2, "dncnn": 4,
}  # fmt: skip


@pytest.mark.soak
@pytest.mark.parametrize("name", FULL)
def test_so_it_is_in_full_size(name):
    case = trained(NETWORKS[name].draw(), FULL[name], "momentum")
    eager = peak_of(case)
    assert case.estimate == pytest.approx(eager, rel=0.15)
    assert peak_of(case, "explicit", USUAL) <= 1.02 * eager


@pytest.mark.parametrize("kind", ["sgd", "momentum", "adagrad", "adadelta", "rmsprop", "adamax", "nadam", "amsgrad"])
def test_the_estimate_knows_the_optimisers(kind):
    case = trained(draw_small("alexnet_torchvision"), BATCH, kind)
    assert case.estimate == pytest.approx(peak_of(case, steps=3), rel=0.15)


def test_what_autograd_keeps_is_told_of_every_operation_and_part():
    assert KEPT.keys() | {"curve"} == VOCABULARY.keys()
    assert PARTS.keys() == WORN.keys()


def planned(network, places=(), rewrites=()):
    program = lower_to_steps(network, training=True)
    lowered = lower_to_layers(program)
    return plan(
        lowered,
        [Seed(number, half_squares("mean"), 0.5 + i) for i, number in enumerate(lowered.returned)],
        steps=program.trace.steps,
        values=[*lowered.returned, *program.moved.values()],
        gradients=[n for name, n in program.weights.items() if network.weights[name].structure.dtype == "float64"],
        rewrites=rewrites,
        recomputed=parts_in(network.capsules, places),
    )


def run_counted(network, plan, seed=0):
    live = LiveBytes()
    with live:
        found = run_once(network, plan, seed, BATCH)
    return found, live.peak


def assert_same_bits(ours, theirs):
    """The same kernels see the same numbers: not only is it close."""
    for mine, other in zip(ours[1:], theirs[1:], strict=True):
        for a, b in zip(mine, other, strict=True):
            assert (a is None) == (b is None)
            assert a is None or torch.equal(a, b)
    assert torch.equal(ours[0], theirs[0])


@pytest.mark.parametrize("rewrites", [(), USUAL], ids=["as they are", "rewritten"])
@pytest.mark.parametrize(
    ("name", "group", "most"),
    [
        ("resnet18", "all", 0.95),
        ("densenet121", "all", 0.65),
        ("mobilenet_v2", "all", 0.65),
        ("vit_b_16", "block", 0.8),
    ],
)
def test_groups_that_are_computed_again_give_the_same_bits_with_less_memory(name, group, most, rewrites):
    drawing = draw_small(name)
    network = in_float64(drawing)
    places = places_of(drawing, [group])
    usual, before = run_counted(network, planned(network, (), rewrites))
    again, after = run_counted(network, planned(network, places, rewrites))
    assert_same_bits(again, usual)
    assert after < most * before


@settings(max_examples=15, deadline=None)
@given(drawing=branching_drawings(), data=st.data())
def test_any_capsules_of_any_drawing_may_be_computed_again(drawing, data):
    """Masks are drawn once and running numbers move once, wherever the border runs."""
    network = check(drawing).network
    ids = data.draw(st.lists(st.sampled_from(list(network.capsules)), min_size=1, unique=True))
    cut = data.draw(st.integers(0, len(ids)))
    program = lower_to_steps(network, training=True)
    lowered = lower_to_layers(program)
    seeds = [Seed(number, half_squares("mean")) for number in lowered.returned]
    for rewrites in ((), USUAL):
        plans = [
            plan(
                lowered,
                seeds,
                steps=program.trace.steps,
                values=[*lowered.returned, *program.moved.values()],
                gradients=program.weights.values(),
                rewrites=[name for name in rewrites if name not in ("filling", "growth")],
                recomputed=recomputed,
            )
            for recomputed in ((), (ids[:cut], ids[cut:]))
        ]
        assert_same_bits(*(run_once(network, found, 3, 4) for found in plans))


def test_masks_are_kept_and_nothing_is_repeated_that_nothing_reads():
    drawing = Drawing("masked", "float64")
    drawing.add("x", "1D-data", dimension=3)
    drawing.then("a", "1D-tanh", "full", dimension=4)
    drawing.then("b", "1D-relu", "full", dimension=4)
    drawing.wear("b", "dropout")
    drawing.then("o", "1D-identical", "full", dimension=2)
    network = check(drawing).network
    program = lower_to_steps(network, training=True)
    lowered = lower_to_layers(program)
    seeds = [Seed(number, half_squares()) for number in lowered.returned]
    found = plan(lowered, seeds, gradients=program.weights.values(), recomputed=[["a", "b"]]).source
    assert found.count("compute_random_mask(") == 1
    # What b gives is read on the way back before, so that it is still there; of a everything is computed again.
    assert found.count("tanh(") == 2
    assert found.count("linear(") == 3 + 2


def test_the_estimate_knows_what_is_computed_again():
    for name, group in (("densenet121", "all"), ("mobilenet_v2", "all"), ("resnet18", "block")):
        case = trained(draw_small(name), BATCH, recompute=(group,))
        assert case.estimate == pytest.approx(peak_of(case, "explicit", USUAL), rel=0.15), name
        assert case.estimate < 0.97 * trained(draw_small(name), BATCH).estimate


def test_groups_are_named_by_themselves_by_their_uses_or_by_paths():
    densenet, resnet = draw_small("densenet121"), draw_small("resnet18")
    assert places_of(resnet, ["L1"]) == ("L1.0", "L1.1")
    assert places_of(resnet, ["L1.1", "widen"]) == ("L1.1", "L2-0", "L3-0", "L4-0")
    assert places_of(densenet, ["all"]) == tuple(densenet.uses)
    assert places_of(densenet, ["B1.l2", "B1"]) == ("B1",)
    assert "B2.l3" in places_of(densenet, ["dense"])


def test_a_group_that_there_is_not_is_named_with_those_that_there_are():
    with pytest.raises(RecipeError, match=re.escape("no group 'blok'; its groups are block, widen, used as L1, L2-0")):
        places_of(draw_small("resnet18"), ["blok"])
    with pytest.raises(RecipeError, match="the drawing uses none; leave recompute out"):
        places_of(draw_small("vgg11"), ["all"])
