"""Spaces: every place of a drawing and a recipe has one path, mistakes are told before anything starts."""

from __future__ import annotations

import itertools
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkcap import Drawing, Recipe
from inkcap.network import check
from inkcap.recipes import DataSpec, LossSpec, OptimiserSpec
from inkcap.sweeps import SweepError, drawing_places, read_space, recipe_places, space_from_words, values_edit
from inkcap.sweeps.halving import promoted, rung_epochs
from inkcap.sweeps.proposals import guided_points, random_points


def drawn() -> Drawing:
    """Data, a convolution, a use of a group with arguments, an output that wears a part."""
    body = Drawing("inside", arguments={"kernels": 4, "function": 0.5})
    body.add("p", "2D-identical")
    body.then("q", "2D-elu", "convolution", kernels="=2*kernels", kernel=3, padding=1)
    drawing = Drawing("drawn")
    drawing.define("block", body)
    drawing.add("a", "2D-data", height=8, width=8, channels=1)
    drawing.then("b", "2D-relu", "convolution", kernels=8, kernel=3)
    drawing.then("g", "block", kernels=2)
    drawing.then("f", "1D-identical", "reshaping")
    drawing.then("y", "1D-softmax", "full", dimension=10)
    drawing.wear("b", "dropout", probability=0.3)
    return drawing


def recipe(**changes) -> Recipe:
    return Recipe(DataSpec("digits"), **changes)


def space(varied: object, drawing: Drawing | None = None, **changes):
    return read_space(varied, drawing or drawn(), recipe(**changes))


def test_the_grid_is_exactly_the_product_in_order():
    varied = {"recipe.batch": [32, 64], "drawing.a-b.kernels": [4, 8, 16], "recipe.seed": [0, 1]}
    found = [tuple(point.values()) for point in space(varied).grid()]
    assert found == list(itertools.product([32, 64], [4, 8, 16], [0, 1]))
    assert space(varied).grid_size() == len(found) == 12


@pytest.mark.parametrize(
    ("over", "points"),
    [
        ({"from": 0.001, "to": 0.1, "scale": "log", "points": 3}, [0.001, 0.01, 0.1]),
        ({"from": 0.0001, "to": 0.1, "scale": "log", "points": 4}, [0.0001, 0.001, 0.01, 0.1]),
        ({"from": 0, "to": 1, "points": 5}, [0, 0.25, 0.5, 0.75, 1]),
    ],
)
def test_a_range_gives_the_points_a_person_would_write(over, points):
    assert [*space({"recipe.optimiser.rate": over}).varied["recipe.optimiser.rate"].grid()] == points


def test_whole_numbers_of_a_range_stand_once():
    assert [*space({"recipe.batch": {"from": 1, "to": 3, "points": 9}}).varied["recipe.batch"].grid()] == [1, 2, 3]
    assert [*space({"recipe.batch": {"from": 8, "to": 128, "scale": "log"}}).varied["recipe.batch"].grid()] == [
        8, 16, 32, 64, 128,
    ]  # fmt: skip


def test_what_is_typed_means_what_json_says():
    words = {
        "recipe.optimiser.rate": "0.001..0.1 log 3",
        "drawing.b.kernels": "4, 8,16",
        "recipe.optimiser.kind": "sgd,adam",
        "recipe.batch": "[32, 64]",
        "recipe.signals": "true,false",
    }
    found = space_from_words(words, drawn(), recipe()).to_json()
    assert found == {
        "recipe.optimiser.rate": {"from": 0.001, "to": 0.1, "scale": "log", "points": 3},
        "drawing.a-b.kernels": [4, 8, 16],
        "recipe.optimiser.kind": ["sgd", "adam"],
        "recipe.batch": [32, 64],
        "recipe.signals": [True, False],
    }
    assert read_space(json.loads(json.dumps(found)), drawn(), recipe()).to_json() == found


