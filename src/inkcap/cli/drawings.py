"""Commands about drawings: new, check, show, code, symbols, schema. None of them needs torch, but code."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from inkcap.cli.app import app
from inkcap.cli.backpropagation import print_gradients
from inkcap.cli.output import complain, number, print_json, say, size
from inkcap.structures.errors import nearest
from inkcap.zoo import NAMES

LONGEST_NAME = 100
MOST_NAMED = 20

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="A drawing, NAME.inkcap.json.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@app.command()
def check(
    file: FileArgument,
    as_json: JsonOption = False,
    batch: Annotated[int, typer.Option(min=1, help="Batch for which activation memory is told.")] = 1,
    gradients: Annotated[
        bool, typer.Option("--gradients", help="Compare its gradients with autograd's and with differences.")
    ] = False,
) -> None:
    """Check a drawing: is it a network, of which kind, at what cost, and what is wrong."""
    from inkcap.drawing import load_drawing
    from inkcap.network import check as check_drawing

    report = check_drawing(load_drawing(file))
    found: list[Any] = []
    if gradients and report.well_formed:
        from inkcap.engine.gradient_check import check_gradients

        found = check_gradients(report.network)
    if as_json:
        told = {"gradients": [one.to_json() for one in found]} if gradients else {}
        print_json({**report.to_json(batch), **told})
    else:
        _print_report(report, batch)
        if found:
            print_gradients(found)
    if not report.well_formed:
        sys.exit(2)
    if not all(one.passed for one in found):
        sys.exit(1)


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MOST_NAMED])
    return shown if len(names) <= MOST_NAMED else f"{shown} … ({number(len(names))})"


def _print_report(report: Any, batch: int) -> None:
    kind = report.classification
    if report.well_formed:
        say(f"✓ {report.drawing.name}: well formed, {kind.kind}")
    else:
        complain(f"✗ {report.drawing.name}: {len(report.errors)} error{'s' if len(report.errors) > 1 else ''}")
    say(f"  capsules       {report.capsule_count}, connections {report.connection_count}")
    say(f"  inputs         {_few(report.inputs)} → outputs {_few(report.outputs)}; {len(report.hidden)} hidden")
    if kind and kind.witness:
        say(f"  skip because   {kind.witness}")
    elif kind and report.plain is not None:
        say(f"  layers         {' | '.join(map(number, report.plain.layer_sizes()))} neurons")
    elif kind:
        say(f"  layers         {' | '.join(' '.join(layer) for layer in kind.layers)}")
    say(f"  depth          {report.depth}{' (deep)' if report.depth > 2 else ''}")
    frozen = f", {number(report.frozen_parameters)} frozen" if report.frozen_parameters else ""
    say(f"  parameters     {number(report.parameters)}{frozen}")
    say(f"  multiply-adds  {number(report.multiply_adds)}")
    say(f"  activations    {size(report.activation_bytes(batch))} for a batch of {batch}")
    for diagnostic in report.diagnostics:
        line = f"  [{diagnostic.rule}] {diagnostic.message}"
        if diagnostic.severity == "error":
            complain(line)
        else:
            say(line)


@app.command()
def show(file: FileArgument, as_json: JsonOption = False) -> None:
    """Show a drawing as a table: every capsule with its structure, connections and costs."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from inkcap.drawing import load_drawing
    from inkcap.network import check as check_drawing
    from inkcap.network.table import HEADINGS, WORDS, rows_of, totals_of

    report = check_drawing(load_drawing(file))
    if as_json:
        print_json(report.to_json())
        return
    # Names go in as plain text: what looks like markup in them is only a name.
    table = Table(box=SIMPLE_HEAD, title=Text(report.drawing.name), title_justify="left", title_style="bold")
    for column, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="left" if column < WORDS else "right")
    for cells in rows_of(report):
        table.add_row(*map(Text, cells))
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(table)
    say(f" {totals_of(report)}")
    for diagnostic in report.errors:
        complain(f"[{diagnostic.rule}] {diagnostic.message}")


