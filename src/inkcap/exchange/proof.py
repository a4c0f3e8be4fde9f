"""Proof: what was exported computes what the drawing computes, with random weights on random inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from inkcap.engine.build import build, named_states, named_weights, run_source
from inkcap.exchange.random_weights import as_tuple, moved_by_rounding, random_inputs, randomise
from inkcap.exchange.torch_file import TorchFile
from inkcap.structures import InkcapError

TOLERANCE = 1e-5
"""How far an exported form may be from the drawing, in relation to the largest number, in float32."""
MANY_ROUNDINGS = 4
"""Draws of moved last places, and by how much a way through another engine may round more than one of them."""
MOST = 1e-2
"""No difference beyond this is one of rounding."""
SMALLEST = 1e-3
"""The largest number counts as no less than this, so that what is zero but for rounding passes."""


class NotProven(InkcapError):
    """An export that computes something else than its drawing."""


@dataclass(frozen=True)
class Proof:
    """The largest differences between an exported form and the drawing, in relation to the largest number."""

    outputs: float
    gradients: float | None = None
    """Of one training step; None where the form does not train, or nothing in it has a gradient."""

    def __str__(self) -> str:
        told = f"proven with random weights: outputs differ by {self.outputs:.2g}"
        return told if self.gradients is None else f"{told}, gradients of a training step by {self.gradients:.2g}"


def prove_torch(file: TorchFile, seed: int = 0) -> Proof:
    """Compare the printed file with the module that trains: outputs, and gradients and states of a training step."""
    ours, theirs = random_pair(file, seed)
    inputs = random_inputs(file.report.network, seed)
    for module in (ours, theirs):
        module.eval()
    with torch.no_grad():
        outputs = largest_difference("outputs", as_tuple(ours(*inputs)), as_tuple(theirs(*inputs)))
    mine, other = (_gradients(module.train(), inputs, seed) for module in (ours, theirs))
    paths = {name: file.names[name] for name in named_weights(ours)}
    own: Mapping[str, str] = ours.weight_names  # pyright: ignore[reportAssignmentType]
    pairs = [(mine.get(own[name]), other.get(path)) for name, path in paths.items()]
    if any((a is None) != (b is None) for a, b in pairs):
        raise _unproven("gradients", float("nan"), TOLERANCE)
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    moved = dict(theirs.named_buffers())
    states = [(state, moved[file.names[name]]) for name, state in named_states(ours).items()]
    largest_difference("running statistics", *_apart(states))
    return Proof(outputs, largest_difference("gradients", *_apart(known)) if known else None)


def random_pair(file: TorchFile, seed: int) -> tuple[nn.Module, nn.Module]:
    """Give the module that trains and that of the printed file, with the same random weights."""
    network = file.report.network
    ours, theirs = build(network), run_source(file.source, file.name)
    randomise(ours, network, seed)
    give_weights(theirs, file.names, stored_in(ours))
    return ours, theirs


def largest_difference(
    what: str, ours: Sequence[Tensor], theirs: Sequence[Tensor], tolerance: float = TOLERANCE
) -> float:
    """Give the largest difference in relation to the largest number of its tensor; too large a one is an error."""
    worst = 0.0
    for mine, other in zip(ours, theirs, strict=True):
        if mine.shape != other.shape or mine.dtype != other.dtype:
            raise NotProven(
                f"the export was not written: {what} have the structure {tuple(other.shape)} of {other.dtype}, "
                f"the drawing's {tuple(mine.shape)} of {mine.dtype}; this is a fault of Inkcap, please report it"
            )
        if not mine.numel():
            continue
        wide, another = (t.detach().to(torch.complex128 if t.is_complex() else torch.float64) for t in (mine, other))
        scale = max(SMALLEST, float(wide.abs().max()))
        difference = float((wide - another).abs().max()) / scale
        if not difference <= tolerance:
            raise _unproven(what, difference, tolerance)
        worst = max(worst, difference)
    return worst


def as_near_as_rounding(
    module: nn.Module, inputs: Sequence[Tensor], ours: Sequence[Tensor], theirs: Sequence[Tensor], tolerance: float
) -> float:
    """Compare outputs with those of another engine, which rounds in another order.

    Weights that go out may enlarge what is rounded, as those of EM routing do: beyond the tolerance a difference still
    passes where the drawing's own outputs move about as far when its weights and inputs move in their last places.
    """
    try:
        return largest_difference("outputs", ours, theirs, tolerance)
    except NotProven:
        enlarged = MANY_ROUNDINGS * moved_by_rounding(module, inputs, MANY_ROUNDINGS)
        return largest_difference("outputs", ours, theirs, min(max(tolerance, enlarged), MOST))


def _unproven(what: str, difference: float, tolerance: float) -> NotProven:
    return NotProven(
        f"the export was not written: {what} differ from the drawing's by {difference:.3g}, {tolerance:.3g} is "
        "allowed; this is a fault of Inkcap, please report it with the drawing"
    )


def stored_in(module: nn.Module) -> dict[str, Tensor]:
    """Give what a built module stores, by the names of the drawing."""
    return {**named_weights(module), **named_states(module)}


def give_weights(module: nn.Module, names: Mapping[str, str], weights: Mapping[str, Tensor]) -> None:
    """Load weights and states, known by their names in the drawing, into a module of a printed file."""
    own = module.state_dict()
    unknown = [name for name in weights if names.get(name) not in own]
    # A layer counts its batches by itself; everything else is a weight or state of the drawing.
    given = {names[name] for name in weights if name in names}
    missing = [path for path in own if path not in given and not path.endswith("num_batches_tracked")]
    if unknown or missing:
        raise NotProven(
            f"the export was not written: the module lacks {', '.join(unknown) or 'no weight'} and has "
            f"{', '.join(missing) or 'none'} that the weights do not; this is a fault of Inkcap, please report it"
        )
    with torch.no_grad():
        for name, value in weights.items():
            own[names[name]].copy_(value)


def _apart(pairs: Iterable[tuple[Tensor, Tensor]]) -> tuple[list[Tensor], list[Tensor]]:
    both = list(pairs)
    return [a for a, _ in both], [b for _, b in both]


def _gradients(module: nn.Module, inputs: tuple[Tensor, ...], seed: int) -> dict[str, Tensor | None]:
    """Take a training step of a loss that looks at every output, each element with a weight of its own."""
    # Both modules draw the same masks from the same seed.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        outputs = as_tuple(module(*inputs))
        generator = torch.Generator().manual_seed(seed + 2)
        losses = [
            (output * torch.randn(output.shape, generator=generator)).sum()
            for output in outputs
            if output.requires_grad and output.is_floating_point()
        ]
        if losses:
            torch.stack([loss.to(torch.float64) for loss in losses]).sum().backward()
    return {name: parameter.grad for name, parameter in module.named_parameters()}