def test_every_kind_of_place_takes_its_value():
    point = {
        "drawing.a-b.kernel": 5,
        "drawing.b.symbol": "tanh",
        "drawing.b.dropout.probability": 0.5,
        "drawing.g.kernels": 3,
        "drawing.g.repeat": 2,
        "drawing.block.q.alpha": 0.2,
        "drawing.block.function": 0.7,
        "recipe.optimiser.kind": "momentum",
        "recipe.optimiser.momentum": 0.8,
        "recipe.schedule.kind": "step",
        "recipe.schedule.every": 3,
        "recipe.data.normalise": "unit",
        "recipe.losses.y.label_smoothing": 0.1,
    }
    varied = {path: [value] for path, value in point.items()}
    found = space(varied, losses=(LossSpec("y", "cross-entropy"),), monitor="accuracy", optimiser=OptimiserSpec(rate=3))
    drawing, chosen = found.apply(point)
    assert drawing.connections["a-b"].attributes["kernel"] == 5
    assert drawing.capsules["b"].symbol == "tanh"
    assert drawing.capsules["b"].wears[0].attributes == {"probability": 0.5}
    assert (drawing.uses["g"].arguments, drawing.uses["g"].repeat) == ({"kernels": 3}, 2)
    assert drawing.groups["block"].arguments["function"] == 0.7
    assert drawing.groups["block"].capsules[1].attributes == {"alpha": 0.2}
    assert (chosen.optimiser.kind, chosen.optimiser.options["momentum"]) == ("momentum", 0.8)
    assert chosen.optimiser.rate == 0, "the rate of another optimiser is not carried over"
    assert chosen.schedule.options["every"] == 3
    assert chosen.losses[0].options == {"label_smoothing": 0.1}
    assert found.refusal(point) == ""
    assert drawn().to_text() == found.drawing.to_text(), "the drawing itself stays as it is"


def test_the_values_of_a_trial_are_one_edit_that_can_be_undone():
    drawing = drawn()
    before = drawing.to_text()
    places = drawing_places(drawing)
    drawing.apply(values_edit(drawing, [(places["drawing.b.kernels"], 3), (places["drawing.g.kernels"], 5)]))
    assert drawing.connections["a-b"].attributes["kernels"] == 3
    drawing.undo()
    assert drawing.to_text() == before


