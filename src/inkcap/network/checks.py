"""The checks of capsules and connections, each against what the inference found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from inkcap.drawing import Capsule, Connection, Drawing
from inkcap.network import fixes
from inkcap.network.diagnostics import Diagnostic
from inkcap.network.inference import (
    Inferred,
    declared_attributes,
    miscounted,
    port_rank,
    trace_capsule,
)
from inkcap.network.ports import check_ports, unknown_port
from inkcap.network.worn import check_parts
from inkcap.operations import ShapeError, Trace, takes_dtype, within_limit
from inkcap.structures import AXES, Shape, known, show_shape
from inkcap.symbols import CAPSULES, CONNECTIONS, MAIN_PORT, Attribute, Problem, socket

WHOLE = ("int32", "int64")
"""Data types that pick."""


def check_capsule(
    drawing: Drawing, capsule: Capsule, inferred: Inferred, incoming: Sequence[Connection], explained: bool
) -> Iterator[Diagnostic]:
    """Check one capsule: what enters, what is missing, what its function makes of the total input.

    An unknown structure is told only where nothing before it explains it already.
    """
    symbol = CAPSULES[capsule.symbol]
    title = f"the {symbol.title_of(capsule.rank, capsule.attributes)} capsule {capsule.id}"
    attributes = inferred.attributes[capsule.id]
    yield from check_ports(capsule, incoming, title)
    entered = {c.port for c in incoming}.issuperset(inferred.ports_of(capsule.id))
    missing = [a for a in symbol.attributes(capsule.rank) if a.required and attributes[a.name] is None]
    for attribute in missing:
        yield _missing(drawing, capsule, attribute, title)
    shapes = {name: known(tuple(s)) for name, s in inferred.ports_of(capsule.id).items()}  # pyright: ignore[reportArgumentType]
    shape = shapes[MAIN_PORT]
    whole = {name: s for name, s in shapes.items() if s is not None}
    if shape is None or len(whole) < len(shapes):
        if not missing and not explained and (entered or symbol.is_data):
            yield _unknown_structure(capsule, inferred, title)
        return
    if missing:
        return
    yield from _judge(capsule.id, title, symbol.problem(shape, attributes) if symbol.problem else None, capsule)
    dtype = inferred.dtype[capsule.id]
    try:
        trace, y = trace_capsule(symbol, attributes, whole, dtype)
    except ShapeError as error:
        yield _too_large_window(capsule, title, str(error), shape, attributes)
        return
    yield from _limits(capsule.id, title, trace, (shape, y.shape))
    yield from check_parts(capsule, shape, y.shape, dtype, title)


def _missing(drawing: Drawing, owner: Capsule | Connection, attribute: Attribute, title: str) -> Diagnostic:
    value = fixes.DEFAULTS.get((owner.symbol, attribute.name))
    fix = None
    if value is not None:
        setter = fixes.set_capsule if isinstance(owner, Capsule) else fixes.set_connection
        fix = setter(owner, fixes.wording(owner.id, {attribute.name: value}), **{attribute.name: value})  # pyright: ignore[reportArgumentType]
    advice = f"set it, e.g. {attribute.name} = {fixes.show(value)}" if value is not None else "set it"
    if owner.symbol == "full" and isinstance(owner, Connection):
        end = owner.front if attribute.name == "height" else owner.back
        advice = f"set the dimension of the capsule {end}"
    meaning = attribute.help[0].lower() + attribute.help[1:]
    message = f"{title} needs {attribute.name}: {meaning} {advice[0].upper()}{advice[1:]}"
    return Diagnostic("missing-attribute", (owner.id,), message, {"attribute": attribute.name}, fix)


def _unknown_structure(capsule: Capsule, inferred: Inferred, title: str) -> Diagnostic:
    sizes = inferred.total_input[capsule.id]
    if None not in sizes:
        ports = [name for name, shape in inferred.ports_of(capsule.id).items() if None in shape]
        return Diagnostic(
            "structure-unknown",
            (capsule.id,),
            f"what enters the port {' and '.join(ports)} of {title} is not known: set the sizes on the way to it",
            {"ports": ports},
        )
    reading = (*sizes[1:], sizes[0]) if capsule.rank > 1 else sizes
    empty = [name for name, size in zip(AXES[capsule.rank], reading, strict=True) if size is None]
    return Diagnostic(
        "structure-unknown",
        (capsule.id,),
        f"the structure of {title} is {show_shape(sizes)}: set {' and '.join(empty)} here, or on the way to it",
        {"empty": empty},
    )


def _judge(id: str, title: str, problem: Problem | None, owner: Capsule | Connection) -> Iterator[Diagnostic]:
    if problem is None:
        return
    fix = None
    if problem.fix:
        setter = fixes.set_capsule if isinstance(owner, Capsule) else fixes.set_connection
        fix = setter(owner, fixes.wording(id, problem.fix), **problem.fix)  # pyright: ignore[reportArgumentType]
    yield Diagnostic(problem.rule, (id,), f"{title}: {problem.message}", problem.numbers, fix, problem.severity)


def _too_large_window(
    owner: Capsule | Connection, title: str, message: str, shape: Shape, attributes: dict[str, Any]
) -> Diagnostic:
    name = "kernel" if "kernel" in attributes else "window"
    window = attributes.get(name)
    sizes = known(shape)
    if window is None or sizes is None:
        return Diagnostic("structure-mismatch", (owner.id,), f"{title}: {message}", {"shape": shape})
    padding = attributes.get("padding", (0,) * len(window))
    fitting = tuple(min(m, s + 2 * p) for m, s, p in zip(window, sizes[1:], padding, strict=True))
    changes = {name: fitting}
    if set(attributes.get("dilation", ())) - {1}:
        changes["dilation"] = (1,) * len(fitting)
    setter = fixes.set_capsule if isinstance(owner, Capsule) else fixes.set_connection
    fix = setter(owner, fixes.wording(owner.id, changes), **changes)  # pyright: ignore[reportArgumentType]
    advice = f"{name} {'×'.join(map(str, fitting))} would fit"
    return Diagnostic(
        "window-too-large", (owner.id,), f"{title}: {message}; {advice}", {name: window, "shape": shape}, fix
    )


def _limits(id: str, title: str, trace: Trace, shapes: tuple[Shape, ...]) -> Iterator[Diagnostic]:
    for shape in (*shapes, *(value.shape for value in trace.inputs)):
        if not within_limit(shape):
            yield Diagnostic(
                "too-large",
                (id,),
                f"{title}: {show_shape(shape)} has more than 2^40 elements; make it smaller",
                {"shape": shape},
            )
            return
    dtype = trace.inputs[0].dtype
    for step in trace.steps:
        if not takes_dtype(step.operation, dtype):
            yield Diagnostic(
                "not-floating",
                (id,),
                f"{title} computes {step.operation.meaning}, which {dtype} cannot; turn the numbers into float32 by a "
                "transfer connection with cast",
                {"dtype": dtype},
            )
            return


def check_connection(
    drawing: Drawing, connection: Connection, inferred: Inferred, beside: Sequence[Connection]
) -> Iterator[Diagnostic]:
    """Check one connection: its ends' ranks, attributes, structures and data types.

    ``beside`` are all connections that enter the same capsule.
    """
    symbol = CONNECTIONS[connection.symbol]
    back, front = drawing.capsules[connection.back], drawing.capsules[connection.front]
    title = f"the {symbol.title} connection {back.id}→{front.id}"
    if CAPSULES[front.symbol].is_data:
        identical = replace(front, symbol="identical")
        yield Diagnostic(
            "data-has-input",
            (front.id, connection.id),
            f"{title} enters a data capsule, which takes its numbers from outside: remove the connection, or make "
            f"{front.id} an identical capsule",
            fix=fixes.Edit(f"make {front.id} identical", (fixes.Put(identical),)),
        )
        return
    if wrong := unknown_port(front, connection, title):
        yield wrong
        return
    rank = port_rank(drawing, connection)
    if rank is None or not symbol.joins(back.output_rank, rank):
        yield _rank_mismatch(drawing, connection, title, back.output_rank, rank or 0)
        return
    attributes = inferred.connection_attributes[connection.id]
    if wrong := miscounted(declared_attributes(drawing, connection), attributes):
        yield _miscounted(connection, wrong, attributes[wrong.name], title)
        return
    missing = [a for a in symbol.attributes if a.required and attributes[a.name] is None]
    shape = known(tuple(inferred.output[back.id]))  # pyright: ignore[reportArgumentType]
    if missing:
        # The ends' own diagnostics tell what is missing there; here only what the connection itself must state.
        if shape is not None or connection.symbol != "full":
            yield from (_missing(drawing, connection, a, title) for a in missing)
        return
    if shape is None:
        return
    problem = symbol.problem(shape, attributes) if symbol.problem else None
    yield from _judge(connection.id, title, problem, connection)
    if symbol.picks and inferred.dtype[back.id] not in WHOLE:
        yield _not_whole(back, connection, inferred.dtype[back.id], title)
        return
    if problem is None or problem.severity == "note":
        yield from _check_ends(drawing, connection, inferred, beside, shape, title)


def _not_whole(back: Capsule, connection: Connection, dtype: str, title: str) -> Diagnostic:
    fix = None
    if CAPSULES[back.symbol].is_data:
        fix = fixes.set_capsule(back, fixes.wording(back.id, {"dtype": "int64"}), dtype="int64")
    return Diagnostic(
        "not-whole",
        (connection.id, back.id),
        f"{title} picks by whole numbers, int32 or int64, but {back.id} holds {dtype}: set the data type of the data "
        "capsule to int64, or turn the numbers by a transfer connection with cast = int64",
        {"dtype": dtype},
        fix,
    )


def _miscounted(connection: Connection, attribute: Attribute, value: tuple[int, ...], title: str) -> Diagnostic:
    wanted = (*(value[:1] * attribute.axes), *value)[-attribute.axes :]
    label = fixes.wording(connection.id, {attribute.name: wanted})
    return Diagnostic(
        "structure-mismatch",
        (connection.id,),
        f"{title}: {attribute.name} {fixes.show(value)} has {len(value)} numbers, but the back end has "
        f"{attribute.axes} axes to slide over; write one number for all, or {attribute.axes}",
        {attribute.name: value, "axes": attribute.axes},
        fixes.set_connection(connection, label, **{attribute.name: wanted}),  # pyright: ignore[reportArgumentType]
    )


def _rank_mismatch(drawing: Drawing, connection: Connection, title: str, back: int, front: int) -> Diagnostic:
    kinds = ["a neuron (0D)", "a vector (1D)", "a matrix array (2D)", "a volume array (3D)"]
    fix = fixes.mend_ranks(drawing, connection)
    ends = connection.back, socket(connection.front, connection.port)
    advice = f"; {fix.label} would do" if fix else f"; change one of the capsules {ends[0]} and {connection.front}"
    return Diagnostic(
        "rank-mismatch",
        (connection.id,),
        f"{title} cannot join {kinds[back]} {ends[0]} to {kinds[front]} {ends[1]}{advice}",
        {"back": back, "front": front},
        fix,
    )


def _check_ends(
    drawing: Drawing,
    connection: Connection,
    inferred: Inferred,
    beside: Sequence[Connection],
    shape: tuple[int, ...],
    title: str,
) -> Iterator[Diagnostic]:
    attributes = inferred.connection_attributes[connection.id]
    try:
        trace, made = inferred.trace(connection, attributes, shape, inferred.dtype[connection.back])
    except ShapeError as error:
        yield _too_large_window(connection, title, str(error), shape, attributes)
        return
    yield from _limits(connection.id, title, trace, (made.shape,))
    wanted = inferred.wanted(connection)
    if any(a is not None and a != b for a, b in zip(wanted, made.shape, strict=False)) or len(wanted) != len(
        made.shape
    ):
        fix = fixes.mend_mismatch(drawing, connection, made.shape, wanted, inferred, beside)  # pyright: ignore[reportArgumentType]
        advice = f"; {fix.label} would do" if fix else "; change one of the two"
        yield Diagnostic(
            "structure-mismatch",
            (connection.id, connection.front),
            f"{title} makes {show_shape(made.shape)} of {connection.back}'s {show_shape(shape)}, but the total input "
            f"of {socket(connection.front, connection.port)} is {show_shape(wanted)}{advice}",
            {"back": shape, "gives": made.shape, "needs": wanted},
            fix,
        )
    if made.dtype != inferred.dtype[connection.front]:
        yield _dtype_mismatch(drawing, connection, made.dtype, inferred.dtype[connection.front], title)


def _dtype_mismatch(drawing: Drawing, connection: Connection, given: str, wanted: str, title: str) -> Diagnostic:
    if connection.symbol == "transfer":
        fix = fixes.set_connection(connection, f"cast {connection.id} to {wanted}", cast=wanted)
    else:
        rank = drawing.capsules[connection.back].rank
        fix = fixes.insert_between(drawing, connection, rank, "transfer", cast=wanted)
    return Diagnostic(
        "dtype-mismatch",
        (connection.id, connection.front),
        f"{title} brings {given} to {connection.front}, which holds {wanted}: state one data type at both ends, or "
        f"turn the numbers by a transfer connection with cast = {wanted}",
        {"back": given, "front": wanted},
        fix,
    )
