"""What Inkcap writes, as actions on a workspace: each can be failed, killed or cut off anywhere, and judged after it.

An action tells each thing that it announces, by a system call that nothing else makes. What was announced must be
there afterwards, the rest as before or as after, whole in either case, and the next action must do its work. None of
them needs torch.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checkpointing import content_of, files_of
from stored import begin_run, go_to
from stored import content_of as published_of

from inkcap.cli.export import carry_out
from inkcap.drawing import Capsule, Drawing, Edit, Put, load_drawing, save_drawing
from inkcap.recipes import DataSpec, MetricWriter, Recipe, RunFolder, layout, list_runs, read_log
from inkcap.recipes.checkpoints import KEPT, newest_checkpoint, read_checkpoint, write_checkpoint
from inkcap.remote import Publisher
from inkcap.remote.fetching import fetch_newest
from inkcap.remote.marks import read_mark
from inkcap.remote.publishing import Publication
from inkcap.remote.staging import stage, tidy_stages
from inkcap.remote.store import Store as Place
from inkcap.structures.errors import InkcapError
from inkcap.studio.following import Follower, begin
from inkcap.studio.ledger import Ledger
from inkcap.studio.store import Store
from inkcap.sweeps import list_sweeps, read_space
from inkcap.sweeps.record import LOG, SweepLog, SweepPlan, Trial, create_sweep, open_sweep

FILE = "d.inkcap.json"
ROUNDS = 2
"""How often an action does what it does, with an announcement after each."""


def tell() -> None:
    """Announce that something is done and will last."""
    os.getppid()


@dataclass(frozen=True)
class Action:
    """How a workspace is before, what is done in it, and what must hold after; `judge` is told what was announced."""

    prepare: Callable[[Path], None]
    act: Callable[[Path], None]
    judge: Callable[[Path, int], None]


def drawn(count: int) -> Drawing:
    """Give a drawing with so many capsules."""
    drawing = Drawing("d")
    for number in range(count):
        drawing.add(f"c{number}", "1D-data", dimension=4 + number)
    return drawing


# A drawing, as the command line saves it ---------------------------------------------------------------------------


def _prepare_drawing(folder: Path) -> None:
    save_drawing(drawn(1), folder / FILE)


def _save_drawings(folder: Path) -> None:
    for number in range(ROUNDS):
        save_drawing(drawn(2 + number), folder / FILE)
        tell()


def _judge_drawing(folder: Path, told: int) -> None:
    found = load_drawing(folder / FILE)
    assert found in [drawn(1 + number) for number in range(told, min(told + 1, ROUNDS) + 1)], f"{len(found.capsules)}"
    save_drawing(drawn(9), folder / FILE)
    assert load_drawing(folder / FILE) == drawn(9)


# A figure of a drawing, over an older one --------------------------------------------------------------------------


def _one(size: int) -> Drawing:
    drawing = Drawing("d")
    drawing.add("x", "1D-data", dimension=size)
    return drawing


def _prepare_figure(folder: Path) -> None:
    carry_out(_one(1), "svg", folder / "d.svg")


def _export(folder: Path) -> None:
    carry_out(_one(2), "svg", folder / "d.svg")
    tell()


def _judge_figure(folder: Path, told: int) -> None:
    # A figure carries its drawing: what is read is what was drawn, or nothing.
    assert load_drawing(folder / "d.svg") in ([_one(2)] if told else [_one(1), _one(2)])
    carry_out(_one(3), "svg", folder / "d.svg")
    assert load_drawing(folder / "d.svg") == _one(3)


# The studio's log and the file that follows it ---------------------------------------------------------------------


def _opened(folder: Path) -> tuple[Store, Ledger, Follower]:
    store = Store(folder)
    try:
        id = store.id_of(FILE)
        begin(store, id, folder / FILE)
        return store, Ledger(store, id), Follower(store, id, folder / FILE)
    except InkcapError:
        store.close()
        raise


def _edit(ledger: Ledger, number: int) -> None:
    ledger.apply("one", number, Edit("edit", (Put(Capsule(f"c{number}", "data", 1, {"dimension": 4 + number})),)))


def _prepare_studio(folder: Path) -> None:
    _prepare_drawing(folder)
    store, ledger, follower = _opened(folder)
    _edit(ledger, 1)
    follower.save(ledger.drawing, ledger.seq)
    store.close()


def _draw_in_studio(folder: Path) -> None:
    store, ledger, follower = _opened(folder)
    for number in range(2, 2 + ROUNDS):
        _edit(ledger, number)
        tell()
        follower.save(ledger.drawing, ledger.seq)
    store.close()


def _judge_studio(folder: Path, told: int) -> None:
    for again in range(2):
        store, ledger, follower = _opened(folder)
        try:
            count = len(ledger.drawing.capsules)
            assert 2 + told <= count <= min(2 + told, 1 + ROUNDS) + 1 or again, f"{count} capsules"
            assert ledger.drawing == drawn(count)
            assert ledger.acknowledged("one") == count - 1
            # What is in the file is a state of the log, known as the studio's own.
            assert follower.look() is None
            assert load_drawing(folder / FILE) in [drawn(number) for number in range(1, count + 1)]
            if not again:
                _edit(ledger, count)
                assert follower.save(ledger.drawing, ledger.seq) is None
                assert load_drawing(folder / FILE) == drawn(count + 1)
        finally:
            store.close()


def _open_studio(folder: Path) -> None:
    store, ledger, _ = _opened(folder)
    _edit(ledger, 1)
    tell()
    store.close()


def _judge_new_studio(folder: Path, told: int) -> None:
    store, ledger, follower = _opened(folder)
    try:
        count = len(ledger.drawing.capsules)
        assert ledger.drawing == drawn(count)
        assert count == 2 if told else count in (1, 2)
        assert follower.look() is None
        _edit(ledger, count)
        assert follower.save(ledger.drawing, ledger.seq) is None
    finally:
        store.close()


OLDER = """
DROP INDEX noted; ALTER TABLE edit DROP COLUMN sum; ALTER TABLE snapshot DROP COLUMN sum; PRAGMA user_version=1
"""
"""Makes the studio's file one of the version before check sums."""