@pytest.mark.parametrize(
    ("varied", "words"),
    [
        ({}, "nothing is varied; give a path and its values"),
        ({"batch": [1]}, "begins with 'drawing.' or 'recipe.'"),
        ({"drawing.b.kernel-count": [1]}, "drawing.b has height, width, channels, slope"),
        ({"drawing.bb.kernels": [1]}, "did you mean drawing.b.kernels"),
        ({"recipe.optimiser.rat": [1]}, "recipe.optimiser has kind, rate, weight_decay"),
        ({"recipe.batch": []}, "give a list of values such as"),
        ({"recipe.batch": 32}, "give a list of values such as"),
        ({"recipe.batch": [32, 0]}, "recipe.batch[1]: 0 is not possible here; give a whole number from 1 to 1000000"),
        ({"recipe.batch": [32, 32]}, "recipe.batch[1]: 32 stands twice"),
        ({"drawing.a-b.kernels": [0]}, "drawing.a-b.kernels[0]: must be from 1 to"),
        ({"drawing.b.symbol": ["rleu"]}, "did you mean relu"),
        ({"recipe.optimiser.kind": {"from": 1, "to": 2}}, "only numbers have a range"),
        ({"recipe.optimiser.rate": {"from": 0, "to": 1, "scale": "log"}}, "a log range begins above 0"),
        ({"recipe.optimiser.rate": {"from": 1, "to": 0.1}}, "the lower one first"),
        ({"recipe.optimiser.rate": {"from": 1, "till": 2}}, "the name 'till' is not known"),
        ({"recipe.batch": {"from": 1, "to": 9, "points": 0}}, "recipe.batch.points: 0 is not a whole number from 1"),
        ({"recipe.monitor": ["loss"]}, "cannot be varied"),
        ({"recipe.threads": [1, 2]}, "give --at-once"),
        ({"recipe.data.normalise_targets": [True, False]}, "let a measure such as accuracy decide"),
        ({"drawing.b.kernels": [1], "drawing.a-b.kernels": [2]}, "which is varied already"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_the_next_step(varied, words):
    with pytest.raises(SweepError) as told:
        space(varied)
    assert words in str(told.value)


def test_a_point_without_a_network_says_why():
    found = space({"drawing.a-b.kernel": [3, 9], "recipe.optimiser.kind": ["sgd"], "recipe.optimiser.momentum": [0.5]})
    assert "the optimiser sgd has no option 'momentum'" in found.refusal(next(iter(found.grid())))
    found = space({"drawing.a-b.kernel": [3, 9]})
    good, bad = (found.refusal(point) for point in found.grid())
    assert good == ""
    assert "9" in bad


def test_every_place_takes_what_it_holds():
    drawing, chosen = drawn(), recipe()
    places = [*drawing_places(drawing).values(), *recipe_places(chosen).values()]
    assert len(places) > 60
    for place in places:
        if place.now is not None and not str(place.now).startswith("="):
            assert place.read(place.now) == place.now, place.path


@settings(deadline=None, max_examples=50)
@given(
    st.floats(1e-6, 1.0),
    st.floats(1.5, 1e4),
    st.booleans(),
    st.integers(1, 30),
    st.integers(0, 2**32 - 1),
)
def test_points_of_a_range_lie_in_it(low, times, log, points, seed):
    high = low * times
    if high > 1000:
        return
    over = {"from": low, "to": high, "scale": "log" if log else "linear", "points": points}
    found = space({"recipe.optimiser.rate": over})
    grid = found.varied["recipe.optimiser.rate"].grid()
    assert list(grid) == sorted(set(grid))
    assert len(grid) <= points
    drawn_points = [point["recipe.optimiser.rate"] for point in random_points(found, 3, seed)]
    for value in (*grid, *drawn_points):
        assert low <= value <= high
        assert found.apply({"recipe.optimiser.rate": value})[1].optimiser.rate == value


def test_random_points_are_different_and_the_same_each_time():
    found = space({"recipe.batch": [1, 2, 3], "drawing.a-b.kernel": [1, 2], "drawing.b.symbol": ["relu", "tanh"]})
    points = random_points(found, 100, 7)
    assert len(points) == 12, "there are no more"
    assert {json.dumps(point) for point in points} == {json.dumps(point) for point in found.grid()}
    assert points == random_points(found, 100, 7)
    assert points != random_points(found, 100, 8)


def test_guided_points_follow_what_was_found_and_the_record_alone_decides():
    found = space({"recipe.optimiser.rate": {"from": 1e-4, "to": 1.0, "scale": "log"}})
    known = [({"recipe.optimiser.rate": 10**-e}, abs(e - 2.0)) for e in (0, 0.5, 1, 1.5, 1.9, 2, 2.1, 2.5, 3, 3.5, 4)]
    points = guided_points(found, 8, 20, 0, known, "minimize")
    assert points == guided_points(found, 8, 20, 0, list(known), "minimize")
    near = [abs(math.log10(point["recipe.optimiser.rate"]) + 2) < 1 for point in points]
    assert sum(near) >= 6
    failed = [(point, None) for point, _ in known]
    assert len(guided_points(found, 2, 20, 0, failed, "minimize")) == 2


@given(st.integers(1, 1000), st.integers(1, 300), st.integers(2, 5))
def test_rungs_rise_by_the_factor_to_all_epochs(epochs, trials, factor):
    rungs = rung_epochs(epochs, trials, factor)
    assert rungs[-1] == epochs
    assert all(high // factor == low >= 1 for low, high in itertools.pairwise(rungs))
    assert trials // factor ** (len(rungs) - 1) >= 1, "somebody reaches the last rung"


def test_the_better_ones_go_on():
    assert rung_epochs(9, 9, 3) == (1, 3, 9)
    assert rung_epochs(9, 2, 3) == (9,)
    reached = [(1, 0.5), (2, None), (3, 0.1), (4, 0.1), (5, 0.9), (6, 0.2), (7, 0.3)]
    assert promoted(reached, 3, highest=False) == (3, 4)
    assert promoted(reached, 2, highest=True) == (5, 1, 7)
    assert promoted([(4, None)], 3, highest=True) == ()
    with pytest.raises(SweepError, match="--epochs 9"):
        rung_epochs(0, 9, 3)


def test_the_checked_drawing_is_well_formed():
    assert check(drawn()).well_formed
