"""Taking over from another run: its weights where they fit, and what its optimiser remembers of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from inkcap.engine import weights_of
from inkcap.recipes import Recipe, RecipeError, RunFolder, RunFolderError, layout
from inkcap.recipes.checkpoints import newest_checkpoint
from inkcap.training.checkpoints import read_snapshot
from inkcap.training.session import Session
from inkcap.training.snapshots import OPTIMISER, WIDE, laid
from inkcap.training.weights import Borrowed, fitting, weights_by_name


@dataclass(frozen=True)
class Memory:
    """What an optimiser remembers of weights, by their names: tensors, where they lay, and plain values."""

    tensors: Mapping[str, Mapping[str, Tensor]] = field(default_factory=dict[str, Mapping[str, Tensor]])
    placed: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    plain: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])


def borrow(module: torch.nn.Module, recipe: Recipe, workspace: Path) -> tuple[dict[str, Tensor], Memory, Borrowed]:
    """Pick what a module can take over from a run: the weights, what is remembered of them, and the report.

    With the memory come the last weights, to which it belongs; without it the best ones. A file of weights has none.
    """
    assert recipe.init_from is not None
    names = renamings(recipe.init_renamed)
    stored, other = weights_by_name(workspace, recipe.init_from, "last" if recipe.init_memory else "best")
    own = {renamed(name, names): value for name, value in stored.items()}
    taken, borrowed = fitting(weights_of(module), own, other if isinstance(other, str) else other.id)
    if not recipe.init_memory:
        return taken, Memory(), borrowed
    if isinstance(other, str):
        return taken, Memory(), borrowed.with_memory((), "a file of weights remembers nothing")
    memory, why = _memory(other, recipe, names, taken)
    return taken, memory, borrowed.with_memory(tuple(memory.plain), why)


def renamings(text: str) -> dict[str, str]:
    """Read OLD=NEW, by commas: the names of capsules and connections that have changed since."""
    found: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        old, equals, new = (word.strip() for word in part.partition("="))
        if not (equals and old and new):
            raise RecipeError(f"recipe.init_renamed: {part!r} is not of the form OLD=NEW.")
        found[old] = new
    return found


def renamed(name: str, names: Mapping[str, str]) -> str:
    """Give the name that a weight has now: it begins with that of its connection, capsule or group."""
    owner, dot, rest = name.partition(".")
    return f"{names.get(owner, owner)}{dot}{rest}"


def learning_names(module: torch.nn.Module, learning: Sequence[torch.nn.Parameter]) -> list[str]:
    """Give the names, in the drawing, of the parameters that learn, in the order of the optimiser."""
    paths: Any = module.weight_names
    own = dict(module.named_parameters())
    by_parameter = {id(own[path]): name for name, path in dict(paths).items() if path in own}
    return [by_parameter[id(parameter)] for parameter in learning]


def recall(session: Session, names: Sequence[str], memory: Memory) -> None:
    """Let a fresh optimiser remember what another one did."""
    for name, parameter in zip(names, session.course.parameters, strict=True):
        if name in memory.plain:
            kept = laid(parameter, memory.tensors[name], memory.placed[name])
            session.optimiser.state[parameter] = dict(memory.plain[name]) | kept


def _memory(other: RunFolder, recipe: Recipe, names: Mapping[str, str], wanted: Iterable[str]) -> tuple[Memory, str]:
    """Read what a run's optimiser remembers of some weights, or say why nothing is taken."""
    before, now = other.recipe().optimiser.kind, recipe.optimiser.kind
    if before != now:
        return Memory(), f"the optimiser was {before} and is {now}"
    stored, _ = newest_checkpoint(other.path / layout.CHECKPOINTS)
    if stored is None:
        return Memory(), "the run has no whole checkpoint"
    try:
        snapshot = read_snapshot(stored)
        progress, tensors = snapshot.progress, snapshot.tensors
        if "learning" not in progress:
            return Memory(), "its checkpoint is of an earlier Inkcap"
        if any(name.startswith(WIDE) for name in tensors):
            return Memory(), "weights of 16 bits learn as copies"
        numbers = {renamed(name, names): number for number, name in enumerate(progress["learning"])}
        kept = {name: numbers[name] for name in wanted if name in numbers}
        held = {
            name: {
                key.removeprefix(f"{OPTIMISER}{number}/"): value
                for key, value in tensors.items()
                if key.startswith(f"{OPTIMISER}{number}/")
            }
            for name, number in kept.items()
        }
        placed = {n: {part: progress["placed"][f"{number}/{part}"] for part in held[n]} for n, number in kept.items()}
        plain = {name: dict(progress["remembered"][number]) for name, number in kept.items()}
    except (RunFolderError, KeyError, IndexError, TypeError) as problem:
        return Memory(), f"its checkpoint cannot be read ({problem})"
    if not any(held.values()) and not any(plain.values()):
        return Memory(), f"{now} remembers nothing"
    return Memory(held, placed, plain), ""
