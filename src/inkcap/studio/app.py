"""The studio's application: its routes, behind the gate."""

from importlib import resources
from pathlib import Path

from fastapi import FastAPI, HTTPException
from fastapi.responses import HTMLResponse, Response
from starlette.types import ASGIApp

from inkcap.structures.errors import InkcapError
from inkcap.studio.gate import Gate
from inkcap.studio.page import render
from inkcap.studio.policy import require_policies
from inkcap.studio.workspace import Listing, list_drawings

STATIC = {"studio.css": "text/css; charset=utf-8", "inkcap.svg": "image/svg+xml"}


class Studio(FastAPI):
    """A FastAPI application whose outermost layer is the gate, outside even of the handler of server errors."""

    def __init__(self, port: int) -> None:
        super().__init__(title="Inkcap studio", docs_url=None, redoc_url=None, openapi_url="/api/openapi.json")
        self.port = port

    def build_middleware_stack(self) -> ASGIApp:
        """Wrap everything in the gate; a route that the policy table does not name stops the start."""
        require_policies(self.routes)
        return Gate(super().build_middleware_stack(), self.port)


def create_app(workspace: Path, port: int) -> FastAPI:
    """Return the application that shows the workspace to browsers which come to this port of this machine."""
    workspace = workspace.resolve()
    if not workspace.is_dir():
        raise InkcapError(f"The workspace {workspace} is not a folder: make it first, or name another.")
    app = Studio(port)
    files = _static_files()

    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    def page() -> str:  # pyright: ignore[reportUnusedFunction]
        return render(list_drawings(workspace))

    @app.get("/api/drawings")
    def drawings() -> Listing:  # pyright: ignore[reportUnusedFunction]
        """List the drawings of the workspace, each with what its check says."""
        return list_drawings(workspace)

    @app.get("/static/{name}", include_in_schema=False)
    def static(name: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        if name not in files:
            raise HTTPException(404, f"The studio has no file {name}.")
        return Response(files[name], media_type=STATIC[name])

    require_policies(app.routes)
    return app


def _static_files() -> dict[str, bytes]:
    """Read the few files of the page into memory: no request ever names a path on the disk."""
    folder = resources.files("inkcap.studio") / "static"
    return {name: (folder / name).read_bytes() for name in STATIC}
