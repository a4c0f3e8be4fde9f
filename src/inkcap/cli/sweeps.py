"""Commands about sweeps: sweep, sweeps."""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from inkcap.cli.app import app
from inkcap.cli.clusters import LOCAL, address_of
from inkcap.cli.output import print_json, say
from inkcap.cli.recipes import HELP, existing, read_recipe
from inkcap.cli.runs import JsonOption, OptionOption, RecipeOption, WorkspaceOption, show_value
from inkcap.cli.together import ExposeOption
from inkcap.recipes import Recipe
from inkcap.recipes.measures import best_of
from inkcap.structures.errors import RunFailure
from inkcap.sweeps import (
    METHODS,
    Runner,
    Space,
    Sweep,
    SweepError,
    SweepListener,
    Trial,
    begin_sweep,
    best_trial,
    find_sweep,
    in_short,
    list_sweeps,
    over_seeds,
    plan_sweep,
    ranked,
    space_from_text,
    space_from_words,
)

if TYPE_CHECKING:
    from inkcap.sweeps.sites import Site

ROWS = 30
"""Rows of a table that is printed without being asked for all."""

ApplyOption = Annotated[
    bool, typer.Option("--apply", help="Write the best trial's drawing and recipe into the workspace, as NAME-best.")
]


@app.command()
def sweep(
    file: Annotated[Path | None, typer.Argument(metavar="DRAWING", help="A drawing, NAME.inkcap.json.")] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH=VALUES",
            help="What is tried: 'drawing.b.kernels=4,8,16', 'recipe.optimiser.rate=0.001..0.1 log 3'. Repeatable.",
        ),
    ] = None,
    space: Annotated[Path | None, typer.Option(metavar="FILE", help="What is tried, as a JSON file.")] = None,
    method: Annotated[str, typer.Option(metavar="|".join(METHODS), help="How trials are chosen.")] = "grid",
    trials: Annotated[int | None, typer.Option(min=1, help="How many, unless it is a grid (default 20).")] = None,
    at_once: Annotated[int | None, typer.Option(min=1, help="Runs at once; the cores are divided among them.")] = None,
    factor: Annotated[int, typer.Option(help="Halving: one of so many goes on to so many times the epochs.")] = 3,
    sampling_seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of what is drawn at random.")] = 0,
    name: Annotated[str | None, typer.Option(help="Name of the sweep; one is made when not given.")] = None,
    resume: Annotated[str | None, typer.Option(metavar="NAME", help="Go on with a sweep of the workspace.")] = None,
    data: Annotated[str | None, typer.Option(help=f"{HELP['name']}; see 'inkcap data'")] = None,
    option: OptionOption = None,
    epochs: Annotated[int | None, typer.Option(help=HELP["epochs"])] = None,
    monitor: Annotated[str | None, typer.Option(help=HELP["monitor"])] = None,
    seed: Annotated[int | None, typer.Option(help=HELP["seed"])] = None,
    threads: Annotated[int | None, typer.Option(help=HELP["threads"])] = None,
    recipe: RecipeOption = None,
    cluster: Annotated[
        str, typer.Option(metavar="HOST:PORT|local", help="Spread the trials over a Ray, or over one started here.")
    ] = "",
    expose: ExposeOption = False,
    apply: ApplyOption = False,
    source: Annotated[str, typer.Option(hidden=True, help="The studio's drawing that this is of.")] = "",
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, only the table.")] = False,
) -> None:
    """Train a drawing many times with other attributes and recipe values, each trial a run of its own.

    Ctrl-C stops the trials kindly; --resume goes on with what is left.
    """
    existing(workspace)
    hushed = quiet or as_json
    if resume is not None:
        if file is not None or vary or space is not None:
            raise SweepError(f"--resume {resume}: the sweep has its drawing and its space; give neither.")
        found = find_sweep(workspace, resume)
        with _site(cluster, expose, found.recipe()) as site:
            ended = _run(found, workspace, at_once, site, quiet=hushed)
    else:
        given = {"epochs": epochs, "monitor": monitor, "seed": seed, "threads": threads}
        top = {key: value for key, value in given.items() if value is not None}
        tried = _space(file, vary, space, lambda: read_recipe(recipe, data, option, top, None))
        with _site(cluster, expose, tried.recipe) as site:
            plan = plan_sweep(
                tried, workspace, method=method, trials=trials, at_once=at_once, factor=factor,
                seed=sampling_seed, name=name, source=source, site=site,
            )  # fmt: skip
            _fetch(tried, workspace, quiet=hushed)
            ended = _run(begin_sweep(workspace, plan, tried), workspace, at_once, site, quiet=hushed)
    _show(ended, workspace, as_json=as_json, apply=apply, rows=ROWS)
    if ended.state == "finished" and best_trial(ended, ended.recipe()) is None:
        raise RunFailure(f"{ended.plan.name}: none of the {len(ended.trials)} trials came to anything; see the reasons")


def _run(sweep: Sweep, workspace: Path, at_once: int | None, site: Site | None, *, quiet: bool) -> Sweep:
    return Runner(sweep, workspace, SweepListener() if quiet else Telling(sweep), at_once, site).run()


