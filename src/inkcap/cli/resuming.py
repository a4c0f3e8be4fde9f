"""The commands that list runs, pause and stop them, and go on with them."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from inkcap.cli.app import app
from inkcap.cli.output import print_json, say
from inkcap.cli.recipes import existing
from inkcap.cli.runs import (
    JsonOption,
    MlflowOption,
    PlaceOption,
    RunArgument,
    TensorboardOption,
    UntilOption,
    WorkspaceOption,
    show_result,
    show_values,
)
from inkcap.cli.together import Address, ClusterOption, ExposeOption, WorkersOption, resumer
from inkcap.recipes import RunFolderError, list_runs
from inkcap.recipes.layout import PAUSED
from inkcap.recipes.runfolder import KILLED

if TYPE_CHECKING:
    from inkcap.recipes import RunFolder

PATIENCE = 30.0
"""Seconds that are waited for a run to save what it stands at."""


@app.command()
def resume(
    run: RunArgument,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Epochs of the whole run; a finished one goes on for more.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Other threads than the run's own; the last bits will differ.")
    ] = None,
    workers: WorkersOption = None,
    cluster: ClusterOption = "",
    expose: ExposeOption = False,
    until: UntilOption = None,
    tensorboard: TensorboardOption = False,
    mlflow: MlflowOption = "",
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Go on though another machine says that it trains the run.")
    ] = False,
    workspace: PlaceOption = ".",
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, only the summary.")] = False,
) -> None:
    """Go on with a run that was stopped, killed or finished, to the same bits as if it had never stopped."""
    from inkcap.remote import at
    from inkcap.training.environment import prepare_environment

    prepare_environment()
    from inkcap.cli.members import surrounding_group
    from inkcap.cli.progress import fetching, watch
    from inkcap.training import StopRequest, Watching

    watching, stop = Watching(tensorboard, mlflow), StopRequest(until)
    group = surrounding_group()
    follows = group is not None and not group.writes
    silent = quiet or as_json or follows
    with at(workspace) as place:
        folder = place.run_to_resume(run, take_over=take_over)
        resume_run = resumer(Address(cluster, expose, workspace), workers or folder.recipe().workers, group)
        with watch(quiet=silent) as listener, fetching(quiet=silent) as progress:
            if place.elsewhere is not None:
                place.data(folder.recipe().data.name, progress)
            result = resume_run(
                *(folder, place.folder, listener),
                epochs=epochs,
                threads=threads,
                stop=stop,
                progress=progress,
                watching=watching,
                elsewhere=place.elsewhere,
            )
        if not follows:
            show_result(result, place.shown, as_json)


@app.command()
def publish(
    run: RunArgument,
    url: Annotated[str, typer.Argument(metavar="URL", help="A workspace in storage, such as s3://bucket/folder.")],
    workspace: WorkspaceOption = Path(),
) -> None:
    """Publish a run of this machine to a workspace in storage, or what could not be published while it was trained."""
    from inkcap.recipes import find_run
    from inkcap.remote import publish as publish_run

    folder = find_run(workspace, run)
    shown = publish_run(folder, url)
    say(f"{folder.id} is published to {shown}")
    say(f"next: inkcap evaluate {folder.id} --workspace {shlex.quote(shown)}")


@app.command()
def pause(run: RunArgument, workspace: PlaceOption = ".") -> None:
    """Pause a run that another process trains: it saves all that it stands at and ends, and `resume` goes on."""
    from inkcap.recipes.steering import pause as pause_run
    from inkcap.remote import at

    with at(workspace) as place:
        folder = place.run(run)
    pause_run(folder)
    _await_end(folder)


@app.command()
def stop(run: RunArgument, workspace: PlaceOption = ".") -> None:
    """Stop a run that another process trains, as Ctrl-C does there: what was learnt is kept."""
    from inkcap.recipes.steering import stop as stop_run
    from inkcap.remote import at

    with at(workspace) as place:
        folder = place.run(run)
    stop_run(folder)
    _await_end(folder)


def _await_end(folder: RunFolder) -> None:
    """Wait until the run has saved what it stands at, and say how it stands."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        now = type(folder).open(folder.path)
        if now.record.state not in ("created", "running"):
            say(f"{now.id} is {now.record.standing}; next: inkcap resume {now.id}")
            return
        time.sleep(0.05)
    say(f"{folder.id} was asked to end and is still saving; see 'inkcap runs'")


@app.command()
def runs(workspace: PlaceOption = ".", as_json: JsonOption = False) -> None:
    """List the runs of a workspace."""
    from inkcap.remote import overview

    with overview(existing(workspace)) as folder:
        listed, broken = _listed(folder)
    if as_json:
        print_json({"runs": listed, "damaged": broken})
        return
    if not listed and not broken:
        say("no runs yet: inkcap train DRAWING --data digits")
    for one in listed:
        values: dict[str, Any] = one["summary"].get("values", {})
        shown = show_values(values)
        if one["reason"] == KILLED:
            shown = " · ".join(filter(None, (shown, f"({KILLED})")))
        if one["state"] in ("interrupted", PAUSED):
            shown = " · ".join(filter(None, (shown, f"next: inkcap resume {one['id']}")))
        say(f"{one['id']:<32} {one['state']:<12} {shown}".rstrip())
    for item in broken:
        say(f"{Path(item['folder']).name:<32} damaged      {item['problem']}")


def _listed(folder: Path) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Tell what runs there are, and what is no whole one."""
    whole, damaged = list_runs(folder)
    broken = [{"folder": str(run.path), "problem": run.problem} for run in damaged]
    listed: list[dict[str, Any]] = []
    for run in whole:
        described = {"id": run.id, "state": run.record.standing, "reason": run.record.reason}
        try:
            kept = {"created": run.record.created, "sweep": run.record.sweep}
            listed.append({**described, **kept, "summary": dict(run.summary())})
        except RunFolderError as problem:
            broken.append({"folder": str(run.path), "problem": str(problem)})
    return listed, broken
