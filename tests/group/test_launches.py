"""What a member finds out before it trains: by which connection it speaks, and which run its launch has begun."""

from __future__ import annotations

import os
import socket
import sys

import pytest

from inkcap.cli.members import _began
from inkcap.training.group.interfaces import VARIABLE, speak_by, speak_towards

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for its connections")


@only_linux
def test_members_speak_by_the_connection_at_which_they_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {name for _, name in socket.if_nameindex()}
    for speak in (lambda: speak_by("127.0.0.1"), lambda: speak_towards("localhost", 29400)):
        monkeypatch.setenv(VARIABLE, "")
        speak()
        assert os.environ[VARIABLE] in names
        assert os.environ[VARIABLE] == "lo"


def test_a_connection_that_was_chosen_or_is_not_there_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "eth7")
    speak_by("127.0.0.1")
    assert os.environ[VARIABLE] == "eth7"
    monkeypatch.setenv(VARIABLE, "")
    speak_by("203.0.113.7")
    speak_towards("no.such.machine.invalid", 29400)
    assert os.environ[VARIABLE] == ""


def test_a_launch_goes_on_with_its_own_run_and_not_with_one_of_the_same_id() -> None:
    assert _began("moons-1/aa", "moons-1/aa")
    assert not _began("moons-1/aa", "moons-1/bb")
    assert not _began("", "moons-1/bb")
    # Where the store has not outlived the workers, the id is all that is known.
    assert _began("moons-1/aa", "moons-1/")
    assert not _began("moons-2/aa", "moons-1/")
