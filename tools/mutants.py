"""See that the tests of the guarded modules notice every small change of them, but for those that change nothing.

Usage: python tools/mutants.py [module ...]     (default: every module of GUARDED)

Each mutant runs in a forked process, in which only the tests that reach the changed function run, the quickest first.
What no test notices is told, unless tools/equivalent_mutants.tsv says why it cannot be noticed.
"""

from __future__ import annotations

import ast
import csv
import importlib.abc
import importlib.util
import json
import os
import re
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NoReturn

import pytest

from mutations import Mutation, mutations

ROOT = Path(__file__).resolve().parent.parent
ACCEPTED = Path(__file__).with_name("equivalent_mutants.tsv")
OPTIONS = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
PATIENCE = 20
"""Seconds of the processor, beyond three times those of the unchanged module, until a mutant counts as noticed."""
STANDSTILL = 50
"""So many times longer by the clock, for one that waits for ever: the machine may do other things beside."""
PRELOADED = ("fastapi", "httpx", "hypothesis", "jsonschema", "numpy", "torch", "platformdirs")
"""What many mutants would load again, each for itself."""


@dataclass(frozen=True)
class Guarded:
    """A module whose tests must notice every change, and those tests."""

    tests: tuple[str, ...]
    lines: str = ""
    """An expression: only lines that hold it are changed."""

    def mutations(self, name: str) -> list[Mutation]:
        """Give the changes of the module that has this name."""
        source = path_of(name).read_text(encoding="utf-8")
        return [mutation for mutation in mutations(source) if re.search(self.lines, mutation.text)]


GATE = ("tests/studio/test_gate.py", "tests/studio/test_access.py", "tests/fortress/test_gate_matrix.py")
CODEC = ("tests/drawing/test_codec.py",)
LIMITS = ("tests/drawing/test_limits.py",)
LIMITED = Guarded(LIMITS, r"\blimits\.")
GUARDED = {
    "inkcap.studio.gate": Guarded(GATE),
    "inkcap.studio.policy": Guarded(GATE),
    "inkcap.studio.access": Guarded(GATE),
    "inkcap.drawing.codec": Guarded(CODEC),
    "inkcap.recipes.strict": Guarded(("tests/recipes/test_strict.py",)),
    "inkcap.recipes.checkpoints": Guarded(("tests/training/test_checkpoint_files.py",)),
    # Those of depth and of whole numbers are the codec's to keep.
    "inkcap.drawing.limits": Guarded((*LIMITS, *CODEC)),
    **{
        f"inkcap.drawing.{name}": LIMITED
        for name in ("files", "history", "plain", "groups", "group_sizes", "fields", "records")
    },
}


def path_of(name: str) -> Path:
    """Give the file of a module."""
    return ROOT / "src" / Path(*name.split(".")).with_suffix(".py")


# Running ---------------------------------------------------------------------------------------------------------


def forked(work: Callable[[], int], seconds: float) -> int:
    """Run something in a process of its own for so long at most; give its code, other than 0 if it was ended."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1,) * 2)
        _finish(work)
    end = time.monotonic() + STANDSTILL * seconds
    while time.monotonic() < end:
        done, state = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(state)
        select.select((), (), (), 0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1


def _finish(work: Callable[[], int]) -> NoReturn:
    silent = os.open(os.devnull, os.O_RDWR)
    for number in (1, 2):
        os.dup2(silent, number)
    code = 3
    try:
        code = work()
    finally:
        os._exit(code)


@dataclass(eq=False)
class Session:
    """Collects the tests once; then every mutant of a function runs in a fork of what is loaded already."""

    name: str
    mutants: list[Mutation]
    report: Callable[[Mutation, bool], None]
    reached: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    failed: bool = False

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a failure, and how long each test took."""
        self.failed = self.failed or report.failed
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0) + report.duration

    def pytest_runtestloop(self, session: Any) -> bool:
        """Run the tests as they are, then with each mutant."""
        if not session.items:
            raise pytest.UsageError(f"{self.name}: its tests are not there")
        self._observe(session.items)
        allowed = PATIENCE + 3 * sum(self.seconds.values())
        for mutant in self.mutants:
            items = [item for item in session.items if mutant.function in self.reached[item.nodeid]]
            items.sort(key=lambda item: self.seconds[item.nodeid])
            self.report(mutant, forked(lambda: self._run(items, mutant), allowed) != 0)  # noqa: B023
        return True

    def _observe(self, items: list[Any]) -> None:
        out, into = os.pipe()
        code = os.fork()
        if code == 0:
            os.close(out)
            _finish(lambda: self._tell(items, into))
        os.close(into)
        with os.fdopen(out) as told:
            text = told.read()
        os.waitpid(code, 0)
        if not text:
            raise pytest.UsageError(f"{self.name}: its tests fail as it is")
        reached, self.seconds = json.loads(text)
        self.reached = {test: set(functions) for test, functions in reached.items()}

    def _tell(self, items: list[Any], into: int) -> int:
        path = str(path_of(self.name))
        for item in items:
            seen = self.reached.setdefault(item.nodeid, set())

            def trace(frame: Any, *_: Any, seen: set[str] = seen) -> None:
                if frame.f_code.co_filename == path:
                    seen.add(frame.f_code.co_qualname.split(".<locals>")[0])

            sys.settrace(trace)
            item.ihook.pytest_runtest_protocol(item=item, nextitem=None)
            sys.settrace(None)
            if self.failed:
                return 1
        os.write(into, json.dumps([{k: sorted(v) for k, v in self.reached.items()}, self.seconds]).encode())
        return 0

    def _run(self, items: list[Any], mutant: Mutation) -> int:
        module = sys.modules[self.name]
        function = _function(module, mutant.function)
        function.__code__ = _code(compile(mutant.tree, str(path_of(self.name)), "exec"), mutant.function)
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                return 1
        return 0


