"""The command that goes on with a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from inkcap.cli.app import app
from inkcap.cli.runs import JsonOption, RunArgument, UntilOption, WorkspaceOption, show_result


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
    from inkcap.training import StopRequest
    from inkcap.training import resume as resume_run

    stop = StopRequest(until)
    with watch(quiet=quiet or as_json) as listener, fetching(quiet=quiet or as_json) as progress:
        result = resume_run(folder, workspace, listener, epochs=epochs, threads=threads, stop=stop, progress=progress)
    show_result(result, workspace, as_json)
