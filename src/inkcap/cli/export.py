"""The command export: a drawing goes out as PyTorch, ONNX or weights, each proven before it is written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from inkcap.cli.app import app
from inkcap.cli.output import say
from inkcap.cli.runs import WorkspaceOption

if TYPE_CHECKING:
    from inkcap.exchange import Exported

ENDINGS = {"torch": ".py", "onnx": ".onnx", "safetensors": ".safetensors"}


@app.command()
def export(
    file: Annotated[Path, typer.Argument(metavar="DRAWING", help="A drawing, NAME.inkcap.json.")],
    to: Annotated[str, typer.Option("--to", metavar="|".join(ENDINGS), help="What it becomes.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The file; beside the drawing if not given.")
    ] = None,
    run: Annotated[
        str | None, typer.Option(metavar="RUN", help="A run whose best weights go along, or weights .safetensors.")
    ] = None,
    train: Annotated[bool, typer.Option("--train", help="Add a plain training loop (torch).")] = False,
    workspace: WorkspaceOption = Path(),
) -> None:
    """Take a drawing away as a PyTorch file, as ONNX, or a run's weights; it is proven before it is written."""
    from inkcap.drawing import SUFFIX, load_drawing
    from inkcap.structures import InkcapError

    if to not in ENDINGS:
        raise InkcapError(f"--to: {to!r} is not one of {', '.join(ENDINGS)}")
    if train and to != "torch":
        raise InkcapError(f"--train belongs to --to torch, not to {to}")
    if run is None and to == "safetensors":
        raise InkcapError("--to safetensors writes the weights of a run: give one by --run ('inkcap runs' lists them)")
    stem = file.name.removesuffix(SUFFIX) if file.name.endswith(SUFFIX) else file.stem
    path = output or file.with_name(f"{stem}{ENDINGS[to]}")
    if path.resolve() == file.resolve():
        raise InkcapError(f"{path}: the export would take the place of the drawing; name another file with -o")
    drawing = load_drawing(file)
    _tell(_export(drawing, to, path, None if run is None else _weights(workspace, run), train))


def _export(drawing: Any, to: str, path: Path, weights: Any, train: bool) -> Exported:
    from inkcap.exchange import export_onnx, export_safetensors, export_torch

    if to == "torch":
        return export_torch(drawing, path, weights, train=train)
    if to == "onnx":
        return export_onnx(drawing, path, weights)
    return export_safetensors(drawing, path, weights)


def _weights(workspace: Path, run: str) -> Any:
    from inkcap.training.environment import prepare_environment

    prepare_environment()
    from inkcap.training.weights import weights_by_name

    return weights_by_name(workspace, run)[0]


def _tell(exported: Exported) -> None:
    for note in exported.notes:
        say(f"note: {note}")
    say(str(exported.proof))
    for path in exported.files:
        say(f"wrote {path}")
