"""Commands between capsules and neurons: expand, contract."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from inkcap.cli.app import app
from inkcap.cli.output import number, say

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="A drawing, NAME.inkcap.json.")]
OutputOption = Annotated[Path | None, typer.Option("-o", "--output", metavar="OUT", help="The drawing to write.")]
RunOption = Annotated[str | None, typer.Option("--run", metavar="RUN", help="Take the best weights of this run.")]
WorkspaceOption = Annotated[Path, typer.Option("--workspace", help="Folder of drawings, data and runs.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")]


@app.command()
def expand(
    file: FileArgument,
    output: OutputOption = None,
    columns: Annotated[bool, typer.Option("--columns", help="Write a plain block, however small it is.")] = False,
    run: RunOption = None,
    weights: Annotated[
        Path | None, typer.Option("--weights", metavar="FILE.safetensors", help="Take the weights of this file.")
    ] = None,
    workspace: WorkspaceOption = Path(),
    force: ForceOption = False,
) -> None:
    """Expand a network of capsules to its neurons, with its weights, and prove that both compute the same."""
    from inkcap.drawing import load_drawing, save_drawing
    from inkcap.engine import expand as expand_network
    from inkcap.engine import prove_expansion, starting_weights
    from inkcap.network import check

    target = _target(file, output, "plain", force)
    network = check(load_drawing(file)).network
    taken = _weights(run, weights, workspace)
    if taken is None:
        taken = starting_weights(network, 0)
    expansion = expand_network(network, taken, columns=columns)
    difference = prove_expansion(network, taken, expansion)
    save_drawing(expansion.drawing, target)
    counts = ((expansion.neurons, "neurons"), (expansion.connections, "connections"))
    _tell(target, [*counts, (expansion.parameters, "parameters")], difference)


@app.command()
def contract(
    file: FileArgument,
    output: OutputOption = None,
    weights: Annotated[
        Path | None,
        typer.Option("--weights", metavar="OUT.safetensors", help="The weights to write; beside the drawing if empty."),
    ] = None,
    run: RunOption = None,
    workspace: WorkspaceOption = Path(),
    force: ForceOption = False,
) -> None:
    """Contract a network of neurons to capsules and a file of weights, and prove that both compute the same."""
    from inkcap.drawing import SUFFIX, load_drawing, save_drawing
    from inkcap.engine import contract as contract_drawing
    from inkcap.engine import prove_contraction
    from inkcap.network import check
    from inkcap.training.weights import save_weights

    target = _target(file, output, "capsules", force)
    kept = weights or target.with_name(target.name.removesuffix(SUFFIX) + ".safetensors")
    _check_free(kept, force)
    drawing = load_drawing(file)
    taken = _weights(run, None, workspace)
    contraction = contract_drawing(drawing, taken)
    report = check(contraction.drawing)
    difference = prove_contraction(drawing, contraction, taken)
    dtypes = {name: record.structure.dtype for name, record in report.network.weights.items()}
    save_weights(kept, {name: _as(value, dtypes[name]) for name, value in contraction.weights.items()})
    save_drawing(contraction.drawing, target)
    counts = ((len(report.capsules), "capsules"), (len(report.connections), "connections"))
    _tell(target, [*counts, (report.parameters, "parameters")], difference)
    say(f"wrote {kept}")


def _as(value: Any, dtype: str) -> Any:
    import torch

    return value.to(getattr(torch, dtype))


def _target(file: Path, output: Path | None, ending: str, force: bool) -> Path:
    from inkcap.drawing import SUFFIX

    stem = file.name.removesuffix(SUFFIX).removesuffix(".json").removesuffix("-plain")
    target = output or file.with_name(f"{stem}-{ending}{SUFFIX}")
    _check_free(target, force)
    return target


def _check_free(path: Path, force: bool) -> None:
    from inkcap.drawing import DrawingError

    if path.is_dir():
        raise DrawingError(f"{path}: this is a folder; give the name of a file")
    if path.exists() and not force:
        raise DrawingError(f"{path}: there is a file already; choose another name or give --force")


def _weights(run: str | None, file: Path | None, workspace: Path) -> Any:
    from inkcap.drawing import DrawingError
    from inkcap.recipes import find_run
    from inkcap.training.weights import read_weights

    if run and file:
        raise DrawingError(f"weights come from the run {run} or from {file}: give one of the two")
    if run:
        return read_weights(find_run(workspace, run).weights_file("best"))
    return read_weights(file) if file else None


def _tell(target: Path, counts: list[tuple[int, str]], difference: float) -> None:
    told = ", ".join(f"{number(count)} {what}" for count, what in counts)
    say(f"wrote {target}: {told}; outputs differ by at most {difference:.1e}")
    say(f"next: inkcap show {shlex.quote(str(target))}")
