"""Commands that compare and merge drawings by meaning: diff and merge, also as drivers of git. Neither needs torch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inkcap.cli.app import app
from inkcap.cli.output import complain, say

if TYPE_CHECKING:
    from inkcap.drawing import Drawing

NOWHERE = ("/dev/null", "nul")
"""What git gives in place of a file that is not there."""


@app.command(name="diff")
def show_difference(
    files: Annotated[list[str], typer.Argument(metavar="BEFORE AFTER", help="Two drawings.")],
    exit_code: Annotated[bool, typer.Option("--exit-code", help="End with 1 where they differ.")] = False,
    git: Annotated[bool, typer.Option("--git", help="Take the arguments that git gives its diff command.")] = False,
) -> None:
    """Tell what is different between two drawings, by meaning; places on the canvas mean nothing."""
    from inkcap.network.comparing import tell_difference
    from inkcap.structures import InkcapError

    if git:
        _for_git(files)
        return
    if len(files) != 2:
        raise InkcapError(f"diff takes two drawings, not {len(files)}: inkcap diff BEFORE AFTER")
    before, after = (_open(file) for file in files)
    lines = tell_difference(before, after)
    for line in lines or ["no difference"]:
        say(line)
    if exit_code and lines:
        raise typer.Exit(1)


@app.command()
def merge(
    base: Annotated[Path, typer.Argument(metavar="BASE", help="The drawing that both come from.")],
    ours: Annotated[Path, typer.Argument(metavar="OURS", help="Our drawing; it becomes the merged one.")],
    theirs: Annotated[Path, typer.Argument(metavar="THEIRS", help="Their drawing.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Another file for the merged one.")] = None,
    name: Annotated[str, typer.Option(metavar="NAME", help="What to call the drawing in messages.")] = "",
) -> None:
    """Merge two drawings record by record and field by field; it ends with 1 where they contradict each other."""
    from inkcap.drawing import save_drawing
    from inkcap.drawing.merging import merge_drawings
    from inkcap.structures import InkcapError

    mine, other = _open(str(ours)), _open(str(theirs))
    if mine is None or other is None:
        raise InkcapError("merge takes two drawings that are there; where one was deleted, keep or delete it by hand")
    merged = merge_drawings(_open(str(base)), mine, other)
    save_drawing(merged.drawing, output or ours)
    for conflict in merged.conflicts:
        complain(f"{name or ours}: {conflict}")
    if merged.conflicts:
        many = f"{len(merged.conflicts)} conflict{'s' if len(merged.conflicts) > 1 else ''}"
        complain(f"{name or ours}: {many}; the drawing is sound and has what this side says: mend it, then git add it")
        raise typer.Exit(1)


def _open(file: str) -> Drawing | None:
    """Open a drawing; none where git says that there is none."""
    from inkcap.drawing import load_drawing

    path = Path(file)
    if file.lower() in NOWHERE or (path.is_file() and path.stat().st_size == 0):
        return None
    return load_drawing(path)


def _for_git(files: list[str]) -> None:
    """Answer git: path, old file, its hash and mode, new file, its hash and mode, and for a rename the new path."""
    from inkcap.network.comparing import tell_difference
    from inkcap.structures import InkcapError

    if len(files) not in (7, 8, 9):
        raise InkcapError(f"git gives its diff command 7 arguments or more, here are {len(files)}")
    path, old, new = files[0], files[1], files[4]
    say(f"inkcap diff {path}" + (f" → {files[7]}" if len(files) > 7 else ""))
    try:
        lines = tell_difference(_open(old), _open(new))
    except InkcapError as error:
        # A file that cannot be read is still shown as changed: git would give up otherwise.
        lines = [f"! {str(error).replace(old, path).replace(new, path)}"]
    for line in lines or ["no difference in meaning"]:
        say(line)
