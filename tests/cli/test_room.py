"""A command that trains begins anew in the environment of a process that trains, and stays the same process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from inkcap.cli import main
from inkcap.recipes.apart import TUNABLES, roomy_environment

SHOW = "import os, sys, json; print(json.dumps([os.getpid(), os.environ.get('GLIBC_TUNABLES'), sys.argv[1:]]))"


@pytest.mark.skipif(not roomy_environment(), reason="huge pages are asked for by glibc alone")
@pytest.mark.parametrize(("given", "wanted"), [(None, "glibc.malloc.hugetlb=1"), ("a=1", "a=1:glibc.malloc.hugetlb=1")])
def test_it_begins_anew_as_the_same_process(tmp_path: Path, given: str | None, wanted: str) -> None:
    (tmp_path / "inkcap").mkdir()
    (tmp_path / "inkcap" / "__init__.py").write_text("")
    (tmp_path / "inkcap" / "__main__.py").write_text(SHOW)
    code = "import os, sys; sys.argv = ['inkcap', 'train', 'x']; from inkcap.cli.app import _begin_with_room\n"
    # What it becomes is a stand-in that tells who it is.
    code += f"os.environ['PYTHONPATH'] = {str(tmp_path)!r}; print(os.getpid(), flush=True); _begin_with_room()"
    environment = {k: v for k, v in os.environ.items() if k != TUNABLES} | ({TUNABLES: given} if given else {})
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True, cwd=tmp_path.parent
    ).stdout.split("\n")
    assert json.loads(said[1]) == [int(said[0]), wanted, ["train", "x"]]


def test_a_process_of_somebody_else_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TUNABLES, raising=False)
    monkeypatch.setattr(os, "execve", lambda *_: pytest.fail("it began anew"))
    monkeypatch.setattr(sys, "argv", ["inkcap", "train", "--help"])
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(SystemExit):
        main()
    assert signal.getsignal(signal.SIGINT) == before, "Ctrl-C is whoever's process it is"
