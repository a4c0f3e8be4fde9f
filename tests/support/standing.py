"""Trainings that are looked at between all their steps: what they stand at, as bytes, and going on from there."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from inkcap.drawing import Drawing
from inkcap.engine import weights_of
from inkcap.recipes import Recipe
from inkcap.recipes.checkpoints import StoredCheckpoint
from inkcap.recipes.strict import dump
from inkcap.training.checkpoints import read_snapshot, snapshot_files
from inkcap.training.engines.settling import choose_engine
from inkcap.training.environment import steady
from inkcap.training.jobs import Plan, Start, make_course, make_job, plan_job
from inkcap.training.loop import go_on
from inkcap.training.pace import Pace
from inkcap.training.session import Saver, Session
from inkcap.training.snapshots import Snapshot, capture, restore
from inkcap.training.stopping import StopRequest


@dataclass
class Memory:
    """Keeps the lines and the best weights."""

    module: torch.nn.Module
    lines: list[str] = field(default_factory=list)
    best: dict[str, Tensor] = field(default_factory=dict)

    def step(self, epoch: int, step: int, values: Mapping[str, float]) -> None:
        self.lines.append(f"step {epoch} {step} {dict(values)!r}")

    def epoch(self, epoch: int, step: int, values: Mapping[str, float], best: bool) -> None:
        self.lines.append(f"epoch {epoch} {step} {dict(values)!r} {best}")
        if best:
            self.best = weights_of(self.module)

    def pace(self, pace: Pace) -> None:
        """Keep nothing of it: it is never twice the same."""


@dataclass(frozen=True)
class Stand:
    """A snapshot that went through bytes, and the lines until then."""

    snapshot: Snapshot
    lines: tuple[str, ...]

    def digest(self) -> str:
        """Give the check sum of everything."""
        digest = hashlib.sha256(dump({**self.snapshot.progress, "lines": list(self.lines)}).encode())
        for part in (self.snapshot.tensors, self.snapshot.best):
            for name in sorted(part):
                value = part[name].contiguous()
                digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
                digest.update(value.reshape(-1).view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()

    def changed(self, drop: str = "", **progress: Any) -> Stand:
        """Give the stand without the tensors of a prefix, or with other values of its progress."""
        kept = {name: value for name, value in self.snapshot.tensors.items() if not drop or not name.startswith(drop)}
        changed = replace(self.snapshot, tensors=kept, progress={**self.snapshot.progress, **progress})
        return Stand(changed, self.lines)


def through_bytes(snapshot: Snapshot) -> Snapshot:
    """Write and read a snapshot."""
    files = {
        name: b"".join(bytes(piece) for piece in pieces()) for name, pieces in snapshot_files(snapshot, {}).items()
    }
    return read_snapshot(StoredCheckpoint(Path("checkpoints/0"), snapshot.step, files))


class EveryStep(Saver):
    """Takes a stand after every step and every epoch."""

    due = -math.inf

    def __init__(self, keeper: Memory, frozen: Mapping[str, Tensor], all_of_them: bool) -> None:
        self.keeper, self.frozen, self.all = keeper, frozen, all_of_them
        self.stands: list[Stand] = []
        self.last: Stand | None = None

    def _take(self, session: Session) -> Stand:
        return Stand(through_bytes(capture(session, self.keeper.best, self.frozen)), tuple(self.keeper.lines))

    def after_step(self, session: Session) -> None:
        if self.all:
            self.stands.append(self._take(session))

    after_epoch = after_step

    def at_end(self, session: Session) -> None:
        self.last = self._take(session)


def garbage() -> None:
    """Put every source of random numbers somewhere else, so that a forgotten one cannot be right by luck."""
    seed = random.SystemRandom().getrandbits(32)
    torch.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)


@dataclass(frozen=True)
class Training:
    """A drawing and a recipe, matched with their data once."""

    plan: Plan

    @classmethod
    def of(cls, drawing: Drawing, recipe: Recipe, workspace: Path) -> Training:
        return cls(plan_job(drawing, recipe, workspace))

    def run(self, start: Stand | None = None, twist: Callable[[Session], None] | None = None) -> EveryStep:
        """Train to the end, from the start with a stand after every step, or from a stand."""
        recipe = self.plan.recipe
        with steady(recipe.seed, 1, self.plan.device) as threads:
            given = Start(None if start is None else start.snapshot, "here")
            job = make_job(self.plan, threads, None, StopRequest(), given)
            course = make_course(job)
            job = choose_engine(job, course)
            keeper = Memory(job.module)
            saver = EveryStep(keeper, job.frozen_buffers, start is None)
            course.keeper, course.saver = keeper, saver
            if start is not None:
                garbage()
            session = Session(course)
            if start is not None:
                keeper.lines, keeper.best = list(start.lines), dict(start.snapshot.best)
                restore(session, start.snapshot, "here")
            if twist is not None:
                twist(session)
            go_on(session)
        return saver
