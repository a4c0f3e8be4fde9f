"""The command that opens the studio."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from inkcap.cli.app import app


@app.command()
def studio(
    folder: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="The workspace.")] = Path(),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes any.")] = 8765,
    browser: Annotated[bool, typer.Option("--browser", help="Open it in the browser.")] = False,
) -> None:
    """Open the studio on a folder of drawings."""
    from inkcap.structures import InkcapError
    from inkcap.studio import serve

    if not folder.is_dir():
        raise InkcapError(f"{folder}: there is no such folder; give the folder of your drawings")
    serve(folder, port=port, open_browser=browser)
