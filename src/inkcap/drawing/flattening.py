"""Flattening: every use of a group becomes the capsules and connections that it stands for.

Flattened ids are paths: ``stage1.conv`` is ``conv`` inside the use ``stage1``, ``stage1.2.conv`` that of its third
copy. An input of a group is a capsule inside. Where that is a bare identical capsule that one transfer enters, it
stands for the capsule outside and vanishes: groups cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeVar

from inkcap.drawing import limits
from inkcap.drawing.arguments import Value, evaluate, is_expression
from inkcap.drawing.document import Drawing
from inkcap.drawing.edits import Edit, Remove
from inkcap.drawing.groups import Group, Use, chained_ports
from inkcap.drawing.records import Capsule, Connection, Worn
from inkcap.symbols import MAIN_PORT, Attribute, capsule_symbol, connection_symbol, part_symbol, suggest

T = TypeVar("T")

COPY = "copy"
"""The name in expressions for the number of the copy in a repeated use, from 0."""


@dataclass(frozen=True)
class GroupProblem:
    """Why a use of a group cannot be flattened: which rule, where, and in words what to do."""

    rule: str
    where: tuple[str, ...]
    message: str
    numbers: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Flattened:
    """A drawing without groups, where each of its records comes from, and what stood in the way."""

    drawing: Drawing
    origins: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """By the path of a capsule or connection: its group and its id in there."""
    problems: tuple[GroupProblem, ...] = ()


def flatten(drawing: Drawing) -> Flattened:
    """Give a drawing without groups; what is too large or calls itself is refused before it is made."""
    if not drawing.uses and not drawing.groups:
        return Flattened(drawing)
    problems = tuple(_refusals(drawing))
    if problems:
        return Flattened(_without_uses(drawing), problems=problems)
    return _Flattening(drawing).run()


def _without_uses(drawing: Drawing) -> Drawing:
    bare = drawing.copy()
    gone = [c for c in drawing.connections.values() if c.back in drawing.uses or c.front in drawing.uses]
    edit = [*(Remove("connection", c.id) for c in gone), *(Remove("use", id) for id in drawing.uses)]
    bare.apply(Edit("leave groups out", tuple(edit)))
    return bare


# What is refused before anything is made ---------------------------------------------------------------------------


def _refusals(drawing: Drawing) -> Iterator[GroupProblem]:
    cycle = _recursion(drawing.groups)
    if cycle:
        yield GroupProblem(
            "group-recursive",
            cycle,
            f"the group {' → '.join((*cycle, cycle[0]))} uses itself: it would never end; remove that use from it",
        )
        return
    sizes, depths = _sizes(drawing.groups)
    count = len(drawing.capsules) + sum(use.repeat * sizes[use.group][0] for use in drawing.uses.values())
    lines = len(drawing.connections) + sum(use.repeat * (sizes[use.group][1] + 1) for use in drawing.uses.values())
    for what, number, most in (("capsules", count, limits.CAPSULES), ("connections", lines, limits.CONNECTIONS)):
        if number > most:
            large = max(drawing.uses.values(), key=lambda use: use.repeat * sizes[use.group][0])
            yield GroupProblem(
                "group-explodes",
                (large.id,),
                f"with its groups opened the drawing would have {number} {what}, {most} are allowed; most come from "
                f"{large.id} (×{large.repeat} {large.group}): repeat it less often",
                {what: number, "allowed": most},
            )
            return
    for use in drawing.uses.values():
        if depths[use.group] > limits.GROUP_DEPTH:
            yield GroupProblem(
                "group-explodes",
                (use.id,),
                f"the group {use.group} is nested {depths[use.group]} deep, {limits.GROUP_DEPTH} are allowed",
                {"depth": depths[use.group]},
            )
            return


def _recursion(groups: Mapping[str, Group]) -> tuple[str, ...]:
    """Find a group that uses itself, directly or through others, without recursion of our own."""
    done: set[str] = set()
    for first in groups:
        path: list[str] = []
        waiting: list[tuple[str, bool]] = [(first, True)]
        while waiting:
            id, entering = waiting.pop()
            if not entering:
                done.add(path.pop())
                continue
            if id in done:
                continue
            path.append(id)
            waiting.append((id, False))
            for use in groups[id].uses:
                if use.group in path:
                    return tuple(path[path.index(use.group) :])
                waiting.append((use.group, True))
    return ()


def _sizes(groups: Mapping[str, Group]) -> tuple[dict[str, tuple[int, int]], dict[str, int]]:
    """Count capsules and connections of every group with its inner uses opened, and how deep they are nested."""
    sizes: dict[str, tuple[int, int]] = {}
    depths: dict[str, int] = {}
    waiting = list(groups)
    while waiting:
        group = groups[waiting[-1]]
        missing = [use.group for use in group.uses if use.group not in sizes]
        if missing:
            waiting.extend(missing)
            continue
        waiting.pop()
        capsules = len(group.capsules) + sum(u.repeat * sizes[u.group][0] for u in group.uses)
        lines = len(group.connections) + sum(u.repeat * (sizes[u.group][1] + 1) for u in group.uses)
        sizes[group.id] = (capsules, lines)
        depths[group.id] = 1 + max((depths[use.group] for use in group.uses), default=0)
    return sizes, depths


# Making ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Scope:
    """Where records are made: the path before their ids, the arguments' values, and what ties them."""

    path: str = ""
    group: str = ""
    values: Mapping[str, Value] = field(default_factory=dict[str, Value])
    tied: str | None = None
    """The name under which everything in here is shared; None where every copy has its own."""

    def name(self, id: str) -> str:
        return f"{self.path}{id}"

    def tie(self, id: str, own: str) -> str:
        if self.tied is not None:
            return f"{self.tied}{own or id}"
        return f"{self.path}{own}" if own else ""


