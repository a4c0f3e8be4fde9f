"""The records that a check makes of capsules and connections, with all that was inferred of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from inkcap.drawing import Connection, Drawing
from inkcap.network.inference import Inferred, trace_capsule
from inkcap.network.network import CheckedCapsule, CheckedConnection, WeightRecord
from inkcap.network.ties import owner_of
from inkcap.network.worn import checked_parts, weight_record
from inkcap.operations import ShapeError
from inkcap.structures import PartialShape, Shape, Structure
from inkcap.symbols import CAPSULES, CONNECTIONS, MAIN_PORT, PARTS, CapsuleSymbol


def _structure(shape: PartialShape, dtype: str) -> Structure | None:
    sizes = tuple(size for size in shape if size is not None)
    return Structure(sizes, dtype) if len(sizes) == len(shape) else None


def checked_connection(connection: Connection, inferred: Inferred) -> CheckedConnection:
    """Make the record of a connection: its ends, its weights, its costs, as far as they are known."""
    symbol = CONNECTIONS[connection.symbol]
    attributes = inferred.connection_attributes[connection.id]
    dtype = inferred.dtype[connection.back]
    back = _structure(inferred.output[connection.back], dtype)
    complete = not any(a.required and attributes[a.name] is None for a in symbol.attributes)
    front: Structure | None = None
    weights: dict[str, WeightRecord] = {}
    multiply_adds = 0
    # Of a back end of a rank that it never has, a connection makes nothing; its diagnostic says so.
    if back is not None and complete and any(rank == back.rank for rank, _ in symbol.ranks):
        try:
            trace, made = inferred.trace(connection, attributes, back.shape, dtype)
        except (ShapeError, IndexError, ValueError):
            # A connection that cannot join its ends has no front end; its diagnostic says why.
            made = None
        else:
            # Sizes that only have names yet are not known.
            known = all(isinstance(size, int) for size in made.shape)
            front = Structure(made.shape, made.dtype) if known else None
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


def checked_capsule(
    drawing: Drawing,
    id: str,
    inferred: Inferred,
    incoming: Sequence[Connection],
    connections: Mapping[str, CheckedConnection],
) -> CheckedCapsule:
    """Make the record of a capsule; ``connections`` are those of what enters it."""
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
