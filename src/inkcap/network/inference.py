"""Structure inference in both directions: forwards from back end and weight, backwards where it can be solved.

Every capsule's total input and output and every attribute starts with what the drawing states. Connections are
relaxed one by one until nothing changes; what is known is never overwritten, so each can change only a few times
and the whole costs time linear in the drawing. Contradictions are not judged here: the checks compare afterwards.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inkcap.drawing import Capsule, Connection, Drawing
from inkcap.network.injections import Injections
from inkcap.operations import ShapeError, Trace, Traced
from inkcap.structures import AXES, PartialShape, Shape, axes_count, named, partial
from inkcap.symbols import (
    CAPSULES,
    CONNECTIONS,
    MAIN_PORT,
    Attribute,
    CapsuleSymbol,
    ConnectionSymbol,
    Weight,
    complete,
    socket,
)


@dataclass(frozen=True)
class _Traced:
    back: Shape
    dtype: str
    attributes: dict[str, Any]
    made: tuple[Trace, Traced]


@dataclass
class Inferred:
    """All that is known of a drawing's structures and attributes.

    A total input is named by its socket: by the capsule for the main port, ``h.label`` for another.
    """

    drawing: Drawing
    total_input: dict[str, PartialShape] = field(default_factory=dict[str, PartialShape])
    output: dict[str, PartialShape] = field(default_factory=dict[str, PartialShape])
    attributes: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    connection_attributes: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    dtype: dict[str, str] = field(default_factory=dict[str, str])
    gathered: dict[str, dict[str, PartialShape]] = field(default_factory=dict[str, dict[str, PartialShape]])
    """What each connection brings to a port that gathers, by the socket and the connection."""
    entered: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """The ports of each capsule whose ports depend on what enters it."""

    sockets: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """The names of the total inputs of each capsule."""

    last_traced: dict[str, _Traced] = field(default_factory=dict[str, "_Traced"])
    """What was traced last of each connection: most are asked for several times with nothing new in between."""

    def trace(
        self, connection: Connection, attributes: dict[str, Any], back: Shape, dtype: str
    ) -> tuple[Trace, Traced]:
        """Trace what a connection makes of its back end."""
        last = self.last_traced.get(connection.id)
        if last is None or (last.back, last.dtype, last.attributes) != (back, dtype, attributes):
            stored = self.stored_dtype(connection, dtype)
            made = trace_connection(CONNECTIONS[connection.symbol], attributes, back, dtype, stored)
            last = self.last_traced[connection.id] = _Traced(back, dtype, dict(attributes), made)
        return last.made

    def stored_dtype(self, connection: Connection, dtype: str) -> str:
        """Give the data type of a connection's weights, by that of its back end."""
        return self.drawing.dtype if CONNECTIONS[connection.symbol].picks else dtype

    def wanted(self, connection: Connection) -> PartialShape:
        """Give what a connection's front end must be, as far as its port tells."""
        name = socket(connection.front, connection.port)
        total, gathered = self.total_input[name], self.gathered.get(name)
        if gathered is None or len(gathered) == 1:
            return total
        return (gathered[connection.id][0], *total[1:])

    def forget(self, capsule: str) -> None:
        """Forget the structures of a capsule; what is known of its connections stays."""
        for name in self.sockets.pop(capsule, ()):
            self.total_input.pop(name, None)
            self.gathered.pop(name, None)
        for facts in (self.total_input, self.output, self.attributes, self.entered):
            facts.pop(capsule, None)

    def ports_of(self, capsule: str) -> dict[str, PartialShape]:
        """Give the total inputs of all ports of a capsule, the main port first."""
        ports = CAPSULES[self.drawing.capsules[capsule].symbol].ports
        names = self.entered.get(capsule) or [port.name for port in ports]
        return {name: self.total_input[socket(capsule, name)] for name in names}


def stated_shape(attributes: dict[str, Any], rank: int) -> PartialShape:
    """Read the sizes that a capsule states, channels first."""
    reading = tuple(attributes.get(name) for name in AXES[rank])
    return (reading[-1], *reading[:-1]) if rank > 1 else reading


def filled(shape: PartialShape, stem: str) -> Shape:
    """Give unknown sizes names, so that rules can work on them."""
    return tuple(named(f"{stem}{i}") if size is None else size for i, size in enumerate(shape))


def with_names(declared: tuple[Attribute, ...], attributes: dict[str, Any]) -> dict[str, Any]:
    """Give unknown required attributes names, so that what does not depend on them can be inferred."""
    result = dict(attributes)
    for attribute in declared:
        if result[attribute.name] is None and attribute.required:
            name = named(attribute.name)
            result[attribute.name] = (name,) * attribute.axes if attribute.kind == "axes" else name
    return result