@app.command()
def code(
    file: FileArgument,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write to a file instead.")] = None,
) -> None:
    """Print the PyTorch module that a drawing becomes: the very source that trains."""
    from inkcap.drawing import load_drawing
    from inkcap.engine import source_of
    from inkcap.network import check as check_drawing

    source = source_of(check_drawing(load_drawing(file)).network)
    if output is None:
        say(source.rstrip("\n"))
    else:
        from inkcap.drawing import DrawingError
        from inkcap.structures.atomic import write_atomic

        if output.is_dir():
            raise DrawingError(f"{output}: this is a folder; give the name of a file")
        try:
            write_atomic(output, source)
        except OSError as error:
            raise DrawingError(f"{output}: cannot be written: {error.strerror}") from None
        say(f"wrote {output}")


@app.command()
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the drawing, and of its file.")],
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="NETWORK", help="Start from a network of 'inkcap zoo', or from empty."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
) -> None:
    """Make a new drawing in this folder, from a known network: NAME itself if it is one, else the MLP of Figure 20."""
    from inkcap.drawing import SUFFIX, Drawing, DrawingError, Edit, Meta, Put, save_drawing
    from inkcap.network import check as check_drawing
    from inkcap.zoo import draw

    chosen = start or (name if name in NAMES else "mlp")
    stem = Path(name).name.removesuffix(SUFFIX)
    folder = Path(name).parent
    if not stem.strip(".") or len(stem) > LONGEST_NAME:
        raise DrawingError(f"{name[:40]!r} is no name; give one such as 'lenet', of at most {LONGEST_NAME} characters")
    path = folder / f"{stem}{SUFFIX}"
    if path.exists() and not force:
        raise DrawingError(f"{path}: there is a file already; choose another name or give --force")
    drawing = Drawing(stem) if chosen == "empty" else draw(chosen)
    if stem not in NAMES:
        drawing.apply(Edit("name", (Put(Meta(stem, drawing.dtype)),)))
    save_drawing(drawing, path)
    report = check_drawing(drawing)
    say(f"wrote {path} ({chosen}: {report.capsule_count} capsules, {report.connection_count} connections)")
    close = [] if start or chosen == stem else nearest(stem, NAMES, 1, 0.8)
    if close and close[0] != chosen:
        say(f"there is a network {close[0]}: 'inkcap new {close[0]}' starts from it")
    say(f"next: inkcap check {shlex.quote(str(path))}")


@app.command()
def symbols(
    symbol: Annotated[str | None, typer.Argument(metavar="[SYMBOL]", help="One symbol, with its attributes.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the catalogue of symbols, or show one with its attributes."""
    from inkcap.symbols import CAPSULES, CONNECTIONS, PARTS, UnknownSymbol, suggest

    known = {**CAPSULES, **CONNECTIONS, **PARTS}
    if symbol is not None and symbol not in known:
        raise UnknownSymbol(f"there is no symbol {symbol!r}; {suggest(symbol, known)}")
    chosen = {symbol: known[symbol]} if symbol else known
    if as_json:
        from inkcap.symbols.describe import describe

        print_json({"symbols": [describe(record) for record in chosen.values()]})
        return
    if symbol:
        _print_symbol(known[symbol])
        return
    for title, records in (("Capsules", CAPSULES), ("Connections", CONNECTIONS), ("Worn parts", PARTS)):
        say(title)
        for record in records.values():
            mark = getattr(record, "mark", " ")
            say(f"  {mark} {record.id:<24}{record.tooltip}")
    say("Attributes of one: inkcap symbols convolution")


def _print_symbol(record: Any) -> None:
    from inkcap.symbols.describe import describe

    described = describe(record)
    say(f"{described['title']} ({record.id})")
    say(f"  {described['tooltip']}")
    say(f"  {described['formula']}")
    for port in described.get("ports", [])[1:]:
        say(f"  port {port['name']:<13}{port['help']} [{port['kind']}]")
    for attribute in described["attributes"]:
        letter = f" ({attribute['letter']})" if attribute["letter"] else ""
        state = "inferred" if attribute["inferred"] else "required" if attribute["required"] else attribute["default"]
        say(f"  {attribute['name'] + letter:<18}{attribute['help']} [{state}]")


@app.command()
def schema() -> None:
    """Print the JSON Schema of drawing files."""
    from inkcap.drawing import drawing_schema

    print_json(drawing_schema())