def _prepare_old_studio(folder: Path) -> None:
    _prepare_studio(folder)
    database = sqlite3.connect(folder / ".inkcap" / "studio.db", isolation_level=None)
    for statement in OLDER.split(";"):
        database.execute(statement)
    database.close()


# Runs ---------------------------------------------------------------------------------------------------------------


def _make_run(folder: Path) -> RunFolder:
    run = RunFolder.create(folder, "d", "toy")
    run.write_text(layout.DRAWING, drawn(3).to_text())
    run.write_recipe(Recipe(DataSpec("moons"), epochs=3))
    run.write_json(layout.ENVIRONMENT, {"python": "3"})
    run.write_json(layout.DATA, {"name": "moons"})
    return run.update(state="running")


def _is_whole(run: RunFolder) -> bool:
    return (
        run.drawing_text() == drawn(3).to_text()
        and run.recipe().epochs == 3
        and (run.environment(), run.data()) == ({"python": "3"}, {"name": "moons"})
    )


def _create_run(folder: Path) -> None:
    for _ in range(ROUNDS):
        _make_run(folder)
        tell()


def _judge_runs(folder: Path, told: int, before: int = 1) -> None:
    whole, damaged = list_runs(folder)
    begun = [run for run in whole if (run.path / layout.DATA).is_file()]
    assert len(begun) >= before + told, f"{[run.id for run in begun]}"
    assert all(_is_whole(run) for run in begun if run.record.state != "created" and run.record.reason == "")
    assert all("run.json" in one.problem for one in damaged), damaged
    made = _make_run(folder)
    assert _is_whole(RunFolder.open(made.path))
    assert made.id not in {run.id for run in whole}


