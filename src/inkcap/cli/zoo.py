"""The command about known networks: it lists them, and writes one as a drawing. It needs no torch."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from inkcap.cli.app import app
from inkcap.cli.drawings import JsonOption
from inkcap.cli.output import number, print_json, say

if TYPE_CHECKING:
    from inkcap.network import Report
    from inkcap.zoo import KnownNetwork


@app.command()
def zoo(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A network to write as a drawing.")] = None,
    classes: Annotated[int | None, typer.Option(help="Another number of classes.")] = None,
    input: Annotated[
        str | None,
        typer.Option(metavar="HxWxC", help="Another size of the input, e.g. 32x32x3; 32x32 keeps the channels."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="The file; NAME.inkcap.json if not given.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
    search: Annotated[
        str | None, typer.Option(metavar="WORD", help="List only networks with this word in name, title or reference.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List known networks with their costs, or write one of them as a drawing."""
    from inkcap.zoo import NETWORKS, UnfitChoice, find

    if name is not None:
        if search is not None:
            raise UnfitChoice("--search lists networks, a name writes one: give one of the two")
        _write(find(name), classes, input, output, force, as_json)
        return
    for option, given in (("--classes", classes), ("--input", input), ("--output", output)):
        if given is not None:
            raise UnfitChoice(f"{option} is for one network: give its name too, e.g. inkcap zoo lenet")
    found = [known for known in NETWORKS.values() if search is None or _has(known, search)]
    if as_json:
        print_json({"networks": [_facts(known) for known in found]})
    else:
        _print_list(found, search)


def _has(known: KnownNetwork, word: str) -> bool:
    return word.lower() in " ".join((*known.names, known.title, str(known.reference))).lower()


def _facts(known: KnownNetwork) -> dict[str, Any]:
    from inkcap.network import check

    return {
        "name": known.name,
        "aliases": list(known.aliases),
        "title": known.title,
        "reference": {
            "authors": known.reference.authors,
            "year": known.reference.year,
            "title": known.reference.title,
        },
        "input": list(known.input) if known.input else None,
        "classes": known.classes,
        **_costs(check(known.draw())),
    }


def _costs(report: Report) -> dict[str, Any]:
    return {
        "parameters": report.parameters,
        "frozen_parameters": report.frozen_parameters,
        "multiply_adds": report.multiply_adds,
        "capsules": report.capsule_count,
        "connections": report.connection_count,
        "inputs": len(report.inputs),
        "outputs": len(report.outputs),
        "kind": report.classification.kind if report.classification else None,
    }


def _print_list(found: Sequence[KnownNetwork], search: str | None) -> None:
    if not found:
        say(f"no network has {search!r} in its name, title or reference; 'inkcap zoo' lists all")
        return
    heads = ("network", "short", "what it is", "parameters", "multiply-adds", "capsules", "connections")
    texts = [(known.name, ", ".join(known.aliases), known.title) for known in found]
    widths = [max(map(len, column)) for column in zip(heads[:3], *texts, strict=True)]

    def row(cells: Sequence[str], numbers: Sequence[str]) -> str:
        left = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        right = (cell.rjust(width) for cell, width in zip(numbers, (11, 15, 8, 11), strict=True))
        return "  ".join((*left, *right))

    say(row(heads[:3], heads[3:]))
    # The large ones take a moment to be checked: each row is told when it is known.
    for known, cells in zip(found, texts, strict=True):
        facts = _facts(known)
        counted = ("parameters", "multiply_adds", "capsules", "connections")
        say(row(cells, [number(facts[key]) for key in counted]))
    say(f"{len(found)} network{'s' if len(found) > 1 else ''}; write one: inkcap zoo {found[0].name}")


def _write(
    known: KnownNetwork, classes: int | None, input: str | None, output: Path | None, force: bool, as_json: bool
) -> None:
    from inkcap.drawing import SUFFIX, DrawingError, save_drawing
    from inkcap.network import check
    from inkcap.zoo import draw

    path = output or Path(f"{known.name}{SUFFIX}")
    if path.is_dir():
        raise DrawingError(f"{path}: this is a folder; give the name of a file")
    if path.exists() and not force:
        raise DrawingError(f"{path}: there is a file already; choose another name with -o, or give --force")
    drawing = draw(known.name, classes, None if input is None else _sizes(input, known))
    save_drawing(drawing, path)
    costs = _costs(check(drawing))
    if as_json:
        print_json({"name": known.name, "file": str(path), **costs})
        return
    say(f"wrote {path} ({known.title}: {costs['capsules']} capsules, {costs['connections']} connections, "
        f"{number(costs['parameters'])} parameters)")  # fmt: skip
    say(f"next: inkcap check {shlex.quote(str(path))}")


def _sizes(text: str, known: KnownNetwork) -> tuple[int, ...]:
    from inkcap.zoo import UnfitChoice

    if not re.fullmatch(r"[0-9]{1,9}([x×][0-9]{1,9}){0,3}", text, re.IGNORECASE):
        raise UnfitChoice(f"--input {text!r} is no size; give sizes such as 32x32x3, height, width and channels")
    sizes = tuple(map(int, re.split(r"[x×]", text, flags=re.IGNORECASE)))
    if known.input is not None and len(known.input) > 2 and len(sizes) == len(known.input) - 1:
        return (*sizes, known.input[-1])
    return sizes
