"""Commands about runs: train, evaluate."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from inkcap.cli.app import app
from inkcap.cli.engines import ENGINES, EngineOption, WeightsOption, engine_of, one_of
from inkcap.cli.output import number, print_json, say, say_confusion
from inkcap.cli.recipes import (
    FIELDS,
    HELP,
    existing,
    pairs,
    read_recipe,
    with_kind,
    with_loss_options,
    with_recipe_options,
)
from inkcap.cli.together import Address, ClusterOption, ExposeOption, trainer
from inkcap.recipes import LOSSES, OPTIMISERS, SCHEDULES, RecipeError
from inkcap.recipes.measures import said_once, value_text

if TYPE_CHECKING:
    from inkcap.drawing import Drawing
    from inkcap.recipes import Recipe
    from inkcap.remote import Place
    from inkcap.training import Evaluation, RunResult

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="A run of the workspace, or the path of its folder.")]
WorkspaceOption = Annotated[Path, typer.Option("--workspace", help="Folder of drawings, data and runs.")]
PlaceOption = Annotated[
    str, typer.Option("--workspace", metavar="FOLDER|URL", help="Folder of data and runs, here or in storage.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
OptionOption = Annotated[list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="Option of the data.")]
TensorboardOption = Annotated[bool, typer.Option("--tensorboard", help="Write event files into the run's folder.")]
MlflowOption = Annotated[str, typer.Option("--mlflow", metavar="URI|FOLDER", help="Log to this place by MLflow, too.")]
LossOption = Annotated[
    list[str] | None,
    typer.Option(metavar="[OUTPUT=]KIND[*WEIGHT]", help=f"Loss of an output: {', '.join(LOSSES)}. Repeatable."),
]
OptionOfLoss = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="Option of the loss, e.g. label_smoothing=0.1.")
]
RecipeOption = Annotated[Path | None, typer.Option(help="Start from a recipe file; options given here win.")]
UntilOption = Annotated[
    int | None, typer.Option(min=1, metavar="EPOCH", help="Pause after this epoch; 'inkcap resume' goes on.")
]


@app.command()
@with_recipe_options
def train(
    file: Annotated[str, typer.Argument(metavar="DRAWING", help="A drawing, NAME.inkcap.json, or its URL.")],
    data: Annotated[str | None, typer.Option(help=f"{HELP['name']}; see 'inkcap data'")] = None,
    option: OptionOption = None,
    loss: LossOption = None,
    loss_option: OptionOfLoss = None,
    optimiser: Annotated[str | None, typer.Option(help=f"One of {', '.join(OPTIMISERS)} (default adam).")] = None,
    rate: Annotated[float | None, typer.Option(help=FIELDS["rate"].help_text())] = None,
    optimiser_option: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="E.g. momentum=0.8.")] = None,
    schedule: Annotated[str | None, typer.Option(help=f"One of {', '.join(SCHEDULES)} (default constant).")] = None,
    schedule_option: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="E.g. warm_up=2.")] = None,
    recipe: RecipeOption = None,
    until: UntilOption = None,
    tensorboard: TensorboardOption = False,
    mlflow: MlflowOption = "",
    cluster: ClusterOption = "",
    expose: ExposeOption = False,
    sweep: Annotated[str, typer.Option(hidden=True, help="The trial of a sweep that this is.")] = "",
    workspace: PlaceOption = ".",
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, only the summary.")] = False,
    **given: Any,
) -> None:
    """Train a drawing and keep the run in the workspace's folder 'runs'. Ctrl-C keeps what was learnt."""
    from inkcap.remote import at

    drawing = open_drawing(file)
    given = {name: value for name, value in given.items() if value is not None}
    chosen = with_loss_options(read_recipe(recipe, data, option, given, loss), loss_option)
    chosen = with_kind(chosen, "optimiser", optimiser, optimiser_option, rate)
    chosen = with_kind(chosen, "schedule", schedule, schedule_option, None)
    address = Address(cluster, expose, workspace)
    with at(existing(workspace)) as place:
        result = _train(drawing, chosen, place, until, sweep, (tensorboard, mlflow), address, quiet=quiet or as_json)
        if result is not None:
            show_result(result, place.shown, as_json)


def open_drawing(file: str) -> Drawing:
    """Read the drawing of a path or a URL."""
    from inkcap.drawing import load_drawing
    from inkcap.drawing.limits import PLAIN_FILE_BYTES
    from inkcap.remote import local_file

    return load_drawing(local_file(file, PLAIN_FILE_BYTES))


