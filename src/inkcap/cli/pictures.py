"""Commands that draw: picture for one drawing, figures for those of the paper. Neither needs torch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from inkcap.cli.app import app
from inkcap.cli.drawings import FileArgument
from inkcap.cli.output import complain, say

DarkOption = Annotated[bool, typer.Option("--dark", help="Light lines on dark paper.")]


@app.command()
def picture(
    file: FileArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="A file .svg, .png, .pdf or .tex; NAME.svg beside the drawing if not given."
        ),
    ] = None,
    dark: DarkOption = False,
    down: Annotated[bool, typer.Option("--down", help="From top to bottom instead of left to right.")] = False,
    no_labels: Annotated[bool, typer.Option("--no-labels", help="Without names, titles and weights.")] = False,
    no_structures: Annotated[bool, typer.Option("--no-structures", help="Without structures and weights.")] = False,
    opened: Annotated[bool, typer.Option("--open", help="Draw what groups stand for, not one box for each.")] = False,
    arrange: Annotated[bool, typer.Option("--arrange", help="Lay out anew, whatever positions are stored.")] = False,
    scale: Annotated[float, typer.Option(help="How large: 1 is natural size, 2 twice as large.")] = 1.0,
) -> None:
    """Draw a drawing as it is, to be looked at; what is wrong is marked in red. 'export' makes figures for papers."""
    from inkcap.drawing import SUFFIX, load_drawing
    from inkcap.network import check
    from inkcap.network.picture import picture_of

    drawing = load_drawing(file)
    stem = file.name.removesuffix(SUFFIX) if file.name.endswith(SUFFIX) else file.stem
    path = output or file.with_name(f"{stem}.svg")
    _check_path(path, file)
    report = check(drawing)
    svg = picture_of(
        report,
        "dark" if dark else "light",
        opened=opened,
        direction="down" if down else "right",
        show_labels=not no_labels,
        show_structures=not no_structures,
        stored=not arrange,
        scale=scale,
    )
    _write(path, svg, drawing.to_text())
    neurons = "" if drawing.plain is None else f", {len(drawing.plain.symbol)} neurons in columns"
    say(f"wrote {path} ({len(drawing.capsules)} capsules, {len(drawing.connections)} connections{neurons})")
    if report.errors:
        one = len(report.errors) == 1
        complain(f"{len(report.errors)} {'error is' if one else 'errors are'} marked in red: inkcap check {file}")


@app.command()
def figures(
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the files.")] = Path("figures"),
    png: Annotated[bool, typer.Option("--png", help="PNG instead of SVG.")] = False,
    dark: DarkOption = False,
) -> None:
    """Draw the paper's figures, one file each."""
    from inkcap.drawing.picture_scene import PictureError
    from inkcap.zoo.paper_figures import PAPER_FIGURES

    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PictureError(f"{output}: cannot be made a folder: {error.strerror}") from None
    for number, figure in PAPER_FIGURES.items():
        _write(output / f"figure-{number:02d}.{'png' if png else 'svg'}", figure.svg("dark" if dark else "light"))
    say(f"wrote {len(PAPER_FIGURES)} figures to {output}")


def _check_path(path: Path, drawing: Path) -> None:
    from inkcap.drawing.picture_scene import PictureError

    if path.suffix.lower() not in (".svg", ".png", ".pdf", ".tex"):
        raise PictureError(f"{path}: a picture is a file .svg, .png, .pdf or .tex; choose one of these endings")
    if path.resolve() == drawing.resolve():
        raise PictureError(f"{path}: the picture would take the place of the drawing; name another file with -o")


def _write(path: Path, svg: str, drawing: str = "") -> None:
    from inkcap.drawing.picture_files import picture_file
    from inkcap.drawing.picture_scene import PictureError
    from inkcap.structures.atomic import write_atomic

    content = picture_file(svg, path.suffix.lower(), drawing)
    try:
        write_atomic(path, content)
    except OSError as error:
        raise PictureError(f"{path}: cannot be written: {error.strerror}") from None