OLD = '{"best_sha256": "", "created": "2026-01-01T00:00:00Z", "drawing": "d", "finished": "", "format": "inkcap-run", "id": "d-toy-0001", "pid": 0, "reason": "", "state": "finished", "version": 1, "weights_sha256": ""}'  # noqa: E501
"""The record of a run from before processes, sweeps and jobs were noted in it."""


def _prepare_old_run(folder: Path) -> None:
    run = _make_run(folder)
    (run.path / layout.RUN).write_text(OLD)


def _renew_old_run(folder: Path) -> None:
    RunFolder.open(folder / "runs" / "d-toy-0001").update(reason="renewed")
    tell()


def _judge_old_run(folder: Path, told: int) -> None:
    (run,), damaged = list_runs(folder)
    assert damaged == ()
    assert run.record.reason in (("renewed",) if told else ("", "renewed"))
    assert _is_whole(run)
    assert RunFolder.open(run.update(reason="again").path).record.reason == "again"


def _lines(folder: Path) -> list[tuple[int, float]]:
    return [(record.step, record.values["loss"]) for record in read_log(folder / layout.METRICS).records]


def _write_lines(folder: Path, rounds: int) -> None:
    log = MetricWriter(folder / layout.METRICS)
    for _ in range(rounds):
        for _ in range(2):
            log.write("step", 1, log.count + 1, {"loss": 1 / (log.count + 1)})
        log.sync()
        tell()
    log.close()


def _judge_lines(folder: Path, told: int, before: int = 2) -> None:
    lines = _lines(folder)
    assert before + 2 * told <= len(lines) <= before + 2 * ROUNDS, f"{len(lines)} lines"
    assert lines == [(number, 1 / number) for number in range(1, len(lines) + 1)]
    _write_lines(folder, 1)
    assert len(_lines(folder)) == len(lines) + 2
    assert read_log(folder / layout.METRICS).note == ""


def _prepare_checkpoints(folder: Path) -> None:
    (folder / "run").mkdir()
    for step in (10, 20):
        write_checkpoint(folder / "run" / "checkpoints", step, files_of(step))


def _checkpoint(folder: Path) -> None:
    for step in range(ROUNDS):
        write_checkpoint(folder / "run" / "checkpoints", 90 + step, files_of(90 + step))
        tell()


def _judge_checkpoints(folder: Path, told: int) -> None:
    steps = [20, *(90 + step for step in range(ROUNDS))]
    checkpoints = folder / "run" / "checkpoints"
    newest, problems = newest_checkpoint(checkpoints)
    assert problems == []
    assert newest is not None
    assert newest.step in steps[told : told + 2], newest.step
    assert newest.files == content_of(newest.step)
    write_checkpoint(checkpoints, 100, files_of(100))
    assert read_checkpoint(checkpoints / "100").files == content_of(100)
    # What was left half done is taken away.
    assert len(os.listdir(checkpoints)) <= KEPT


# A store and a sweep ------------------------------------------------------------------------------------------------


def _place(folder: Path) -> Place:
    return Place.open(f"file://{folder}/store")


def _publish(run: RunFolder, folder: Path) -> None:
    place = _place(folder)
    mark = read_mark(run.path, place.shown)
    assert mark is not None
    assert mark.own is not None
    staged = stage(run.path)
    try:
        Publication(place, run.id, mark.own).publish(staged)
    finally:
        staged.drop()


def _prepare_published(folder: Path) -> None:
    (folder / "store").mkdir()
    run = begin_run(folder, Publisher(_place(folder)))
    for step in (10, 20):
        go_to(run, step)
        _publish(run, folder)
    shutil.copytree(run.path, folder / "old")
    go_to(run, 30)


def _publish_again(folder: Path) -> None:
    _publish(RunFolder.open(folder / "runs" / "net-toy-0001"), folder)
    tell()


def _judge_published(folder: Path, told: int) -> None:
    run = RunFolder.open(folder / "runs" / "net-toy-0001")
    fetched, _ = fetch_newest(_place(folder), run.id, folder / "read")
    # What a killed process has held is none of the run's files.
    tidy_stages(run.path)
    old, new = (published_of(path) for path in (folder / "old", run.path))
    assert published_of(fetched) in ([new] if told else [old, new])
    go_to(run, 40)
    _publish(run, folder)
    assert published_of(fetch_newest(_place(folder), run.id, folder / "read")[0]) == published_of(run.path)


