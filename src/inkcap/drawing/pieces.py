"""What the uses of groups become: for each of them the capsules and connections of all its copies, inner uses opened.

A piece depends on its use, on the groups that it is made of and on the scope that it stands in, and on nothing else:
while these are the same, so is the piece, and it is not made again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

from inkcap.drawing.arguments import Value, evaluate, is_expression
from inkcap.drawing.group_sizes import GroupProblem
from inkcap.drawing.groups import COPY, Group, Use, chained_ports
from inkcap.drawing.records import Capsule, Connection, Worn
from inkcap.symbols import MAIN_PORT, Attribute, capsule_symbol, connection_symbol, part_symbol, suggest

T = TypeVar("T")


@dataclass(frozen=True)
class Scope:
    """Where records are made: the path before their ids, the arguments' values, and what ties them."""

    path: str = ""
    group: str = ""
    values: Mapping[str, Value] = field(default_factory=dict[str, Value])
    tied: str | None = None
    """The name under which everything in here is shared; None where every copy has its own."""

    def name(self, id: str) -> str:
        """Give the path of what has this id in here."""
        return f"{self.path}{id}"

    def tie(self, id: str, own: str) -> str:
        """Give the tie of what has this id and this tie in here."""
        if self.tied is not None:
            return f"{self.tied}{own or id}"
        return f"{self.path}{own}" if own else ""

    @property
    def likeness(self) -> Hashable:
        """All but the path that what is made in here depends on."""
        return (self.tied, self.values.get(COPY), self.arguments)

    @cached_property
    def arguments(self) -> Hashable:
        """The values, but for the number of the copy; numbers of different types are different."""
        return tuple([(name, type(value), value) for name, value in self.values.items() if name != COPY])


End = tuple[str, str]
"""A vertex and which of its ports."""


@dataclass
class Ports:
    """Which ends stand for the ports of a use; an input that every copy gets has several."""

    inputs: dict[str, tuple[End, ...]] = field(default_factory=dict[str, tuple[End, ...]])
    outputs: dict[str, End] = field(default_factory=dict[str, End])


@dataclass(frozen=True)
class Claim:
    """A use that is tied under a name: all uses of one name must be of one group."""

    name: str
    use: Use
    place: str


@dataclass
class Piece:
    """What a use, or a connection between uses, becomes."""

    capsules: dict[str, Capsule] = field(default_factory=dict[str, Capsule])
    connections: dict[str, Connection] = field(default_factory=dict[str, Connection])
    uses: dict[str, Use] = field(default_factory=dict[str, Use])
    """Uses that stay closed."""
    origins: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    doors: list[str] = field(default_factory=list[str])
    """The capsules that are inputs of a group."""
    found: list[GroupProblem | Claim] = field(default_factory=list[GroupProblem | Claim])
    ports: Ports = field(default_factory=Ports)
    inner: dict[str, Piece] = field(default_factory=dict[str, "Piece"])
    """The pieces of inner uses by their paths."""
    made_from: tuple[object, ...] = ()

    @property
    def paths(self) -> tuple[list[str], list[str]]:
        """The paths of its capsules and of its connections, in order."""
        return list(self.capsules), list(self.connections)

    def take(self, place: str, inner: Piece) -> None:
        """Have what an inner use becomes."""
        self.inner[place] = inner
        self.capsules.update(inner.capsules)
        self.connections.update(inner.connections)
        self.uses.update(inner.uses)
        self.origins.update(inner.origins)
        self.doors.extend(inner.doors)
        self.found.extend(inner.found)

    def report(self, where: str, message: str) -> None:
        """Note what stands in the way."""
        self.found.append(GroupProblem("group-misused", (where,), f"{where}: {message}"))


def problems_in(pieces: Iterable[Piece]) -> tuple[GroupProblem, ...]:
    """Give all that stands in the way, uses that are tied to uses of other groups among it."""
    problems: list[GroupProblem] = []
    ties: dict[str, Use] = {}
    for piece in pieces:
        for one in piece.found:
            if isinstance(one, GroupProblem):
                problems.append(one)
                continue
            use, first = one.use, ties.setdefault(one.name, one.use)
            if first.group != use.group:
                told = f"is tied as {use.tie!r} to {first.id}, which uses another group, {first.group}"
                problems.append(GroupProblem("group-misused", (one.place,), f"{one.place}: {told}"))
    return tuple(problems)


class Unfit(Exception):
    """A record of a group that cannot be made with these arguments."""


