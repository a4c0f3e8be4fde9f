"""A workspace in which every kind of file lies, ways to damage bytes, and what reading each file must come to."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kept_actions as kept
from checkpointing import content_of, files_of

from inkcap.drawing import load_drawing
from inkcap.recipes import MetricWriter, RunFolder, Signal, layout, list_runs, signal_values
from inkcap.recipes.checkpoints import newest_checkpoint, write_checkpoint
from inkcap.recipes.frames import keep_frame, list_frames, read_frame
from inkcap.recipes.runfolder import sha256_of
from inkcap.recipes.signals import EpochSignals
from inkcap.structures.errors import InkcapError
from inkcap.studio.run_list import RunList
from inkcap.studio.run_notes import NOTES, write_notes
from inkcap.studio.store import Store
from inkcap.sweeps import list_sweeps, open_sweep

RUN, OTHER = "d-toy-0001", "d-toy-0002"
WAYS = ("flip", "change", "cut", "lengthen", "zero", "double", "swap", "drop")
TOLD, SAME, EDITED = "told", "same", "edited"
"""What comes of damage: an error or a note that names the file; what was written; another drawing, as if by hand."""


def damaged(content: bytes, way: str, luck: random.Random) -> bytes:
    """Change bytes in one way."""
    place = luck.randrange(len(content)) if content else 0
    changed = bytearray(content)
    if way == "flip" and content:
        changed[place] ^= 1 << luck.randrange(8)
    elif way == "change" and content:
        changed[place] = (changed[place] + luck.randrange(1, 256)) % 256
    elif way == "cut":
        del changed[place:]
    elif way == "lengthen":
        changed += luck.randbytes(luck.randrange(1, 40)) if luck.random() < 0.5 else bytes(luck.randrange(1, 40))
    elif way == "zero":
        size = luck.choice((1, 16, 512, 4096))
        changed[place : place + size] = bytes(len(changed[place : place + size]))
    elif way == "double":
        changed[place:place] = changed[max(0, place - luck.choice((9, 300))) : place + 1]
    elif way == "swap":
        size = luck.choice((1, 8, 512))
        other = luck.randrange(len(content) + 1)
        one, two = sorted((place, other))
        two = max(two, one + size)
        first, second = bytes(changed[one : one + size]), bytes(changed[two : two + size])
        if len(first) == len(second):
            changed[one : one + size], changed[two : two + size] = second, first
    elif way == "drop":
        del changed[place : place + luck.choice((1, 8, 100))]
    return bytes(changed)


@dataclass(frozen=True)
class Target:
    """A file, and what reading it gives; `read` raises where the damage is told."""

    path: Path
    read: Callable[[], object]
    wanted: object
    by_hand: bool = False
    """Whether a person may change it: another drawing or recipe that is well formed is then an edit."""

    def judge(self) -> str:
        """Say what comes of reading the file now; an AssertionError where damage is believed."""
        try:
            found = self.read()
        except InkcapError as problem:
            words = str(problem)
            assert self.path.name in words or self.path.parent.name in words, f"the error does not name it: {words}"
            return TOLD
        if isinstance(found, Noted):
            assert found.value == self.wanted or found.note, "a shorter log, and not a word"
            assert isinstance(self.wanted, list)
            assert found.value == self.wanted[: len(found.value)], "other lines than were written"
            return SAME if found.value == self.wanted else TOLD
        if found == self.wanted:
            return SAME
        assert self.by_hand, f"{str(found)[:300]} in place of {str(self.wanted)[:300]}"
        return EDITED


@dataclass(frozen=True)
class Noted:
    """Lines of a log, and what is said about them."""

    value: list[Any]
    note: str


def make_workspace(folder: Path) -> None:
    """Make one with a drawing, a studio's file, two runs, and a sweep."""
    folder.mkdir()
    kept.save_drawing(kept.drawn(1), folder / kept.FILE)
    store, ledger, follower = kept._opened(folder)
    for number in range(1, 30):
        kept._edit(ledger, number)
    follower.save(ledger.drawing, ledger.seq)
    store.note_run(RUN, ledger.id)
    store.close()
    for _ in range(2):
        run = kept._make_run(folder)
        with MetricWriter(run.path / layout.METRICS) as log, MetricWriter(run.path / layout.SIGNALS) as signals:
            for step in range(1, 21):
                log.write("step", 1, step, {"loss": 1 / step})
                signals.write("epoch", step, step, signal_values(EpochSignals(step, {"x": Signal(1 / step)})))
        for epoch in (1, 2):
            keep_frame(run.path, epoch, f"frame {epoch}".encode() * 40)
        entry = {"step": 10, "epoch": 1, "exact": False, "reasons": ["torch 2.12 → 2.13"], "seconds": 1.0}
        run.write_json(layout.RESUMES, {"format": layout.RESUMES_FORMAT, "version": 1, "resumes": [entry]})
        write_notes(run.path, "läuft\n没有偏置", ["baseline", "no bias"])
        for step in (10, 20):
            write_checkpoint(run.path / layout.CHECKPOINTS, step, files_of(step))
        for name in (layout.WEIGHTS, layout.BEST):
            (run.path / name).write_bytes(name.encode() * 40)
        lines = {layout.METRICS: 20, layout.SIGNALS: 20}
        run.write_json(layout.SUMMARY, {"epochs": 3, "values": {"loss": 0.5}, "lines": lines})
        sums = {"weights_sha256": layout.WEIGHTS, "best_sha256": layout.BEST}
        seals = {key: sha256_of(run.path / name) for key, name in sums.items()}
        run.update(state="finished", finished=layout.now(), reason="all 3 epochs done", **seals)
    kept._begin_sweep(folder, "tried")