def _train(
    drawing: Drawing,
    recipe: Recipe,
    place: Place,
    until: int | None,
    sweep: str,
    watchers: tuple[bool, str],
    address: Address,
    *,
    quiet: bool,
) -> RunResult | None:
    """Train, and give what came of it; nothing where another process of a group says it."""
    from inkcap.training.environment import prepare_environment

    prepare_environment()
    from inkcap.cli.members import run_of_job, surrounding_group
    from inkcap.cli.progress import fetching, watch
    from inkcap.network import check
    from inkcap.training import StopRequest, Watching, resume

    _ = check(drawing).network
    stop, watching = StopRequest(until), Watching(*watchers)
    group = surrounding_group()
    follows = group is not None and not group.writes
    train_drawing = trainer(address, recipe, group)
    with watch(quiet=quiet or follows) as listener, fetching(quiet=quiet or follows) as progress:
        place.data(recipe.data.name, progress)
        if recipe.init_from is not None and place.elsewhere is not None and not Path(recipe.init_from).exists():
            place.run(recipe.init_from, whole=recipe.init_memory)
        common: Any = {"stop": stop, "progress": progress, "elsewhere": place.elsewhere}
        if group is not None and (begun := run_of_job(place.folder, group)):
            result = resume(begun, place.folder, listener, group=group, **common)
        else:
            result = train_drawing(drawing, recipe, place.folder, listener, sweep=sweep, watching=watching, **common)
    return None if follows else result


def _result_json(result: RunResult) -> dict[str, Any]:
    return {
        "run": result.run.id,
        "folder": str(result.run.path),
        "state": result.state,
        "reason": result.reason,
        "epochs": result.epochs,
        "steps": result.steps,
        "monitor": result.monitor,
        "best_epoch": result.best_epoch,
        "best_value": _finite(result.best_value),
        "values": {name: _finite(value) for name, value in result.values.items()},
        "init_from": result.borrowed.to_json(),
        "notes": list(result.notes),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def show_result(result: RunResult, workspace: str, as_json: bool) -> None:
    """Print what came of a training."""
    from inkcap.cli.progress import hush

    try:
        if as_json:
            print_json(_result_json(result))
        else:
            _print_result(result, workspace)
        sys.stdout.flush()
    except OSError:
        # The run is whole and kept, whoever has stopped reading.
        hush()


def _print_result(result: RunResult, workspace: str) -> None:
    from inkcap.cli.progress import counted
    from inkcap.remote import is_url

    if result.state == "interrupted":
        say(f"stopped after {counted(result.steps, 'step')} ({result.reason}); what was learnt is kept")
    shown = show_values(result.values)
    if result.epochs:
        say(f"{counted(result.epochs, 'epoch')}: {shown}")
        say(f"best epoch {result.best_epoch} by {result.monitor}: {result.best_value:.4g}")
    for note in result.notes:
        say(f"note: {note}")
    for line in result.borrowed.lines():
        say(line)
    say(f"run {result.run.id} in {result.run.path}")
    place = "" if workspace == "." else f" --workspace {shlex.quote(workspace)}"
    if is_url(workspace):
        say(f"publishing to {workspace}")
    if result.state == "interrupted":
        say(f"next: inkcap resume {result.run.id}{place}")
    else:
        say(f"next: inkcap evaluate {result.run.id}{place}")


def show_value(name: str, value: float) -> str:
    """Write a measured value for a person: shares in per cent."""
    return value_text(name, value, ".4g")


def show_values(values: Mapping[str, float | None]) -> str:
    """Write what was measured for a person, but for the rate and what is missing."""
    known = {name: value for name, value in values.items() if name != "rate" and value is not None}
    return " · ".join(show_value(name, value) for name, value in said_once(known).items())


@app.command()
def evaluate(
    run: RunArgument,
    data: Annotated[str | None, typer.Option(help="Other data; the run's own when not given.")] = None,
    option: OptionOption = None,
    part: Annotated[str, typer.Option(metavar="auto|validation|test|all", help="Which samples.")] = "auto",
    weights: WeightsOption = "best",
    engine: EngineOption = "auto",
    workspace: PlaceOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Measure a run: its loss, what is right of its answers, confusion matrix."""
    one_of("--part", part, ("auto", "validation", "test", "all"))
    one_of("--weights", weights, ("best", "last"))
    one_of("--engine", engine, ENGINES)
    from inkcap.remote import at
    from inkcap.training.environment import prepare_environment

    with at(workspace) as place:
        folder = place.run(run)
        if place.elsewhere is not None:
            place.data(folder.recipe().data.name if data is None else data)
    prepare_environment()
    from inkcap.training import evaluate as evaluate_run

    spec = None
    if data is not None:
        spec = replace(folder.recipe().data, name=data, options=pairs(option, "--option"))
    elif option:
        raise RecipeError("--option goes with --data")
    result = evaluate_run(folder, spec, part=part, weights=weights, engine=engine_of(engine))  # pyright: ignore[reportArgumentType]
    if as_json:
        print_json(result.to_json())
    else:
        _print_evaluation(result)


def _print_evaluation(result: Evaluation) -> None:
    samples = "1 sample" if result.samples == 1 else f"{number(result.samples)} samples"
    say(f"{result.run} on {samples} of {result.data} ({result.part})")
    say(f"  {show_values(result.values)}")
    for output, report in result.reports.items():
        say(f"  confusion of {output} (rows: true, columns: predicted)")
        recall = ["-" if found is None else f"{100 * found:.1f} %" for found in report.recall().values()]
        say_confusion(report.classes, report.confusion.tolist(), ("recall", *recall))
