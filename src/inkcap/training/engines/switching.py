"""A switch of engines in mid-run: settled before the first step, at a step that the recipe names, never by a clock."""

from __future__ import annotations

from dataclasses import replace

import torch

from inkcap.engine.rewrites import TRACEABLE
from inkcap.network import Network
from inkcap.recipes.engines import read_switch
from inkcap.training.engines.choice import Choice, Switch
from inkcap.training.engines.choosing import Case, Chosen, choose
from inkcap.training.engines.compiling import NO_COMPILER, has_compiler
from inkcap.training.errors import TrainingError
from inkcap.training.optimisers import NARROW
from inkcap.training.session import Course


def choose_with_switch(case: Case) -> Chosen:
    """Choose how a run begins and how it goes on; it begins eagerly, at once, unless the recipe names an engine."""
    course = case.course
    recipe = course.recipe
    read = read_switch(recipe.switch_engine)
    if read is None:
        return choose(case)
    engine, after = read
    begins = replace(recipe, engine="eager" if recipe.engine == "auto" else recipe.engine, switch_engine="")
    chosen = choose(replace(case, course=replace(course, recipe=begins)))
    notes = chosen.notes
    if engine == "compiled" and _lacks_compiler(course.training.device):
        engine, notes = "explicit", (*notes, NO_COMPILER)
    if engine == chosen.choice.engine:
        return replace(chosen, notes=tuple(dict.fromkeys(notes)))
    switch = Switch(after, engine, TRACEABLE if engine == "compiled" else ())
    return replace(chosen, choice=replace(chosen.choice, switch=switch), notes=tuple(dict.fromkeys(notes)))


def as_far_as_possible(choice: Choice, device: torch.device) -> Choice:
    """Give a choice that was kept, with explicit steps in place of compiled ones where there is no compiler."""
    if not _lacks_compiler(device):
        return choice
    switch = choice.switch
    if switch is not None and switch.engine == "compiled":
        choice = replace(choice, switch=replace(switch, engine="explicit"))
    return replace(choice, engine="explicit") if choice.engine == "compiled" else choice


def _lacks_compiler(device: torch.device) -> bool:
    return device.type == "cpu" and not has_compiler()


def check_switch(network: Network, course: Course) -> None:
    """Refuse a switch that cannot be, before there is a run."""
    read = read_switch(course.recipe.switch_engine)
    if read is None:
        return
    engine, after = read
    place = f"recipe.switch_engine: {engine}@{after}"
    if network.plain is not None:
        raise TrainingError(f"{place}: plain neurons have kernels of their own from the first step on; leave it out.")
    each, epochs = course.training.steps, course.recipe.epochs
    if after >= each * epochs:
        raise TrainingError(
            f"{place}: the run has {each * epochs:,} steps in all, {each:,} in each of {epochs:,} epochs, so nothing "
            f"would come after it; give a step below {each * epochs:,}."
        )
    narrow = any(parameter.dtype in NARROW for parameter in course.parameters)
    unfit = "its samples are played" if course.play is not None else "its weights have 16 bits" if narrow else ""
    if course.training.device.type == "mps":
        unfit = "mps has no double precision"
    if engine == "compiled" and unfit:
        raise TrainingError(f"{place}: this run cannot be compiled, since {unfit}; give explicit@{after}.")