def _studio(folder: Path) -> Any:
    def read() -> object:
        store, ledger, _ = kept._opened(folder)
        try:
            note = store.note
            states = [ledger.at(seq).to_text() for seq in range(0, ledger.seq + 1, 7)]
            heads = [
                (seq, client, number, kind, label) for seq, client, number, _, kind, _, label in store.heads(ledger.id)
            ]
            value = [ledger.seq, heads, states, ledger.drawing.to_text(), store.runs()]
        finally:
            store.close()
        # What was cut off behind the last whole change is said; all before it must be as it was.
        return Noted([], note) if note else Noted([value], "")

    return read


def leave_a_log(folder: Path) -> None:
    """Edit in a process that ends without a word, so that the studio's file has a log beside it."""
    child = os.fork()
    if not child:
        _, ledger, _ = kept._opened(folder)
        for number in range(30, 40):
            kept._edit(ledger, number)
        os._exit(0)
    os.waitpid(child, 0)


def studio_targets(folder: Path, names: tuple[str, ...]) -> list[Target]:
    """Give the studio's file, or its log; reading tidies both up, so they have to be put back after each time."""
    read = _studio(folder)
    contents = {name: (folder / ".inkcap" / name).read_bytes() for name in names}
    wanted = read().value
    for name, content in contents.items():
        (folder / ".inkcap" / name).write_bytes(content)
    return [Target(folder / ".inkcap" / name, read, wanted) for name in names]


