"""From a drawing to its report, and to a network when it is well formed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from inkcap.drawing import Connection, Drawing, flatten
from inkcap.network import fixes
from inkcap.network.checks import check_capsule, check_connection
from inkcap.network.diagnostics import Diagnostic
from inkcap.network.directions import with_directions
from inkcap.network.grouping import problems_of, reaching_in
from inkcap.network.inference import Inference, Inferred, infer_dtypes, trace_capsule
from inkcap.network.levels import as_drawn, with_levels
from inkcap.network.memory import Incoming, Memory
from inkcap.network.network import CheckedCapsule, CheckedConnection, WeightRecord
from inkcap.network.plain import PlainFacts, check_plain, survey
from inkcap.network.plain_form import with_written
from inkcap.network.report import Report
from inkcap.network.ties import check_ties, owner_of
from inkcap.network.worn import checked_parts, weight_record
from inkcap.operations import ShapeError
from inkcap.structures import PartialShape, Shape, Structure, show_shape
from inkcap.symbols import CAPSULES, CONNECTIONS, MAIN_PORT, PARTS, CapsuleSymbol
from inkcap.theory import Graph

MOST_NAMED = 8
"""How many capsules a message names."""


def check(drawing: Drawing, memory: Memory | None = None) -> Report:
    """Check a drawing; whatever is wrong becomes a diagnostic, and everything that can be inferred is.

    With a memory of the last check of the same drawing, only what has changed since is looked at again.
    """
    drawn = drawing
    flattened = flatten(drawn)
    original = flattened.drawing
    drawing, undirected = with_directions(original)
    drawing = with_levels(drawing)
    ends = [(c.back, c.front) for c in drawing.connections.values()]
    plain = None
    if original.plain is not None:
        plain = survey(original.plain, drawing.dtype, tuple(drawing.capsules), ends)
        drawing = with_written(drawing, original.plain)
        ends = [(c.back, c.front) for c in drawing.connections.values()]
    known = [(a, b) for a, b in ends if a in drawing.capsules and b in drawing.capsules]
    graph = memory.graph(drawing.capsules, known) if memory else Graph.of(drawing.capsules, known)
    incoming: dict[str, list[Connection]] = {id: [] for id in drawing.capsules}
    for connection in drawing.connections.values():
        if connection.front in incoming and connection.back in incoming:
            incoming[connection.front].append(connection)
    inferred = memory.infer(drawing, graph.order, incoming) if memory else _infer(drawing, graph, incoming)
    infer_dtypes(drawing, graph.order, inferred)
    shape = check_plain(original, plain) if plain is not None else _check_graph(drawing, graph)
    diagnostics = [*problems_of(flattened), *undirected, *shape]
    placed = set(graph.order)
    order = (*graph.order, *(id for id in drawing.capsules if id not in placed))
    found, capsules, connections = _check_parts(drawing, order, incoming, inferred, memory)
    diagnostics.extend(found)
    diagnostics.extend(check_ties(drawing, capsules, connections))
    acyclic = len(graph.order) == len(graph.vertices) and bool(graph.vertices)
    classification = graph.classification if acyclic else None
    if plain is not None:
        diagnostics.extend(_check_spans(plain, capsules))
        classification = plain.classification
    if drawing is not original:
        diagnostics = [as_drawn(diagnostic) for diagnostic in diagnostics]
    if flattened.origins:
        diagnostics = [reaching_in(diagnostic, drawn, flattened) for diagnostic in diagnostics]
    return Report(original, graph, classification, capsules, connections, tuple(diagnostics), plain, drawn)


def _infer(drawing: Drawing, graph: Graph, incoming: Incoming) -> Inferred:
    numbers = {id: i for i, id in enumerate(graph.order)}
    connections = [c for c in drawing.connections.values() if c.front in incoming and c.back in incoming]
    return Inference(drawing, numbers, tuple(drawing.capsules), connections).run()


def _check_parts(
    drawing: Drawing, order: Sequence[str], incoming: Incoming, inferred: Inferred, memory: Memory | None
) -> tuple[list[Diagnostic], dict[str, CheckedCapsule], dict[str, CheckedConnection]]:
    """Check every capsule with what enters it, in order."""
    diagnostics: list[Diagnostic] = []
    capsules: dict[str, CheckedCapsule] = {}
    connections: dict[str, CheckedConnection] = {}
    for id in order:
        dtypes = (inferred.dtype[id], *[inferred.dtype[c.back] for c in incoming[id]])
        kept = memory.checked(id, dtypes) if memory else None
        if kept is not None:
            connections.update([(connection.id, connection) for connection in kept[0]])
            capsules[id] = kept[1]
            continue
        entering = [d for c in incoming[id] for d in check_connection(drawing, c, inferred)]
        # What is unknown behind a capsule, or wrong with what enters it, explains what is unknown here.
        explained = bool(entering) or any(None in inferred.output[c.back] for c in incoming[id])
        entering.extend(check_capsule(drawing, drawing.capsules[id], inferred, incoming[id], explained))
        made = {c.id: _checked_connection(c, inferred) for c in incoming[id]}
        connections.update(made)
        capsules[id] = _checked_capsule(drawing, id, inferred, incoming[id], connections)
        diagnostics.extend(entering)
        if memory and not entering:
            memory.keep(id, dtypes, tuple(made.values()), capsules[id])
    return diagnostics, capsules, connections


def _check_graph(drawing: Drawing, graph: Graph) -> Iterator[Diagnostic]:
    if not graph.vertices:
        yield Diagnostic("empty", (), "the drawing is empty: add a data capsule first")
        return
    if cycle := graph.cycle():
        edges = set(zip(cycle, (*cycle[1:], cycle[0]), strict=True))
        closing = next(c for c in reversed(list(drawing.connections.values())) if (c.back, c.front) in edges)
        parallel = [c for c in drawing.connections.values() if (c.back, c.front) == (closing.back, closing.front)]
        shown = cycle if len(cycle) <= MOST_NAMED else (*cycle[:MOST_NAMED], "…")
        yield Diagnostic(
            "cycle",
            cycle,
            f"the capsules {'→'.join((*shown, cycle[0]))} form a cycle; a network has none: remove a connection, e.g. "
            f"{closing.id}. A recurrent network is drawn unrolled in time, with tied weights",
            {"length": len(cycle)},
            fixes.remove_connections(parallel),
        )
    parts = graph.parts()
    if len(parts) > 1:
        main = max(parts, key=len)
        for part in parts:
            if part is not main:
                names = ", ".join(part[:MOST_NAMED]) + (" …" if len(part) > MOST_NAMED else "")
                yield Diagnostic(
                    "disconnected",
                    part,
                    f"{names} {'are' if len(part) > 1 else 'is'} not connected to the rest (with {main[0]}): connect "
                    "or remove",
                    {"parts": len(parts), "size": len(part)},
                )


def _check_spans(plain: PlainFacts, capsules: dict[str, CheckedCapsule]) -> Iterator[Diagnostic]:
    for word, spans in (("read from", plain.columns.reads), ("written into", plain.columns.writes)):
        for id, (first, count) in spans.items():
            capsule = capsules.get(id)
            structure = None if capsule is None else capsule.output if word == "read from" else capsule.total_input
            if structure is not None and structure.elements != count:
                yield Diagnostic(
                    "structure-mismatch",
                    (id,),
                    f"{count} neurons from n{first} on are {word} the capsule {id}, which has {structure.elements} "
                    f"elements ({show_shape(structure.shape)}): make them equal",
                    {"neurons": count, "elements": structure.elements},
                )


def _structure(shape: PartialShape, dtype: str) -> Structure | None:
    sizes = tuple(size for size in shape if size is not None)
    return Structure(sizes, dtype) if len(sizes) == len(shape) else None


def _checked_connection(connection: Connection, inferred: Inferred) -> CheckedConnection:
    symbol = CONNECTIONS[connection.symbol]
    attributes = inferred.connection_attributes[connection.id]
    dtype = inferred.dtype[connection.back]
    back = _structure(inferred.output[connection.back], dtype)
    ready = back is not None and not any(a.required and attributes[a.name] is None for a in symbol.attributes)
    front: Structure | None = None
    weights: dict[str, WeightRecord] = {}
    multiply_adds = 0
    if back is not None and ready:
        try:
            trace, made = inferred.trace(connection, attributes, back.shape, dtype)
        except (ShapeError, IndexError, ValueError):
            # A connection that cannot join its ends has no front end; its diagnostic says why.
            made = None
        else:
            front = Structure(made.shape, made.dtype)
            total = trace.multiply_adds()
            multiply_adds = total if isinstance(total, int) else 0
            front_symbol = inferred.drawing.capsules[connection.front].symbol
            stored = inferred.stored_dtype(connection, dtype)
            weights = _weights_of(connection, attributes, back.shape, stored, front_symbol)
    return CheckedConnection(
        connection.id,
        connection.symbol,
        connection.back,
        connection.front,
        attributes,
        back,
        front,
        weights,
        multiply_adds,
        bool(connection.tie),
        connection.port,
    )


def _weights_of(
    connection: Connection, attributes: dict[str, Any], back: Shape, dtype: str, front_symbol: str
) -> dict[str, WeightRecord]:
    symbol = CONNECTIONS[connection.symbol]
    if symbol.weights is None:
        return {}
    initialiser = attributes["initialiser"]
    if initialiser == "auto":
        # Half of what enters a rectifier is lost, so weights into one start wider: signals keep their size with depth.
        initialiser = "he" if CAPSULES[front_symbol].halves else "uniform"
    return {
        name: WeightRecord(
            f"tie:{connection.tie}.{name}" if connection.tie else f"{connection.id}.{name}",
            Structure(weight.shape, dtype),
            initialiser,
            int(weight.fan_in),
            int(weight.fan_out),
            attributes["trainable"],
            attributes.get("strength"),
            starts=weight.starts,
        )
        for name, weight in symbol.weights(back, attributes).items()
    }


def _checked_capsule(
    drawing: Drawing,
    id: str,
    inferred: Inferred,
    incoming: Sequence[Connection],
    connections: dict[str, CheckedConnection],
) -> CheckedCapsule:
    capsule = drawing.capsules[id]
    symbol = CAPSULES[capsule.symbol]
    attributes = inferred.attributes[id]
    dtype = inferred.dtype[id]
    total_input = _structure(inferred.total_input[id], dtype)
    summed = [c for c in incoming if c.port == MAIN_PORT]
    weighted = any(CONNECTIONS[c.symbol].weights and not CONNECTIONS[c.symbol].measures for c in summed)
    kind = attributes.get("bias") if symbol.has_bias else "none"
    if kind is None:
        # A normalisation takes a bias away again, and its shift stands for it.
        normalised = any(PARTS[worn.part].normalises for worn in capsule.wears)
        shared = "item" if any(connections[c.id].attributes.get("items") for c in summed) else "channel"
        kind = (shared if capsule.rank >= 2 else "full") if weighted and not normalised else "none"
    elif kind in ("channel", "item") and capsule.rank < 2:
        # A vector and a neuron have no channels: one number an element is what is meant.
        kind = "full"
    bias = None
    if kind != "none" and total_input is not None:
        shapes = {"channel": total_input.shape[:1], "item": total_input.shape[-1:]}
        shape = shapes.get(kind, total_input.shape)
        fan_in = sum(w.fan_in for c in summed for w in connections[c.id].weights.values())
        start = attributes.get("b") if capsule.rank == 0 else None
        bias = WeightRecord(
            f"{owner_of(capsule)}.bias", Structure(shape, dtype), "bias", max(fan_in, 1), 1, True, start
        )
    output = _structure(inferred.output[id], dtype)
    names = tuple(c.id for c in incoming)
    parts = checked_parts(capsule, total_input, output)
    ports = {name: _structure(shape, dtype) for name, shape in inferred.ports_of(id).items()}
    parameters = _parameters(owner_of(capsule), symbol, attributes, ports, dtype)
    costs = _products(symbol, attributes, ports, dtype) if symbol.multiplies else 0
    del ports[MAIN_PORT]
    return CheckedCapsule(
        id,
        capsule.symbol,
        capsule.rank,
        attributes,
        total_input,
        output,
        kind,
        bias,
        names,
        parts,
        ports,
        parameters,
        costs,
    )


def _products(symbol: CapsuleSymbol, attributes: dict[str, Any], ports: dict[str, Structure | None], dtype: str) -> int:
    """Count the multiply-adds of what enters a capsule with one another."""
    shapes = {name: structure.shape for name, structure in ports.items() if structure is not None}
    if len(shapes) < len(ports):
        return 0
    try:
        total = trace_capsule(symbol, attributes, shapes, dtype)[0].multiply_adds()
    except ShapeError:
        # Ports that do not fit have no product; their diagnostic says why.
        return 0
    return total if isinstance(total, int) else 0


def _parameters(
    owner: str, symbol: CapsuleSymbol, attributes: dict[str, Any], ports: dict[str, Structure | None], dtype: str
) -> dict[str, WeightRecord]:
    shapes = {name: structure.shape for name, structure in ports.items() if structure is not None}
    if symbol.parameters is None or len(shapes) < len(ports):
        return {}
    if any(a.required and attributes[a.name] is None for a in symbol.own_attributes):
        return {}
    found = symbol.parameters(shapes, attributes)
    return {name: weight_record(f"{owner}.{name}", weight, dtype) for name, weight in found.items()}
