"""Commands about runs: train, evaluate, predict, runs."""

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
from inkcap.cli.output import number, print_json, say, say_confusion
from inkcap.cli.recipes import FIELDS, HELP, existing, pairs, read_recipe, with_kind, with_loss_options
from inkcap.recipes import LOSSES, OPTIMISERS, SCHEDULES, RecipeError
from inkcap.recipes.measures import said_once, value_text

if TYPE_CHECKING:
    from inkcap.drawing import Drawing
    from inkcap.recipes import Recipe
    from inkcap.training import Evaluation, OutputPrediction, RunResult

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="A run of the workspace, or the path of its folder.")]
WorkspaceOption = Annotated[Path, typer.Option("--workspace", help="Folder of drawings, data and runs.")]
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
EngineOption = Annotated[
    str, typer.Option("--engine", metavar="auto|eager|frozen|compiled|onnxruntime", help="What computes the answers.")
]
WeightsOption = Annotated[str, typer.Option("--weights", metavar="best|last", help="Which weights of the run.")]


@app.command()
def train(
    file: Annotated[Path, typer.Argument(metavar="DRAWING", help="A drawing, NAME.inkcap.json.")],
    data: Annotated[str | None, typer.Option(help=f"{HELP['name']}; see 'inkcap data'")] = None,
    option: OptionOption = None,
    normalise: Annotated[str | None, typer.Option(help=HELP["normalise"])] = None,
    normalise_targets: Annotated[bool | None, typer.Option(help=HELP["normalise_targets"])] = None,
    resize: Annotated[str | None, typer.Option(help=HELP["resize"])] = None,
    augment: Annotated[str | None, typer.Option(help=HELP["augment"])] = None,
    feed: Annotated[str | None, typer.Option(metavar="CAPSULE=NAME", help=HELP["feed"])] = None,
    loss: LossOption = None,
    loss_option: OptionOfLoss = None,
    optimiser: Annotated[str | None, typer.Option(help=f"One of {', '.join(OPTIMISERS)} (default adam).")] = None,
    rate: Annotated[float | None, typer.Option(help=FIELDS["rate"].help_text())] = None,
    optimiser_option: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="E.g. momentum=0.8.")] = None,
    schedule: Annotated[str | None, typer.Option(help=f"One of {', '.join(SCHEDULES)} (default constant).")] = None,
    schedule_option: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="E.g. warm_up=2.")] = None,
    batch: Annotated[int | None, typer.Option(help=HELP["batch"])] = None,
    epochs: Annotated[int | None, typer.Option(help=HELP["epochs"])] = None,
    seed: Annotated[int | None, typer.Option(help=HELP["seed"])] = None,
    validation: Annotated[float | None, typer.Option(help=HELP["validation"])] = None,
    early_stop: Annotated[int | None, typer.Option(help=HELP["early_stop"])] = None,
    monitor: Annotated[str | None, typer.Option(help=HELP["monitor"])] = None,
    clip: Annotated[float | None, typer.Option(help=HELP["clip"])] = None,
    device: Annotated[str | None, typer.Option(help=HELP["device"])] = None,
    freeze: Annotated[list[str] | None, typer.Option(metavar="PATTERN", help=HELP["freeze"])] = None,
    init_from: Annotated[str | None, typer.Option(metavar="RUN", help=HELP["init_from"])] = None,
    init_memory: Annotated[bool | None, typer.Option(help=HELP["init_memory"])] = None,
    init_renamed: Annotated[str | None, typer.Option(metavar="OLD=NEW", help=HELP["init_renamed"])] = None,
    threads: Annotated[int | None, typer.Option(help=HELP["threads"])] = None,
    workers: Annotated[int | None, typer.Option(help=HELP["workers"])] = None,
    engine: Annotated[str | None, typer.Option(help=HELP["engine"])] = None,
    switch_engine: Annotated[str | None, typer.Option(metavar="ENGINE@STEP", help=HELP["switch_engine"])] = None,
    precision: Annotated[str | None, typer.Option(help=HELP["precision"])] = None,
    recompute: Annotated[list[str] | None, typer.Option(metavar="GROUP", help=HELP["recompute"])] = None,
    pretrain: Annotated[int | None, typer.Option(metavar="EPOCHS", help=HELP["pretrain"])] = None,
    checkpoint: Annotated[float | None, typer.Option(metavar="SECONDS", help=HELP["checkpoint"])] = None,
    signals: Annotated[bool | None, typer.Option(help=HELP["signals"])] = None,
    recipe: RecipeOption = None,
    until: UntilOption = None,
    tensorboard: TensorboardOption = False,
    mlflow: MlflowOption = "",
    sweep: Annotated[str, typer.Option(hidden=True, help="The trial of a sweep that this is.")] = "",
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, only the summary.")] = False,
) -> None:
    """Train a drawing and keep the run in the workspace's folder 'runs'. Ctrl-C keeps what was learnt."""
    from inkcap.drawing import load_drawing

    drawing = load_drawing(file)
    given = {k: v for k, v in locals().items() if k in FIELDS and v is not None}
    chosen = with_loss_options(read_recipe(recipe, data, option, given, loss), loss_option)
    chosen = with_kind(chosen, "optimiser", optimiser, optimiser_option, rate)
    chosen = with_kind(chosen, "schedule", schedule, schedule_option, None)
    existing(workspace)
    result = _train(drawing, chosen, workspace, until, sweep, (tensorboard, mlflow), quiet=quiet or as_json)
    show_result(result, workspace, as_json)