def plain_targets(folder: Path) -> list[Target]:
    """Give all files but the studio's own."""
    run = folder / "runs" / RUN
    others = list_runs(folder)[0]

    def opened() -> RunFolder:
        return RunFolder.open(run)

    def checkpoint() -> object:
        newest, problems = newest_checkpoint(run / layout.CHECKPOINTS)
        assert newest is not None
        assert newest.files == content_of(newest.step)
        assert newest.step == (10 if problems else 20)
        if problems:
            raise InkcapError(problems[0])
        return newest.step

    def metrics() -> Noted:
        log = opened().metrics()
        return Noted([(record.seq, record.step, dict(record.values)) for record in log.records], log.note)

    def signals() -> Noted:
        log = opened().signal_log()
        return Noted(list(log.epochs), log.note)

    def listed() -> object:
        """What the studio's list and page of runs show."""
        store = Store(folder)
        try:
            runs = RunList(folder, store)
            series, _ = runs.series(run, 500, math.inf)
            row = runs.row(RUN)
        finally:
            store.close()
        assert row is not None
        # The list of a run that cannot be opened says so, and shows nothing of it.
        if row.state == "damaged" or row.hint:
            raise InkcapError(row.hint or row.reason)
        return row, series

    def sweep() -> Noted:
        found = open_sweep(folder / "sweeps" / "tried")
        lines = [None] * found.lines
        # A log that ends with a whole line looks as it did earlier: then a sweep does again what it had done since.
        return Noted(lines, found.note or "earlier")

    def drawing() -> object:
        return load_drawing(folder / kept.FILE).to_text()

    readers: list[tuple[Path, Callable[[], object], bool]] = [
        (run / layout.RUN, lambda: opened().record, False),
        (run / layout.ENVIRONMENT, lambda: _known(opened().environment(), "python"), False),
        (run / layout.DATA, lambda: _known(opened().data(), "name"), False),
        (run / layout.SUMMARY, lambda: _known(opened().summary(), "epochs", "values", "lines"), False),
        (run / layout.METRICS, metrics, False),
        (run / layout.WEIGHTS, lambda: opened().weights_file("last").read_bytes(), False),
        (run / layout.BEST, lambda: opened().weights_file("best").read_bytes(), False),
        (run / layout.RECIPE, lambda: opened().recipe(), True),
        (run / layout.DRAWING, lambda: opened().drawing_text() and load_drawing(run / layout.DRAWING).to_text(), True),
        (run / layout.SIGNALS, signals, False),
        (run / layout.RESUMES, lambda: opened().resumes(), False),
        (folder / kept.FILE, drawing, True),
        (folder / "sweeps" / "tried" / "sweep.json", lambda: open_sweep(folder / "sweeps" / "tried").plan, False),
        (folder / "sweeps" / "tried" / "trials.jsonl", sweep, False),
        (folder / "sweeps" / "tried" / "recipe.json", lambda: open_sweep(folder / "sweeps" / "tried").space(), True),
    ]
    readers.append((folder / "sweeps" / "tried" / layout.DRAWING, lambda: _sweep_drawing(folder), True))
    shown = (layout.RUN, layout.SUMMARY, layout.METRICS, layout.RESUMES, NOTES)
    readers += [(run / name, listed, False) for name in shown]
    readers += [(path, lambda path=path: read_frame(path), False) for path in list_frames(run).values()]
    readers += [(path, checkpoint, False) for path in sorted((run / layout.CHECKPOINTS / "20").iterdir())]
    assert [one.id for one in others] == [RUN, OTHER]
    found: list[Target] = []
    for path, read, by_hand in readers:
        value = read()
        found.append(Target(path, read, value.value if isinstance(value, Noted) else value, by_hand))
    return found


def _sweep_drawing(folder: Path) -> str:
    return open_sweep(folder / "sweeps" / "tried").drawing().to_text()


def _known(values: Any, *names: str) -> dict[str, Any]:
    return {name: values.get(name) for name in names}


def rest_is_usable(folder: Path) -> None:
    """See that the lists are there, with the run that nothing was done to."""
    whole, broken = list_runs(folder)
    other = [run for run in whole if run.id == OTHER]
    assert len(other) == 1
    assert len(other[0].metrics().records) == 20
    assert len(whole) + len(broken) == 2
    sweeps, bad = list_sweeps(folder)
    assert len(sweeps) + len(bad) == 1


def corrupt(targets: list[Target], folder: Path, times: int, seed: int, count: dict[str, int]) -> list[str]:
    """Damage the files again and again; give what was believed that should not have been."""
    luck = random.Random(seed)  # noqa: S311
    bad: list[str] = []
    beside = {target.path: target.path.read_bytes() for target in targets}
    for number in range(times):
        target = targets[number % len(targets)]
        way = luck.choice(WAYS)
        content = damaged(beside[target.path], way, luck)
        if content == beside[target.path]:
            continue
        target.path.write_bytes(content)
        try:
            came = target.judge()
            rest_is_usable(folder)
        except Exception as problem:
            came = "believed"
            bad.append(
                f"case {number} of seed {seed}, {way} of {target.path.name}: {type(problem).__name__}: {problem}"
            )
        count[came] = count.get(came, 0) + 1
        # Reading may have tidied up.
        for path, whole in beside.items():
            if path == target.path or path.parent.name == ".inkcap":
                path.write_bytes(whole)
    return bad
