"""Fails every system call of an action that writes, one after another and in every way, and judges what is left.

Run as a program of its own: ``python failing.py FOLDER EVERY FIRST ACTION…``: of all cases of those actions, or of all
actions, every so-many-th, from the first on. It prints one line of JSON for each action.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

from kept_actions import ACTIONS, PLANTED, Action
from tracing import BROKEN, DONE, PUTTING, Call, Watcher, traced

KINDS = ("KILL", "ENOSPC", "EIO", "EINTR", "short", "torn", "full")
"""Killed at the call; refused by it; interrupted; half written; half written and killed; no room from there on."""
INTERRUPTIBLE = ("write", "pwrite64", "fsync", "fdatasync", "openat", "ftruncate", "fallocate")
ROOM = ("write", "pwrite64", "openat", "mkdir", "mkdirat", "ftruncate", "fallocate", "link", "linkat")
"""What needs room on a disk."""


class Failing(Watcher):
    """Lets one call fail, by its number among those that write."""

    def __init__(self, place: int = 0, kind: str = "") -> None:
        """Know the place and the way."""
        super().__init__()
        self.place, self.kind = place, kind
        self.seen: list[str] = []

    def enter(self, call: Call) -> str:
        """Count, and fail where it is time."""
        super().enter(call)
        if not call.writes:
            return ""
        self.seen.append(call.name)
        if self.kind == "full":
            return "ENOSPC" if len(self.seen) >= self.place and call.name in ROOM else ""
        return self.kind if len(self.seen) == self.place else ""


def cases_of(calls: list[str]) -> list[tuple[int, str]]:
    """Give every call with each way in which it can fail."""
    found: list[tuple[int, str]] = []
    for place, name in enumerate(calls, 1):
        for kind in KINDS:
            if kind == "EINTR" and name not in INTERRUPTIBLE:
                continue
            if kind in ("short", "torn") and name not in PUTTING:
                continue
            if kind == "full" and name not in ROOM:
                continue
            found.append((place, kind))
    return found


def attempt(action: Action, template: Path, watcher: Failing) -> str:
    """Let one call fail; give what is wrong afterwards, or nothing."""
    place = template.with_name("work")
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(template, place)
    begun = time.monotonic()
    ended = traced(lambda: action.act(place), watcher, 30)
    if ended == BROKEN:
        return "an error that nobody has thought of"
    if ended < 0 and not (watcher.kind in ("KILL", "torn") and ended == -9):
        return f"ended by signal {-ended} after {time.monotonic() - begun:.0f} s"
    if ended == DONE and watcher.kind in ("KILL", "torn"):
        return "not killed"
    try:
        action.judge(place, watcher.told)
    except Exception:
        return traceback.format_exc()
    return ""


def campaign(name: str, folder: Path, every: int, first: int) -> dict[str, object]:
    """Go over the calls of one action."""
    action, work, template = (ACTIONS | PLANTED)[name], folder / "work", folder / "template"
    work.mkdir(parents=True)
    action.prepare(work)
    # Always in the same place, which some of what is written names.
    shutil.copytree(work, template)
    # Once here, so that nothing is imported on the way; once traced, for the calls.
    action.act(work)
    whole = Failing()
    problem = attempt(action, template, whole)
    assert not problem, f"{name}: {problem}"
    bad: list[str] = []
    count: Counter[str] = Counter()
    for number, (place, kind) in enumerate(cases_of(whole.seen)):
        if number % every != first % every:
            continue
        count[kind] += 1
        problem = attempt(action, template, Failing(place, kind))
        if problem:
            bad.append(f"{kind} at call {place} of {len(whole.seen)}, {whole.seen[place - 1]}: {problem}")
    shutil.rmtree(folder)
    return {"action": name, "calls": len(whole.seen), "cases": count.total(), "told": whole.told, "bad": bad}


def main(folder: Path, every: int, first: int, names: list[str]) -> None:
    """Go over some actions, or all."""
    for number, name in enumerate(names or ACTIONS):
        print(json.dumps(campaign(name, folder / f"{number}", every, first)), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