def _train(
    drawing: Drawing,
    recipe: Recipe,
    workspace: Path,
    until: int | None,
    sweep: str,
    watchers: tuple[bool, str],
    *,
    quiet: bool,
) -> RunResult:
    from inkcap.training.environment import prepare_environment

    prepare_environment()
    from inkcap.cli.progress import fetching, watch
    from inkcap.network import check
    from inkcap.training import StopRequest, Watching
    from inkcap.training import train as train_drawing

    _ = check(drawing).network
    stop, watching = StopRequest(until), Watching(*watchers)
    with watch(quiet=quiet) as listener, fetching(quiet=quiet) as progress:
        return train_drawing(
            *(drawing, recipe, workspace, listener), stop=stop, progress=progress, sweep=sweep, watching=watching
        )


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


def show_result(result: RunResult, workspace: Path, as_json: bool) -> None:
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


def _print_result(result: RunResult, workspace: Path) -> None:
    from inkcap.cli.progress import counted

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
    place = "" if workspace == Path() else f" --workspace {shlex.quote(str(workspace))}"
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
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Measure a run: its loss, what is right of its answers, confusion matrix."""
    _one_of("--part", part, ("auto", "validation", "test", "all"))
    _one_of("--weights", weights, ("best", "last"))
    _one_of("--engine", engine, _ENGINES)
    from inkcap.recipes import find_run
    from inkcap.training.environment import prepare_environment

    folder = find_run(workspace, run)
    prepare_environment()
    from inkcap.training import evaluate as evaluate_run

    spec = None
    if data is not None:
        spec = replace(folder.recipe().data, name=data, options=pairs(option, "--option"))
    elif option:
        raise RecipeError("--option goes with --data")
    result = evaluate_run(folder, spec, part=part, weights=weights, engine=_engine(engine))  # pyright: ignore[reportArgumentType]
    if as_json:
        print_json(result.to_json())
    else:
        _print_evaluation(result)


_ENGINES = ("auto", "eager", "frozen", "compiled", "onnxruntime")
"""As in inkcap.engine.inference, which needs torch."""


def _engine(name: str) -> Any:
    """Give an engine by its name; the one that exports know is theirs."""
    if name != "onnxruntime":
        return name
    from inkcap.exchange import by_onnxruntime

    return by_onnxruntime


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise RecipeError(f"{name}: {value!r} is not one of {', '.join(allowed)}")


def _print_evaluation(result: Evaluation) -> None:
    samples = "1 sample" if result.samples == 1 else f"{number(result.samples)} samples"
    say(f"{result.run} on {samples} of {result.data} ({result.part})")
    say(f"  {show_values(result.values)}")
    for output, report in result.reports.items():
        say(f"  confusion of {output} (rows: true, columns: predicted)")
        recall = ["-" if found is None else f"{100 * found:.1f} %" for found in report.recall().values()]
        say_confusion(report.classes, report.confusion.tolist(), ("recall", *recall))


@app.command(context_settings={"ignore_unknown_options": True})
def predict(
    run: RunArgument,
    source: Annotated[
        str, typer.Argument(metavar="INPUT", help="An image, .npz, .npy, .csv or IDX file, or numbers 1.0,2.0.")
    ],
    top: Annotated[int, typer.Option(min=1, help="How many classes to show.")] = 3,
    resize: Annotated[bool, typer.Option("--resize", help="Bring an image of another size to the network's.")] = False,
    weights: WeightsOption = "best",
    engine: EngineOption = "auto",
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Ask a run about new samples."""
    _one_of("--weights", weights, ("best", "last"))
    _one_of("--engine", engine, _ENGINES)
    if source.startswith("--"):
        raise RecipeError(f"there is no option {source!r}; see 'inkcap predict --help'")
    from inkcap.recipes import find_run
    from inkcap.training.environment import prepare_environment

    folder = find_run(workspace, run)
    prepare_environment()
    from inkcap.training import predict as predict_run
    from inkcap.training.samples import read_samples

    samples = read_samples(folder, source, resize=resize)
    result = predict_run(folder, samples, weights=weights, engine=_engine(engine))  # pyright: ignore[reportArgumentType]
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
