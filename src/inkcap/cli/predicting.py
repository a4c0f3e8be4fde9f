"""Asking a run about new samples: predict."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from inkcap.cli.app import app
from inkcap.cli.clusters import address_of
from inkcap.cli.engines import ENGINES, EngineOption, WeightsOption, engine_of, one_of
from inkcap.cli.output import number, print_json, say
from inkcap.cli.recipes import existing, pairs
from inkcap.cli.runs import JsonOption, OptionOption, PlaceOption, RunArgument
from inkcap.cli.together import ExposeOption
from inkcap.recipes import RecipeError
from inkcap.structures import RunFailure

if TYPE_CHECKING:
    from inkcap.cluster.answering import Answered, Progress
    from inkcap.recipes import RunFolder
    from inkcap.training import OutputPrediction

ANSWERS = "predictions"
"""The folder of the workspace that answers go to where no other is given."""


@app.command(context_settings={"ignore_unknown_options": True})
def predict(
    run: RunArgument,
    source: Annotated[
        str | None,
        typer.Argument(metavar="INPUT", help="An image, .npz, .npy, .csv or IDX file, or numbers 1.0,2.0."),
    ] = None,
    data: Annotated[
        str, typer.Option(help="In place of INPUT, a set of any size, answered into Parquet files by several workers.")
    ] = "",
    option: OptionOption = None,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where the answers to --data go.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace answers that are there already.")] = False,
    workers: Annotated[int, typer.Option(min=0, help="Processes that answer --data; 0 = as many as fit.")] = 0,
    cluster: Annotated[
        str, typer.Option(metavar="HOST:PORT|local", help="The Ray cluster of the workers; on this machine without it.")
    ] = "",
    expose: ExposeOption = False,
    top: Annotated[int, typer.Option(min=1, help="How many classes to show.")] = 3,
    resize: Annotated[bool, typer.Option("--resize", help="Bring an image of another size to the network's.")] = False,
    weights: WeightsOption = "best",
    engine: EngineOption = "auto",
    workspace: PlaceOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Ask a run about new samples, or with --data about as many as there are."""
    one_of("--weights", weights, ("best", "last"))
    one_of("--engine", engine, ENGINES)
    if source is not None and source.startswith("--"):
        raise RecipeError(f"there is no option {source!r}; see 'inkcap predict --help'")
    if (source is None) == (not data):
        raise RecipeError("predict needs samples: give INPUT, or --data for a set of any size, and not both")
    for name, given in (("--option", option), ("--out", out), ("--overwrite", overwrite), ("--workers", workers),
                        ("--cluster", cluster), ("--expose", expose)):  # fmt: skip
        if given and not data:
            raise RecipeError(f"{name} goes with --data")
    from inkcap.remote import at, is_url, local_copy

    with at(existing(workspace) if data else workspace) as place:
        folder = place.run(run)
        place.data(data)
    if source is not None:
        source = str(local_copy(source)) if is_url(source) else source
        _answer_here(folder, source, top, resize=resize, weights=weights, engine=engine, as_json=as_json)
        return
    if place.elsewhere is not None and out is None:
        raise RecipeError(f"--out: give a folder of this machine for the answers; {place.shown} is in storage")
    chosen = {"workers": workers, "weights": weights, "engine": engine, "resize": resize, "overwrite": overwrite}
    _answer_all(folder, (data, option), (place.folder, out), (cluster, expose), chosen, as_json=as_json)


def _answer_here(
    folder: RunFolder, source: str, top: int, *, resize: bool, weights: Any, engine: str, as_json: bool
) -> None:
    """Answer in this process, and print it."""
    from inkcap.training.environment import prepare_environment

    prepare_environment()
    from inkcap.training import predict as predict_run
    from inkcap.training.samples import read_samples

    samples = read_samples(folder, source, resize=resize)
    result = predict_run(folder, samples, weights=weights, engine=engine_of(engine))
    if as_json:
        outputs = {name: _prediction_json(output, top) for name, output in result.outputs.items()}
        print_json({"run": result.run, "samples": result.samples, "outputs": outputs})
        return
    for i in range(result.samples):
        for name, output in result.outputs.items():
            best = output.best(i, top)
            values = [f"{v:.6g}" for v in output.values[i].reshape(-1)[:10].tolist()]
            answer = ", ".join(f"{label} {100 * value:.1f} %" for label, value in best) or " ".join(values)
            say(f"{i + 1}: {name}: {answer}" if result.samples > 1 else f"{name}: {answer}")


def _prediction_json(output: OutputPrediction, top: int) -> dict[str, Any]:
    labels = output.labels.tolist() if output.labels is not None else None
    answers = [[{"class": c, "value": v} for c, v in output.best(i, top)] for i in range(len(output.values))]
    described = {"kind": output.kind, "meaning": output.meaning, "values": output.values.tolist(), "labels": labels}
    return {**described, "best": answers, "classes": list(output.classes)}


def _answer_all(
    folder: RunFolder,
    asked: tuple[str, list[str] | None],
    places: tuple[Path, Path | None],
    cluster: tuple[str, bool],
    chosen: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    """Answer all samples of a set by workers, and tell what came of it."""
    from inkcap.cluster import joined, needs_ray

    needs_ray("--data, --workers and --cluster")
    from inkcap.cluster.answering import answer_all, check_folder
    from inkcap.recipes.layout import slug
    from inkcap.training.environment import prepare_environment

    prepare_environment()
    chosen["engine"] = engine_of(chosen["engine"])
    (data, option), (workspace, out), (address, exposed) = asked, places, cluster
    spec = folder.recipe().data
    if data != spec.name or option:
        spec = replace(spec, name=data, options=pairs(option, "--option"))
    place = out or workspace / ANSWERS / f"{folder.id}-{slug(data, 'data')}"
    # Before anything is started for it.
    check_folder(place, overwrite=chosen["overwrite"])
    try:
        with joined(address_of(address), exposed=exposed) as there, _progress(quiet=as_json) as progress:
            told = answer_all(folder, spec, workspace, place, there, progress=progress, **chosen)
    except KeyboardInterrupt:
        raise RunFailure("stopped; nothing is written") from None
    if as_json:
        print_json(told.to_json())
    else:
        _tell(told)


def _tell(told: Answered) -> None:
    samples, files = (f"{number(n)} {word}{'' if n == 1 else 's'}" for n, word in
                      ((told.samples, "sample"), (told.files, "file")))  # fmt: skip
    speed = number(round(told.samples / max(told.seconds, 1e-9)))
    workers = f"{told.workers} worker{'' if told.workers == 1 else 's'}"
    say(f"{told.run} answered {samples} of {told.data} in {told.seconds:.1f} s by {workers}: {speed} samples/s")
    say(f"{files} in {told.folder}, with the columns {', '.join(told.columns)}")


@contextmanager
def _progress(*, quiet: bool) -> Generator[Progress | None]:
    """Give what shows how far the answers are: a bar on a terminal, else a line for every tenth."""
    if quiet:
        yield None
    elif sys.stdout.isatty():
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn, TimeRemainingColumn

        with Progress(BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()) as bar:
            task = bar.add_task("samples", total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
    else:
        tenths = [0]

        def tell(done: int, total: int) -> None:
            if 10 * done // total > tenths[0]:
                tenths[0] = 10 * done // total
                say(f"{number(done)} of {number(total)} samples")

        yield tell
