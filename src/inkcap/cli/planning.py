"""The command that plans: what training on many workers would cost, on paper. It needs torch only to measure."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from inkcap.cli import quantities
from inkcap.cli.app import app
from inkcap.cli.drawings import FileArgument, JsonOption
from inkcap.cli.output import number, print_json, say, size

if TYPE_CHECKING:
    from inkcap.network import Report
    from inkcap.training.planning import Line, Place, Plan, Question

FLOPS, LINK, LATENCY, STORE = "100G", "10Gbit", "50us", "500MB/s"
"""What is taken where nothing is said: some cores of a processor, usual Ethernet, a usual disk."""
BATCH = 64
CAPTION = "Samples, what is sent, and memory are those of one worker."


@app.command()
def plan(
    file: FileArgument,
    workers: Annotated[int, typer.Option(help="Processes that share every batch.")] = 1,
    link: Annotated[str, typer.Option(metavar="SPEED", help="What a worker sends, as 25Gbit or 3GB/s.")] = LINK,
    latency: Annotated[str, typer.Option(metavar="TIME", help="What a message takes, as 50us or 1ms.")] = LATENCY,
    worker_flops: Annotated[
        str | None, typer.Option(metavar="RATE", help=f"What a worker computes in a second, as 300G ({FLOPS}).")
    ] = None,
    measure: Annotated[bool, typer.Option("--measure", help="Measure that here, by a few steps.")] = False,
    batch: Annotated[int | None, typer.Option(help=f"Samples of a step, over all workers ({BATCH}).")] = None,
    batch_each: Annotated[
        int | None, typer.Option(metavar="N", help="Samples of each worker: the batch grows with them.")
    ] = None,
    data: Annotated[str | None, typer.Option(metavar="NAME", help="Data whose training part is an epoch.")] = None,
    samples: Annotated[int | None, typer.Option(metavar="N", help="Samples of an epoch.")] = None,
    optimiser: Annotated[str, typer.Option(help="What remembers numbers for each weight.")] = "adam",
    sharded: Annotated[bool, typer.Option("--sharded", help="Weights and optimiser are parted too.")] = False,
    overlap: Annotated[bool, typer.Option(help="Gradients leave while others are computed.")] = True,
    store: Annotated[str, typer.Option(metavar="SPEED", help="How fast checkpoints are written.")] = STORE,
    workspace: Annotated[Path, typer.Option("--workspace", help="Folder to which paths are relative.")] = Path(),
    as_json: JsonOption = False,
) -> None:
    """Plan a training on many workers: its costs by a simple model, from the drawing's own numbers."""
    from inkcap.drawing import load_drawing
    from inkcap.network import check
    from inkcap.training.planning import Place, PlanError, Question, make_plan

    for one, other, first, second in (
        (batch, batch_each, "--batch", "--batch-each"),
        (data, samples, "--data", "--samples"),
        (worker_flops, measure or None, "--worker-flops", "--measure"),
    ):
        if one is not None and other is not None:
            raise PlanError(f"{first} and {second} say the same thing in two ways; give one of them")
    speed, pause = quantities.speed(link, "--link"), quantities.seconds(latency, "--latency")
    writing = quantities.speed(store, "--store")
    given = quantities.rate(worker_flops or FLOPS, "--worker-flops")
    report = check(load_drawing(file))
    asked = Question(
        workers,
        batch=next((one for one in (batch, batch_each) if one is not None), BATCH),
        each=batch_each is not None,
        samples=_training_part(data, workspace, quiet=as_json) if data is not None else samples,
        optimiser=optimiser,
        sharded=sharded,
        hidden=overlap,
    )
    # What cannot be planned is told before anything is measured.
    made = make_plan(report, Place(given, speed, pause, writing), asked)
    if measure:
        made = make_plan(report, Place(_measured(report, asked), speed, pause, writing), asked)
    if as_json:
        print_json(_as_json(made))
    else:
        _print_plan(made, "measured here" if measure else "")


def _training_part(name: str, workspace: Path, *, quiet: bool) -> int:
    """Count the samples of an epoch: those that are not kept for validation, by the usual share."""
    from inkcap.cli.progress import fetching
    from inkcap.recipes import DataSpec, Recipe
    from inkcap.training.data import load
    from inkcap.training.data.splitting import split

    with fetching(quiet=quiet) as progress:
        dataset = load(name, {}, workspace, progress=progress)
    recipe = Recipe(DataSpec(name))
    return len(split(dataset, recipe.validation, recipe.seed)[0])


def _measured(report: Report, asked: Question) -> float:
    """Measure what this machine reaches, with the batch that a worker would have."""
    from inkcap.training.environment import prepare_environment

    prepare_environment()
    from inkcap.bench.worker_rate import step_seconds
    from inkcap.training.planning import OPERATIONS, PASSES

    share = asked.batch if asked.each else math.ceil(asked.batch / asked.workers)
    taken = step_seconds(report.drawn or report.drawing, share, asked.optimiser)
    return OPERATIONS * PASSES * report.multiply_adds * share / taken


