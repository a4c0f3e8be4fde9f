"""A course that a group takes together: what each member does, what the first one keeps, and what is not possible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from inkcap.engine import source_of
from inkcap.recipes import Recipe
from inkcap.recipes.record import check_shares
from inkcap.training.engines.choice import Choice
from inkcap.training.errors import TrainingError
from inkcap.training.group.control import AgreedStop, Control, SharedKeeper, SharedSaver, random_states
from inkcap.training.group.joint_norm import join_norms
from inkcap.training.group.membership import Group
from inkcap.training.group.parts import Parts
from inkcap.training.group.stepping import by_copies, by_shards, step_together
from inkcap.training.jobs import Job, Plan
from inkcap.training.losses import wanted_returns
from inkcap.training.session import Course, Keeper, Saver, Session, TakeStep
from inkcap.training.snapshots import Snapshot

if TYPE_CHECKING:
    from inkcap.training.group.sharding import ShardedModule

_STEPPED = ("eager", "explicit")
"""The engines that stop between the gradients and the update, where members meet."""


@dataclass
class Together:
    """What binds a course to its group."""

    group: Group
    parts: Parts
    control: Control
    sharded: ShardedModule | None = None
    _random: Mapping[str, Tensor] = field(default_factory=dict[str, Tensor], init=False)
    _saver: Saver | None = field(default=None, init=False)
    _steps: int = field(default=0, init=False)

    def due(self) -> bool:
        """Whether the first member wants to save."""
        import time

        return self._saver is not None and time.monotonic() >= self._saver.due

    def collect(self, session: Session) -> None:
        """Bring together what a checkpoint needs of all members."""
        self._random = random_states(self.group)
        self._steps = session.outcome.steps
        if self.sharded is not None:
            self.sharded.collect(session)

    def others(self) -> dict[str, Tensor]:
        """Give what was brought together, by the names of a checkpoint."""
        return {**self._random, **({} if self.sharded is None else self.sharded.collected)}

    def keep(self, course: Course, keeper: Keeper | None, saver: Saver | None) -> None:
        """Let a course keep what it comes to, by the member that writes."""
        self._saver = saver
        collect = (lambda: None) if self.sharded is None else partial(self.sharded.collect, None)
        course.keeper = SharedKeeper(keeper, collect)
        course.saver = SharedSaver(self.control, self.collect, saver)

    def own_part(self, snapshot: Snapshot) -> Snapshot:
        """Give what this member takes of a snapshot."""
        return snapshot if self.sharded is None else self.sharded.parted(snapshot)


def check_together(plan: Plan, group: Group) -> None:
    """Refuse what a group cannot do, before there is a run."""
    recipe, network = plan.recipe, plan.network
    if network.plain is not None:
        raise TrainingError(
            "recipe.workers: plain neurons in columns learn in one process, by kernels of their own; leave workers out."
        )
    check_shares(recipe.batch, group.world)
    if recipe.pretrain:
        raise TrainingError(
            "recipe.pretrain: layers are pre-trained in one process; do that first, without workers, and train on with "
            "--init-from."
        )
    if recipe.sharded:
        _check_sharded(recipe)


def _check_sharded(recipe: Recipe) -> None:
    unfit = {
        "signals": recipe.signals,
        "init_memory": recipe.init_memory,
        "recompute": bool(recipe.recompute),
        "precision float16": recipe.precision == "float16",
        "engine explicit": recipe.engine == "explicit",
    }
    for name, given in unfit.items():
        if given:
            raise TrainingError(
                f"recipe.sharded: {name} needs all weights in one process, and they are parted over the workers; leave "
                "one of the two out."
            )


def join(job: Job, course: Course, group: Group) -> tuple[Job, Together]:
    """Let a course be taken by a group, and give the job that says so."""
    recipe, plan = job.recipe, job.plan
    parts = Parts(group)
    control = Control(group, job.stop)
    together = Together(group, parts, control)
    control.due = together.due
    notes = job.notes
    if recipe.joint_norm and not join_norms(course.module, parts):
        notes = (*notes, "joint_norm: the drawing has no batch norm, so there is nothing to join.")
    if recipe.sharded:
        # Loaded where it is needed: it takes a second of each start of a worker.
        from inkcap.training.group.sharding import ShardedModule

        source = source_of(plan.network, dict(wanted_returns(plan.facts, recipe)))
        together.sharded = ShardedModule(group, course.module, job.learning, source)
        course.parameters = together.sharded.learning
        job = replace(job, learning=together.sharded.parted_weights)
    engine = recipe.engine if recipe.engine in _STEPPED and not recipe.joint_norm else "eager"
    if recipe.engine not in ("auto", engine):
        notes = (*notes, f"Workers meet between gradients and update, so steps are {engine}, not {recipe.engine}.")
    torch.set_num_threads(job.threads)
    choice = Choice(engine, threads=job.threads, workers=group.world)

    def stepping(course: Course, optimiser: torch.optim.Optimizer) -> TakeStep:
        if together.sharded is not None:
            backward = by_shards(course, parts, together.sharded)
        else:
            backward = by_copies(course, parts, optimiser, engine, (plan.network, plan.facts))
        return step_together(backward, course, parts, control, optimiser, together.sharded)

    _bind(course, together, stepping)
    return replace(job, choice=choice, notes=notes, stop=course.stop), together


def _bind(course: Course, together: Together, stepping: object) -> None:
    settle = course.settle

    def settle_all() -> None:
        settle()
        # Running means of the parts differ; those of the first member are the run's.
        together.group.first_of([value for _, value in course.module.named_buffers()])

    course.parts, course.others, course.settle = together.parts, together.others, settle_all
    course.stop = AgreedStop(together.control)
    course.stepping = stepping  # pyright: ignore[reportAttributeAccessIssue]
    course.ready = course.calling = course.turn = course.explain = None
