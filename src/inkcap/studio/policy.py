"""Which paths the studio answers, to which methods, to whom, and how much they may send.

The gate denies everything that has no entry here, and the studio does not start while a route lacks one.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from starlette.routing import BaseRoute, Route, WebSocketRoute

from inkcap.exchange.importing.limits import FILE_BYTES
from inkcap.structures.errors import InkcapError

READ = frozenset({"GET", "HEAD"})
WRITE = frozenset({"POST"})
WEBSOCKET = frozenset({"WEBSOCKET"})
SMALL = 64 * 2**10
TEXT = 16 * 2**20
"""The body of a request that carries a drawing."""
UPLOAD = 4 * 2**30
MOST_PARTS = 300_000
"""Lists and objects of a JSON text: twice those of the largest drawing. A few bytes of each become hundreds."""
MOST_PAIRS = 600_000
"""Keys of all its objects together."""


def too_many_parts(parts: int, pairs: int) -> str:
    """Say what is wrong with a JSON text of so many parts, counted before it is read; nothing where all is well."""
    if parts > MOST_PARTS:
        return f"The text has more than {MOST_PARTS} lists and objects, which is all that is allowed."
    return f"The text has more than {MOST_PAIRS} keys, which is all that is allowed." if pairs > MOST_PAIRS else ""


@dataclass(frozen=True)
class Policy:
    """The law for one route: its path as the route spells it, its methods, who may come and what they may send."""

    path: str
    methods: frozenset[str] = READ
    navigable: bool = False
    """Whether a link on another page may lead here."""
    public: bool = False
    """Whether it answers those who have no token: only what tells nothing of the workspace."""
    limit: int = SMALL
    """How many bytes a request may bring."""
    binary: bool = False
    """Whether it takes bytes instead of JSON."""

    def covers(self, path: str) -> bool:
        """Tell whether a requested path falls under this entry; a name in braces stands for one part of the path."""
        wanted, given = self.path.split("/"), path.split("/")
        return len(wanted) == len(given) and all(
            bool(part) if name.startswith("{") else part == name for name, part in zip(wanted, given, strict=True)
        )


DRAWING = "/api/drawings/{id}"

POLICIES = (
    Policy("/", navigable=True, public=True),
    Policy("/static/{name}", public=True),
    Policy("/api/openapi.json"),
    Policy("/api/catalogue"),
    Policy("/api/workspace"),
    Policy("/api/zoo"),
    Policy("/api/zoo/{name}/picture.svg"),
    Policy("/api/drawings", WRITE, limit=TEXT),
    Policy(f"{DRAWING}/live", WEBSOCKET),
    Policy(f"{DRAWING}/rename", WRITE),
    Policy(f"{DRAWING}/duplicate", WRITE),
    Policy(f"{DRAWING}/delete", WRITE),
    Policy("/api/undelete", WRITE),
    Policy(f"{DRAWING}/picture.svg"),
    Policy(f"{DRAWING}/picture.png"),
    Policy(f"{DRAWING}/file"),
    Policy(f"{DRAWING}/code"),
    Policy(f"{DRAWING}/export", WRITE),
    Policy(f"{DRAWING}/figure.svg"),
    Policy("/api/exports/forms"),
    Policy("/api/exports/{token}/{name}"),
    Policy("/api/imports", WRITE, limit=FILE_BYTES, binary=True),
    Policy(f"{DRAWING}/weights"),
    Policy(f"{DRAWING}/report"),
    Policy(f"{DRAWING}/layout"),
    Policy(f"{DRAWING}/neurons"),
    Policy(DRAWING + "/neurons/{number}"),
    Policy(f"{DRAWING}/proposal"),
    Policy(f"{DRAWING}/history"),
    Policy(DRAWING + "/at/{seq}"),
    Policy(f"{DRAWING}/restore", WRITE),
    Policy(f"{DRAWING}/compare"),
    Policy(f"{DRAWING}/derivation"),
    Policy(f"{DRAWING}/rules", WRITE),
    Policy(f"{DRAWING}/step", WRITE, limit=TEXT),
    Policy(f"{DRAWING}/expand", WRITE),
    Policy(DRAWING + "/mathematics/{item}"),
    Policy("/api/enumeration"),
    Policy("/api/data"),
    Policy("/api/data/preview", WRITE),
    Policy("/api/data/upload", WRITE, limit=UPLOAD, binary=True),
    Policy("/api/recipes/fields"),
    Policy(f"{DRAWING}/train", WRITE),
    Policy(f"{DRAWING}/memory"),
    Policy("/api/runs"),
    Policy("/api/runs/{id}"),
    Policy("/api/runs/{id}/stop", WRITE),
    Policy("/api/runs/{id}/pause", WRITE),
    Policy("/api/runs/{id}/resume", WRITE),
    Policy("/api/runs/{id}/notes", WRITE, limit=2 * SMALL),
    Policy("/api/runs/{id}/delete", WRITE),
    Policy("/api/runs/{id}/undelete", WRITE),
    Policy("/api/runs/{id}/again", WRITE),
    Policy("/api/runs/{id}/compare"),
    Policy("/api/runs/{id}/carried"),
    Policy("/api/runs/{id}/signals"),
    Policy("/api/runs/{id}/values"),
    Policy("/api/runs/{id}/examples"),
    Policy("/api/runs/{id}/answer", WRITE, limit=TEXT),
    Policy("/api/runs/{id}/confusion"),
    Policy("/api/runs/{id}/surface"),
    Policy("/api/curves"),
    Policy(f"{DRAWING}/places", WRITE),
    Policy(f"{DRAWING}/sweep", WRITE),
    Policy("/api/sweeps"),
    Policy("/api/sweeps/{name}"),
    Policy("/api/sweeps/{name}/stop", WRITE),
    Policy("/api/sweeps/{name}/resume", WRITE),
    Policy("/api/sweeps/{name}/take", WRITE),
    Policy("/api/sweeps/{name}/delete", WRITE),
    Policy("/api/sweeps/{name}/undelete", WRITE),
)


def policy_for(path: str) -> Policy | None:
    """Return the entry that covers the requested path, or None: then the path is denied."""
    return next((policy for policy in POLICIES if policy.covers(path)), None)


def methods_of(route: BaseRoute) -> frozenset[str]:
    """Tell to which methods a route answers; a mount or anything unknown has none that could be allowed."""
    if isinstance(route, WebSocketRoute):
        return WEBSOCKET
    return frozenset(route.methods or ()) if isinstance(route, Route) else frozenset()


def require_policies(routes: Iterable[BaseRoute]) -> None:
    """Refuse routes that the table does not name with all their methods, and entries that no route serves."""
    table = {policy.path: policy for policy in POLICIES}
    served: set[str] = set()
    for route in routes:
        path = route.path if isinstance(route, Route | WebSocketRoute) else None
        if path is None or path not in table:
            raise InkcapError(
                f"The studio's route {route!r} has no entry in the policy table, which names {len(table)} paths: "
                "add one to POLICIES in inkcap/studio/policy.py."
            )
        methods = methods_of(route)
        excess = methods - table[path].methods
        if excess or not methods:
            raise InkcapError(
                f"The studio's route {path} answers {', '.join(sorted(excess)) or 'every method'}, "
                f"its policy allows {', '.join(sorted(table[path].methods))}: bring the two together."
            )
        served.add(path)
    if idle := sorted(table.keys() - served):
        raise InkcapError(
            f"The policy table names {', '.join(idle)}, and no route of the studio serves it: remove the entry."
        )
