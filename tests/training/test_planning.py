"""Plans: numbers that were computed by hand come out, and what holds for every plan holds for many."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkcap.drawing import Drawing, Edit, Plain, Put
from inkcap.network import NotWellFormed, check
from inkcap.recipes import DataSpec, OptimiserSpec, Recipe
from inkcap.recipes.checkpoints import list_checkpoints
from inkcap.training import train
from inkcap.training.needs import estimate_before
from inkcap.training.planning import Line, Place, PlanError, Question, load_of, make_plan, sent_bytes
from inkcap.zoo import draw

SLOW = Place(rate=3000.0, link=1000.0, latency=0.01, store=100.0)
ADAM = Recipe(DataSpec("any"))


def perceptron(inputs: int, outputs: int) -> Drawing:
    drawing = Drawing("perceptron")
    drawing.add("x", "1D-data", dimension=inputs)
    drawing.then("y", "1D-softmax", "full", dimension=outputs)
    return drawing


def lines(drawing: Drawing, place: Place, asked: Question) -> dict[int, Line]:
    return {line.workers: line for line in make_plan(check(drawing), place, asked).lines}


SMALL = perceptron(10, 5)
"""50 weights and 5 biases in float32: 220 bytes; 50 multiply-adds."""
WIDE = perceptron(4096, 4096)
"""4096 · 4097 numbers of 4 bytes: 67 125 248 bytes, which are three buckets."""


def test_a_step_that_was_computed_by_hand() -> None:
    line = lines(SMALL, SLOW, Question(4, batch=8, samples=100))[4]
    # 2 · 3 · 50 · 2 operations at 3000 a second.
    assert line.share == 2
    assert line.computing == pytest.approx(0.2)
    # 2 · 3/4 · 220 bytes at 1000 a second, and 2 · 3 messages of 10 ms; one bucket hides nowhere. As many messages more
    # tell the loss.
    assert line.exchanged == 330
    assert line.exchanging == line.waiting == pytest.approx(0.33 + 0.06 + 0.06)
    assert line.step == pytest.approx(0.65)
    assert line.throughput == pytest.approx(8 / 0.65)
    # Four workers that need not wait would take 0.2 s.
    assert line.efficiency == pytest.approx(0.2 / 0.65)
    # Twelve whole batches, and four samples, of which each worker has one.
    assert line.epoch == pytest.approx(12 * 0.65 + 0.1 + 0.45)


def test_a_worker_alone_waits_for_nobody() -> None:
    line = lines(SMALL, SLOW, Question(batch=8))[1]
    assert (line.exchanged, line.exchanging, line.waiting, line.efficiency) == (0, 0.0, 0.0, 1.0)
    assert line.computing == pytest.approx(0.8)
    assert line.epoch is None


def test_a_batch_of_each_worker_keeps_computing_as_it_is() -> None:
    weak = lines(SMALL, SLOW, Question(4, batch=2, each=True))
    assert {one.computing for one in weak.values()} == {weak[1].computing}
    assert [weak[n].batch for n in (1, 2, 4, 8, 512)] == [2, 4, 8, 16, 1024]
    # The same step as that of a batch of eight which four workers share.
    strong = lines(SMALL, SLOW, Question(4, batch=8))
    assert weak[4] == strong[4]


def test_buckets_hide_behind_the_way_back() -> None:
    place = Place(rate=1e9, link=1e9, latency=0.001, store=1e9)
    size, computing = 4096 * 4097 * 4, 6 * 4096 * 4096 * 64 / 1e9
    plan = make_plan(check(WIDE), place, Question(2, batch=128))
    assert plan.load.parts(sharded=False) == 3
    line = plan.lines[1]
    moving, agreeing = size / 1e9 + 2 * 3 * 0.001, 2 * 0.001
    assert line.exchanging == pytest.approx(moving + agreeing)
    # Computing is long, so that two buckets of three hide; where it is short, they hide in two thirds of two thirds.
    assert line.waiting == pytest.approx(moving / 3 + agreeing)
    fast = replace(place, rate=1e12)
    assert lines(WIDE, fast, Question(2, batch=128))[2].waiting == pytest.approx(
        moving + agreeing - (2 / 3) * (2 / 3) * computing / 1000
    )
    shown = lines(WIDE, place, Question(2, batch=128, hidden=False))[2]
    assert shown.waiting == shown.exchanging == pytest.approx(moving + agreeing)


def test_shards_send_three_times_and_keep_a_part() -> None:
    place = Place(rate=1e9, link=1e9, latency=0.001, store=1e9)
    whole = lines(WIDE, place, Question(8, batch=64))[8]
    shared = lines(WIDE, place, Question(8, batch=64, sharded=True))[8]
    size = 4096 * 4097 * 4
    assert shared.exchanged == 3 * size * 7 // 8
    # Two units: the one large weight, and the biases. Three times seven messages each, and twice seven tell the loss.
    assert shared.exchanging == pytest.approx(3 * size * 7 / 8 / 1e9 + 3 * 7 * 2 * 0.001 + 2 * 7 * 0.001)
    needs = estimate_before(check(WIDE), Recipe(DataSpec("any"), batch=8))
    assert whole.memory == needs.total + size
    # Both are whole in the end, as there is but one large weight.
    part = -(-needs.weights // 8) + -(-needs.optimiser // 8)
    assert shared.memory == part + size + needs.activations
    # One worker gets what the seven others hold: the weights, and twice as much that the optimiser remembers.
    load = load_of(check(WIDE), ADAM)
    assert load.checkpoint == 4 * size + 8
    assert shared.saving == pytest.approx(whole.saving + (3 * size + 8) * 7 / 8 / 1e9)


def test_only_what_learns_is_sent_and_all_is_stored() -> None:
    drawing = Drawing("frozen")
    drawing.add("x", "1D-data", dimension=10)
    drawing.then("h", "1D-tanh", "full", dimension=6, trainable=False)
    drawing.then("y", "1D-softmax", "full", dimension=5)
    load = load_of(check(drawing), ADAM)
    # 10 · 6 weights stay; 6 biases and 6 · 5 weights with 5 biases learn.
    assert (load.gradients, load.weights) == (4 * 41, 4 * 101)
    assert sent_bytes(load, 2, sharded=True) == (2 * 404 + 164) // 2


def test_numbers_of_half_the_size_are_half_the_bytes() -> None:
    half = Drawing("half", dtype="float16")
    half.add("x", "1D-data", dimension=10)
    half.then("y", "1D-identical", "full", dimension=5)
    assert load_of(check(half), ADAM).gradients == 110


@pytest.mark.parametrize("optimiser", ["adam", "momentum", "sgd"])
def test_a_checkpoint_has_the_bytes_that_the_plan_tells(tmp_path, optimiser) -> None:
    drawing, spec = draw("lenet-digits"), OptimiserSpec(optimiser)
    run = train(drawing, Recipe(DataSpec("digits"), optimiser=spec, epochs=1), tmp_path).run
    (newest, *_) = list_checkpoints(run.path / "checkpoints")
    written = sum(file.stat().st_size for file in newest.iterdir())
    planned = load_of(check(drawing), Recipe(DataSpec("digits"), optimiser=spec)).checkpoint
    assert planned == pytest.approx(written, rel=0.04)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (Question(0), "--workers 0: give 1 to 4096 workers"),
        (Question(5000, batch=10_000), "--workers 5000: give 1 to 4096 workers"),
        (Question(9, batch=8), "--workers 9: a batch of 8 has no sample for each of them; give --batch 9 or more"),
        (Question(batch=0), "at least 1 sample"),
        (Question(samples=0), "at least 1 sample"),
    ],
)
def test_what_cannot_be_planned_is_told(asked, words) -> None:
    with pytest.raises(PlanError, match=words.replace("(", r"\(")):
        make_plan(check(SMALL), SLOW, asked)


def test_drawings_without_work_or_with_errors_are_refused() -> None:
    fixed = Drawing("fixed")
    fixed.add("x", "1D-data", dimension=4)
    fixed.then("y", "1D-tanh", "transfer", bias="none")
    with pytest.raises(PlanError, match="fixed: none of its weights learns"):
        make_plan(check(fixed), SLOW, Question())
    biased = Drawing("biased")
    biased.add("x", "1D-data", dimension=4)
    biased.then("y", "1D-tanh", "transfer", bias="full")
    with pytest.raises(PlanError, match="biased: it has no multiply-adds"):
        make_plan(check(biased), SLOW, Question())
    columns = Drawing("columns")
    columns.apply(Edit("block", (Put(Plain(("data", "relu"), (0.0, 0.0), (0,), (1,), (1.0,))),)))
    with pytest.raises(PlanError, match="columns: neurons in columns learn in one process"):
        make_plan(check(columns), SLOW, Question())
    with pytest.raises(NotWellFormed):
        make_plan(check(Drawing("empty")), SLOW, Question())


def test_a_batch_too_small_leaves_rows_out() -> None:
    plan = make_plan(check(SMALL), SLOW, Question(3, batch=8))
    assert [line.workers for line in plan.lines] == [1, 2, 3, 8]
    assert plan.left_out == (64, 512)
    # The worker that has most decides: three of eight samples.
    assert plan.lines[2].share == 3


NETWORKS = [check(drawing) for drawing in (SMALL, WIDE, draw("lenet-digits"), draw("mlp"))]
POSITIVE = st.floats(1e3, 1e15)


@settings(max_examples=60)
@given(
    report=st.sampled_from(NETWORKS),
    place=st.builds(Place, POSITIVE, POSITIVE, st.floats(0, 1), POSITIVE),
    asked=st.builds(
        Question,
        st.integers(1, 512),
        batch=st.integers(512, 5000),
        each=st.booleans(),
        samples=st.integers(1, 10**7),
        sharded=st.booleans(),
        hidden=st.booleans(),
    ),
)
def test_no_workers_are_more_than_their_sum(report, place, asked) -> None:
    plan = make_plan(report, place, asked)
    least = plan.load.multiply_adds * 6 / place.rate
    for line in plan.lines:
        assert 0 < line.efficiency <= 1 + 1e-12
        assert -1e-9 * line.exchanging <= line.waiting <= line.exchanging
        around = (2 * plan.load.weights if asked.sharded else plan.load.gradients) + plan.load.gradients
        assert 0 <= line.exchanged * line.workers - around * (line.workers - 1) < line.workers
        # An epoch is never faster than all its samples computed by workers that need not wait.
        assert line.epoch >= asked.samples * least / line.workers * (1 - 1e-9)
        assert line.throughput == pytest.approx(line.efficiency * line.workers / least)


@settings(max_examples=60)
@given(
    report=st.sampled_from(NETWORKS),
    place=st.builds(Place, POSITIVE, POSITIVE, st.floats(0, 1), POSITIVE),
    power=st.integers(9, 14),
    sharded=st.booleans(),
)
def test_efficiency_falls_with_the_workers_that_share_a_batch(report, place, power, sharded) -> None:
    found = [line.efficiency for line in make_plan(report, place, Question(512, 2**power, sharded=sharded)).lines]
    assert all(more <= fewer * (1 + 1e-12) for fewer, more in pairwise(found))
    weak = make_plan(report, place, Question(512, 2**power, each=True, sharded=sharded)).lines
    assert all(more.throughput > 0 and more.computing == weak[0].computing for more in weak)
