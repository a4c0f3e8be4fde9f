"""S14: poisoned data files and folders: refused with the reason or read, never run, never waited for, never a crash."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image
from poisoned import among_pictures, arrays, picture, table
from studio_asked import asking

from inkcap.drawing import save_drawing
from inkcap.training.data import DataError, load
from inkcap.zoo import draw

TESTS = Path(__file__).parents[1]
MEMORY = 1 << 30
"""Bytes of addresses that reading one set may take beyond what the worker has already."""
PATIENCE = 10.0


def worked(place: Path, every: int, columns: int) -> list[dict]:
    """Let a worker of its own load them; give what it says of each."""
    roots = [str(TESTS / "support"), str(TESTS.parent / "src")]
    script = TESTS / "support" / "poison_worker.py"
    worker = subprocess.run(
        [sys.executable, str(script), *map(str, (place, every, columns, MEMORY))],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(roots), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    told = [json.loads(line) for line in worker.stdout.splitlines()]
    last = told[-1]["name"] if told else "nothing"
    assert worker.returncode == 0, f"the worker ended after {last}: {worker.stderr[-2000:]}"
    return told


def faults_of(told: dict) -> list[str]:
    """Say what is wrong with how one of them was met."""
    faults = []
    if told["what"] not in ("refused", "loaded"):
        faults.append(told["what"] + ": " + told["words"][-600:])
    if told["must"] == "refused" and told["what"] == "loaded":
        faults.append("it was taken")
    if told["ran"]:
        faults.append("something of it was run")
    if told["seconds"] > PATIENCE:
        faults.append(f"it took {told['seconds']:.1f} s")
    if told["what"] == "refused":
        names = [part.split("/")[-1][:40] for part in told["spec"].strip(", ").split(",")]
        if "Traceback" in told["words"] or not any(name in told["words"] for name in names):
            faults.append(f"the reason names no place: {told['words'][:200]}")
    return faults


def try_poison(place: Path, every: int, columns: int, tally) -> None:
    told = worked(place, every, columns)
    faults = {one["name"]: found for one in told if (found := faults_of(one))}
    assert not faults, json.dumps(faults, indent=1)
    counts = Counter(one["what"] for one in told)
    tally("S14", cases=len(told), **counts, longest_ms=round(1000 * max(one["seconds"] for one in told)))
    assert counts["refused"] > len(told) // 2


def test_the_judge_sees_what_was_taken_run_or_told_without_a_place() -> None:
    good = {"what": "refused", "must": "refused", "ran": False, "seconds": 0.1, "spec": "t.csv", "words": "t.csv: bad"}
    assert not faults_of(good)
    for change in ({"what": "loaded"}, {"what": "crashed"}, {"what": "hangs"}, {"ran": True}, {"seconds": 11.0},
                   {"words": "it is bad"}):  # fmt: skip
        assert faults_of({**good, **change}), change


def test_poisoned_data_are_refused_with_a_reason_or_read(tmp_path, tally) -> None:
    try_poison(tmp_path, 2, 20_000, tally)


@pytest.mark.soak
def test_four_hundred_poisoned_data_are_refused_with_a_reason_or_read(tmp_path, tally) -> None:
    try_poison(tmp_path, 1, 100_000, tally)


def test_a_link_out_of_a_folder_of_pictures_is_left_out_and_counted(tmp_path) -> None:
    among_pictures(picture())(tmp_path)
    (tmp_path / "secret.png").write_bytes(picture(size=(31, 7)))
    (tmp_path / "set" / "a" / "link.png").symlink_to(tmp_path / "secret.png")
    (tmp_path / "set" / "a" / "own.png").symlink_to("good.png")
    dataset = load("set", {}, tmp_path)
    assert len(dataset) == 4
    assert "1 other file was left out" in dataset.description


def test_a_picture_that_changes_while_it_is_read_is_a_clean_stop_or_read_whole(tmp_path, monkeypatch) -> None:
    among_pictures(picture())(tmp_path)
    poison = tmp_path / "set" / "b" / "poison.png"
    opened = Image.open
    looks = iter([picture(), picture()[:60], b""])

    def changing(path, **options):
        if Path(path) == poison:
            poison.write_bytes(next(looks, b"gone"))
        return opened(path, **options)

    monkeypatch.setattr(Image, "open", changing)
    with pytest.raises(DataError, match=r"poison\.png"):
        load("set", {}, tmp_path)


def test_poison_given_to_the_commands_is_one_sentence(run, tmp_path) -> None:
    save_drawing(draw("mlp"), tmp_path / "d.inkcap.json")
    cases = {poison.name: poison for poison in arrays()}
    for name in ("objects that would write a file", "an array that says (-1, 4)", "a value nan"):
        (tmp_path / name).mkdir()
        spec = f"{name}/{cases[name].make(tmp_path / name)}"
        for words in (("data", spec), ("train", "d.inkcap.json", "--data", spec)):
            answer = run(*words)
            assert answer.code != 0, words
            assert "t.npz" in answer.err, answer.err
            assert "Traceback" not in answer.err + answer.out
        assert not (tmp_path / name / "canary").exists()


async def preview(workspace: Path, specs: list[str]) -> list[tuple[int, str]]:
    async with asking(workspace) as (_, client):
        answers = [await client.post("/api/data/preview", json={"name": spec}) for spec in specs]
        return [(answer.status_code, answer.text) for answer in answers]


def test_poison_shown_in_the_studio_is_one_sentence(tmp_path) -> None:
    table(b"a,y\n1,inf\n", "inf.csv")(tmp_path)
    table(b'a,y\n"1,2\n', "quote.csv")(tmp_path)
    os.mkfifo(tmp_path / "pipe.csv")
    answers = asyncio.run(preview(tmp_path, ["inf.csv", "quote.csv", "pipe.csv", "x\0.csv"]))
    assert [status for status, _ in answers] == [200, 200, 200, 409], answers
    for (_, text), words in zip(answers, ("inf", "CSV", "no ordinary file", "leads out of"), strict=True):
        assert "Traceback" not in text
        told = json.loads(text)
        assert words in (told.get("problem") or told["detail"]), text