@contextmanager
def _site(cluster: str, expose: bool, recipe: Recipe) -> Generator[Site | None]:
    """Give where trials are trained, if it is not just this machine."""
    if expose and cluster in ("", LOCAL):
        raise SweepError("--expose goes with --cluster ADDRESS.")
    if not cluster:
        yield None
        return
    from inkcap.cluster import joined
    from inkcap.cluster.sweeping import OnCluster

    with joined(address_of(cluster), exposed=expose) as there:
        yield OnCluster(there, recipe)


def _space(file: Path | None, vary: list[str] | None, space: Path | None, recipe: Any) -> Space:
    """Read the drawing, the recipe and what is varied of them."""
    from inkcap.drawing import load_drawing
    from inkcap.network import check

    if file is None:
        raise SweepError("sweep needs a drawing: inkcap sweep NAME.inkcap.json …, or --resume NAME to go on with one.")
    drawing = load_drawing(file)
    _ = check(drawing).network
    chosen = recipe()
    if space is not None and vary:
        raise SweepError("--space and --vary: give one of the two.")
    if space is not None:
        try:
            return space_from_text(space.read_bytes(), drawing, chosen, str(space))
        except OSError as problem:
            raise SweepError(f"{space}: cannot be read ({problem.strerror}).") from None
    words: dict[str, str] = {}
    for text in vary or ():
        path, equals, values = text.partition("=")
        if not equals:
            raise SweepError(f"--vary {text!r}: write it as PATH=VALUES, such as recipe.batch=32,64.")
        if path.strip() in words:
            raise SweepError(f"--vary {path.strip()}: given twice; give all its values at once, parted by commas.")
        words[path.strip()] = values
    if not words:
        raise SweepError("sweep needs something to vary: give --vary recipe.batch=32,64, or --space FILE.")
    return space_from_words(words, drawing, chosen)


def _fetch(space: Space, workspace: Path, *, quiet: bool) -> None:
    """Look at the data once before all trials do: a mistake is told at once, a download is made once."""
    if any(path.startswith("recipe.data.") for path in space.varied):
        return
    from inkcap.cli.progress import fetching
    from inkcap.training.data import load_named

    with fetching(quiet=quiet) as progress:
        load_named(space.recipe.data, workspace, progress)


class Telling(SweepListener):
    """Prints one line for each trial that ends."""

    def __init__(self, sweep: Sweep) -> None:
        """Wait for the first."""
        self.sweep, self.total = sweep, len(sweep.trials)

    def on_start(self, sweep: Sweep, trials: list[Trial]) -> None:
        """Print what begins."""
        plan = sweep.plan
        self.total = max(plan.trials if plan.method == "guided" else 0, len(trials))
        impossible = sum(trial.state == "impossible" for trial in trials)
        left = sum(trial.state in ("waiting", "running") for trial in trials)
        each = f"{plan.threads} thread{'' if plan.threads == 1 else 's'}"
        known = f", {impossible} of them not possible" if impossible else ""
        say(f"{plan.name}: {plan.method}, {self.total} trials{known}; {plan.at_once} at once, {each} each")
        if left < len(trials) - impossible:
            say(f"{left} are left")

    def on_trial(self, trial: Trial) -> None:
        """Print what came of a trial."""
        if trial.state in ("running", "waiting"):
            return
        head = f"trial {trial.number}/{self.total}: {short_values(trial.values)}"
        if trial.state in ("done", "reached"):
            say(f"{head}: {_result(trial)}")
        else:
            say(f"{head}: {_STATES[trial.state]}: {_first_line(trial.reason)}")

    def on_rung(self, epochs: int, going: tuple[int, ...], compared: int) -> None:
        """Print who goes on."""
        after = f"{epochs} epoch{'' if epochs == 1 else 's'}"
        say(f"after {after}: {len(going)} of {compared} go on: trial {', '.join(map(str, going))}")

    def on_stop(self) -> None:
        """Print that the trials are asked to stop."""
        say("stopping: the trials save what they have learnt; again to leave them to themselves")


_STATES = {"impossible": "not possible", "failed": "failed", "interrupted": "interrupted", "stopped": "stopped"}


def short_values(values: Mapping[str, Any]) -> str:
    """Write the values of a trial for a person."""
    return " · ".join(f"{short_path(path)} {_short(value)}" for path, value in values.items())


def short_path(path: str) -> str:
    """Write a path without what every path begins with."""
    return path.partition(".")[2]