class Making:
    """Makes pieces of the groups of one drawing."""

    def __init__(
        self, groups: Mapping[str, Group], versions: Mapping[str, object] | None = None, only: str | None = None
    ) -> None:
        """Know the groups; a group's version changes with whatever it is made of. ``only`` one use may be opened."""
        self.groups, self.only = groups, only
        self.versions: Mapping[str, object] = {} if versions is None else versions
        self.made = 0
        """How many capsules and connections were made."""
        self._given: dict[int, tuple[bool, bool, dict[Hashable, dict[str, Any]]]] = {}
        """By attributes: whether they depend on arguments, whether on the copy's number, and what they become."""

    def use(self, use: Use, scope: Scope, before: Piece | None = None) -> Piece:
        """Make all copies of a used group and join them in a row, unless that was done ``before``."""
        made_from = (use, self.versions.get(use.group), scope.likeness)
        if before is not None and before.made_from[0] is use and before.made_from[1:] == made_from[1:]:
            return before
        piece = Piece(made_from=made_from)
        group = self.groups[use.group]
        place = scope.name(use.id)
        if self.only not in (None, place):
            piece.ports = self._closed(piece, use, group, scope)
            return piece
        if use.tie:
            piece.found.append(Claim(scope.tie(use.id, use.tie), use, place))
        chain = chained_ports(group) if use.repeat > 1 else {}
        if use.repeat > 1 and not chain:
            piece.report(
                place,
                f"repeats the group {group.id}, but no output leads on to the next copy: give one the name of an input "
                f"(outputs {', '.join(group.outputs) or 'none'}; inputs {', '.join(group.inputs) or 'none'})",
            )
        known: Mapping[str, Piece] = before.inner if before is not None else {}
        copies = [self._copy(piece, use, group, scope, number, known) for number in range(use.repeat)]
        for number, (last, after) in enumerate(pairwise(copies)):
            for output, entered in chain.items():
                for front, port in after.inputs.get(entered, ()) if output in last.outputs else ():
                    name = f"{place}.{number}-{number + 1}-{entered}"
                    back, left = last.outputs[output]
                    piece.connections[name] = Connection(name, "transfer", back, front, port=port, output=left)
                    self.made += 1
        inputs = dict(copies[0].inputs)
        for port in inputs.keys() - chain.values():
            inputs[port] = tuple(front for copy in copies for front in copy.inputs[port])
        piece.ports = Ports(inputs, copies[-1].outputs)
        return piece

    def _closed(self, piece: Piece, use: Use, group: Group, scope: Scope) -> Ports:
        """Leave a use as it is, with its arguments computed."""
        name = scope.name(use.id)
        values = self._arguments(piece, use, group, scope)
        given = {argument: values[argument] for argument in use.arguments if argument in values}
        piece.uses[name] = replace(use, id=name, arguments=given, tie=scope.tie(use.id, use.tie))
        return Ports({port: ((name, port),) for port in group.inputs}, {port: (name, port) for port in group.outputs})

    def _copy(
        self, piece: Piece, use: Use, group: Group, outside: Scope, number: int, known: Mapping[str, Piece]
    ) -> Ports:
        scope = self._scope(piece, use, group, outside, number)
        ports: dict[str, Ports] = {}
        for inner in group.uses:
            place = scope.name(inner.id)
            made = self.use(inner, scope, known.get(place))
            piece.take(place, made)
            ports[inner.id] = made.ports
        for capsule in group.capsules:
            name = scope.name(capsule.id)
            self.made += 1
            try:
                piece.capsules[name] = self._capsule(capsule, name, scope)
                piece.origins[name] = (group.id, capsule.id)
            except Unfit as unfit:
                piece.report(name, str(unfit))
                piece.capsules[name] = Capsule(name, capsule.symbol, capsule.rank)
        for connection in group.connections:
            self.connect(piece, connection, scope, ports)
        return _ports_of(piece, group, scope, ports)

    def _scope(self, piece: Piece, use: Use, group: Group, outside: Scope, number: int) -> Scope:
        own = f"{use.id}." if use.repeat == 1 else f"{use.id}.{number}."
        values = {**self._arguments(piece, use, group, outside), COPY: number}
        tied = f"{outside.tie('', use.tie)}." if use.tie else None if outside.tied is None else f"{outside.tied}{own}"
        return Scope(outside.name(own), group.id, values, tied)

    def _arguments(self, piece: Piece, use: Use, group: Group, outside: Scope) -> dict[str, Value]:
        values: dict[str, Value] = dict(group.arguments)
        for name, given in use.arguments.items():
            if name not in group.arguments:
                known = suggest(name, group.arguments) if group.arguments else "it has none"
                piece.report(outside.name(use.id), f"the group {group.id} has no argument {name!r}; {known}")
                continue
            try:
                values[name] = evaluate(given, outside.values) if is_expression(given) else given
            except ValueError as error:
                piece.report(outside.name(use.id), f"{name}: {error}")
        return values

    def _capsule(self, capsule: Capsule, name: str, scope: Scope) -> Capsule:
        tie = scope.tie(capsule.id, capsule.tie)
        attributes, wears = capsule.attributes, capsule.wears
        if attributes:
            declared = capsule_symbol(capsule.symbol).attributes(capsule.rank)
            attributes = self._stated(attributes, declared, scope)
        if wears:
            wears = tuple(
                [Worn(w.part, self._stated(w.attributes, part_symbol(w.part).attributes, scope)) for w in wears]
            )
        return Capsule(name, capsule.symbol, capsule.rank, attributes, wears, capsule.label, tie)

    def _stated(self, attributes: dict[str, Any], declared: Sequence[Attribute], scope: Scope) -> dict[str, Any]:
        """Compute attributes; copies that are given the same state the same, unless it depends on their number."""
        here = self._given.get(id(attributes))
        if here is None:
            expressions = [value for value in attributes.values() if is_expression(value)]
            here = self._given[id(attributes)] = (bool(expressions), any(COPY in one for one in expressions), {})
        given, by_number, known = here
        if not given:
            return attributes
        if by_number:
            return _computed(attributes, declared, scope)
        found = known.get(scope.arguments)
        if found is None:
            found = known[scope.arguments] = _computed(attributes, declared, scope)
        return found

    def connect(self, piece: Piece, connection: Connection, scope: Scope, ports: Mapping[str, Ports]) -> None:
        """Make what a connection becomes between the ends that stand for the ports of uses."""
        name = scope.name(connection.id)
        try:
            back, output = scope.name(connection.back), ""
            if connection.back in ports:
                back, output = _chosen(ports[connection.back].outputs, connection.output, "output", connection.back)
            port = connection.port
            fronts: Sequence[End] = ((scope.name(connection.front), port),)
            if connection.front in ports:
                wanted = "" if port == MAIN_PORT and MAIN_PORT not in ports[connection.front].inputs else port
                fronts = _chosen(ports[connection.front].inputs, wanted, "input", connection.front)
            attributes = connection.attributes
            if scope.path and attributes:
                attributes = self._stated(attributes, connection_symbol(connection.symbol).attributes, scope)
        except Unfit as unfit:
            piece.report(name, str(unfit))
            return
        tie = scope.tie(connection.id, connection.tie)
        label, symbol = connection.label, connection.symbol
        for number, (front, entered) in enumerate(fronts):
            own = name if len(fronts) == 1 else f"{name}.{number}"
            piece.connections[own] = Connection(own, symbol, back, front, attributes, entered, tie, label, output)
            self.made += 1
            if scope.group:
                piece.origins[own] = (scope.group, connection.id)


