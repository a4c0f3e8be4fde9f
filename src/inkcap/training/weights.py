"""Weights on disk, weights taken over from another run, and weights that stay as they are."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file  # pyright: ignore[reportUnknownVariableType]
from torch import Tensor

from inkcap.recipes import RunFolder, RunFolderError, find_run
from inkcap.recipes.checkpoints import Piece, Pieces
from inkcap.recipes.runfolder import WeightsName, sha256_of
from inkcap.structures.atomic import write_atomic_with
from inkcap.training.errors import TrainingError

_TYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}


@dataclass(frozen=True)
class Borrowed:
    """Which weights were taken over from another run, and why the others were not."""

    run: str = ""
    taken: tuple[str, ...] = ()
    left: tuple[tuple[str, str], ...] = ()
    remembered: tuple[str, ...] = ()
    """The weights of which what the optimiser remembers was taken over, too."""
    forgotten: str = ""
    """Why nothing of that was, though it was wanted."""

    def with_memory(self, remembered: tuple[str, ...], forgotten: str) -> "Borrowed":
        """Give the report with what is said of the optimiser's memory."""
        return replace(self, remembered=remembered, forgotten=forgotten)

    def remembering(self, learning: Iterable[str]) -> "Borrowed":
        """Give the report for those weights that still learn: a frozen one has no use for a memory."""
        kept = frozenset(learning)
        return replace(self, remembered=tuple(name for name in self.remembered if name in kept))

    def lines(self) -> list[str]:
        """Give the report for a person: how many were taken, and a line for each that was not; empty without a run."""
        if not self.run:
            return []
        taken = f"{len(self.taken)} weights taken from {self.run}: {', '.join(self.taken)}"
        memory = [f"with what the optimiser remembers of {len(self.remembered)} of them"] if self.remembered else []
        memory += [f"without what the optimiser remembers: {self.forgotten}"] if self.forgotten else []
        return [taken, *memory, *(f"not taken: {name}: {why}" for name, why in self.left)]

    def to_json(self) -> dict[str, Any]:
        """Give the report as plain values."""
        return {
            "run": self.run,
            "taken": list(self.taken),
            "left": dict(self.left),
            "remembered": list(self.remembered),
            "forgotten": self.forgotten,
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> "Borrowed":
        """Read a report; those of earlier versions say nothing of the optimiser."""
        remembered, forgotten = tuple(given.get("remembered", ())), given.get("forgotten", "")
        return cls(given["run"], tuple(given["taken"]), tuple(given["left"].items()), remembered, forgotten)


def tensor_pieces(tensors: Mapping[str, Tensor]) -> Pieces:
    """Give the content of a safetensors file: a header, then the bytes of the tensors as they lie in memory."""

    def pieces() -> Iterator[Piece]:
        plain = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
        header: dict[str, Any] = {}
        place = 0
        for name, value in plain.items():
            size = value.numel() * value.element_size()
            offsets = [place, place + size]
            header[name] = {"dtype": _TYPES[value.dtype], "shape": list(value.shape), "data_offsets": offsets}
            place += size
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        yield len(text).to_bytes(8, "little") + text
        for value in plain.values():
            if value.numel():
                yield value.reshape(-1).view(torch.uint8).numpy().data

    return pieces


def save_weights(path: Path, weights: Mapping[str, Tensor]) -> str:
    """Write weights as a whole file and give its check sum.

    Not by safetensors' own function: that writes beside the path it is given, under a name that nobody knows, and
    leaves it there when the process is killed.
    """
    # The widest numbers first, so that each lies where its type may be read in place; then by name, so that the same
    # weights are the same file.
    pieces = tensor_pieces(
        {name: weights[name] for name in sorted(weights, key=lambda n: (-weights[n].element_size(), n))}
    )

    def write(temporary: Path) -> None:
        with open(temporary, "wb") as file:
            file.writelines(pieces())

    try:
        write_atomic_with(path, write)
    except OSError as problem:
        raise RunFolderError(f"{path.parent.name}/{path.name}: could not be written ({problem}).") from None
    return sha256_of(path)


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read weights; a file that is none gets an error."""
    try:
        return load_file(path)
    except (OSError, SafetensorError) as problem:
        raise RunFolderError(f"{path.parent.name}/{path.name}: no weights can be read from it ({problem}).") from None


def weights_by_name(
    workspace: Path, name: str, which: WeightsName = "best"
) -> tuple[dict[str, Tensor], RunFolder | str]:
    """Read the weights of a run, or a file of weights such as an import leaves, and tell the run or the file's name."""
    if name.endswith(".safetensors"):
        for path in (Path(workspace) / name, Path(name)):
            if path.is_file():
                return read_weights(path), path.name
        raise RunFolderError(f"{name}: there is no such file of weights, in the workspace {workspace} or here.")
    run = find_run(workspace, name)
    return read_weights(run.weights_file(which)), run


def fitting(own: Mapping[str, Tensor], other: Mapping[str, Tensor], run: str) -> tuple[dict[str, Tensor], Borrowed]:
    """Pick the weights of another run whose names and shapes fit, and say why the others do not."""
    taken: dict[str, Tensor] = {}
    left: list[tuple[str, str]] = []
    for name, value in own.items():
        if name not in other:
            left.append((name, "the other run has no such weight"))
        elif other[name].shape != value.shape:
            left.append((name, f"its shape is {_shape(value)}, the other run's is {_shape(other[name])}"))
        else:
            taken[name] = other[name].to(dtype=value.dtype)
    left.extend((name, "this drawing has no such weight") for name in other if name not in own)
    if not taken:
        example = f" ({left[0][0]}: {left[0][1]})" if left else ""
        raise TrainingError(f"recipe.init_from: no weight of {run} fits this drawing{example}; leave init_from out.")
    return taken, Borrowed(run, tuple(taken), tuple(left))


def matching(names: Iterable[str], patterns: Sequence[str]) -> frozenset[str]:
    """Find the weights that stay as they are, by patterns on their names or on their capsules and connections."""
    every = tuple(names)
    # A weight belongs to its connection or capsule, to the part that the capsule wears, and to the groups around it.
    owners = {name: [name[:i] for i, letter in enumerate(name) if letter == "."] for name in every}
    found: set[str] = set()
    for pattern in patterns:
        hits = [name for name in every if any(fnmatchcase(n, pattern) for n in (name, *owners[name]))]
        if not hits:
            raise TrainingError(
                f"recipe.freeze: the pattern {pattern!r} matches no weight, capsule or connection; "
                f"the weights are: {', '.join(every) or 'none'}."
            )
        found.update(hits)
    return frozenset(found)


def freeze(
    module: torch.nn.Module, paths: Mapping[str, str], patterns: Sequence[str]
) -> tuple[list[torch.nn.Parameter], dict[str, Tensor]]:
    """Freeze the matching parameters; give the ones that still learn and copies of the matching buffers.

    `paths` maps the drawing's names to the module's. A buffer, such as a running mean, changes without a gradient,
    so its copy has to be put back after each epoch.
    """
    frozen = {paths[name] for name in matching(paths, patterns)} if patterns else set[str]()
    parameters = dict(module.named_parameters())
    for path, parameter in parameters.items():
        if path in frozen:
            parameter.requires_grad_(False)
    learning = [parameter for parameter in parameters.values() if parameter.requires_grad]
    if not learning:
        held = f"all {len(parameters)} weights are frozen" if parameters else "the drawing has no weights"
        raise TrainingError(f"there is nothing to learn: {held}; freeze fewer, or draw a connection with weights.")
    buffers = {path: value.detach().clone() for path, value in module.named_buffers() if path in frozen}
    return learning, buffers


def put_back(module: torch.nn.Module, buffers: Mapping[str, Tensor]) -> None:
    """Give frozen buffers their old values."""
    if buffers:
        own = dict(module.named_buffers())
        with torch.no_grad():
            for path, value in buffers.items():
                own[path].copy_(value)


def _shape(value: Tensor) -> str:
    return "×".join(str(size) for size in value.shape) or "a single value"
