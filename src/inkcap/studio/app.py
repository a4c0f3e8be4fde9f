"""The studio's application: its routes, behind the gate."""

import logging
import mimetypes
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, cast

from fastapi import FastAPI, HTTPException, Request, WebSocket
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.types import ASGIApp

from inkcap.structures.errors import InkcapError
from inkcap.studio.access import Access, stored_token
from inkcap.studio.description import complete
from inkcap.studio.gate import Gate, Refusal
from inkcap.studio.hub import Hub, NotThere
from inkcap.studio.messages import message_schemas
from inkcap.studio.page import how_to_build, how_to_come_in
from inkcap.studio.policy import require_policies
from inkcap.studio.routes import drawings, exports, history, imports, insight, neurons, runs, sweeps, theory, workspace
from inkcap.studio.shortage import NO_MEMORY, is_shortage, start_threads
from inkcap.studio.tabs import serve_tab
from inkcap.studio.workspace import text

TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2"}
UNREAD = "The body of the request cannot be read as JSON: it is cut off, or nested too deep."
"""What FastAPI, which answers only so with 400, leaves to be guessed."""
log = logging.getLogger(__name__)


class Studio(FastAPI):
    """A FastAPI application whose outermost layer is the gate, outside even of the handler of server errors."""

    def __init__(self, hub: Hub, port: int, access: Access) -> None:
        super().__init__(
            title="Inkcap studio",
            docs_url=None,
            redoc_url=None,
            openapi_url="/api/openapi.json",
            lifespan=_lifespan,
            redirect_slashes=False,
            separate_input_output_schemas=False,
        )
        self.port, self.access = port, access
        self.state.hub = hub

    def openapi(self) -> dict[str, Any]:
        """Describe the interface, and the messages of the live connection, which OpenAPI has no place for."""
        if not self.openapi_schema:
            components = complete(super().openapi(), self.access)["components"]
            components["schemas"] = dict(sorted((message_schemas() | components["schemas"]).items()))
        return cast("dict[str, Any]", self.openapi_schema)

    def build_middleware_stack(self) -> ASGIApp:
        """Wrap everything in the gate; a route that the policy table does not name stops the start."""
        require_policies(self.routes)
        return Gate(super().build_middleware_stack(), self.port, self.access)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncGenerator[None]:
    start_threads()
    yield
    await app.state.hub.stop()


def create_app(workspace_folder: Path, port: int, token: str | None = None) -> Studio:
    """Return the application that shows the workspace to browsers which come to this port of this machine."""
    folder = workspace_folder.resolve()
    if not folder.is_dir():
        raise InkcapError(f"The workspace {folder} is not a folder: make it first, or name another.")
    access = Access(token or stored_token(folder), port)
    app = Studio(Hub(folder), port, access)
    for module in (workspace, drawings, exports, imports, neurons, history, theory, runs, sweeps, insight):
        # One by one into the table, where the policies see them; an included router would hide its routes.
        app.router.routes.extend(module.router.routes)
    _add_pages(app, access)
    _add_errors(app)

    @app.websocket("/api/drawings/{id}/live")
    async def live(socket: WebSocket, id: str) -> None:  # pyright: ignore[reportUnusedFunction]
        await serve_tab(app.state.hub, id, socket)

    require_policies(app.routes)
    return app


def _add_pages(app: Studio, access: Access) -> None:
    files = built_files()

    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    def front(request: Request, code: str | None = None) -> Response:  # pyright: ignore[reportUnusedFunction]
        cookies = [
            value for key, value in cast("list[tuple[bytes, bytes]]", request.scope["headers"]) if key == b"cookie"
        ]
        known = access.by_cookie(cookies)
        # A browser that only fetches ahead must not use the code up.
        if code is not None and (known or ("purpose" not in " ".join(request.headers) and access.take_code(code))):
            answer = RedirectResponse("/", 303)
            answer.set_cookie(access.cookie, access.token, max_age=400 * 86400, httponly=True, samesite="strict")
            return answer
        if not known:
            return HTMLResponse(how_to_come_in(), 401)
        index = files.get("index.html")
        return HTMLResponse(index) if index is not None else HTMLResponse(how_to_build(), 503)

    @app.get("/static/{name}", include_in_schema=False)
    def static(name: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        content = files.get(name) if name != "index.html" else None
        if content is None:
            raise HTTPException(404, f"The studio has no file {name}.")
        suffix = Path(name).suffix
        kind = TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
        return Response(content, media_type=kind)


def built_files() -> dict[str, bytes]:
    """Read every file of the pages into memory: no request ever names a path on the disk."""
    package = resources.files("inkcap.studio")
    found = {file.name: file.read_bytes() for file in _files_of(package / "static")}
    web = package / "web"
    found |= {file.name: file.read_bytes() for file in _files_of(web / "static")}
    index = web / "index.html"
    return found | ({"index.html": index.read_bytes()} if index.is_file() else {})


def _files_of(folder: Traversable) -> list[Traversable]:
    return [file for file in folder.iterdir() if file.is_file()] if folder.is_dir() else []


def _add_errors(app: FastAPI) -> None:
    """Let every error be one sentence: the user's as it was written, ours without its inside."""

    def told(status: int, sentence: str) -> JSONResponse:
        return JSONResponse({"detail": text(sentence)}, status)

    async def refused(_: Request, error: Exception) -> Response:
        return told(404 if isinstance(error, NotThere) else 409, str(error))

    async def invalid(_: Request, error: Exception) -> Response:
        first: dict[str, Any] = cast("RequestValidationError", error).errors()[0]
        place = ".".join(str(part) for part in first["loc"] if part != "body")
        return told(422, f"{place}: {first['msg']}" if place else str(first["msg"]))

    async def unread(_: Request, error: Exception) -> Response:
        known = cast("StarletteHTTPException", error)
        cut = known.status_code == 400
        return told(known.status_code, UNREAD if cut else str(known.detail))

    async def failed(request: Request, error: Exception) -> Response:
        if isinstance(error, Refusal):
            # The gate has cut the body off, and says so itself.
            return told(error.status, str(error))
        if is_shortage(error):
            return await too_large(request, error)
        log.error("%s failed", request.scope["path"], exc_info=error)
        return told(500, "The studio could not do that: it is a fault of the studio, and its terminal says more.")

    async def too_large(request: Request, error: Exception) -> Response:
        log.error("%s found no memory", request.scope["path"], exc_info=error)
        return told(503, NO_MEMORY)

    app.add_exception_handler(InkcapError, refused)
    app.add_exception_handler(MemoryError, too_large)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(StarletteHTTPException, unread)
    app.add_exception_handler(Exception, failed)
