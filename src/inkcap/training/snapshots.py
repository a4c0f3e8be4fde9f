"""Snapshots: all that a session remembers, copied between two steps, and put back again."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor

from inkcap.recipes import RunFolderError
from inkcap.recipes.metrics import tag, untag
from inkcap.training.batches import Batches
from inkcap.training.session import Session

if TYPE_CHECKING:
    from torch.distributed.tensor import DTensor

MODULE, OPTIMISER, WIDE, FROZEN = "module/", "optimiser/", "wide/", "frozen/"
PLAYED_INPUTS, PLAYED_TARGETS = "played/inputs/", "played/targets/"
RANDOM_OF = "random/cpu/"
"""The random numbers of other processes that train with the first one, by their rank."""
PENDING, RANDOM, RANDOM_CUDA = "pending", "random/cpu", "random/cuda"


@dataclass(frozen=True)
class Snapshot:
    """A session at rest. `best` are the best weights so far, by their names in the drawing."""

    tensors: Mapping[str, Tensor]
    best: Mapping[str, Tensor]
    progress: Mapping[str, Any]

    @property
    def step(self) -> int:
        """The steps that were done."""
        return int(self.progress["step"])


def capture(session: Session, best: Mapping[str, Tensor], frozen: Mapping[str, Tensor]) -> Snapshot:
    """Copy all that a session remembers; nothing of it may be shared with the training that goes on."""
    course, outcome, pulse = session.course, session.outcome, session.pulse
    tensors = {MODULE + path: _copied(value) for path, value in _stored(course.module)}
    # In an order of their own: a run that goes on has read them from a file, which has another.
    tensors |= {FROZEN + path: frozen[path].cpu() for path in sorted(frozen)}
    placed: dict[str, str] = {}
    plain: list[dict[str, Any]] = []
    learning = {id(parameter) for parameter in course.parameters}
    for number, parameter in enumerate(optimised_of(session)):
        if id(parameter) not in learning:
            tensors[f"{WIDE}{number}"] = _copied(parameter)
        plain.append({})
        # In an order of their own: the same state gives the same bytes, whoever made it.
        for name, value in sorted(session.optimiser.state.get(parameter, {}).items()):
            if isinstance(value, Tensor):
                tensors[f"{OPTIMISER}{number}/{name}"] = _copied(value)
                placed[f"{number}/{name}"] = value.device.type
            else:
                plain[number][name] = value
    if session.played is not None:
        tensors |= {f"{PLAYED_INPUTS}{i}": _copied(value) for i, value in enumerate(session.played.inputs)}
        tensors |= {f"{PLAYED_TARGETS}{i}": _copied(value) for i, value in enumerate(session.played.targets)}
    tensors[PENDING] = torch.stack(pulse.pending).cpu() if pulse.pending else torch.zeros(0)
    tensors[RANDOM] = torch.get_rng_state()
    if course.training.device.type == "cuda":
        tensors[RANDOM_CUDA] = torch.cuda.get_rng_state(course.training.device)
    tensors |= course.others()
    progress: dict[str, Any] = {
        "step": outcome.steps,
        "epoch": session.epoch,
        "batches": session.batches,
        "sum": tag(pulse.sum),
        "count": pulse.count,
        "done_epochs": outcome.epochs,
        "best_epoch": outcome.best_epoch,
        "best_value": tag(outcome.best_value),
        "values": {name: tag(value) for name, value in outcome.values.items()},
        "waiting_since": outcome.waiting_since,
        "groups": [{k: v for k, v in group.items() if k != "params"} for group in session.optimiser.param_groups],
        "remembered": plain,
        "placed": placed,
        "schedule": {name: tag(value) for name, value in session.schedule.state().items()},
    }
    if course.scaler is not None:
        progress["scaler"] = course.scaler.state_dict()
    return Snapshot(tensors, dict(sorted(best.items())), progress)


def restore(session: Session, snapshot: Snapshot, place: str) -> None:
    """Put a fresh session where the snapshot was taken; the random numbers come last, when nothing draws any more."""
    tensors, progress = dict(snapshot.tensors), snapshot.progress
    outcome, pulse, course = session.outcome, session.pulse, session.course
    _restore_module(course.module, tensors, place)
    _restore_optimiser(session, tensors, progress, place)
    session.schedule.restore({name: untag(value) for name, value in progress["schedule"].items()})
    if course.scaler is not None:
        course.scaler.load_state_dict(dict(progress["scaler"]))
    session.epoch, session.batches = int(progress["epoch"]), int(progress["batches"])
    session.played = _played(course.training, tensors)
    pulse.sum, pulse.count = untag(progress["sum"]), int(progress["count"])
    pulse.pending = list(tensors[PENDING].to(course.training.device).unbind())
    outcome.steps, outcome.epochs = int(progress["step"]), int(progress["done_epochs"])
    outcome.best_epoch, outcome.best_value = int(progress["best_epoch"]), untag(progress["best_value"])
    outcome.values = {name: untag(value) for name, value in progress["values"].items()}
    outcome.waiting_since = int(progress["waiting_since"])
    restore_random(session, snapshot)


def restore_random(session: Session, snapshot: Snapshot) -> None:
    """Put the random numbers where they were."""
    device, parts = session.course.training.device, session.course.parts
    if parts is not None and parts.rank:
        own = snapshot.tensors.get(f"{RANDOM_OF}{parts.rank}")
        if own is not None:
            torch.set_rng_state(own)
        return
    if RANDOM_CUDA in snapshot.tensors and device.type == "cuda":
        torch.cuda.set_rng_state(snapshot.tensors[RANDOM_CUDA], device)
    torch.set_rng_state(snapshot.tensors[RANDOM])


def is_finite(session: Session) -> bool:
    """Tell whether the weights and the losses that nobody has looked at yet are all numbers."""
    values = [*session.course.parameters, *session.pulse.pending]
    return all(bool(torch.isfinite(value).all()) for value in values)


def frozen_of(snapshot: Snapshot) -> dict[str, Tensor]:
    """Give the buffers that are put back after each epoch."""
    return {n.removeprefix(FROZEN): value for n, value in snapshot.tensors.items() if n.startswith(FROZEN)}


def _played(training: Batches, tensors: Mapping[str, Tensor]) -> Batches | None:
    """Give the samples that the epoch in hand has played, where it has."""
    inputs, targets = (
        tuple(tensors[name].to(training.device) for name in sorted(tensors) if name.startswith(prefix))
        for prefix in (PLAYED_INPUTS, PLAYED_TARGETS)
    )
    return replace(training, inputs=inputs, targets=targets) if inputs else None


def _stored(module: torch.nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Give all parameters and buffers, also those that a state dict leaves out."""
    for path, parameter in module.named_parameters():
        # Of a weight that is parted over several processes each has its own part.
        yield path, cast("DTensor", parameter).to_local() if hasattr(parameter, "to_local") else parameter
    yield from module.named_buffers()


