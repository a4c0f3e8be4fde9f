"""The processes of contenders, as the one that lets them take turns sees them."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, Queue
from threading import Thread
from typing import IO, Any

from inkcap.bench.cases import Work
from inkcap.bench.contenders import Contender, environment_for

PREPARING_SECONDS = 1200.0
"""How long a contender may take to import, build and compile: some take minutes on a busy machine."""
SLOT_SECONDS = 300.0


@dataclass(frozen=True)
class Ready:
    """What a process told when a case was prepared: seconds to its first step and of one step, and what learns."""

    first: float
    step: float
    parameters: int | None


class Lost(Exception):
    """A process that ended, failed or hung; it is said in one line."""


class Process:
    """One contender's process; it lives until it is closed."""

    def __init__(
        self,
        contender: Contender,
        cases: Sequence[str],
        work: Work,
        threads: int,
        *,
        by_name: bool = False,
        path: Sequence[str] = (),
    ) -> None:
        self.contender = contender
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-m", "inkcap.bench.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment_for(contender, threads),
        )
        self._lines: Queue[bytes] = Queue()
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()
        self._send(
            factory=contender.factory,
            options=dict(contender.options),
            cases=list(cases),
            work=work,
            threads=threads,
            by_name=by_name,
            path=list(path),
        )
        self.cases = tuple(cases)

    def ready(self) -> Ready:
        """Wait until the next case is prepared."""
        told = self._answer(PREPARING_SECONDS)
        return Ready(told["first"], told["step"], told["parameters"])

    def slot(self, steps: int, case: int = 0) -> float:
        """Let it take so many steps, and give the seconds of one."""
        self._send(case=case, steps=steps)
        return self._answer(SLOT_SECONDS)["seconds"] / steps

    def close(self) -> None:
        """End it, and wait until it is gone."""
        with suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(5)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._errors.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _send(self, **told: Any) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # it ended; what it said last is told by the answer that does not come
            self._process.stdin.write(json.dumps(told).encode() + b"\n")
            self._process.stdin.flush()

    def _answer(self, seconds: float) -> Mapping[str, Any]:
        try:
            line = self._lines.get(timeout=seconds)
        except Empty:
            self._process.kill()
            raise Lost(f"no answer for {seconds:.0f} s") from None
        if not line:
            raise Lost(self._last_words())
        told = json.loads(line)
        if "failed" in told:
            raise Lost(str(told["failed"]))
        return told

    def _last_words(self) -> str:
        try:
            code = self._process.wait(5)
        except subprocess.TimeoutExpired:
            return "it closed its output"
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").split("\n")
        words = next((line.strip() for line in reversed(lines) if line.strip()), "")
        ended = f"killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return f"its process was {ended}" if code < 0 else f"its process {ended}{': ' + words[:160] if words else ''}"