def trace_connection(
    symbol: ConnectionSymbol, attributes: dict[str, Any], back: Shape, dtype: str, stored: str
) -> tuple[Trace, Traced]:
    """Trace what a connection makes of its back end; its weights have the data type ``stored``."""
    trace = Trace()
    y = trace.value(back, dtype)
    weights: Mapping[str, Weight] = symbol.weights(back, attributes) if symbol.weights else {}
    return trace, symbol.weigh(y, {n: trace.value(w.shape, stored) for n, w in weights.items()}, attributes)


def trace_capsule(
    symbol: CapsuleSymbol, attributes: dict[str, Any], total_inputs: Mapping[str, Shape], dtype: str
) -> tuple[Trace, Traced]:
    """Trace what a capsule makes of the total inputs of its ports."""
    trace = Trace()
    given = {name: trace.value(shape, dtype) for name, shape in total_inputs.items()}
    if symbol.parameters:
        weights = symbol.parameters(total_inputs, attributes)
        given |= {name: trace.value(weight.shape, dtype) for name, weight in weights.items()}
    return trace, symbol.apply(given.pop(MAIN_PORT), given, attributes)


def declared_attributes(drawing: Drawing, connection: Connection) -> tuple[Attribute, ...]:
    """Give the attributes that a connection declares for its back end."""
    return CONNECTIONS[connection.symbol].declared(drawing.capsules[connection.back].output_rank)


def miscounted(declared: tuple[Attribute, ...], attributes: Mapping[str, Any]) -> Attribute | None:
    """Find an attribute that has a number for each of some axes, but of others than there are."""
    for attribute in declared:
        value = attributes[attribute.name]
        if attribute.kind == "axes" and value is not None and len(value) != attribute.axes:
            return attribute
    return None


def port_rank(drawing: Drawing, connection: Connection) -> int | None:
    """Give the rank of the port that a connection enters; nothing if its capsule has no such port."""
    front = drawing.capsules[connection.front]
    port = CAPSULES[front.symbol].port(connection.port)
    return port.rank(front.rank) if port else None


def _merge(known: PartialShape, found: PartialShape) -> PartialShape:
    if None not in known or len(known) != len(found) or any(size is not None and size < 1 for size in found):
        return known
    return tuple(b if a is None else a for a, b in zip(known, found, strict=True))


@dataclass(frozen=True)
class _Wire:
    """What stays the same of a connection in all of a run."""

    connection: Connection
    symbol: ConnectionSymbol
    declared: tuple[Attribute, ...]
    front: str
    """The socket that it enters."""
    tells: bool
    """Whether anything follows from it: it can join its ends, and has a number for each axis."""