def _function(module: ModuleType, name: str) -> FunctionType:
    found: Any = module
    for part in name.split("."):
        found = vars(found)[part]
    found = getattr(found, "fget", None) or getattr(found, "__func__", found)
    while hasattr(found, "__wrapped__"):
        found = found.__wrapped__
    return found


def _code(code: CodeType, name: str) -> CodeType:
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    same = next((found for found in inner if found.co_qualname == name), None)
    return same or next(_code(found, name) for found in inner if name.startswith(f"{found.co_qualname}."))


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module in its changed form."""

    def __init__(self, name: str, tree: ast.Module) -> None:
        self.name, self.tree = name, tree

    def find_spec(self, fullname: str, *_: Any) -> Any:
        """Know that module alone."""
        path = path_of(self.name)
        return importlib.util.spec_from_file_location(fullname, path, loader=self) if fullname == self.name else None

    def exec_module(self, module: ModuleType) -> None:
        """Run what it was changed to."""
        exec(compile(self.tree, str(path_of(self.name)), "exec"), vars(module))  # noqa: S102


def from_the_start(name: str, mutant: Mutation | None, tests: Sequence[str]) -> int:
    """Load everything with the mutant in the module's place and run its tests until one fails."""
    if mutant is not None:
        sys.meta_path.insert(0, Changed(name, mutant.tree))
    return int(pytest.main([*OPTIONS, "-x", *tests]))


def judge(name: str) -> Iterator[tuple[Mutation, bool]]:
    """Give each mutant of a module and whether a test noticed it."""
    guarded = GUARDED[name]
    found: list[tuple[Mutation, bool]] = []
    every = guarded.mutations(name)
    inside = [mutant for mutant in every if mutant.function]
    out, into = os.pipe()
    places = {id(mutant): i for i, mutant in enumerate(inside)}

    def collect() -> int:
        def report(mutant: Mutation, noticed: bool) -> None:
            os.write(into, f"{places[id(mutant)]} {noticed:d}\n".encode())

        return int(pytest.main([*OPTIONS, *guarded.tests], plugins=[Session(name, inside, report)]))

    child = os.fork()
    if child == 0:
        os.close(out)
        _finish(collect)
    os.close(into)
    with os.fdopen(out) as told:
        for line in told:
            place, noticed = line.split()
            found.append((inside[int(place)], noticed == "1"))
            yield found[-1]
    os.waitpid(child, 0)
    if len(found) != len(inside):
        raise SystemExit(f"mutants: the tests of {name} fail as it is: {' '.join(guarded.tests)}")
    start = time.monotonic()
    if forked(lambda: from_the_start(name, None, guarded.tests), 600) != 0:
        raise SystemExit(f"mutants: the tests of {name} fail as it is: {' '.join(guarded.tests)}")
    allowed = PATIENCE + 3 * (time.monotonic() - start)
    for mutant in every:
        if not mutant.function:
            yield mutant, forked(lambda: from_the_start(name, mutant, guarded.tests), allowed) != 0  # noqa: B023


# Judging ---------------------------------------------------------------------------------------------------------


def accepted() -> dict[tuple[str, str, str], str]:
    """Give the mutants that no test can notice, by module, line and change, each with its reason."""
    with ACCEPTED.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if row]
    return {(module, text, change): reason for module, text, change, reason in rows}


def main(arguments: Sequence[str]) -> int:
    """Judge the modules, tell what was not noticed and what was accepted in vain; 1 if there is any."""
    for name in PRELOADED:
        importlib.import_module(name)
    os.chdir(ROOT)
    excused, wrong = accepted(), 0
    for name in arguments or GUARDED:
        reasons = {key[1:] for key in excused if key[0] == name}
        count = noticed = 0
        for mutant, seen in judge(name):
            key = (mutant.text, mutant.change)
            count, noticed = count + 1, noticed + seen
            if not seen and key not in reasons:
                wrong += 1
                print(f"{name}:{mutant.line}: no test notices: {mutant.change}\n    {mutant.text}", flush=True)
            elif not seen:
                reasons.discard(key)
        for text, change in sorted(reasons):
            wrong += 1
            print(f"{name}: accepted in vain, remove the entry: {change}\n    {text}", flush=True)
        equivalent = sum(key[0] == name for key in excused) - len(reasons)
        score = noticed / max(1, count - equivalent)
        print(f"mutants: {name}: {noticed} of {count} noticed, {equivalent} accepted: {score:.1%}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
