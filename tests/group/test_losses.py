"""What breaks while members speak: a connection is another member's end, a shortage of memory is one's own."""

from __future__ import annotations

import pytest

from inkcap.training.group.membership import Group, GroupLost, Owner, losing


def test_a_broken_connection_is_a_member_that_is_gone_and_what_was_said_is_kept() -> None:
    said = "[../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:4711\nmore"
    with pytest.raises(GroupLost) as caught, losing():
        raise RuntimeError(said)
    assert str(caught.value) == (
        "another worker is gone (Connection closed by peer [127.0.0.1]:4711); "
        "the run can go on from its last checkpoint."
    )


def test_a_shortage_of_memory_is_not_taken_for_a_member_that_is_gone() -> None:
    with pytest.raises(RuntimeError, match="can't allocate memory"), losing():
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes")


def test_a_group_that_was_taken_apart_is_one_whose_members_are_gone() -> None:
    group = Group(0, 2, 2, Owner(1, "a:b:c"), None)
    with pytest.raises(GroupLost, match="another worker is gone"):
        group.gather("here")
