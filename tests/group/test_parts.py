"""The parts of batches, for groups of any size, without processes."""

from __future__ import annotations

from itertools import chain

import torch
from hypothesis import given
from hypothesis import strategies as st

from inkcap.training.batches import Batches
from inkcap.training.group.membership import Group, Owner
from inkcap.training.group.parts import Parts


def member(rank: int, world: int) -> Parts:
    return Parts(Group(rank, world, 1, Owner(1, ""), None))


@given(
    samples=st.integers(1, 200),
    batch=st.integers(1, 64),
    world=st.integers(1, 9),
    least=st.integers(1, 3),
    skip=st.integers(0, 3),
    seed=st.integers(0, 9),
)
def test_the_parts_of_all_members_are_one_epoch(
    samples: int, batch: int, world: int, least: int, skip: int, seed: int
) -> None:
    batch = max(batch, world)
    values = torch.arange(samples)
    whole = Batches((values.clone(),), (values,), batch, torch.device("cpu"), least=least)
    order = torch.randperm(samples, generator=torch.Generator().manual_seed(seed))
    wanted = [targets[0].tolist() for _, targets in whole.shuffled(order, 1, skip)]
    taken: list[list[list[int]]] = []
    for rank in range(world):
        parts = member(rank, world)
        mine: list[list[int]] = []
        for inputs, targets in parts.of(whole, order, 1, skip):
            assert len(targets[0]) == max(parts.own, 1)
            assert torch.equal(inputs[0], targets[0])
            mine.append(targets[0].tolist()[: parts.own])
            assert parts.whole == len(wanted[len(mine) - 1])
        taken.append(mine)
    # Every member takes part in every step, and together they take each sample of it once, in its order.
    assert [list(chain.from_iterable(pieces)) for pieces in zip(*taken, strict=True)] == wanted
