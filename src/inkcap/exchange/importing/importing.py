"""Importing: a file or a live module becomes a drawing with weights, and is proven to compute the same."""

from __future__ import annotations

import importlib.util
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load_file as load_arrays  # pyright: ignore[reportUnknownVariableType]
from safetensors.numpy import save_file as save_arrays  # pyright: ignore[reportUnknownVariableType]
from safetensors.torch import load_file, save  # pyright: ignore[reportUnknownVariableType]
from torch import Tensor, nn

from inkcap.drawing import SUFFIX, Drawing, from_text
from inkcap.engine.build import build, load_weights
from inkcap.exchange.importing import child, limits
from inkcap.exchange.importing.errors import ImportRefused
from inkcap.exchange.importing.model import Translated, translate
from inkcap.exchange.importing.sandbox import desk, run_limited
from inkcap.exchange.importing.torch_reader import read_torch
from inkcap.exchange.importing.translator import Missing
from inkcap.network import Network, check
from inkcap.structures.atomic import write_atomic

TOLERANCE = 1e-4
"""How far the drawing may be from the model, in relation to the largest number of an output, in float32."""
SMALLEST = 1e-3
"""The largest number of an output counts as no less than this, so that what is zero but for rounding passes."""
BATCH = 3
"""Samples of a proof, where the model takes any batch."""
MOST_EXAMPLES = 2**27
"""Numbers that are given to a model in a proof."""


@dataclass(frozen=True)
class Imported:
    """A drawing with its weights, what the model computed beside it, and what has no symbol."""

    drawing: Drawing
    weights: dict[str, Tensor]
    inputs: dict[str, str]
    """The data capsule of each input of the model, by the model's name."""
    outputs: dict[str, str]
    """The capsule of each output of the model, by the model's name."""
    missing: tuple[Missing, ...]
    difference: float | None
    """The largest difference between what the model and the drawing compute, in relation to the largest number."""
    unproven: str = ""
    """Why there is no difference, where there is none."""

    def proof(self) -> str:
        """Say how it was proven, or why not."""
        if self.difference is None:
            return f"not proven: {self.unproven}"
        return f"proven on random inputs: outputs differ by {self.difference:.2g}"

    def module(self) -> nn.Module:
        """Build the drawing with its weights, ready to predict."""
        module = build(check(self.drawing).network)
        load_weights(module, self.weights)
        return module.eval()

    def save(self, path: Path | str) -> tuple[Path, ...]:
        """Write the drawing, and its weights beside it; give both files."""
        path = Path(path)
        if not path.name.endswith(SUFFIX):
            raise ImportRefused(f"{path}: a drawing is called NAME{SUFFIX}")
        beside = path.with_name(path.name.removesuffix(SUFFIX) + limits.WEIGHTS)
        try:
            # The drawing comes last: one that is there has its weights, whatever happens in between.
            if self.weights:
                write_atomic(beside, save(self.weights))
            write_atomic(path, self.drawing.to_text())
        except OSError as error:
            raise ImportRefused(f"{path}: cannot be written: {error.strerror}") from None
        return (path, beside) if self.weights else (path,)


def import_onnx(source: Path | str | bytes, name: str = "") -> Imported:
    """Import an ONNX file, or its bytes, through a limited process."""
    content = source if isinstance(source, bytes) else read_file(Path(source), limits.FILE_BYTES)
    title = named(name or ("model" if isinstance(source, bytes) else Path(source).stem))
    if importlib.util.find_spec("onnx") is None:
        raise ImportRefused("onnx is not installed; 'pip install inkcap[onnx]' brings what ONNX needs")
    with desk() as folder:
        told = run_limited("read-onnx", folder, content, (title,))
        drawing = from_text((folder / child.DRAWING).read_text("utf-8"))
        weights = load_file(folder / child.WEIGHTS)
        missing = tuple(Missing(*entry) for entry in told["missing"])
        inputs, outputs = told["inputs"], told["outputs"]
        imported = Imported(drawing, weights, inputs, outputs, missing, None, _opaque(missing))
        if missing:
            return imported
        if importlib.util.find_spec("onnxruntime") is None:
            return _without(imported, "onnxruntime is not installed; 'pip install inkcap[onnx]' brings it")
        if (asked := _numbers_asked(told)) > MOST_EXAMPLES:
            # This process has no limits of its own: what a file says must not decide how much it takes.
            return _without(imported, f"its inputs have {asked} numbers; models are run with up to {MOST_EXAMPLES}")
        given = _examples(told, seed=0)
        save_arrays(given, folder / child.INPUTS)
        try:
            run_limited("run-onnx", folder, content)
        except ImportRefused as refusal:
            return _without(imported, str(refusal))
        theirs = load_arrays(folder / child.OUTPUTS)
    return _with(imported, _difference(imported, given, {name: torch.from_numpy(a) for name, a in theirs.items()}))


