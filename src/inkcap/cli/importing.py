"""The command import: an ONNX file, or a module of a Python file, becomes a drawing with weights."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from inkcap.cli.app import app
from inkcap.cli.output import number, print_json, say
from inkcap.structures import InkcapError

if TYPE_CHECKING:
    from inkcap.exchange import Imported


@app.command(name="import")
def import_model(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A file MODEL.onnx, or file.py:Class, a torch module to run.")
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The drawing; NAME.inkcap.json here if not given.")
    ] = None,
    input: Annotated[
        list[str] | None,
        typer.Option(metavar="HxWxC", help="Size of a sample for file.py:Class, e.g. 224x224x3. Once for each input."),
    ] = None,
    weights: Annotated[
        Path | None, typer.Option(help="Weights for file.py:Class: a state_dict, .safetensors or .pt.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Take the place of a drawing that is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Make a drawing with weights of a model from elsewhere, and compare what both compute."""
    from inkcap.drawing import SUFFIX
    from inkcap.exchange.importing.limits import WEIGHTS

    file, _, name = model.rpartition(":")
    live = file.endswith(".py")
    if not live and (input or weights):
        raise InkcapError("--input and --weights belong to file.py:Class; an ONNX file has both in it")
    if model.endswith(".py"):
        raise InkcapError(f"{model}: name the class or function behind it that makes the module, e.g. {model}:Net")
    if not live and not model.lower().endswith(".onnx"):
        raise InkcapError(f"{model}: this is neither a file .onnx nor file.py:Class; export the model as ONNX first")
    stem = name if live else Path(model).stem
    path = output or Path(f"{stem}{SUFFIX}")
    if not path.name.endswith(SUFFIX):
        raise InkcapError(f"{path}: a drawing is called NAME{SUFFIX}")
    taken = [p for p in (path, path.with_name(path.name.removesuffix(SUFFIX) + WEIGHTS)) if p.exists()]
    if taken and not force:
        raise InkcapError(f"{taken[0]} is there already; name another file with -o, or take its place with --force")
    imported = _live(Path(file), name, input or [], weights) if live else _onnx(Path(model))
    files = imported.save(path)
    _tell(imported, files, as_json)


def _onnx(path: Path) -> Imported:
    from inkcap.exchange import import_onnx
    from inkcap.exchange.importing import ImportRefused

    try:
        return import_onnx(path)
    except ImportRefused as refusal:
        words = str(refusal)
        raise ImportRefused(words if words.startswith(str(path)) else f"{path}: {words}") from None


def _live(file: Path, name: str, inputs: list[str], weights: Path | None) -> Imported:
    """Run a person's Python file and follow random samples through a module of it."""
    import torch

    from inkcap.exchange import from_torch

    if not inputs:
        raise InkcapError(
            "--input is missing: say the size of a sample, e.g. --input 224x224x3 (height, width, channels)"
        )
    module = _module(file, name)
    if weights is not None:
        _load(module, weights)
    return from_torch(module, [torch.randn(2, *_sizes(text)) for text in inputs], name)


def _sizes(text: str) -> tuple[int, ...]:
    """Read a size, height and width before the channels, in torch's order."""
    parts = text.lower().split("x")
    if not all(part.isdecimal() and 0 < int(part) < 2**31 for part in parts):
        raise InkcapError(f"--input {text!r} is no size; give sizes such as 224x224x3, height, width and channels")
    sizes = tuple(map(int, parts))
    return (sizes[-1], *sizes[:-1]) if len(sizes) > 2 else sizes


def _module(file: Path, name: str) -> Any:
    import torch

    if not file.is_file():
        raise InkcapError(f"{file}: there is no such file")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    source = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(file.parent.resolve()))
    try:
        spec.loader.exec_module(source)
        found: Any = getattr(source, name, None)
        made = found() if callable(found) and not isinstance(found, torch.nn.Module) else found
    except (Exception, SystemExit) as error:
        words = " ".join(str(error).split())[:300]
        hint = "; write a function without arguments that makes it" if "required positional argument" in words else ""
        raise InkcapError(f"{file}:{name}: running it failed: {type(error).__name__}: {words}{hint}") from None
    finally:
        sys.path.pop(0)
    if found is None:
        there = [key for key, value in vars(source).items() if isinstance(value, type) and not key.startswith("_")]
        raise InkcapError(f"{file}: there is no {name!r} in it; there are {', '.join(there[:12]) or 'no classes'}")
    if not isinstance(made, torch.nn.Module):
        raise InkcapError(f"{file}:{name} is no torch.nn.Module, nor makes one without arguments")
    return made


def _load(module: Any, path: Path) -> None:
    from safetensors import SafetensorError
    from safetensors.torch import load_file  # pyright: ignore[reportUnknownVariableType]

    from inkcap.exchange.importing import ImportRefused, read_pt

    try:
        state = load_file(path) if path.suffix == ".safetensors" else read_pt(path)
        module.load_state_dict(state)
    except (OSError, SafetensorError, RuntimeError) as error:
        raise InkcapError(f"{path}: these weights do not fit: {' '.join(str(error).split())[:300]}") from None
    except ImportRefused as refusal:
        words = str(refusal)
        raise ImportRefused(words if words.startswith(str(path)) else f"{path}: {words}") from None


def summary(imported: Imported, files: tuple[Path, ...]) -> dict[str, Any]:
    """Tell what came, how it was proven and what has no symbol, as plain values."""
    from inkcap.network import check

    report = check(imported.drawing)
    return {
        "files": [str(path) for path in files],
        "capsules": report.capsule_count,
        "connections": report.connection_count,
        "parameters": report.parameters,
        "multiply_adds": report.multiply_adds,
        "inputs": imported.inputs,
        "outputs": imported.outputs,
        "difference": imported.difference,
        "unproven": imported.unproven,
        "missing": [
            {"node": m.node, "operator": m.operator, "reason": m.reason, "capsule": m.capsule} for m in imported.missing
        ],
    }


def _tell(imported: Imported, files: tuple[Path, ...], as_json: bool) -> None:
    told = summary(imported, files)
    if as_json:
        print_json(told)
        return
    for entry in imported.missing:
        say(f"no symbol: {entry} (capsule {entry.capsule})")
    say(imported.proof())
    what = f"{told['capsules']} capsules, {told['connections']} connections"
    say(f"wrote {files[0]} ({what}, {number(told['parameters'])} parameters)")
    for path in files[1:]:
        say(f"wrote {path}")
    say(f"next: inkcap check {files[0]}")
