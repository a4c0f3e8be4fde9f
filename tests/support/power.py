"""Cuts the power at every moment of an action: lays down what a disk may hold then, and judges what is read of it.

A real process is recorded, SQLite's own writes among the rest. What was written to a file after its last fsync may be
there, gone, cut off anywhere, or zeros in its place, each write for itself. Names that were made, changed or removed in
a folder after the folder's last fsync are there up to some point of their order, each folder for itself. That is less
than ext4 or xfs promise.

Run as a program of its own: ``python power.py FOLDER STATES SEED ACTION…``. It prints one line of JSON for each action.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kept_actions import ACTIONS, PLANTED, Action
from tracing import DONE, TOLD, Call, Watcher, traced

ROOT = 0
FATES = ("kept", "kept", "gone", "torn", "zero")
TIRED = 500
"""So many tries in a row that find nothing new are the end of a search."""


@dataclass(frozen=True)
class Step:
    """Something that was done to a file or a folder: `node` is which one, however it is called at the time."""

    kind: str
    node: int
    name: str = ""
    child: int = 0
    place: int = 0
    data: bytes = b""
    old: tuple[int, str] = (0, "")
    """Where a name was before, by folder and name."""
    folder: bool = False
    """Whether what gets a name is a folder."""


@dataclass
class Disk:
    """Files and folders by number: what is in the files, and which names the folders have."""

    files: dict[int, bytes] = field(default_factory=dict[int, bytes])
    folders: dict[int, dict[str, int]] = field(default_factory=lambda: {ROOT: dict[str, int]()})

    @classmethod
    def of(cls, path: Path) -> Disk:
        """Read a folder."""
        disk = cls()
        disk._read(path, ROOT)
        return disk

    def _read(self, path: Path, folder: int) -> None:
        for entry in sorted(path.iterdir()):
            node = self.new()
            self.folders[folder][entry.name] = node
            if entry.is_dir():
                self.folders[node] = {}
                self._read(entry, node)
            else:
                self.files[node] = entry.read_bytes()

    def new(self) -> int:
        return 1 + max([*self.files, *self.folders])

    def copy(self) -> Disk:
        return Disk(dict(self.files), {folder: dict(names) for folder, names in self.folders.items()})

    def find(self, path: str) -> tuple[int, str]:
        """Give the folder and the name that a path from the root means."""
        *parents, name = Path(path).parts or (".",)
        folder = ROOT
        for parent in parents:
            folder = self.folders[folder][parent]
        return folder, name

    def node(self, path: str) -> int:
        if path == ".":
            return ROOT
        folder, name = self.find(path)
        return self.folders[folder][name]

    def do(self, step: Step) -> None:
        """Carry out a step; one on what is not there, since it was lost, does nothing."""
        if step.kind == "write":
            before = self.files.get(step.node, b"").ljust(step.place, b"\0")
            self.files[step.node] = before[: step.place] + step.data + before[step.place + len(step.data) :]
        elif step.kind == "cut":
            before = self.files.get(step.node, b"")
            self.files[step.node] = before[: step.place].ljust(step.place, b"\0")
        elif step.kind == "name":
            self.folders[step.node][step.name] = step.child
        elif step.kind == "unname":
            self.folders[step.node].pop(step.name, None)
        elif step.kind == "rename":
            self.folders[step.old[0]].pop(step.old[1], None)
            self.folders[step.node][step.name] = step.child

    def tree(self, folder: int = ROOT, path: str = "") -> dict[str, bytes | None]:
        """Give all that can be reached, by path; folders have no content."""
        found: dict[str, bytes | None] = {}
        for name, node in sorted(self.folders[folder].items()):
            if node in self.folders:
                found[f"{path}{name}"] = None
                found |= self.tree(node, f"{path}{name}/")
            else:
                found[f"{path}{name}"] = self.files.get(node, b"")
        return found


class Recorder(Watcher):
    """Records what is done below a folder."""

    def __init__(self, root: Path) -> None:
        """Begin with the folder as it is."""
        super().__init__()
        self.root, self.disk = root, Disk.of(root)
        self.steps: list[Step] = []
        self.before: dict[int, tuple[bool, bytes]] = {}

    def enter(self, call: Call) -> str:
        """Look at what is gone when the call has been made."""
        super().enter(call)
        if call.name == TOLD:
            self.steps.append(Step("told", ROOT))
        elif call.name in ("write", "pwrite64"):
            self.before[call.process] = (True, call.memory(call.arguments[1], call.arguments[2]))
        elif call.name == "openat":
            self.before[call.process] = (os.path.lexists(self._path(call, 0, 1)), b"")
        return ""

    def leave(self, call: Call, result: int) -> None:
        """Note what was done."""
        if result < 0 or call.name == TOLD:
            return
        there, data = self.before.pop(call.process, (True, b""))
        name = call.name
        if name in ("write", "pwrite64", "sendfile", "fsync", "fdatasync", "ftruncate", "fallocate"):
            self._on_handle(call, result, data)
        elif name == "openat" and call.arguments[2] & (os.O_CREAT | os.O_TRUNC):
            self._opened(call, there)
        elif name in ("mkdir", "mkdirat"):
            self._named(self._path(call, *((-1, 0) if name == "mkdir" else (0, 1))), folder=True)
        elif name in ("unlink", "rmdir", "unlinkat"):
            path = self._inside(self._path(call, *((0, 1) if name == "unlinkat" else (-1, 0))))
            if path:
                self._add(Step("unname", *self.disk.find(path)))
        elif name in ("rename", "renameat", "renameat2", "link", "linkat"):
            self._moved(call)
        elif name not in ("openat",):
            raise NotImplementedError(name)

    def _on_handle(self, call: Call, result: int, data: bytes) -> None:
        handle = f"/proc/{call.process}/fd/{call.arguments[0]}"
        path = self._inside(os.readlink(handle))
        if not path:
            return
        node = self.disk.node(path)
        if call.name in ("fsync", "fdatasync"):
            self._add(Step("sync", node))
        elif call.name == "pwrite64":
            self._add(Step("write", node, place=call.arguments[3], data=data[:result]))
        elif call.name in ("write", "sendfile"):
            with open(f"/proc/{call.process}/fdinfo/{call.arguments[0]}") as file:
                place = int(file.readline().split()[1]) - result
            if call.name == "sendfile":
                # From file to file, past the memory of the process.
                data = (self.root / path).read_bytes()[place:]
            self._add(Step("write", node, place=place, data=data[:result]))
        elif call.name == "ftruncate":
            self._add(Step("cut", node, place=call.arguments[1]))

    def _opened(self, call: Call, there: bool) -> None:
        path = self._inside(self._path(call, 0, 1))
        if not path:
            return
        if not there:
            self._named(str(self.root / path), folder=False)
        elif call.arguments[2] & os.O_TRUNC:
            self._add(Step("cut", self.disk.node(path)))

    def _named(self, path: str, *, folder: bool) -> None:
        inside = self._inside(path)
        if inside:
            node = self.disk.new()
            if folder:
                self.disk.folders[node] = {}
            else:
                self.disk.files[node] = b""
            parent, name = self.disk.find(inside)
            self._add(Step("name", parent, name, node, folder=folder))

    def _moved(self, call: Call) -> None:
        places = (-1, 0, -1, 1) if call.name in ("rename", "link") else (0, 1, 2, 3)
        old, new = (self._inside(self._path(call, *places[i : i + 2])) for i in (0, 2))
        assert old, "from elsewhere"
        child = self.disk.node(old)
        if call.name.startswith("link"):
            self._add(Step("name", *self.disk.find(new), child))
        else:
            self._add(Step("rename", *self.disk.find(new), child, old=self.disk.find(old)))

    def _add(self, step: Step) -> None:
        self.disk.do(step)
        self.steps.append(step)

    def _path(self, call: Call, handle: int, argument: int) -> str:
        path = call.text(argument)
        if os.path.isabs(path):
            return path
        number = -100 if handle < 0 else call.arguments[handle] & 0xFFFFFFFF
        at = "cwd" if number in (-100, 0xFFFFFF9C) else f"fd/{number}"
        return os.path.join(os.readlink(f"/proc/{call.process}/{at}"), path)

    def _inside(self, path: str) -> str:
        return os.path.relpath(path, self.root) if path == str(self.root) or path.startswith(f"{self.root}/") else ""


def cut_off(before: Disk, steps: list[Step], luck: random.Random | None, keep: bool) -> Disk:
    """Give what a disk may hold when the power goes after these steps; without luck, all that is not synced or none."""
    synced: dict[int, int] = {step.node: place for place, step in enumerate(steps) if step.kind == "sync"}
    names: dict[int, list[int]] = {}
    for place, step in enumerate(steps):
        if step.kind in ("name", "unname", "rename") and place > synced.get(step.node, -1):
            names.setdefault(step.node, []).append(place)
    lost: set[int] = set()
    for places in names.values():
        lost.update(places[(luck.randint(0, len(places)) if luck else len(places) * keep) :])
    disk = before.copy()
    for step in steps:
        # What is in a file or a folder is there, whether a name for it is or not.
        if step.kind == "name" and step.folder:
            disk.folders[step.child] = {}
        elif step.kind == "name":
            disk.files.setdefault(step.child, b"")
    for place, step in enumerate(steps):
        if place in lost:
            continue
        if step.kind in ("write", "cut") and place > synced.get(step.node, -1):
            fate = luck.choice(FATES) if luck else ("kept" if keep else "gone")
            if fate == "gone":
                continue
            if step.kind == "write" and fate == "torn" and luck is not None:
                step = Step("write", step.node, place=step.place, data=step.data[: luck.randrange(len(step.data) + 1)])
            elif step.kind == "write" and fate == "zero":
                step = Step("write", step.node, place=step.place, data=bytes(len(step.data)))
        disk.do(step)
    return disk


def lay(tree: Mapping[str, bytes | None], place: Path) -> None:
    """Make a folder what a disk holds."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for path, content in tree.items():
        if content is None:
            (place / path).mkdir()
        else:
            (place / path).write_bytes(content)