def from_torch(module: nn.Module, example: Tensor | Sequence[Tensor], name: str = "") -> Imported:
    """Import a live module: an example, a batch of samples for each input, is followed through it."""
    examples = (example,) if isinstance(example, Tensor) else tuple(example)
    title = named(name or type(module).__name__)
    graph = read_torch(module, examples, title)
    asked = list(graph.inputs)
    made: Translated = translate(graph)
    weights = {name: _tensor(constant.array()) for name, constant in made.weights.items()}
    imported = Imported(made.drawing, weights, made.inputs, made.outputs, made.missing, None, _opaque(made.missing))
    if made.missing:
        return imported
    was_training = module.training
    generator = torch.Generator().manual_seed(0)
    count = len(examples[0]) if graph.batch is not None else BATCH
    given = [_random(value, count, generator) for value in examples]
    try:
        with torch.no_grad():
            found = module.eval()(*given)
    finally:
        module.train(was_training)
    theirs = _flat(found)
    arrays = {name: value.numpy() for name, value in zip(asked, given, strict=False)}
    return _with(imported, _difference(imported, arrays, dict(zip(made.outputs, theirs, strict=False))))


def named(name: str) -> str:
    """Give a name as a drawing can have it."""
    return re.sub(r"[^\w .()+-]+", "-", name).strip("- ")[:60] or "model"


def read_file(path: Path, most: int) -> bytes:
    """Read a file that must not be larger than so many bytes."""
    try:
        size = path.stat().st_size
        if size > most:
            raise ImportRefused(f"{path}: it has {size} bytes; {most} are the most that is read")
        return path.read_bytes()
    except OSError as error:
        raise ImportRefused(f"{path}: cannot be read: {error.strerror}") from None


def read_pt(path: Path) -> dict[str, Tensor]:
    """Read the tensors of a ``.pt`` file in the limited process; nothing but tensors is read."""
    with desk() as folder:
        run_limited("read-pt", folder, read_file(path, limits.FILE_BYTES))
        return load_file(folder / child.WEIGHTS)


def _opaque(missing: tuple[Missing, ...]) -> str:
    if not missing:
        return ""
    kinds = sorted({entry.operator for entry in missing})
    return f"{len(missing)} operators have no symbol ({', '.join(kinds[:5])}), so nothing can be computed"


def _without(imported: Imported, reason: str) -> Imported:
    return Imported(
        imported.drawing, imported.weights, imported.inputs, imported.outputs, imported.missing, None, reason
    )


def _with(imported: Imported, difference: float) -> Imported:
    return Imported(imported.drawing, imported.weights, imported.inputs, imported.outputs, imported.missing, difference)


def _numbers_asked(told: Mapping[str, Any]) -> int:
    return (told["batch"] or BATCH) * sum(math.prod(shape) for shape in told["shapes"].values())


def _examples(told: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Give random inputs as the model takes them."""
    generator = np.random.default_rng(seed)
    count = told["batch"] or BATCH
    given: dict[str, Any] = {}
    for name, shape in told["shapes"].items():
        numbers = generator.standard_normal((count, *shape))
        given[name] = numbers.astype(told["types"][name])
    return given


def _difference(imported: Imported, given: Mapping[str, Any], theirs: Mapping[str, Tensor]) -> float:
    """Give the largest difference in relation to the largest number of its output; too large a one is an error."""
    network: Network = check(imported.drawing).network
    module = imported.module()
    capsule_of = {capsule: name for name, capsule in imported.inputs.items()}
    inputs: list[Tensor] = []
    for capsule in network.inputs:
        structure = network.capsules[capsule].output
        assert structure is not None
        array = torch.from_numpy(given[capsule_of[capsule]])
        inputs.append(array.reshape(len(array), *structure.sizes).float())
    with torch.no_grad():
        found = _flat(module(*inputs))
    ours = dict(zip(network.outputs, found, strict=True))
    worst = 0.0
    for name, capsule in imported.outputs.items():
        mine, other = ours[capsule].double(), theirs[name].double()
        if mine.numel() != other.numel():
            raise _unproven(name, f"it has {mine.numel()} numbers, the model's {other.numel()}")
        scale = max(SMALLEST, float(other.abs().max())) if other.numel() else 1.0
        difference = float((mine.reshape(other.shape) - other).abs().max()) / scale if other.numel() else 0.0
        if not difference <= TOLERANCE:
            raise _unproven(name, f"it differs by {difference:.3g}, {TOLERANCE:.3g} is allowed")
        worst = max(worst, difference)
    return worst


def _unproven(name: str, what: str) -> ImportRefused:
    return ImportRefused(
        f"nothing was written: the drawing does not compute the output {name!r} of the model: {what}. "
        "This is a fault of Inkcap; please report it with the model"
    )


def _flat(found: Any) -> tuple[Tensor, ...]:
    """Give the tensors of an answer in order, as torch.export lists them."""
    if isinstance(found, Tensor):
        return (found,)
    parts: Any = list(found.values()) if isinstance(found, Mapping) else found  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return tuple(value for part in parts if part is not None for value in _flat(part))


def _tensor(array: Any) -> Tensor:
    return torch.from_numpy(np.array(array, np.float32))


def _random(like: Tensor, count: int, generator: torch.Generator) -> Tensor:
    shape = (count, *like.shape[1:])
    if not like.is_floating_point():
        return like[:1].expand(shape).contiguous()
    return torch.randn(shape, generator=generator).to(like.dtype)
