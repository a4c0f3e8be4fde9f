"""Which paths the studio answers, to which methods, and who may come to them from another page.

The gate denies everything that has no entry here, and the studio does not start while a route lacks one.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from starlette.routing import BaseRoute, Route

from inkcap.structures.errors import InkcapError

READ = frozenset({"GET", "HEAD"})


@dataclass(frozen=True)
class Policy:
    """The law for one route: its path as the route spells it, its methods, and whether a link elsewhere may open it."""

    path: str
    methods: frozenset[str] = READ
    navigable: bool = False

    def covers(self, path: str) -> bool:
        """Tell whether a requested path falls under this entry; a name in braces stands for one part of the path."""
        wanted, given = self.path.split("/"), path.split("/")
        return len(wanted) == len(given) and all(
            bool(part) if name.startswith("{") else part == name for name, part in zip(wanted, given, strict=True)
        )


POLICIES = (
    Policy("/", navigable=True),
    Policy("/api/drawings"),
    Policy("/api/openapi.json"),
    Policy("/static/{name}"),
)


def policy_for(path: str) -> Policy | None:
    """Return the entry that covers the requested path, or None: then the path is denied."""
    return next((policy for policy in POLICIES if policy.covers(path)), None)


def require_policies(routes: Iterable[BaseRoute]) -> None:
    """Refuse routes that the table does not name with all their methods, and entries that no route serves."""
    table = {policy.path: policy for policy in POLICIES}
    served: set[str] = set()
    for route in routes:
        if not isinstance(route, Route) or route.path not in table:
            raise InkcapError(
                f"The studio's route {route!r} has no entry in the policy table, which names {len(table)} paths: "
                "add one to POLICIES in inkcap/studio/policy.py."
            )
        path = route.path
        excess = (route.methods or set[str]()) - table[path].methods
        if excess or not route.methods:
            raise InkcapError(
                f"The studio's route {path} answers {', '.join(sorted(excess)) or 'every method'}, "
                f"its policy allows {', '.join(sorted(table[path].methods))}: bring the two together."
            )
        served.add(path)
    if idle := sorted(table.keys() - served):
        raise InkcapError(
            f"The policy table names {', '.join(idle)}, and no route of the studio serves it: remove the entry."
        )
