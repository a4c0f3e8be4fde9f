"""The command line: one typer application, errors in one place."""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated

import typer

from inkcap.cli.output import complain, say, settle_output
from inkcap.structures import InkcapError, RunFailure

app = typer.Typer(
    name="inkcap",
    help="Draw a network, check it, train it, use it. A drawing is a file NAME.inkcap.json.",
    no_args_is_help=True,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def start(
    version: Annotated[bool, typer.Option("--version", help="Tell the version.", is_eager=True)] = False,
) -> None:
    """Draw a network, check it, train it, use it. A drawing is a file NAME.inkcap.json."""
    if version:
        from inkcap import __version__

        say(f"inkcap {__version__}")
        raise typer.Exit


_TRAINS = ("train", "resume")


def _begin_with_room() -> None:
    """Begin anew, as the same process, in the environment of one that trains."""
    from inkcap.recipes.apart import TUNABLES, roomy_environment

    wanted = roomy_environment()
    if sys.platform != "linux" or sys.argv[1:2] not in ([name] for name in _TRAINS):
        return
    if wanted and os.environ.get(TUNABLES) != wanted[TUNABLES]:
        command = [sys.executable, "-m", "inkcap", *sys.argv[1:]]
        os.execve(sys.executable, command, {**os.environ, **wanted})  # noqa: S606


def command() -> None:
    """Run a command in a process that is its own, and may be begun anew; whoever has a process already calls main."""
    from inkcap.recipes.apart import stop_when_left

    _begin_with_room()
    stop_when_left()
    try:
        _run()
    except SystemExit as ending:
        if "WORLD_SIZE" in os.environ and "torch.distributed" in sys.modules:
            # A group's threads let go of Python's tensors when they please, and torch aborts the process if one does
            # so while the interpreter ends; all that is left to do is the interpreter's own tidying.
            os._exit(ending.code if isinstance(ending.code, int) else int(ending.code is not None))
        raise


def main() -> None:
    """Run a command and exit, and leave to whoever called what Ctrl-C does in its process."""
    before = signal.getsignal(signal.SIGINT)
    try:
        _run()
    finally:
        signal.signal(signal.SIGINT, before)


def _run() -> None:
    """Run a command: exit code 2 for bad input, 1 for a failed run, never a traceback for a user's mistake."""
    from inkcap.cli import commands

    commands.register()
    # Terminals that cannot show a sign get a stand-in for it instead of a crash.
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
    try:
        app()
    except RunFailure as error:
        complain(f"inkcap: {error}")
        sys.exit(1)
    except InkcapError as error:
        complain(f"inkcap: {error}")
        sys.exit(2)
    except KeyboardInterrupt:
        complain("inkcap: stopped")
        sys.exit(130)
    finally:
        # The work is done: a late Ctrl-C could only break into the interpreter's own tidying.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if not settle_output():
            complain("inkcap: what was printed could not be written whole")
            sys.exit(1)