@dataclass
class _Ports:
    """Which flattened capsules stand for the ports of a use; an input that every copy gets has several."""

    inputs: dict[str, tuple[str, ...]]
    outputs: dict[str, str]


class _Unfit(Exception):
    """A record of a group that cannot be made with these arguments."""


class _Flattening:
    def __init__(self, drawing: Drawing) -> None:
        self.drawing = drawing
        self.capsules: dict[str, Capsule] = {}
        self.connections: dict[str, Connection] = {}
        self.origins: dict[str, tuple[str, str]] = {}
        self.doors: set[str] = set()
        self.problems: list[GroupProblem] = []
        self.ties: dict[str, Use] = {}

    def run(self) -> Flattened:
        drawing = self.drawing
        scope = _Scope()
        self.capsules.update(drawing.capsules)
        ports = {use.id: self._use(use, scope) for use in drawing.uses.values()}
        for connection in drawing.connections.values():
            self._connect(connection, scope, ports)
        self._open_doors()
        flat = drawing.copy()
        flat.replace_graph(self.capsules, self.connections)
        return Flattened(flat, self.origins, tuple(self.problems))

    def _use(self, use: Use, scope: _Scope) -> _Ports:
        """Make all copies of a used group and join them in a row."""
        group = self.drawing.groups[use.group]
        place = scope.name(use.id)
        first = self.ties.setdefault(scope.tie(use.id, use.tie), use) if use.tie else use
        if first.group != use.group:
            self._report(place, f"is tied as {use.tie!r} to {first.id}, which uses another group, {first.group}")
        chain = chained_ports(group) if use.repeat > 1 else {}
        if use.repeat > 1 and not chain:
            self._report(
                place,
                f"repeats the group {group.id}, but no output leads on to the next copy: give one the name of an input "
                f"(outputs {', '.join(group.outputs) or 'none'}; inputs {', '.join(group.inputs) or 'none'})",
            )
        copies = [self._copy(use, group, scope, number) for number in range(use.repeat)]
        for number, (before, after) in enumerate(pairwise(copies)):
            for output, entered in chain.items():
                for front in after.inputs.get(entered, ()) if output in before.outputs else ():
                    name = f"{place}.{number}-{number + 1}-{entered}"
                    self.connections[name] = Connection(name, "transfer", before.outputs[output], front)
        inputs = dict(copies[0].inputs)
        for port in inputs.keys() - chain.values():
            inputs[port] = tuple(front for copy in copies for front in copy.inputs[port])
        return _Ports(inputs, copies[-1].outputs)

    def _copy(self, use: Use, group: Group, outside: _Scope, number: int) -> _Ports:
        scope = self._scope(use, group, outside, number)
        ports = {inner.id: self._use(inner, scope) for inner in group.uses}
        for capsule in group.capsules:
            name = scope.name(capsule.id)
            try:
                self.capsules[name] = self._capsule(capsule, name, scope)
                self.origins[name] = (group.id, capsule.id)
            except _Unfit as unfit:
                self._report(name, str(unfit))
                self.capsules[name] = Capsule(name, capsule.symbol, capsule.rank)
        for connection in group.connections:
            self._connect(connection, scope, ports)
        made = _Ports({}, {})
        for port, inner in group.inputs.items():
            if inner not in ports:
                made.inputs[port] = (scope.name(inner),)
            elif found := _only(ports[inner].inputs, port):
                made.inputs[port] = found
            self.doors.update(made.inputs.get(port, ()))
        for port, inner in group.outputs.items():
            if inner not in ports:
                made.outputs[port] = scope.name(inner)
            elif left := _only(ports[inner].outputs, port):
                made.outputs[port] = left
        return made

    def _scope(self, use: Use, group: Group, outside: _Scope, number: int) -> _Scope:
        own = f"{use.id}." if use.repeat == 1 else f"{use.id}.{number}."
        values: dict[str, Value] = {**group.arguments, COPY: number}
        for name, given in use.arguments.items():
            if name not in group.arguments:
                known = suggest(name, group.arguments) if group.arguments else "it has none"
                self._report(outside.name(use.id), f"the group {group.id} has no argument {name!r}; {known}")
                continue
            try:
                values[name] = evaluate(given, outside.values) if is_expression(given) else given
            except ValueError as error:
                self._report(outside.name(use.id), f"{name}: {error}")
        tied = f"{outside.tie('', use.tie)}." if use.tie else None if outside.tied is None else f"{outside.tied}{own}"
        return _Scope(outside.name(own), group.id, values, tied)

    def _capsule(self, capsule: Capsule, name: str, scope: _Scope) -> Capsule:
        declared = capsule_symbol(capsule.symbol).attributes(capsule.rank)
        wears = tuple(
            Worn(worn.part, _computed(worn.attributes, part_symbol(worn.part).attributes, scope))
            for worn in capsule.wears
        )
        tie = scope.tie(capsule.id, capsule.tie)
        attributes = _computed(capsule.attributes, declared, scope)
        return Capsule(name, capsule.symbol, capsule.rank, attributes, wears, capsule.label, tie)

    def _connect(self, connection: Connection, scope: _Scope, ports: Mapping[str, _Ports]) -> None:
        name = scope.name(connection.id)
        try:
            back = scope.name(connection.back)
            if connection.back in ports:
                back = _chosen(ports[connection.back].outputs, connection.output, "output", connection.back)
            fronts: Sequence[str] = (scope.name(connection.front),)
            port = connection.port
            if connection.front in ports:
                wanted = "" if port == MAIN_PORT and MAIN_PORT not in ports[connection.front].inputs else port
                fronts = _chosen(ports[connection.front].inputs, wanted, "input", connection.front)
                port = MAIN_PORT
            declared = connection_symbol(connection.symbol).attributes
            attributes = _computed(connection.attributes, declared, scope) if scope.path else connection.attributes
        except _Unfit as unfit:
            self._report(name, str(unfit))
            return
        for number, front in enumerate(fronts):
            own = name if len(fronts) == 1 else f"{name}.{number}"
            tie = scope.tie(connection.id, connection.tie)
            made = replace(connection, id=own, back=back, front=front, attributes=attributes, port=port, tie=tie)
            self.connections[own] = replace(made, output="")
            if scope.group:
                self.origins[own] = (scope.group, connection.id)

    def _open_doors(self) -> None:
        """Let every bare input that one transfer enters be the capsule outside."""
        entering: dict[str, list[Connection]] = {id: [] for id in self.doors}
        for connection in self.connections.values():
            if connection.front in entering:
                entering[connection.front].append(connection)
        stands_for: dict[str, str] = {}
        for id, connections in entering.items():
            capsule = self.capsules[id]
            bare = capsule.symbol == "identical" and not capsule.attributes and not capsule.wears
            if bare and len(connections) == 1 and _is_wire(connections[0], capsule, self.capsules):
                stands_for[id] = connections[0].back
                del self.connections[connections[0].id]
        for id in stands_for:
            del self.capsules[id]
        for name, connection in self.connections.items():
            back = connection.back
            while back in stands_for:
                back = stands_for[back]
            if back != connection.back:
                self.connections[name] = replace(connection, back=back)

    def _report(self, where: str, message: str) -> None:
        self.problems.append(GroupProblem("group-misused", (where,), f"{where}: {message}"))