def digest_of(tree: Mapping[str, bytes | None]) -> str:
    """Give the check sum of what a disk holds."""
    digest = hashlib.sha256()
    for path, content in tree.items():
        digest.update(f"{path}\0{content is None}\0".encode() + (content or b""))
    return digest.hexdigest()


def record(action: Action, folder: Path) -> tuple[Disk, list[Step]]:
    """Give what is there before an action, and its steps."""
    work = folder / "work"
    work.mkdir(parents=True)
    action.prepare(work)
    before = Disk.of(work)
    # Once without being watched, so that nothing is imported on the way.
    shutil.copytree(work, folder / "template")
    action.act(work)
    shutil.rmtree(work)
    shutil.copytree(folder / "template", work)
    recorder = Recorder(work)
    assert traced(lambda: action.act(work), recorder) == DONE
    made = Disk.of(work).tree()
    assert recorder.disk.tree() == made, "what was recorded is not what was done"
    return before, recorder.steps


class Campaign:
    """Cuts the power during one action in ways that differ, as long as there are more."""

    def __init__(self, name: str, folder: Path, seed: int) -> None:
        """Record the action."""
        self.name, self.folder = name, folder
        self.action: Action = (ACTIONS | PLANTED)[name]
        self.before, self.steps = record(self.action, folder)
        self.luck = random.Random(f"{seed} {name}")  # noqa: S311
        self.seen: set[tuple[str, int]] = set()
        self.bad: list[str] = []
        self.tries = self.again = 0

    @property
    def spent(self) -> bool:
        """Whether chance finds nothing new any more."""
        return self.again >= TIRED

    def find(self, states: int) -> None:
        """Look at so many states more, if there are as many."""
        states += len(self.seen)
        while len(self.seen) < states and not self.spent:
            # First each moment with all and with nothing of what was not synced, then by chance.
            moment, way = self.tries % (len(self.steps) + 1), self.tries // (len(self.steps) + 1)
            self.tries += 1
            if way >= 2:
                moment = self.luck.randint(0, len(self.steps))
            tree = cut_off(self.before, self.steps[:moment], self.luck if way >= 2 else None, way == 1).tree()
            told = sum(step.kind == "told" for step in self.steps[:moment])
            state = (digest_of(tree), told)
            self.again = self.again + 1 if state in self.seen and way >= 2 else 0
            if state not in self.seen:
                self.seen.add(state)
                self._judge(tree, moment, told)

    def _judge(self, tree: Mapping[str, bytes | None], moment: int, told: int) -> None:
        lay(tree, self.folder / "work")
        try:
            self.action.judge(self.folder / "work", told)
        except Exception:
            place = f"after step {moment} of {len(self.steps)}, try {self.tries}"
            self.bad.append(f"{place}: {traceback.format_exc()}")

    @property
    def found(self) -> dict[str, object]:
        """Tell what came of it."""
        told = {"action": self.name, "steps": len(self.steps), "states": len(self.seen), "tries": self.tries}
        return {**told, "bad": self.bad[:20], "bad_states": len(self.bad)}


def main(folder: Path, states: int, seed: int, names: list[str]) -> None:
    """Go over some actions, or all; each gets its part of the states, and those with few leave theirs to the others."""
    campaigns = [Campaign(name, folder / str(number), seed) for number, name in enumerate(names or ACTIONS)]
    searching = campaigns
    while searching and (left := states - sum(len(one.seen) for one in campaigns)) > 0:
        for one in searching:
            one.find(max(left // len(searching), 1))
        searching = [one for one in searching if not one.spent]
    for one in campaigns:
        print(json.dumps(one.found), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