class Inference:
    """One run of the inference over one drawing."""

    def __init__(
        self,
        drawing: Drawing,
        order: Mapping[str, int],
        vertices: Sequence[str],
        connections: Sequence[Connection],
        known: Inferred | None = None,
    ) -> None:
        """Start from what the drawing states of some vertices and all connections that enter them.

        ``order`` numbers the vertices, topologically as far as that goes; ``known`` is what is settled already.
        """
        self.drawing, self.vertices = drawing, vertices
        self.known = known if known is not None else Inferred(drawing)
        self.touching: dict[str, list[Connection]] = {id: [] for id in vertices}
        self.queue: deque[str] = deque()
        self.waiting: set[str] = set()
        entering: dict[str, list[str]] = {}
        for connection in connections:
            entering.setdefault(connection.front, []).append(connection.port)
        for id in vertices:
            self._state(drawing.capsules[id], entering.get(id, ()))
        self.wires = {connection.id: self._wire(connection) for connection in connections}
        for connection in connections:
            self.touching.setdefault(connection.back, []).append(connection)
            self.touching[connection.front].append(connection)
        self.injections = Injections(drawing, connections, self.known.connection_attributes)
        # Forward knowledge first: what a person stated at the inputs weighs more than what follows from the outputs.
        for connection in sorted(connections, key=lambda c: order.get(c.front, len(order))):
            self._push(connection)

    def _wire(self, connection: Connection) -> _Wire:
        """Begin with what a connection states."""
        symbol, front = CONNECTIONS[connection.symbol], self.drawing.capsules[connection.front]
        declared, rank = declared_attributes(self.drawing, connection), port_rank(self.drawing, connection)
        attributes = complete(declared, connection.attributes)
        self.known.connection_attributes[connection.id] = attributes
        name = socket(connection.front, connection.port)
        if (gathered := self.known.gathered.get(name)) is not None:
            gathered[connection.id] = (None,) * axes_count(rank or 0)
        back = self.drawing.capsules[connection.back].output_rank
        joins = rank is not None and symbol.joins(back, rank) and not CAPSULES[front.symbol].is_data
        return _Wire(connection, symbol, declared, name, joins and miscounted(declared, attributes) is None)

    def _state(self, capsule: Capsule, entering: Sequence[str]) -> None:
        """Begin with what a capsule states, and the ports that are entered."""
        symbol = CAPSULES[capsule.symbol]
        attributes = complete(symbol.attributes(capsule.rank), capsule.attributes)
        self.known.attributes[capsule.id] = attributes
        ports = symbol.ports
        if not symbol.fixed_ports:
            self.known.entered[capsule.id] = symbol.entered(entering)
            ports = [port for name in self.known.entered[capsule.id] if (port := symbol.port(name))]
        self.known.sockets[capsule.id] = tuple([socket(capsule.id, port.name) for port in ports])
        for port in ports:
            self.known.total_input[socket(capsule.id, port.name)] = (None,) * axes_count(port.rank(capsule.rank))
            if port.kind == "gathers":
                self.known.gathered[socket(capsule.id, port.name)] = {}
        self.known.total_input[capsule.id] = stated_shape(attributes, capsule.rank)
        self.known.output[capsule.id] = (None,) * axes_count(capsule.output_rank)

    def run(self) -> Inferred:
        """Relax until nothing changes."""
        for id in self.vertices:
            self._through_capsule(id)
        while self.queue:
            id = self.queue.popleft()
            self.waiting.discard(id)
            self._relax(self.wires[id])
        return self.known

    def _push(self, connection: Connection) -> None:
        if connection.id not in self.waiting and self.wires[connection.id].tells:
            self.waiting.add(connection.id)
            self.queue.append(connection.id)

    def _relax(self, wire: _Wire) -> None:
        symbol, connection = wire.symbol, wire.connection
        attributes = self.known.connection_attributes[connection.id]
        if symbol.lays_along:
            back_end, wanted = self.known.output[connection.back], self.known.wanted(connection)
            for other in self.injections.settle(connection, back_end, wanted):
                self._push(other)
            if attributes["size"] is None and wanted.count(None) == 1:
                # All that a block could tell of its front end is the size, which the last of its neighbours will.
                return
        if symbol.solve:
            found = symbol.solve(attributes, self.known.output[connection.back], self.known.wanted(connection))
            attributes.update(found)
            if found:
                self._push(connection)
        self._forwards(wire, with_names(wire.declared, attributes))
        if symbol.back:
            self._learn_output(connection.back, symbol.back(self.known.wanted(connection), attributes))

    def _forwards(self, wire: _Wire, attributes: dict[str, Any]) -> None:
        connection, name = wire.connection, wire.front
        back = filled(self.known.output[connection.back], "back")
        try:
            _, front = self.known.trace(connection, attributes, back, "float32")
        except ShapeError:
            return
        found = partial(front.shape)
        if (gathered := self.known.gathered.get(name)) is not None and len(gathered[connection.id]) == len(found):
            gathered[connection.id] = found
            counts = [shape[0] for shape in gathered.values()]
            whole = sum(count for count in counts if count is not None) if None not in counts else None
            found = (whole, *found[1:])
        merged = _merge(self.known.total_input[name], found)
        if merged != self.known.total_input[name]:
            self.known.total_input[name] = merged
            self._through_capsule(connection.front)
            self._wake(connection.front)

    def _learn_output(self, id: str, found: PartialShape) -> None:
        merged = _merge(self.known.output[id], found)
        if merged != self.known.output[id]:
            self.known.output[id] = merged
            self._through_capsule(id)
            self._wake(id)

    def _wake(self, id: str) -> None:
        for connection in self.touching[id]:
            self._push(connection)

    def _through_capsule(self, id: str) -> None:
        capsule = self.drawing.capsules[id]
        symbol = CAPSULES[capsule.symbol]
        attributes = with_names(symbol.attributes(capsule.rank), self.known.attributes[id])
        before = (self.known.output[id], self.known.ports_of(id))
        if symbol.meet:
            for name, shape in symbol.meet(self.known.ports_of(id), self.known.attributes[id]).items():
                self._learn(socket(id, name), shape)
        try:
            shapes = {name: filled(shape, f"{name}-") for name, shape in self.known.ports_of(id).items()}
            _, y = trace_capsule(symbol, attributes, shapes, "float32")
        except ShapeError:
            y = None
        if y is not None:
            self.known.output[id] = _merge(self.known.output[id], partial(y.shape))
            if symbol.back:
                self._learn(id, symbol.back(self.known.output[id], self.known.attributes[id]))
        if before != (self.known.output[id], self.known.ports_of(id)):
            self._wake(id)

    def _learn(self, name: str, found: PartialShape) -> None:
        self.known.total_input[name] = _merge(self.known.total_input[name], found)