def _as_json(plan: Plan) -> dict[str, Any]:
    lines = [{**asdict(line), "step": line.step, "throughput": line.throughput} for line in plan.lines]
    told = {"place": asdict(plan.place), "asked": asdict(plan.asked), "left_out": list(plan.left_out)}
    load = {**asdict(plan.load), "parts": plan.load.parts(sharded=plan.asked.sharded)}
    return {"load": load, **told, "lines": lines, "assumptions": list(assumptions(plan))}


def _print_plan(plan: Plan, source: str) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    load, asked = plan.load, plan.asked
    say(f"{load.name}: {number(load.parameters)} parameters, {number(load.multiply_adds)} multiply-adds a sample")
    say(f"  gradients {size(load.gradients)}, checkpoint {size(load.checkpoint)}")
    if asked.each:
        say(f"  weak scaling: every worker has a batch of {asked.batch}, so the batch grows with the workers")
    else:
        say(f"  strong scaling: all workers share a batch of {asked.batch}")
    if asked.samples is not None:
        say(f"  an epoch has {number(asked.samples)} samples")
    table = Table(box=SIMPLE_HEAD, padding=(0, 0, 0, 1), caption=CAPTION, caption_justify="left")
    for heading in _headings(plan):
        table.add_column(heading, justify="right", no_wrap=True)
    for line in plan.lines:
        marked = "bold" if line.workers == asked.workers and sys.stdout.isatty() else ""
        table.add_row(*map(Text, _cells(line)), style=marked)
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    if plan.left_out:
        counts = " and ".join(map(str, plan.left_out))
        say(f"{counts} workers are left out: a batch of {asked.batch} has no sample for each; give a larger one")
    say("Assumed:")
    for sentence in assumptions(plan, source):
        say(f"  {sentence}")


def _headings(plan: Plan) -> list[str]:
    epoch = ["epoch"] if plan.asked.samples else []
    costs = ["workers", "samples", "computing", "sends", "exchange", "waiting", "step", "samples/s"]
    return [*costs, "efficiency", *epoch, "memory"]


def _cells(line: Line) -> Iterator[str]:
    yield from (number(line.workers), number(line.share), seconds(line.computing))
    if line.workers == 1:
        yield from ("–", "–", "–")
    else:
        yield from (size(line.exchanged), seconds(line.exchanging), seconds(line.waiting))
    yield from (seconds(line.step), number(round(line.throughput)), f"{100 * line.efficiency:.1f} %")
    if line.epoch is not None:
        yield seconds(line.epoch)
    yield size(line.memory)


def assumptions(plan: Plan, source: str = "") -> Iterator[str]:
    """Say, in a sentence each, what the numbers of a plan rest on."""
    place, asked = plan.place, plan.asked
    measured = f", {source}," if source else ""
    yield (
        f"Computing takes 2 operations a multiply-add and 3 passes a step, at {scaled(place.rate)}FLOP/s a worker"
        f"{measured} whatever its share."
    )
    yield _exchange(plan, place)
    yield _hiding(plan)
    yield "The loss, and who wants to stop, go around once more after every step, in messages that nothing hides."
    if asked.sharded:
        held = "its part of weights, gradients and optimiser, and whole the small weights and the two largest"
    else:
        held = "all weights, gradients and what the optimiser remembers, and the gradients once more to send them"
    yield f"A worker holds {held}, by {asked.optimiser}; the values of its samples are estimated as for any training."
    last = plan.lines[-1].saving
    yield f"One worker writes a checkpoint in {seconds(last)} at {scaled(place.store)}B/s, beside the steps."
    yield "Left out: the optimiser's step, input, norms over all workers, stragglers and other traffic."


def _exchange(plan: Plan, place: Place) -> str:
    count, sharded = plan.load.parts(sharded=plan.asked.sharded), plan.asked.sharded
    parts = f"{count} {'unit' if sharded else 'bucket'}{'' if count == 1 else 's'}"
    by = f"by {scaled(place.link)}B/s each way and {seconds(place.latency)} a message"
    if sharded:
        return f"The weights are gathered twice and the gradients scattered once, in {parts}, {by}."
    return f"The gradients go around a ring in {parts} of up to 25 MiB, {by}."


def _hiding(plan: Plan) -> str:
    sharded = plan.asked.sharded
    if not plan.asked.hidden:
        return "Nothing is exchanged while a worker computes."
    if plan.load.parts(sharded=sharded) == 1:
        return "A single bucket waits for the end of the way back, so nothing hides behind computing."
    behind = "computing" if sharded else "the way back, two thirds of computing"
    return f"All {'units' if sharded else 'buckets'} but the last may hide behind as large a share of {behind}."


def scaled(value: float) -> str:
    """Write a number with three digits and a prefix: ``3.12 G``."""
    for prefix in ("", "k", "M", "G", "T"):
        if value < 1000:
            return f"{value:.3g} {prefix}"
        value /= 1000
    return f"{value:.3g} P"


def seconds(value: float) -> str:
    """Write a time for a person, by the largest unit that it has two of."""
    for long, unit in ((86_400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if value >= 2 * long:
            return f"{value / long:.3g} {unit}"
    for short, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= short:
            return f"{value / short:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns" if value else "0 s"