def _is_wire(connection: Connection, front: Capsule, capsules: Mapping[str, Capsule]) -> bool:
    plain = connection.symbol == "transfer" and not connection.attributes and connection.port == MAIN_PORT
    back = capsules.get(connection.back)
    return plain and back is not None and back.output_rank == front.rank


def _only(ports: Mapping[str, T], wanted: str) -> T | None:
    """Give the port of this name, or the first one."""
    return ports.get(wanted) or next(iter(ports.values()), None)


def _chosen(ports: Mapping[str, T], wanted: str, kind: str, use: str) -> T:
    if wanted in ports:
        return ports[wanted]
    if not wanted and len(ports) == 1:
        return next(iter(ports.values()))
    if not ports:
        raise _Unfit(f"{use} has no {kind}; give its group one")
    if not wanted:
        raise _Unfit(f"{use} has the {kind}s {', '.join(ports)}: say which")
    raise _Unfit(f"{use} has no {kind} {wanted!r}; {suggest(wanted, ports)}")


def _computed(attributes: Mapping[str, Any], declared: Sequence[Attribute], scope: _Scope) -> dict[str, Any]:
    fields = {attribute.name: attribute for attribute in declared}
    made: dict[str, Any] = {}
    for name, given in attributes.items():
        try:
            made[name] = fields[name].parse(evaluate(given, scope.values)) if is_expression(given) else given
        except ValueError as error:
            shown = f" ({given})" if is_expression(given) and given not in str(error) else ""
            raise _Unfit(f"{name}{shown}: {error}") from None
    return made
