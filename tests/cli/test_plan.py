"""The command plan: its table, its JSON, units that are read strictly, and the rate that is measured."""

from __future__ import annotations

import json

import pytest

from inkcap.cli import quantities
from inkcap.cli.planning import scaled, seconds
from inkcap.cli.quantities import QuantityError


@pytest.fixture
def lenet(run) -> str:
    assert run("new", "lenet").code == 0
    return "lenet.inkcap.json"


def test_a_plan_is_a_table_with_what_it_rests_on(run, lenet) -> None:
    told = run("plan", lenet, "--workers", 64, "--link", "25Gbit", "--batch", 4096, "--samples", 60_000)
    assert told.code == 0, told.err
    assert "LeNet: 582 026 parameters, 4 267 008 multiply-adds a sample" in told.out
    assert "gradients 2.3 MB, checkpoint 9.3 MB" in told.out
    assert "strong scaling: all workers share a batch of 4096" in told.out
    assert "an epoch has 60 000 samples" in told.out
    rows = [line.split() for line in told.out.splitlines()]
    assert [row[0] for row in rows if row and row[0].isdigit()] == ["1", "2", "8", "64", "512"]
    (line,) = [" ".join(row) for row in rows if row[:2] == ["64", "64"]]
    # 6 · 4 267 008 · 64 / 10¹¹ s; 2 · 63/64 · 2 328 104 bytes at 3.125 GB/s with twice 126 messages of 50 µs.
    # An epoch is fourteen such steps, and one in which no worker has more than 42 samples.
    assert line == "64 64 16.4 ms 4.6 MB 14.1 ms 14.1 ms 30.5 ms 134 507 53.8 % 451 ms 26.0 MB"
    assert "at 100 GFLOP/s a worker whatever its share" in told.out
    assert "in 1 bucket of up to 25 MiB, by 3.12 GB/s each way and 50 µs a message" in told.out
    assert "Left out: the optimiser's step" in told.out


def test_a_plan_as_json_has_every_number(run, lenet) -> None:
    told = json.loads(run("plan", lenet, "--workers", 3, "--batch-each", 10, "--sharded", "--json").out)
    assert told["load"]["gradients"] == told["load"]["weights"] == 582_026 * 4
    assert told["asked"]["each"] is True
    assert [line["workers"] for line in told["lines"]] == [1, 2, 3, 8, 64, 512]
    (line,) = [line for line in told["lines"] if line["workers"] == 3]
    assert line["exchanged"] == 2 * 582_026 * 4
    assert line["batch"] == 30
    assert line["step"] == line["computing"] + line["waiting"]
    assert any("weights are gathered twice" in sentence for sentence in told["assumptions"])


def test_weak_scaling_and_missing_rows_are_said(run, lenet) -> None:
    assert "weak scaling: every worker has a batch of 8" in run("plan", lenet, "--batch-each", 8).out
    assert "512 workers are left out: a batch of 64 has no sample for each" in run("plan", lenet).out
    assert "Nothing is exchanged while a worker computes" in run("plan", lenet, "--no-overlap").out


def test_the_samples_of_an_epoch_are_the_training_part_of_data(run, lenet) -> None:
    assert "an epoch has 1 438 samples" in run("plan", lenet, "--data", "digits").out
    assert run("plan", lenet, "--data", "nothing-of-this-name").code == 2