def _short(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def _first_line(text: str) -> str:
    return text.splitlines()[0] if text else ""


def _result(trial: Trial) -> str:
    shown = show_value(trial.monitor, trial.value) if trial.value is not None else "no value"
    measured = best_of([name.removeprefix("val_") for name in trial.scores if name.startswith("val_")])
    name = f"val_{measured}"
    value = trial.scores.get(name)
    if value is not None and trial.monitor != name:
        shown += f" · {show_value(name, value)}"
    return f"{shown} ({trial.run})"


def _show(sweep: Sweep, workspace: Path, *, as_json: bool, apply: bool, rows: int) -> None:
    """Print what came of a sweep, and what to do with it."""
    recipe = sweep.recipe()
    best = best_trial(sweep, recipe)
    written = _apply(sweep, workspace, best) if apply and best is not None else ()
    if as_json:
        print_json(sweep_json(sweep, recipe, best, written))
        return
    order = ranked(sweep.trials.values(), recipe)
    for line in table(sweep, order[:rows]):
        say(line)
    if len(order) > rows:
        say(f"… and {len(order) - rows} more: inkcap sweeps {sweep.plan.name} --all")
    for one in over_seeds(sweep, recipe)[:5]:
        rest = short_values(one.values) or "all"
        say(f"over {len(one.trials)} seeds: {rest}: {one.mean:.4g} ± {one.deviation:.2g}")
    place = "" if workspace == Path() else f" --workspace {shlex.quote(str(workspace))}"
    if best is not None:
        folder = sweep.trial_folder(best.number)
        drawing, chosen = written or (folder / "drawing.inkcap.json", folder / "recipe.json")
        say(f"best: trial {best.number}, {short_values(best.values)}: {_result(best)}")
        say(f"again: inkcap train {shlex.quote(str(drawing))} --recipe {shlex.quote(str(chosen))}{place}")
    if sweep.state != "finished" or any(trial.state == "interrupted" for trial in sweep.trials.values()):
        say(f"next: inkcap sweep --resume {sweep.plan.name}{place}")
    elif best is not None:
        say(f"next: inkcap evaluate {best.run}{place}")


def table(sweep: Sweep, trials: list[Trial]) -> list[str]:
    """Give the trials as lines of columns."""
    paths = list(sweep.plan.space)
    monitor = next((trial.monitor for trial in trials if trial.monitor), "value")
    head = ["trial", *map(short_path, paths), monitor.replace("val_", "validation "), "epochs", "state", "run"]
    body = [
        [
            str(trial.number),
            *(_short(trial.values.get(path)) for path in paths),
            "" if trial.value is None else f"{trial.value:.4g}",
            str(trial.epochs or ""),
            _STATES.get(trial.state, trial.state),
            trial.run or _first_line(trial.reason)[:60],
        ]
        for trial in trials
    ]
    widths = [max(len(row[i]) for row in [head, *body]) for i in range(len(head))]
    right = [*(True for _ in range(len(head) - 2)), False, False]
    return [
        "  "
        + "   ".join(
            cell.rjust(width) if high else cell.ljust(width)
            for cell, width, high in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in [head, *body]
    ]


def _apply(sweep: Sweep, workspace: Path, best: Trial) -> tuple[Path, Path]:
    """Write the drawing and the recipe of the best trial as files of the workspace."""
    from inkcap.drawing import SUFFIX, save_drawing
    from inkcap.recipes import recipe_to_text
    from inkcap.structures.atomic import write_atomic

    drawing, recipe = sweep.space().apply(best.values)
    paths = workspace / f"{sweep.plan.name}-best{SUFFIX}", workspace / f"{sweep.plan.name}-best.recipe.json"
    save_drawing(drawing, paths[0])
    write_atomic(paths[1], recipe_to_text(recipe))
    return paths


def sweep_json(sweep: Sweep, recipe: Recipe, best: Trial | None, written: tuple[Path, ...] = ()) -> dict[str, Any]:
    """Describe a sweep as one JSON object, its trials from the best."""
    trials = [dataclasses.asdict(trial) for trial in ranked(sweep.trials.values(), recipe)]
    for trial in trials:
        del trial["pid"], trial["process"]
    return {
        **dataclasses.asdict(replace(sweep.plan, source="")),
        "folder": str(sweep.path),
        "state": sweep.state,
        "reason": sweep.reason,
        "best": best.number if best is not None else None,
        "trials": trials,
        "over_seeds": [dataclasses.asdict(one) for one in over_seeds(sweep, recipe)],
        "written": [str(path) for path in written],
    }


@app.command()
def sweeps(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A sweep, to see its trials.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every trial, however many.")] = False,
    apply: ApplyOption = False,
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """List the sweeps of a workspace, or the trials of one from the best."""
    existing(workspace)
    if name is not None:
        found = find_sweep(workspace, name)
        _show(found, workspace, as_json=as_json, apply=apply, rows=len(found.trials) if every else ROWS)
        return
    whole, damaged = list_sweeps(workspace)
    told = [in_short(sweep, sweep.recipe()) for sweep in whole]
    if as_json:
        broken = [{"folder": str(path), "problem": problem} for path, problem in damaged]
        print_json({"sweeps": told, "damaged": broken})
        return
    if not whole and not damaged:
        say("no sweeps yet: inkcap sweep DRAWING --data digits --vary recipe.optimiser.rate=0.001,0.01")
    for one in told:
        best = "" if one["best"] is None else f"best trial {one['best']}: {one['value']:.4g}"
        say(f"{one['name']:<32} {one['state']:<12} {one['ended']}/{one['trials']} trials  {best}".rstrip())
    for path, problem in damaged:
        say(f"{path.name:<32} damaged      {problem}")
