"""A run's engine, settled before its first step: threads pinned, weights laid out, the stepper made ready."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from inkcap.recipes.engines import AS_DRAWN
from inkcap.training.engines.choice import Choice
from inkcap.training.engines.choosing import Case, Chosen, choose
from inkcap.training.engines.many import ManySteps, neurons_of
from inkcap.training.engines.narrow import narrow_choice
from inkcap.training.engines.steppers import lay_out, make_stepper
from inkcap.training.engines.switching import as_far_as_possible, choose_with_switch
from inkcap.training.engines.updates import part
from inkcap.training.events import PauseEvent
from inkcap.training.jobs import Job
from inkcap.training.session import Course, TakeStep, Turn


def choose_engine(job: Job, course: Course) -> Job:
    """Choose what computes a run that begins, and say what is worth saying about it."""
    told: list[str] = []

    def tell(words: str) -> None:
        told.append(words)
        job.listener.on_pause(PauseEvent(words, waiting=True))

    plan = job.plan
    case = Case(plan.network, plan.facts, plan.report, course, job.threads, bool(job.recipe.threads), tell)
    try:
        chosen = _chosen(case)
    except (MemoryError, RuntimeError):
        # What breaks on copies breaks in the run too, which tells it with its place, or fits without them.
        chosen = Chosen(Choice("eager", threads=job.threads))
    if told:
        job.listener.on_pause(PauseEvent(f"computing: {chosen.choice}", waiting=False))
    return settle(job, course, chosen)


def _chosen(case: Case) -> Chosen:
    recipe, course = case.course.recipe, case.course
    if recipe.precision != AS_DRAWN:
        pictures = any(parameter.ndim == 4 for parameter in course.module.parameters())
        return Chosen(narrow_choice(course.training.device.type, pictures, case.threads))
    return choose_with_switch(case) if recipe.switch_engine else choose(case)


def settle(job: Job, course: Course, chosen: Chosen) -> Job:
    """Let a course take its steps as chosen, and give the job that says so."""
    choice = chosen.choice
    torch.set_num_threads(choice.threads)
    lay_out(course.module, choice.layout)

    network, facts = job.plan.network, job.plan.facts

    def tell(words: str, waiting: bool) -> None:
        job.listener.on_pause(PauseEvent(words, waiting))

    def stepping(course: Course, optimiser: torch.optim.Optimizer) -> TakeStep:
        return make_stepper(choice, network, facts, course, optimiser, chosen.compiled, tell)

    def switched(course: Course, optimiser: torch.optim.Optimizer) -> TakeStep:
        # What the engine before has left: gradients that nobody reads, and counts that weights may share.
        optimiser.zero_grad(set_to_none=True)
        part(optimiser)
        tell(f"from here on: {choice.switched}", False)
        return make_stepper(choice.switched, network, facts, course, optimiser, None, tell)

    course.stepping = stepping
    course.turn = None if choice.switch is None else Turn(choice.switch.after, switched)
    neurons = neurons_of(network, facts, course) if choice.engine == "plain" else None
    course.calling = None if neurons is None else lambda course, optimiser: ManySteps(neurons, course, optimiser)
    return replace(job, choice=choice, threads=choice.threads, notes=(*job.notes, *chosen.notes))


def stored_choice(environment: Mapping[str, Any], threads: int, device: torch.device) -> Choice:
    """Give the choice with which a run began, as far as it can be had here."""
    choice = Choice.from_json(environment, threads) or Choice("eager", threads=threads)
    return as_far_as_possible(choice, device)
