"""Commands about data: list the sets and forms, look into one."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from inkcap.cli.app import app
from inkcap.cli.output import print_json, say


@app.command()
def data(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A set, or a path: look into it. Without it: list all.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="Option of the data.")
    ] = None,
    rows: Annotated[int, typer.Option(min=0, help="How many samples to show.")] = 3,
    workspace: Annotated[
        str, typer.Option("--workspace", metavar="FOLDER|URL", help="What paths are relative to.")
    ] = ".",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List the data that can be trained on, or look into one set."""
    from inkcap.cli.recipes import pairs
    from inkcap.remote import at
    from inkcap.training.data import FORMATS, SOURCES, load, validate

    if name is None:
        if as_json:
            tables = {"sets": SOURCES, "files": FORMATS}
            print_json({k: [{"name": s.name, "description": s.description, "options": [asdict(o) for o in s.options]}
                            for s in table.values()] for k, table in tables.items()})  # fmt: skip
            return
        for title, table in (("Sets", SOURCES), ("Your own files", FORMATS)):
            say(title)
            for source in table.values():
                say(f"  {source.name:<15}{source.description}")
                for declared in source.options:
                    default = f" (default {declared.default})" if declared.default else ""
                    say(f"      --option {declared.name}=…  {declared.help}{default}")
        say("Look into one: inkcap data digits")
        return
    from inkcap.cli.progress import fetching

    with fetching(quiet=as_json) as progress:
        with at(workspace) as place:
            place.data(name, progress)
        dataset = load(name, pairs(option, "--option"), place.folder, progress=progress)
    validate(dataset)
    preview = dataset.preview(rows=rows, pictures=min(rows, 3))
    if as_json:
        print_json(asdict(preview))
    else:
        say(preview.text())
