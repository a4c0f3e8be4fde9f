"""What the members of a group agree on after every step, so that all of them stop, and save, at the same one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
from torch import Tensor

from inkcap.training.group.membership import Group, losing
from inkcap.training.session import Keeper, Saver, Session
from inkcap.training.snapshots import RANDOM_OF
from inkcap.training.stopping import StopRequest

if TYPE_CHECKING:
    from inkcap.training.pace import Pace


class Control:
    """The loss of the whole batch, whether someone wants to stop, and whether the first member wants to save."""

    def __init__(self, group: Group, wish: StopRequest) -> None:
        self.group, self.wish = group, wish
        self.due: Callable[[], bool] = lambda: False
        self.stop = self.save = False

    def exchange(self, loss: Tensor) -> Tensor:
        """Tell the others, and give the loss of all: each member gives the share that its part has in it."""
        told = [float(self.wish.wanted), float(self.due())]
        if loss.device.type == "cpu":
            summed = self.group.sum(torch.tensor([*told, loss.item()], dtype=torch.float64))
            loss = summed[2].to(loss.dtype)
        else:
            # The device is not waited for: its losses are looked at later, some at a time.
            with losing():
                dist.all_reduce(loss)
            summed = self.group.sum(torch.tensor(told, dtype=torch.float64))
        self.stop = self.stop or bool(summed[0] > 0)
        self.save = bool(summed[1] > 0)
        return loss


class AgreedStop(StopRequest):
    """A stop that all members make at the same step; what this one alone was asked for is told to the others."""

    def __init__(self, control: Control) -> None:
        self._control = control
        wish = control.wish
        self._reason = ""
        super().__init__(wish.until)

    @property
    def wanted(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether all stop here."""
        return self._control.stop

    @wanted.setter
    def wanted(self, value: bool) -> None:
        self._control.stop = value

    @property
    def pressed(self) -> bool:
        """Whether this member was asked to stop, also while it alone waits for something."""
        return self._control.stop or self._control.wish.wanted

    @property
    def saving(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the loop is over."""
        return self._control.wish.saving

    @saving.setter
    def saving(self, value: bool) -> None:
        self._control.wish.saving = value

    @property
    def reason(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Why."""
        return self._reason or self._control.wish.reason or "another worker was stopped"

    @reason.setter
    def reason(self, value: str) -> None:
        self._reason = value


class SharedSaver(Saver):
    """Saves when all members stand at the same step: each tells what only it knows, and the first one writes."""

    def __init__(self, control: Control, collect: Callable[[Session], None], inner: Saver | None) -> None:
        self._control, self._collect, self._inner = control, collect, inner

    @property
    def due(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Now, where the members have agreed on it, else never."""
        return -math.inf if self._control.save else math.inf

    def after_step(self, session: Session) -> None:
        """Save where the first member wants to."""
        self._control.save = False
        self._collect(session)
        if self._inner is not None:
            self._inner.after_step(session)

    def after_epoch(self, session: Session) -> None:
        """Save after an epoch; whether there is time for it the first member decides."""
        self._collect(session)
        if self._inner is not None:
            self._inner.after_epoch(session)

    def at_end(self, session: Session) -> None:
        """Save whatever came of it."""
        self._collect(session)
        if self._inner is not None:
            self._inner.at_end(session)


class SharedKeeper:
    """Keeps what the loop tells, by the first member; where weights are parted, all of them bring theirs first."""

    def __init__(self, inner: Keeper | None, collect: Callable[[], None]) -> None:
        self._inner, self._collect = inner, collect

    def step(self, epoch: int, step: int, values: Mapping[str, float]) -> None:
        """Keep the values of some steps."""
        if self._inner is not None:
            self._inner.step(epoch, step, values)

    def epoch(self, epoch: int, step: int, values: Mapping[str, float], best: bool) -> None:
        """Keep the values of an epoch, and the weights when they are the best so far."""
        if best:
            self._collect()
        if self._inner is not None:
            self._inner.epoch(epoch, step, values, best)

    def pace(self, pace: Pace) -> None:
        """Keep how much was waited for data."""
        if self._inner is not None:
            self._inner.pace(pace)


def random_states(group: Group) -> dict[str, Tensor]:
    """Give the random numbers of all members but the first, as a checkpoint names them."""
    states = group.gather(torch.get_rng_state())
    return {f"{RANDOM_OF}{rank}": state for rank, state in enumerate(states) if rank}


def seed_member(group: Group, seed: int) -> None:
    """Let every member draw other random numbers than the first, whose are those of a run of one process."""
    if group.rank:
        torch.manual_seed((seed + group.rank * 0x9E3779B97F4A7C15) % 2**63)
