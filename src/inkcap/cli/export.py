"""The command export: a drawing goes out as PyTorch, ONNX, Keras or weights, each proven, or as a figure for papers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from inkcap.cli.app import app
from inkcap.cli.output import say
from inkcap.cli.runs import PlaceOption, open_drawing
from inkcap.exchange.forms import BESIDE, ENDINGS, FIGURES

if TYPE_CHECKING:
    from inkcap.drawing import Drawing
    from inkcap.exchange import Exported

DIRECTIONS = ("right", "down")


@app.command()
def export(
    drawing: Annotated[str, typer.Argument(metavar="DRAWING", help="A drawing, or a picture that carries one.")],
    to: Annotated[str, typer.Option("--to", metavar="|".join(ENDINGS), help="What it becomes.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The file; beside the drawing if not given.")
    ] = None,
    run: Annotated[
        str | None, typer.Option(metavar="RUN", help="A run whose best weights go along, or weights .safetensors.")
    ] = None,
    train: Annotated[bool, typer.Option("--train", help="Add a plain training loop (torch).")] = False,
    font: Annotated[str, typer.Option(metavar="NAME", help="The font of a figure.")] = "",
    width: Annotated[str, typer.Option(metavar="WIDTH", help="How wide a figure is printed: 85mm, 240pt.")] = "",
    monochrome: Annotated[bool, typer.Option("--monochrome", help="A figure in black on white.")] = False,
    labels: Annotated[bool, typer.Option("--labels/--no-labels", help="With all that is written, or none.")] = True,
    opened: Annotated[bool, typer.Option("--open", help="Draw what groups stand for, not one box for each.")] = False,
    compact: Annotated[bool, typer.Option("--compact", help="Every group drawn once, below.")] = False,
    direction: Annotated[str, typer.Option(metavar="|".join(DIRECTIONS), help="Where a figure flows.")] = "right",
    arrange: Annotated[bool, typer.Option("--arrange", help="Lay out anew, whatever positions are stored.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Take the place of a file that is there.")] = False,
    workspace: PlaceOption = ".",
) -> None:
    """Take a drawing away: as PyTorch, Keras, ONNX or weights, proven before it is written, or as a figure."""
    from inkcap.drawing import SUFFIX
    from inkcap.remote import at, is_url
    from inkcap.structures import InkcapError

    if to not in ENDINGS:
        raise InkcapError(f"--to: {to!r} is not one of {', '.join(ENDINGS)}")
    looks = {
        "font": font, "width": width, "monochrome": monochrome, "no-labels": not labels, "open": opened,
        "compact": compact, "direction": direction != "right", "arrange": arrange,
    }  # fmt: skip
    _check_options(to, run, train, [name for name, given in looks.items() if given])
    if direction not in DIRECTIONS:
        raise InkcapError(f"--direction: {direction!r} is not one of {', '.join(DIRECTIONS)}")
    # What comes from storage is written where the command is given.
    file = Path(drawing.rpartition("/")[2] if is_url(drawing) else drawing)
    stem = file.name.removesuffix(SUFFIX) if file.name.endswith(SUFFIX) else file.stem
    path = output or file.with_name(f"{stem}{ENDINGS[to]}")
    if path.resolve() == file.resolve():
        raise InkcapError(f"{path}: the export would take the place of the drawing; name another file with -o")
    _check_place(path, to, run, force)
    wide: Any = {"font": font, "width": width, "monochrome": monochrome, "labels": labels, "opened": opened,
                 "compact": compact, "direction": direction, "stored": not arrange}  # fmt: skip
    drawn = open_drawing(drawing)
    with at(workspace) as place:
        if run is not None and place.elsewhere is not None and not Path(run).exists():
            place.run(run)
    done = carry_out(drawn, to, path, run, place.folder, train=train, looks=wide)
    for note in done.notes:
        say(f"note: {note}")
    say(done.told)
    for made in done.files:
        say(f"wrote {made}")


@dataclass(frozen=True)
class Done:
    """What was written, how it was proven or how it looks, and what a person should know."""

    files: tuple[Path, ...]
    told: str
    notes: tuple[str, ...] = ()


def carry_out(
    drawing: Drawing,
    to: str,
    path: Path,
    run: str | None = None,
    workspace: Path = Path(),
    *,
    train: bool = False,
    looks: Mapping[str, Any] | None = None,
) -> Done:
    """Export a drawing to a file; ``looks`` tells how a figure looks."""
    _check_options(to, run, train, [])
    if to in FIGURES:
        return _draw(drawing, to, path, dict(looks or {}))
    exported = _export(drawing, to, path, None if run is None else _weights(workspace, run), train)
    return Done(exported.files, str(exported.proof), exported.notes)


def _check_options(to: str, run: str | None, train: bool, looks: list[str]) -> None:
    from inkcap.structures import InkcapError

    if train and to != "torch":
        raise InkcapError(f"--train belongs to --to torch, not to {to}")
    if run is None and to == "safetensors":
        raise InkcapError("--to safetensors writes the weights of a run: give one by --run ('inkcap runs' lists them)")
    if run is not None and to in FIGURES:
        raise InkcapError(f"--run gives weights, and {to} is a figure: leave it out")
    if looks and to not in FIGURES:
        raise InkcapError(f"--{looks[0]} belongs to figures ({', '.join(FIGURES)}), not to {to}")


def _check_place(path: Path, to: str, run: str | None, force: bool) -> None:
    """Refuse a place before any work is done for it: a folder, none at all, or one that is taken."""
    from inkcap.structures import InkcapError

    if path.is_dir():
        raise InkcapError(f"{path}: this is a folder; give the name of a file with -o")
    if not path.parent.is_dir():
        raise InkcapError(f"{path}: there is no folder {path.parent}; make it first, or name another file with -o")
    beside = [path.with_suffix(BESIDE[to])] if run is not None and to in BESIDE else []
    taken = [place for place in (path, *beside) if place.exists()]
    if taken and not force:
        raise InkcapError(f"{taken[0]} is there already; name another file with -o, or take its place with --force")


def _draw(drawing: Drawing, to: str, path: Path, looks: dict[str, Any]) -> Done:
    from inkcap.drawing.picture_scene import PictureError
    from inkcap.network import check
    from inkcap.network.picture import Style, draw_figure, read_width
    from inkcap.structures.atomic import write_atomic

    width = looks.pop("width", "")
    style = Style(millimetres=read_width(width) if width else None, **looks)
    report = check(drawing)
    # A figure of a drawing with errors would show them as facts: it is refused as every other export is.
    _ = report.network
    form: Any = to
    figure = draw_figure(report, form, style)
    try:
        write_atomic(path, figure.content)
    except OSError as error:
        raise PictureError(f"{path}: cannot be written: {error.strerror}") from None
    wide = f"{style.millimetres:.4g} mm wide, " if style.millimetres else ""
    inside = "; the drawing is inside and opens again" if figure.carries else ""
    return Done((path,), f"drawn {wide}with text of {figure.text_points:.1f} pt{inside}")


def _export(drawing: Drawing, to: str, path: Path, weights: Any, train: bool) -> Exported:
    from inkcap import exchange

    if to == "torch":
        return exchange.export_torch(drawing, path, weights, train=train)
    if to == "safetensors":
        return exchange.export_safetensors(drawing, path, weights)
    ways = {"keras": exchange.export_keras, "onnx": exchange.export_onnx, "torch-export": exchange.export_program}
    return ways[to](drawing, path, weights)


def _weights(workspace: Path, run: str) -> Any:
    from inkcap.training.environment import prepare_environment

    prepare_environment()
    from inkcap.training.weights import weights_by_name

    return weights_by_name(workspace, run)[0]
