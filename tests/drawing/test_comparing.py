"""Two drawings compared and merged by meaning, by hand and by a real git."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inkcap.drawing import Drawing, Edit, Position, Put, Remove, inside, load_drawing, save_drawing
from inkcap.drawing.merging import merge_drawings
from inkcap.network.comparing import tell_difference
from inkcap.zoo import draw

ROOT = Path(__file__).parents[2]


def lenet() -> Drawing:
    return draw("lenet")


def changed(*patches: Put | Remove) -> Drawing:
    drawing = lenet()
    drawing.apply(Edit("change", patches))
    return drawing


def state(drawing: Drawing, id: str, **attributes: Any) -> Drawing:
    """State attributes of a capsule or connection."""
    record: Any = drawing.capsules.get(id) or drawing.connections[id]
    drawing.apply(Edit("state", (Put(replace(record, attributes={**record.attributes, **attributes})),)))
    return drawing


def with_kernels(count: int) -> Drawing:
    return state(lenet(), "a-b", kernels=count)


def test_a_difference_is_told_by_meaning_with_what_follows_from_it() -> None:
    lines = tell_difference(lenet(), with_kernels(64))
    assert lines[0] == "~ connection a → b: kernels 32 → 64"
    assert "  structures     b 24×24×32 → 24×24×64, c 12×12×32 → 12×12×64" in lines
    assert any(line.startswith("  parameters     582 026 → ") for line in lines)


def test_what_is_new_and_what_is_gone_is_described() -> None:
    after = lenet()
    after.add("i", "1D-sigmoid", dimension=3)
    after.connect("g", "i", "full")
    lines = tell_difference(lenet(), after)
    assert "+ capsule i: 1D-sigmoid, dimension 3" in lines
    assert "+ connection g → i: full" in lines
    assert "- capsule i: 1D-sigmoid, dimension 3" in tell_difference(after, lenet())
    assert tell_difference(None, lenet())[0].startswith("+ drawing: LeNet")


def test_places_mean_nothing_and_groups_are_told_inside() -> None:
    moved = changed(Put(Position("a", 5, 5)))
    assert tell_difference(lenet(), moved) == ["only places differ"]
    assert tell_difference(lenet(), lenet()) == []
    resnet = draw("resnet18")
    wider = draw("resnet18")
    body = inside(wider, "block")
    state(body, "x-a", kernel=(5, 5), padding=(2, 2))
    wider.define("block", body)
    lines = tell_difference(resnet, wider)
    assert lines[0] == "~ group block"
    assert lines[1].startswith("    ~ connection x → a: kernel 3 → 5×5")


def test_changes_of_both_sides_come_together() -> None:
    mine, theirs = with_kernels(48), lenet()
    state(theirs, "c", window=(4, 4))
    theirs.add("i", "1D-sigmoid", dimension=3)
    theirs.connect("g", "i", "full")
    merged = merge_drawings(lenet(), mine, theirs)
    assert merged.conflicts == ()
    assert merged.drawing.connections["a-b"].attributes["kernels"] == 48
    assert "i" in merged.drawing.capsules
    assert tell_difference(lenet(), merged.drawing)[:2] == [
        "~ capsule c: window 2×2 → 4×4",
        "+ capsule i: 1D-sigmoid, dimension 3",
    ]


def test_fields_of_one_record_come_together_and_the_same_field_conflicts() -> None:
    mine, theirs = lenet(), lenet()
    state(mine, "a-b", kernels=48)
    state(theirs, "a-b", stride=(2, 2))
    merged = merge_drawings(lenet(), mine, theirs)
    assert merged.conflicts == ()
    assert merged.drawing.connections["a-b"].attributes.items() >= {"kernels": 48, "stride": (2, 2)}.items()
    conflict = merge_drawings(lenet(), with_kernels(48), with_kernels(64))
    assert conflict.conflicts == ("connection a-b attributes kernels: 48 here, 64 there",)
    assert conflict.drawing.connections["a-b"].attributes["kernels"] == 48


def test_places_never_conflict_and_what_one_side_builds_on_what_the_other_removed_does() -> None:
    one, other = changed(Put(Position("a", 5, 5))), changed(Put(Position("a", 9, 9)))
    assert merge_drawings(lenet(), one, other).conflicts == ()
    without = changed(Remove("connection", "g-h"), Remove("capsule", "h"))
    more = lenet()
    more.add("i", "1D-identical", dimension=10)
    more.connect("h", "i", "transfer")
    merged = merge_drawings(lenet(), without, more)
    assert "do not stand together" in merged.conflicts[-1]
    assert merged.drawing.to_text() == without.to_text()
    merged = merge_drawings(None, lenet(), with_kernels(5))
    assert merged.conflicts


def test_the_command_tells_and_ends_as_asked(run) -> None:
    save_drawing(lenet(), "a.inkcap.json")
    save_drawing(with_kernels(64), "b.inkcap.json")
    answer = run("diff", "a.inkcap.json", "b.inkcap.json")
    assert answer.code == 0
    assert "kernels 32 → 64" in answer.out
    assert run("diff", "a.inkcap.json", "a.inkcap.json", "--exit-code").code == 0
    assert run("diff", "a.inkcap.json", "b.inkcap.json", "--exit-code").code == 1
    assert run("diff", "a.inkcap.json").code == 2


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A git repository that is set up as the guide says."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    inkcap = f'"{sys.executable}" -m inkcap'
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    for name, value in (("GIT_CONFIG_GLOBAL", os.devnull), ("GIT_CONFIG_NOSYSTEM", "1")):
        monkeypatch.setenv(name, value)

    def git(*words: str, code: int = 0) -> str:
        done = subprocess.run(["git", *words], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    git("init", "-q", "-b", "main")
    git("config", "user.email", "a@example.com")
    git("config", "user.name", "A")
    git("config", "diff.inkcap.command", f"{inkcap} diff --git")
    git("config", "merge.inkcap.driver", f"{inkcap} merge %O %A %B --name %P")
    (tmp_path / ".gitattributes").write_text("*.inkcap.json diff=inkcap merge=inkcap\n", encoding="utf-8")
    return git, tmp_path / "net.inkcap.json"


def test_git_shows_and_merges_by_meaning(repository) -> None:
    git, file = repository

    def commit(drawing: Drawing, message: str) -> None:
        save_drawing(drawing, file)
        git("add", "-A")
        git("commit", "-qm", message)

    commit(lenet(), "LeNet")
    save_drawing(with_kernels(64), file)
    assert "inkcap diff net.inkcap.json\n~ connection a → b: kernels 32 → 64" in git("diff")
    file.write_text("{", encoding="utf-8")
    assert "! net.inkcap.json: line 1" in git("diff")
    git("checkout", "-q", "--", ".")
    git("checkout", "-qb", "wide")
    commit(with_kernels(64), "Wider")
    git("checkout", "-q", "main")
    pooled = lenet()
    state(pooled, "c", window=(4, 4))
    commit(pooled, "Larger windows")
    git("merge", "-q", "--no-edit", "wide")
    merged = load_drawing(file)
    assert merged.connections["a-b"].attributes["kernels"] == 64
    assert merged.capsules["c"].attributes["window"] == (4, 4)
    # A contradiction stops the merge, with a drawing that still opens.
    git("checkout", "-q", "wide")
    commit(with_kernels(16), "Narrower")
    git("checkout", "-q", "main")
    commit(with_kernels(8), "Still narrower")
    told = git("merge", "--no-edit", "wide", code=1)
    assert "net.inkcap.json: connection a-b attributes kernels: 8 here, 16 there" in told
    assert "CONFLICT" in told
    assert load_drawing(file).connections["a-b"].attributes["kernels"] == 8