def test_the_rate_is_measured_by_steps_of_the_drawing(run) -> None:
    run("new", "mlp")
    told = json.loads(run("plan", "mlp.inkcap.json", "--workers", 2, "--batch", 64, "--measure", "--json").out)
    line = told["lines"][1]
    # Such a step takes a fraction of a millisecond or some; and by the rate it takes as long as it took.
    assert 1e-5 < line["computing"] < 1
    operations = 6 * told["load"]["multiply_adds"] * 32
    assert line["computing"] == pytest.approx(operations / told["place"]["rate"])
    assert "FLOP/s a worker, measured here, whatever its share" in run("plan", "mlp.inkcap.json", "--measure").out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--workers", "65"], "--workers 65: a batch of 64 has no sample for each of them; give --batch 65 or more"),
        (["--batch", "8", "--batch-each", "8"], "--batch and --batch-each say the same thing in two ways"),
        (["--data", "digits", "--samples", "8"], "--data and --samples say the same thing in two ways"),
        (["--measure", "--worker-flops", "1G"], "--worker-flops and --measure say the same thing in two ways"),
        (["--link", "25Gb"], "--link '25Gb': 'Gb' may be bits or bytes; give a speed with its unit, such as 25Gbit"),
        (["--latency", "5"], "--latency '5': it has no unit; give a time with its unit, such as 50us or 1ms"),
        (["--optimiser", "adm"], "there is no optimiser 'adm'"),
    ],
)
def test_what_is_wrong_is_one_line(run, lenet, words, complaint) -> None:
    answer = run("plan", lenet, *words)
    assert answer.code == 2
    assert answer.out == ""
    assert complaint in answer.err
    assert len(answer.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "bytes_a_second"),
    [
        ("25Gbit", 3.125e9),
        ("25Gbit/s", 3.125e9),
        ("25 Gbit", 3.125e9),
        ("100Mbit", 12.5e6),
        ("8bit", 1.0),
        ("200GB/s", 200e9),
        ("1.5MB/s", 1.5e6),
        ("1GiB/s", 2.0**30),
        ("2e3B/s", 2000.0),
    ],
)
def test_speeds_are_read(text, bytes_a_second) -> None:
    assert quantities.speed(text, "--link") == pytest.approx(bytes_a_second)


@pytest.mark.parametrize(
    ("text", "value"), [("1ms", 1e-3), ("50us", 5e-5), ("50µs", 5e-5), ("0s", 0.0), ("2.5 s", 2.5), ("7ns", 7e-9)]
)
def test_times_are_read(text, value) -> None:
    assert quantities.seconds(text, "--latency") == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "value"), [("300G", 3e11), ("15T", 1.5e13), ("1e9", 1e9), ("2.5TFLOP/s", 2.5e12), ("1PFLOP/s", 1e15)]
)
def test_rates_are_read(text, value) -> None:
    assert quantities.rate(text, "--worker-flops") == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("25", "it has no unit"),
        ("25GB", "there is no unit 'GB'"),
        ("25gbit", "there is no unit 'gbit', but Gbit"),
        ("25Gb/s", "may be bits or bytes"),
        ("0Gbit", "it has to be finite and above 0"),
        ("1e400Gbit", "it has to be finite and above 0"),
        ("-5Gbit", "give a speed"),
        ("nanGbit", "give a speed"),
        ("Gbit", "give a speed"),
        ("", "give a speed"),
        ("1Gbit 2Gbit", "give a speed"),
        ("٢٥Gbit", "give a speed"),
        ("9" * 1000 + "Gbit", "give a speed"),
    ],
)
def test_what_is_no_speed_is_refused_in_a_short_line(text, why) -> None:
    with pytest.raises(QuantityError) as refused:
        quantities.speed(text, "--link")
    assert why in str(refused.value)
    assert str(refused.value).startswith("--link '")
    assert len(str(refused.value)) < 160


def test_no_time_has_no_unit_of_speed() -> None:
    with pytest.raises(QuantityError, match="there is no unit 'MS'"):
        quantities.seconds("1MS", "--latency")
    with pytest.raises(QuantityError, match="there is no unit 'g', but G"):
        quantities.rate("3g", "--worker-flops")


def test_times_and_numbers_are_written_short() -> None:
    assert [seconds(one) for one in (0, 3e-9, 5e-5, 0.0125, 1, 119, 121, 7300, 200_000)] == [
        "0 s", "3 ns", "50 µs", "12.5 ms", "1 s", "119 s", "2.02 min", "2.03 h", "2.31 d"
    ]  # fmt: skip
    assert [scaled(one) for one in (8, 3.125e9, 1.5e13, 2e15)] == ["8 ", "3.12 G", "15 T", "2 P"]