def optimised_of(session: Session) -> list[Tensor]:
    """Give what the optimiser works on, in its order."""
    return [parameter for group in session.optimiser.param_groups for parameter in group["params"]]


def _copied(value: Tensor) -> Tensor:
    return value.detach().to("cpu", copy=True)


@torch.no_grad()
def _restore_module(module: torch.nn.Module, tensors: Mapping[str, Tensor], place: str) -> None:
    own = {MODULE + path: value for path, value in _stored(module)}
    given = {name for name in tensors if name.startswith(MODULE)}
    if own.keys() != given:
        raise RunFolderError(f"{place}: its weights are not those of the drawing ({sorted(own.keys() ^ given)[0]}).")
    for name, value in own.items():
        _check_alike(value, tensors[name], f"{place}: {name}")
        value.copy_(tensors[name])


@torch.no_grad()
def _restore_optimiser(
    session: Session, tensors: Mapping[str, Tensor], progress: Mapping[str, Any], place: str
) -> None:
    groups, optimised = session.optimiser.param_groups, optimised_of(session)
    if len(progress["groups"]) != len(groups) or len(progress["remembered"]) != len(optimised):
        raise RunFolderError(f"{place}: its optimiser is not that of the recipe.")
    for group, stored in zip(groups, progress["groups"], strict=True):
        if stored.keys() != group.keys() - {"params"}:
            raise RunFolderError(f"{place}: its optimiser is not that of the recipe, or of another version of torch.")
        # JSON has no tuples, and the betas are one.
        group.update({name: tuple(value) if name == "betas" else value for name, value in stored.items()})
    for number, parameter in enumerate(optimised):
        if f"{WIDE}{number}" in tensors:
            _check_alike(parameter, tensors[f"{WIDE}{number}"], f"{place}: {WIDE}{number}")
            parameter.copy_(tensors[f"{WIDE}{number}"])
        prefix = f"{OPTIMISER}{number}/"
        held = {n.removeprefix(prefix): value for n, value in tensors.items() if n.startswith(prefix)}
        placed = {name: progress["placed"][f"{number}/{name}"] for name in held}
        session.optimiser.state[parameter] = dict(progress["remembered"][number]) | laid(parameter, held, placed)


def laid(parameter: Tensor, held: Mapping[str, Tensor], placed: Mapping[str, str]) -> dict[str, Tensor]:
    """Copy what an optimiser remembers of a weight to where it is used.

    Fused steps walk a weight and what is remembered of it side by side, so both must lie alike.
    """
    state: dict[str, Tensor] = {}
    for name, value in held.items():
        device = "cpu" if placed[name] == "cpu" else parameter.device
        made = torch.empty_like(parameter, dtype=value.dtype) if value.shape == parameter.shape else value
        state[name] = made.to(device).copy_(value) if made is not value else value.to(device, copy=True)
    return state


def _check_alike(own: Tensor, given: Tensor, place: str) -> None:
    if own.shape != given.shape or own.dtype != given.dtype:
        raise RunFolderError(
            f"{place}: it is {given.dtype} {tuple(given.shape)}, the drawing's is {own.dtype} {tuple(own.shape)}."
        )
