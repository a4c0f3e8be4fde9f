"""S4: malformed drawings into the commands that read one: a line that says why, no traceback, and nothing written."""

from __future__ import annotations

import itertools
import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from malformed import malformed

from inkcap.drawing import from_bytes
from inkcap.structures import InkcapError
from inkcap.zoo import draw

MADE = ("made.inkcap.json", "made.svg", "made.tex", "made.py", "made.safetensors")
SECONDS = 5.0
"""Of the processor for one command; the first that loads torch is not among those that are timed."""


def commands(file: str) -> tuple[tuple[str, ...], ...]:
    """Give the commands that read a drawing and neither train nor compute for its own sake, as `expand` does."""
    return (
        ("check", file),
        ("check", file, "--json"),
        ("show", file),
        ("groups", file),
        ("derive", file),
        ("derive", file, "--count"),
        ("diff", file, "sound.inkcap.json"),
        ("diff", "sound.inkcap.json", file),
        ("merge", "sound.inkcap.json", file, "sound.inkcap.json", "-o", MADE[0]),
        ("merge", file, "sound.inkcap.json", "sound.inkcap.json", "-o", MADE[0]),
        ("dissolve", file, "--all", "-o", MADE[0]),
        ("group", file, "g", "a", "b", "-o", MADE[0]),
        ("picture", file, "-o", MADE[1], "--open"),
        ("picture", file, "-o", MADE[2], "--down", "--arrange"),
        ("export", file, "--to", "tikz", "-o", MADE[2]),
        ("plan", file, "--samples", "1000", "--workers", "4"),
        ("code", file),
    )


def is_a_drawing(content: bytes) -> bool:
    try:
        from_bytes(content)
    except InkcapError:
        return False
    return True


def try_commands(count: int, folder: Path, run: Callable, tally) -> None:
    (folder / "sound.inkcap.json").write_text(draw("lenet-digits").to_text())
    run("code", "sound.inkcap.json")
    counts: Counter[str] = Counter()
    longest = 0.0
    cases = itertools.chain(*itertools.zip_longest(*parted(count)))
    for case in filter(None, cases):
        file = folder / "odd.inkcap.json"
        file.write_bytes(case.content)
        for words in commands(file.name):
            for name in MADE:
                (folder / name).unlink(missing_ok=True)
            begun = time.process_time()
            answer = run(*words)
            spent = time.process_time() - begun
            longest = max(longest, spent)
            named = f"{case.kind} {case.number}: inkcap {' '.join(words)}"
            assert answer.code in (0, 1, 2), named
            assert "Traceback" not in answer.err + answer.out, f"{named}\n{answer.err}"
            assert spent < SECONDS, f"{named}: {spent:.1f} s"
            assert file.read_bytes() == case.content, f"{named}: the file was written over"
            counts["commands"] += 1
            if answer.code:
                assert answer.err.strip() or answer.out.strip(), named
                # A merge with contradictions is written, and says so by its end.
                wrote = [name for name in MADE if (folder / name).exists() and words[0] != "merge"]
                assert not wrote, f"{named}: failed, and wrote {wrote}"
                counts["refused"] += 1
            elif (folder / MADE[0]).exists():
                assert is_a_drawing((folder / MADE[0]).read_bytes()), named
                counts["made"] += 1
    assert counts["made"] > 0
    tally("S4", what="commands", cases=count, **counts, longest_ms=round(1000 * longest))


def parted(count: int) -> tuple[list, list]:
    """Give as many files that are drawings as files that are none, for those tell more of the commands."""
    whole, broken = [], []
    for case in malformed(8 * count):
        chosen = whole if is_a_drawing(case.content) else broken
        if len(chosen) < count // 2:
            chosen.append(case)
    return whole, broken


def test_some_malformed_files_bring_no_command_down(tmp_path, run, tally) -> None:
    try_commands(8, tmp_path, run, tally)


@pytest.mark.soak
def test_many_malformed_files_bring_no_command_down(tmp_path, run, tally) -> None:
    try_commands(1_000, tmp_path, run, tally)


def test_a_command_on_json_that_is_no_drawing_says_what_it_is(tmp_path, run) -> None:
    Path(tmp_path, "odd.inkcap.json").write_text(json.dumps([1, 2]))
    for words in commands("odd.inkcap.json"):
        if "sound.inkcap.json" not in words:
            answer = run(*words)
            assert answer.code in (1, 2), words
            assert "odd.inkcap.json" in answer.err, words
