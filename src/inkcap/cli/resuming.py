"""The commands that list runs, pause and stop them, and go on with them."""

from __future__ import annotations

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
    RunArgument,
    TensorboardOption,
    UntilOption,
    WorkspaceOption,
    show_result,
    show_values,
)
from inkcap.recipes import RunFolderError
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
    until: UntilOption = None,
    tensorboard: TensorboardOption = False,
    mlflow: MlflowOption = "",
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, only the summary.")] = False,
) -> None:
    """Go on with a run that was stopped, killed or finished, to the same bits as if it had never stopped."""
    from inkcap.recipes import find_run
    from inkcap.training.environment import prepare_environment

    folder = find_run(workspace, run)
    prepare_environment()
    from inkcap.cli.progress import fetching, watch
    from inkcap.training import StopRequest, Watching
    from inkcap.training import resume as resume_run

    watching, stop = Watching(tensorboard, mlflow), StopRequest(until)
    with watch(quiet=quiet or as_json) as listener, fetching(quiet=quiet or as_json) as progress:
        result = resume_run(
            *(folder, workspace, listener),
            epochs=epochs,
            threads=threads,
            stop=stop,
            progress=progress,
            watching=watching,
        )
    show_result(result, workspace, as_json)


@app.command()
def pause(run: RunArgument, workspace: WorkspaceOption = Path()) -> None:
    """Pause a run that another process trains: it saves all that it stands at and ends, and `resume` goes on."""
    from inkcap.recipes import find_run
    from inkcap.recipes.steering import pause as pause_run

    folder = find_run(workspace, run)
    pause_run(folder)
    _await_end(folder)


@app.command()
def stop(run: RunArgument, workspace: WorkspaceOption = Path()) -> None:
    """Stop a run that another process trains, as Ctrl-C does there: what was learnt is kept."""
    from inkcap.recipes import find_run
    from inkcap.recipes.steering import stop as stop_run

    folder = find_run(workspace, run)
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
def runs(workspace: WorkspaceOption = Path(), as_json: JsonOption = False) -> None:
    """List the runs of a workspace."""
    from inkcap.recipes import list_runs

    whole, damaged = list_runs(existing(workspace))
    broken = [{"folder": str(run.path), "problem": run.problem} for run in damaged]
    listed: list[dict[str, Any]] = []
    for run in whole:
        described = {"id": run.id, "state": run.record.standing, "reason": run.record.reason}
        try:
            kept = {"created": run.record.created, "sweep": run.record.sweep}
            listed.append({**described, **kept, "summary": dict(run.summary())})
        except RunFolderError as problem:
            broken.append({"folder": str(run.path), "problem": str(problem)})
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
