"""Flattening: every use of a group becomes the capsules and connections that it stands for.

Flattened ids are paths: ``stage1.conv`` is ``conv`` inside the use ``stage1``, ``stage1.2.conv`` that of its third
copy. An input of a group is a capsule inside. Where that is a bare identical capsule that one transfer enters, it
stands for the capsule outside and vanishes: groups cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeVar

from inkcap.drawing.arguments import Value, evaluate, is_expression
from inkcap.drawing.document import Drawing
from inkcap.drawing.edits import Edit, Remove
from inkcap.drawing.group_sizes import GroupProblem, refusals
from inkcap.drawing.groups import COPY, Group, Use, chained_ports
from inkcap.drawing.records import Capsule, Connection, Worn
from inkcap.symbols import MAIN_PORT, Attribute, capsule_symbol, connection_symbol, part_symbol, suggest

T = TypeVar("T")


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
    problems = tuple(refusals(drawing))
    if problems:
        return Flattened(_without_uses(drawing), problems=problems)
    return _Flattening(drawing).run()


def open_use(drawing: Drawing, id: str) -> Flattened:
    """Give the drawing with one use opened by one level: groups that are used inside of it stay closed."""
    problems = tuple(refusals(drawing))
    return Flattened(drawing, problems=problems) if problems else _Flattening(drawing, only=id).run()


def output_ends(drawing: Drawing) -> dict[str, str]:
    """Give the flattened capsule that each use's first output is, by the use."""
    if any(refusals(drawing)):
        return {}
    making = _Flattening(drawing)
    making.capsules.update(drawing.capsules)
    made = {use.id: making.make(use) for use in drawing.uses.values()}
    return {id: next(iter(ports.outputs.values()))[0] for id, ports in made.items() if ports.outputs}


def _without_uses(drawing: Drawing) -> Drawing:
    bare = drawing.copy()
    gone = [c for c in drawing.connections.values() if c.back in drawing.uses or c.front in drawing.uses]
    edit = [*(Remove("connection", c.id) for c in gone), *(Remove("use", id) for id in drawing.uses)]
    bare.apply(Edit("leave groups out", tuple(edit)))
    return bare


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


End = tuple[str, str]
"""A vertex and which of its ports."""


@dataclass
class _Ports:
    """Which ends stand for the ports of a use; an input that every copy gets has several."""

    inputs: dict[str, tuple[End, ...]]
    outputs: dict[str, End]


class _Unfit(Exception):
    """A record of a group that cannot be made with these arguments."""