def _ports_of(piece: Piece, group: Group, scope: Scope, ports: Mapping[str, Ports]) -> Ports:
    """Find the ends that stand for the ports of one copy; inputs that are capsules are doors."""
    made = Ports()
    for port, inner in group.inputs.items():
        if inner not in ports:
            made.inputs[port] = ((scope.name(inner), MAIN_PORT),)
            piece.doors.append(scope.name(inner))
        elif found := _only(ports[inner].inputs, port):
            made.inputs[port] = found
    for port, inner in group.outputs.items():
        if inner not in ports:
            made.outputs[port] = (scope.name(inner), "")
        elif left := _only(ports[inner].outputs, port):
            made.outputs[port] = left
    return made


def _only(ports: Mapping[str, T], wanted: str) -> T | None:
    """Give the port of this name, or the first one."""
    return ports.get(wanted) or next(iter(ports.values()), None)


def _chosen(ports: Mapping[str, T], wanted: str, kind: str, use: str) -> T:
    if wanted in ports:
        return ports[wanted]
    if not wanted and len(ports) == 1:
        return next(iter(ports.values()))
    if not ports:
        raise Unfit(f"{use} has no {kind}; give its group one")
    if not wanted:
        raise Unfit(f"{use} has the {kind}s {', '.join(ports)}: say which")
    raise Unfit(f"{use} has no {kind} {wanted!r}; {suggest(wanted, ports)}")


def _computed(attributes: Mapping[str, Any], declared: Sequence[Attribute], scope: Scope) -> dict[str, Any]:
    fields = {attribute.name: attribute for attribute in declared}
    made: dict[str, Any] = {}
    for name, given in attributes.items():
        try:
            made[name] = fields[name].parse(evaluate(given, scope.values)) if is_expression(given) else given
        except ValueError as error:
            shown = f" ({given})" if is_expression(given) and given not in str(error) else ""
            raise Unfit(f"{name}{shown}: {error}") from None
    return made