def _space() -> Any:
    drawing = Drawing("d")
    drawing.add("x", "1D-data", dimension=2)
    drawing.then("y", "1D-softmax", dimension=2)
    return read_space({"recipe.optimiser.rate": [0.1, 0.2]}, drawing, Recipe(DataSpec("moons")), "space")


def _plan(name: str) -> SweepPlan:
    return SweepPlan(name, "d", "grid", {}, 2, 0, 3, 1, 1)


def _begin_sweep(folder: Path, name: str) -> None:
    sweep = create_sweep(folder, _plan(name), _space())
    log = SweepLog(sweep)
    log.proposed([Trial(1, {"recipe.optimiser.rate": 0.1}), Trial(2, {"recipe.optimiser.rate": 0.2})])
    tell()
    log.trial(Trial(1, {"recipe.optimiser.rate": 0.1}, state="running", run="d-toy-0001"))
    tell()
    log.close()


def _judge_sweeps(folder: Path, told: int) -> None:
    whole, damaged = list_sweeps(folder)
    found = {sweep.plan.name: sweep for sweep in whole}
    assert found["old"].trials[1].run == "d-toy-0001"
    assert told == 0 or len(found["new"].trials) == 2
    assert told < 2 or found["new"].trials[1].state == "running"
    assert all("there is no such sweep" in words for _, words in damaged), damaged
    if "new" in found:
        # It goes on after the last line that can be trusted.
        log = SweepLog(found["new"])
        log.sweep("stopped", "enough")
        log.close()
        assert open_sweep(folder / "sweeps" / "new").state == "stopped"
        assert (folder / "sweeps" / "new" / LOG).read_bytes().endswith(b"\n")
    else:
        _begin_sweep(folder, "new")


ACTIONS: dict[str, Action] = {
    "a drawing is saved": Action(_prepare_drawing, _save_drawings, _judge_drawing),
    "a figure is exported": Action(_prepare_figure, _export, _judge_figure),
    "a drawing is edited": Action(_prepare_studio, _draw_in_studio, _judge_studio),
    "a studio begins": Action(_prepare_drawing, _open_studio, _judge_new_studio),
    "an old studio is opened": Action(_prepare_old_studio, _draw_in_studio, _judge_studio),
    "a run begins": Action(lambda folder: _make_run(folder) and None, _create_run, _judge_runs),
    "the first run begins": Action(
        lambda folder: None, _create_run, lambda folder, told: _judge_runs(folder, told, before=0)
    ),
    "an old run is renewed": Action(_prepare_old_run, _renew_old_run, _judge_old_run),
    "metrics grow": Action(
        lambda folder: _write_lines(folder, 1), lambda folder: _write_lines(folder, ROUNDS), _judge_lines
    ),
    "metrics begin": Action(
        lambda folder: None,
        lambda folder: _write_lines(folder, ROUNDS),
        lambda folder, told: _judge_lines(folder, told, before=0),
    ),
    "a checkpoint is written": Action(_prepare_checkpoints, _checkpoint, _judge_checkpoints),
    "a run is published": Action(_prepare_published, _publish_again, _judge_published),
    "a sweep begins": Action(
        lambda folder: _begin_sweep(folder, "old"), lambda folder: _begin_sweep(folder, "new"), _judge_sweeps
    ),
}


def _save_carelessly(folder: Path) -> None:
    # What no part of Inkcap does: the old one is gone before the new one is there.
    for number in range(ROUNDS):
        (folder / FILE).write_text(drawn(2 + number).to_text())
        tell()


CARELESS = "a drawing is saved carelessly"
PLANTED = {CARELESS: Action(_prepare_drawing, _save_carelessly, _judge_drawing)}
"""A fault that each campaign must find."""