class _Flattening:
    def __init__(self, drawing: Drawing, only: str | None = None) -> None:
        self.drawing, self.only = drawing, only
        self.capsules: dict[str, Capsule] = {}
        self.uses: dict[str, Use] = {}
        self.connections: dict[str, Connection] = {}
        self.origins: dict[str, tuple[str, str]] = {}
        self.doors: set[str] = set()
        self.problems: list[GroupProblem] = []
        self.ties: dict[str, Use] = {}

    def run(self) -> Flattened:
        drawing = self.drawing
        scope = _Scope()
        self.capsules.update(drawing.capsules)
        ports = {use.id: self.make(use) for use in drawing.uses.values()}
        for connection in drawing.connections.values():
            self._connect(connection, scope, ports)
        self._open_doors()
        flat = drawing.copy()
        flat.replace_graph(self.capsules, self.connections, self.uses)
        return Flattened(flat, self.origins, tuple(self.problems))

    def make(self, use: Use) -> _Ports:
        """Make what a use of the drawing itself stands for."""
        return self._use(use, _Scope())

    def _use(self, use: Use, scope: _Scope) -> _Ports:
        """Make all copies of a used group and join them in a row."""
        group = self.drawing.groups[use.group]
        place = scope.name(use.id)
        if self.only not in (None, place):
            return self._closed(use, group, scope)
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
                for front, port in after.inputs.get(entered, ()) if output in before.outputs else ():
                    name = f"{place}.{number}-{number + 1}-{entered}"
                    back, left = before.outputs[output]
                    self.connections[name] = Connection(name, "transfer", back, front, port=port, output=left)
        inputs = dict(copies[0].inputs)
        for port in inputs.keys() - chain.values():
            inputs[port] = tuple(front for copy in copies for front in copy.inputs[port])
        return _Ports(inputs, copies[-1].outputs)

    def _closed(self, use: Use, group: Group, scope: _Scope) -> _Ports:
        """Leave a use as it is, with its arguments computed."""
        name = scope.name(use.id)
        values = self._arguments(use, group, scope)
        given = {argument: values[argument] for argument in use.arguments if argument in values}
        self.uses[name] = replace(use, id=name, arguments=given, tie=scope.tie(use.id, use.tie))
        return _Ports({port: ((name, port),) for port in group.inputs}, {port: (name, port) for port in group.outputs})

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
                made.inputs[port] = ((scope.name(inner), MAIN_PORT),)
                self.doors.add(scope.name(inner))
            elif found := _only(ports[inner].inputs, port):
                made.inputs[port] = found
        for port, inner in group.outputs.items():
            if inner not in ports:
                made.outputs[port] = (scope.name(inner), "")
            elif left := _only(ports[inner].outputs, port):
                made.outputs[port] = left
        return made

    def _scope(self, use: Use, group: Group, outside: _Scope, number: int) -> _Scope:
        own = f"{use.id}." if use.repeat == 1 else f"{use.id}.{number}."
        values = {**self._arguments(use, group, outside), COPY: number}
        tied = f"{outside.tie('', use.tie)}." if use.tie else None if outside.tied is None else f"{outside.tied}{own}"
        return _Scope(outside.name(own), group.id, values, tied)

    def _arguments(self, use: Use, group: Group, outside: _Scope) -> dict[str, Value]:
        values: dict[str, Value] = dict(group.arguments)
        for name, given in use.arguments.items():
            if name not in group.arguments:
                known = suggest(name, group.arguments) if group.arguments else "it has none"
                self._report(outside.name(use.id), f"the group {group.id} has no argument {name!r}; {known}")
                continue
            try:
                values[name] = evaluate(given, outside.values) if is_expression(given) else given
            except ValueError as error:
                self._report(outside.name(use.id), f"{name}: {error}")
        return values

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
        if not scope.path and not connection.output and connection.back not in ports and connection.front not in ports:
            # It stays the record that it is, by which checks know it again.
            self.connections[name] = connection
            return
        try:
            back, output = scope.name(connection.back), ""
            if connection.back in ports:
                back, output = _chosen(ports[connection.back].outputs, connection.output, "output", connection.back)
            port = connection.port
            fronts: Sequence[End] = ((scope.name(connection.front), port),)
            if connection.front in ports:
                wanted = "" if port == MAIN_PORT and MAIN_PORT not in ports[connection.front].inputs else port
                fronts = _chosen(ports[connection.front].inputs, wanted, "input", connection.front)
            declared = connection_symbol(connection.symbol).attributes
            attributes = _computed(connection.attributes, declared, scope) if scope.path else connection.attributes
        except _Unfit as unfit:
            self._report(name, str(unfit))
            return
        tie = scope.tie(connection.id, connection.tie)
        label, symbol = connection.label, connection.symbol
        for number, (front, entered) in enumerate(fronts):
            own = name if len(fronts) == 1 else f"{name}.{number}"
            self.connections[own] = Connection(own, symbol, back, front, attributes, entered, tie, label, output)
            if scope.group:
                self.origins[own] = (scope.group, connection.id)

    def _open_doors(self) -> None:
        """Let every bare input that one transfer enters be the capsule outside."""
        entering: dict[str, list[Connection]] = {id: [] for id in self.doors}
        for connection in self.connections.values():
            if connection.front in entering:
                entering[connection.front].append(connection)
        wires: dict[str, Connection] = {}
        for id, connections in entering.items():
            capsule = self.capsules[id]
            bare = capsule.symbol == "identical" and not capsule.attributes and not capsule.wears
            if bare and len(connections) == 1 and _is_wire(connections[0], capsule, self.capsules):
                wires[id] = connections[0]
        stands_for = _followed({id: (wire.back, wire.output) for id, wire in wires.items()})
        for id in stands_for:
            del self.connections[wires[id].id]
            del self.capsules[id]
        for name, connection in self.connections.items():
            if connection.back in stands_for:
                back, output = stands_for[connection.back]
                self.connections[name] = replace(connection, back=back, output=output)

    def _report(self, where: str, message: str) -> None:
        self.problems.append(GroupProblem("group-misused", (where,), f"{where}: {message}"))


def _is_wire(connection: Connection, front: Capsule, capsules: Mapping[str, Capsule]) -> bool:
    plain = connection.symbol == "transfer" and not connection.attributes and connection.port == MAIN_PORT
    back = capsules.get(connection.back)
    return plain and (back is None or back.output_rank == front.rank)


def _followed(wires: dict[str, End]) -> dict[str, End]:
    """Follow wires from input to input to what they come from; those that only lead in a circle come from nowhere."""
    found: dict[str, End] = {}
    for first in wires:
        path: dict[str, None] = {}
        id = first
        while id in wires and id not in found and id not in path:
            path[id] = None
            id = wires[id][0]
        if id in path:
            continue
        end = found.get(id)
        for passed in reversed(path):
            end = end or wires[passed]
            found[passed] = end
    return found


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
