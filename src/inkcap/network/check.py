"""From a drawing to its report, and to a network when it is well formed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from inkcap.drawing import Drawing
from inkcap.network import fixes
from inkcap.network.diagnostics import Diagnostic
from inkcap.network.grouping import problems_of, reaching_in
from inkcap.network.levels import as_drawn
from inkcap.network.memory import Memory
from inkcap.network.network import CheckedCapsule
from inkcap.network.plain import PlainFacts, check_plain, survey
from inkcap.network.plain_form import with_written
from inkcap.network.report import Report
from inkcap.structures import show_shape
from inkcap.theory import Graph

MOST_NAMED = 8
"""How many capsules a message names."""


def check(drawing: Drawing, memory: Memory | None = None) -> Report:
    """Check a drawing; whatever is wrong becomes a diagnostic, and everything that can be inferred is.

    With a memory of the last check of the same drawing, only what has changed since is looked at again.
    """
    memory = memory or Memory()
    drawn = drawing
    flattened = memory.flatten(drawn)
    original = flattened.drawing
    drawing, undirected = memory.prepare(original)
    plain = None
    if original.plain is not None:
        ends = [(c.back, c.front) for c in drawing.connections.values()]
        plain = survey(original.plain, drawing.dtype, tuple(drawing.capsules), ends)
        drawing = with_written(drawing, original.plain)
    found = memory.find(drawing)
    graph = found.graph
    shape = check_plain(original, plain) if plain is not None else _check_graph(drawing, graph)
    diagnostics = [*problems_of(flattened), *undirected, *shape, *found.diagnostics]
    acyclic = len(graph.order) == len(graph.vertices) and bool(graph.vertices)
    classification = graph.classification if acyclic else None
    if plain is not None:
        diagnostics.extend(_check_spans(plain, found.capsules))
        classification = plain.classification
    if drawing is not original:
        diagnostics = [as_drawn(diagnostic) for diagnostic in diagnostics]
    if flattened.origins:
        diagnostics = [reaching_in(diagnostic, drawn, flattened) for diagnostic in diagnostics]
    return Report(
        original,
        graph,
        classification,
        found.capsules,
        found.connections,
        tuple(diagnostics),
        found.totals,
        found.mark,
        plain,
        drawn,
        flattened.ends,
    )


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


def _check_spans(plain: PlainFacts, capsules: Mapping[str, CheckedCapsule]) -> Iterator[Diagnostic]:
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
