"""The metrics log survives torn tails and damaged bytes, and says what it lost."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkcap.recipes import MetricRecord, MetricWriter, read_log
from inkcap.recipes.metrics import decode_record, encode_record


def _fill(path: Path, count: int = 5) -> bytes:
    with MetricWriter(path) as writer:
        for number in range(1, count + 1):
            writer.write("step" if number % 2 else "epoch", 1, number, {"loss": 1.0 / number})
    return path.read_bytes()


@given(
    st.integers(1, 2**50),
    st.sampled_from(["step", "epoch"]),
    st.dictionaries(st.text(max_size=8), st.floats(allow_nan=False), max_size=4),
)
def test_a_record_comes_back_from_its_line(seq: int, kind: str, values: dict[str, float]) -> None:
    record = MetricRecord(seq, kind, 3, 7, values)  # type: ignore[arg-type]
    line = encode_record(record)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode_record(line[:-1]) == record


def test_values_that_are_no_numbers_stay_strict_json() -> None:
    values = {"a": math.nan, "b": math.inf, "c": -math.inf}
    line = encode_record(MetricRecord(1, "step", 1, 1, values))

    def refuse(name: str) -> object:
        raise AssertionError(name)

    assert json.loads(line, parse_constant=refuse)["values"]["b"] == {"$number": "inf"}
    found = decode_record(line[:-1]).values
    assert math.isnan(found["a"])
    assert found["b"] == math.inf
    assert found["c"] == -math.inf


def test_a_log_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    _fill(path)
    log = read_log(path)
    assert [record.seq for record in log.records] == [1, 2, 3, 4, 5]
    assert len(log.epochs()) == 2
    assert (log.note, log.cut_bytes, log.end) == ("", 0, path.stat().st_size)
    assert read_log(tmp_path / "none.jsonl").records == ()


def test_every_torn_tail_is_cut_and_told(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    whole = _fill(path, 3)
    ends = [index + 1 for index, byte in enumerate(whole) if byte == 10]
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        log = read_log(path)
        kept = sum(end <= length for end in ends)
        assert len(log.records) == kept
        assert bool(log.note) == (length not in (0, *ends))


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_changed_byte_never_passes_and_never_kills(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("log") / "metrics.jsonl"
    whole = _fill(path, 4)
    place = data.draw(st.integers(0, len(whole) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != whole[place]))
    path.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
    log = read_log(path)
    line = whole[:place].count(b"\n")
    assert len(log.records) == line
    assert log.note
    assert log.cut_bytes > 0
    # What is added afterwards follows the last good line.
    with MetricWriter(path) as writer:
        assert writer.note
        writer.write("epoch", 9, 9, {"loss": 0.5})
    again = read_log(path)
    assert [record.seq for record in again.records] == list(range(1, line + 2))
    assert again.note == ""


def test_missing_and_doubled_lines_end_what_can_be_trusted(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    lines = _fill(path).splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], lines[2]]))
    assert len(read_log(path).records) == 1
    path.write_bytes(b"".join([lines[0], lines[0]]))
    assert "the number 1" in read_log(path).note
    path.write_bytes(b"\x00\xff" * 1000)
    assert read_log(path).cut_bytes == 2000


def test_a_growing_log_can_be_followed(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with MetricWriter(path) as writer:
        writer.write("step", 1, 1, {})
        first = read_log(path)
        writer.write("step", 1, 2, {})
        second = read_log(path, first.end, len(first.records) + 1)
    assert [record.step for record in second.records] == [2]
    assert second.note == ""
