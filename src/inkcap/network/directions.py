"""Amplifying lines drawn without an arrow get their direction before anything else is checked."""

from __future__ import annotations

from dataclasses import replace

from inkcap.drawing import Connection, Drawing, Edit, Put
from inkcap.network.diagnostics import Diagnostic
from inkcap.network.fixes import set_connection
from inkcap.symbols import CAPSULES
from inkcap.theory.orientation import orient


def with_directions(drawing: Drawing) -> tuple[Drawing, list[Diagnostic]]:
    """Give the drawing with every line directed, and a diagnostic for each that needs an arrow."""
    lines = [c for c in drawing.connections.values() if c.attributes.get("arrow") is False]
    lines = [c for c in lines if c.back in drawing.capsules and c.front in drawing.capsules and c.back != c.front]
    if not lines:
        return drawing, []
    undirected = {c.id for c in lines}
    arrows = [(c.back, c.front) for c in drawing.connections.values() if c.id not in undirected]
    arrows = [(a, b) for a, b in arrows if a in drawing.capsules and b in drawing.capsules]
    data = {c.id for c in drawing.capsules.values() if CAPSULES[c.symbol].is_data}
    found = orient(list(drawing.capsules), data, arrows, [(c.back, c.front) for c in lines])
    directed = drawing.copy()
    turned = [
        Put(replace(c, back=back, front=front))
        for c, (back, front) in zip(lines, found.edges.values(), strict=True)
        if (back, front) != (c.back, c.front)
    ]
    directed.apply(Edit("direct", tuple(turned)))
    return directed, [_diagnostic(lines[i]) for i in (*found.ambiguous, *found.unreached)]


def _diagnostic(connection: Connection) -> Diagnostic:
    a, b = connection.back, connection.front
    return Diagnostic(
        "direction-ambiguous",
        (connection.id,),
        f"the amplifying line {a}—{b} has no arrow, and both directions would do: give it one, e.g. {a}→{b}",
        fix=set_connection(connection, f"draw the arrow {a}→{b}", arrow=True),
    )
