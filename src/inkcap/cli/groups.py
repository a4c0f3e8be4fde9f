"""Commands about groups: groups, group, dissolve, save-group, take-group. None of them needs torch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from inkcap.cli.app import app
from inkcap.cli.output import number, print_json, say

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="A drawing, NAME.inkcap.json.")]
OutputOption = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="OUT", help="The drawing to write; FILE itself if not given.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
FOLDER = "groups"
"""Where a workspace keeps groups for all its drawings."""


@app.command()
def groups(file: FileArgument, as_json: JsonOption = False) -> None:
    """List a drawing's groups: their arguments, their ports, where they are used, and what that costs."""
    from inkcap.drawing import load_drawing
    from inkcap.network import check

    drawing = load_drawing(file)
    report = check(drawing)
    found = [_described(group, drawing, report) for group in drawing.groups.values()]
    if as_json:
        print_json({"name": drawing.name, "groups": found})
        return
    if not found:
        say(f"{drawing.name} has no groups; inkcap group {file} NAME CAPSULE … makes one of some capsules")
    for one in found:
        arguments = ", ".join(f"{name}={value}" for name, value in one["arguments"].items())
        say(f"{one['group']}({arguments})")
        say(f"  {_ports(one['inputs'])} → {_ports(one['outputs'])}; {one['capsules']} capsules inside")
        used = ", ".join(f"{u['use']}{'' if u['repeat'] == 1 else ' ×' + str(u['repeat'])}" for u in one["uses"])
        say(f"  used as {used}" if used else "  not used in the drawing itself")
        if one["uses"]:
            say(f"  {number(one['parameters'])} parameters, {number(one['multiply_adds'])} multiply-adds in all")


def _ports(ports: dict[str, str]) -> str:
    return ", ".join(ports) or "no port"


def _described(group: Any, drawing: Any, report: Any) -> dict[str, Any]:
    uses = [use for use in drawing.uses.values() if use.group == group.id]
    starts = tuple(f"{use.id}." for use in uses)
    connections = [c for c in report.connections.values() if c.front.startswith(starts)] if starts else []
    capsules = [c for id, c in report.capsules.items() if id.startswith(starts)] if starts else []
    stored = {w.name: w for c in connections for w in c.weights.values()} | {
        w.name: w for c in capsules for w in c.stored if not w.state
    }
    return {
        "group": group.id,
        "arguments": group.arguments,
        "inputs": group.inputs,
        "outputs": group.outputs,
        "capsules": len(group.capsules),
        "uses": [{"use": use.id, "repeat": use.repeat, "arguments": use.arguments} for use in uses],
        "parameters": sum(w.structure.elements for w in stored.values() if w.trainable),
        "multiply_adds": sum(c.multiply_adds for c in (*connections, *capsules)),
    }


@app.command()
def group(
    file: FileArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the group is called.")],
    capsules: Annotated[list[str], typer.Argument(metavar="CAPSULE…", help="What goes inside.")],
    output: OutputOption = None,
) -> None:
    """Make a group of some capsules; a use of it stands in their place, and the network stays as it is."""
    from inkcap.drawing import load_drawing, make_group, save_drawing

    drawing = load_drawing(file)
    use = make_group(drawing, capsules, name)
    save_drawing(drawing, output or file)
    made = drawing.groups[name]
    say(f"{use} stands for {len(capsules)} capsules: {_ports(made.inputs)} → {_ports(made.outputs)}")
    say(f"wrote {output or file}")


@app.command()
def dissolve(
    file: FileArgument,
    use: Annotated[str, typer.Argument(metavar="[USE]", help="The use to dissolve.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="Dissolve every use, down to capsules.")] = False,
    output: OutputOption = None,
) -> None:
    """Put what a use of a group stands for in its place; the network stays as it is."""
    from inkcap.drawing import DrawingError, dissolve_all, load_drawing, save_drawing
    from inkcap.drawing import dissolve as dissolve_use

    drawing = load_drawing(file)
    if bool(use) == everything:
        known = ", ".join(drawing.uses) or "there are none"
        raise DrawingError(f"say which use to dissolve, or --all; the uses are: {known}")
    if everything:
        count = len(drawing.uses)
        drawing = dissolve_all(drawing)
        told = f"{count} uses dissolved: {len(drawing.capsules)} capsules, {len(drawing.connections)} connections"
    else:
        made = dissolve_use(drawing, use)
        told = f"{use} became {', '.join(made)}"
    save_drawing(drawing, output or file)
    say(told)
    say(f"wrote {output or file}")


@app.command("save-group")
def save_group(
    file: FileArgument,
    name: Annotated[str, typer.Argument(metavar="GROUP", help="The group to keep.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="OUT", help=f"The file; {FOLDER}/GROUP.inkcap.json if not given."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
) -> None:
    """Keep a group in a file of its own, so that every drawing of the workspace can take it as a symbol."""
    from inkcap.drawing import SUFFIX, DrawingError, extract_group, load_drawing, save_drawing

    kept = extract_group(load_drawing(file), name)
    target = output or file.parent / FOLDER / f"{name}{SUFFIX}"
    if target.exists() and not force:
        raise DrawingError(f"{target} is there already; give --force to overwrite it, or another name with -o")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DrawingError(f"{target.parent}: cannot be made a folder: {error.strerror}") from None
    save_drawing(kept, target)
    say(f"wrote {target}; inkcap take-group DRAWING {name} takes it into another drawing")


@app.command("take-group")
def take_group(
    file: FileArgument,
    name: Annotated[str, typer.Argument(metavar="GROUP", help=f"A group in {FOLDER}/, or a file that has groups.")],
) -> None:
    """Take a group that was kept, or all groups of another drawing, into a drawing."""
    from inkcap.drawing import SUFFIX, DrawingError, load_drawing, save_drawing, take_groups
    from inkcap.symbols import suggest

    drawing = load_drawing(file)
    source = file.parent / FOLDER / f"{name}{SUFFIX}"
    if not source.exists():
        source = Path(name)
    if not source.exists():
        kept = sorted(path.name.removesuffix(SUFFIX) for path in (file.parent / FOLDER).glob(f"*{SUFFIX}"))
        known = suggest(name, kept) if kept else f"there is nothing in {file.parent / FOLDER} yet: inkcap save-group"
        raise DrawingError(f"there is no group {name!r} and no file of that name; {known}")
    taken = take_groups(drawing, load_drawing(source))
    save_drawing(drawing, file)
    say(f"{file} has {', '.join(taken)} now")
