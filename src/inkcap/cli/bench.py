"""The command that measures: Inkcap's steps beside those of others, in turn, each in a process of its own."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inkcap.cli.app import app
from inkcap.cli.output import say

if TYPE_CHECKING:
    from inkcap.bench import Result

FILES = ("--markdown", "--json", "--picture", "--read")


@app.command()
def bench(
    networks: Annotated[
        list[str] | None, typer.Argument(metavar="[NETWORK]...", help="Networks to measure; all if none is given.")
    ] = None,
    contenders: Annotated[
        list[str] | None,
        typer.Option(
            "--with", metavar="NAME", help="A contender, beside the reference; may be repeated. Default: all."
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List networks and contenders.")] = False,
    rounds: Annotated[int | None, typer.Option(help="Rounds of turns; 11, and 3 with --quick.")] = None,
    threads: Annotated[int, typer.Option(help="Threads of everyone; 0 = all cores.")] = 0,
    seconds: Annotated[float | None, typer.Option(help="How long a slot takes; 0.3, and 0.05 with --quick.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="One network and few contenders, in short slots.")] = False,
    inference: Annotated[bool, typer.Option("--inference", help="Measure answers in place of training.")] = False,
    growth: Annotated[bool, typer.Option("--growth", help="Measure growth with width, depth and batch too.")] = False,
    before: Annotated[
        list[Path] | None,
        typer.Option(
            "--read", metavar="FILE", help="Take in what --json wrote before; only networks named are measured."
        ),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write everything that was measured.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the table into this page, in place of the one it has.")
    ] = None,
    picture: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the figures as SVG.")] = None,
) -> None:
    """Measure a step of Inkcap beside the same step by PyTorch, Keras, JAX and others."""
    from inkcap.bench import Options, join, read, run
    from inkcap.bench.table import missing_lines

    if listed:
        _list()
        return
    options = Options(
        tuple(networks or ()),
        tuple(contenders or ()),
        "inference" if inference else "training",
        (3 if quick else 11) if rounds is None else rounds,
        threads,
        (0.05 if quick else 0.3) if seconds is None else seconds,
        quick,
        growth=growth,
    )
    earlier = [read(path) for path in before or ()]
    result = join([*earlier, *([run(options, say)] if networks or not earlier else [])])
    for line in missing_lines(result):
        say(line)
    _write(result, json_file, markdown, picture)


def _list() -> None:
    from inkcap.bench import CONTENDERS, NETWORKS
    from inkcap.bench.contenders import INSTALL

    say("networks")
    for name, case in NETWORKS.items():
        say(f"  {name:<18}{case.title}")
    say("  mlp-784-512-10@64, chain-32x4@64: a perceptron, a chain of convolutions of these sizes, and a batch")
    say("contenders")
    for name, contender in CONTENDERS.items():
        missing = f" ({', '.join(contender.missing)} missing: {INSTALL})" if contender.missing else ""
        works = "" if len(contender.works) > 1 else f", {' and '.join(contender.works)} only"
        say(f"  {name:<18}{contender.title}{works}{missing}")


def _write(result: Result, json_file: Path | None, markdown: Path | None, picture: Path | None) -> None:
    from inkcap.bench.chart import picture as draw_picture
    from inkcap.bench.errors import BenchError
    from inkcap.bench.table import to_json, write_into_page

    if markdown is not None:
        write_into_page(markdown, result, f"inkcap bench {shlex.join(_asked())}".strip())
        say(f"wrote {markdown}")
    texts = {json_file: lambda: json.dumps(to_json(result), indent=1) + "\n", picture: lambda: draw_picture(result)}
    for path, text in texts.items():
        if path is not None:
            try:
                path.write_text(text(), encoding="utf-8")
            except OSError as error:
                raise BenchError(f"{path}: cannot be written: {error.strerror}") from None
            say(f"wrote {path}")


def _asked() -> list[str]:
    """What was asked for on the command line, but for the files that are written."""
    given, kept = iter(sys.argv[2:]), list[str]()
    for word in given:
        if word in FILES:
            next(given, None)
        elif not word.startswith(tuple(f"{option}=" for option in FILES)):
            kept.append(word)
    return kept
