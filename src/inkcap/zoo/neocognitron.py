"""A network in the manner of the neocognitron: simple cells with shunting inhibition, complex cells that blur."""

from __future__ import annotations

from inkcap.drawing import Drawing
from inkcap.zoo.building import add_data
from inkcap.zoo.record import KnownNetwork, Reference, Sizes

LEVELS = (((5, 2), (7, 0)), ((5, 1), (5, 1)), ((5, 0), (2, 0)))
"""Kernel and padding of the simple cells and of the complex cells, level by level."""


def level() -> Drawing:
    """One level: simple cells divide what excites them by what inhibits them, complex cells gather their positions.

    The inhibiting cell is the weighted root mean square of the area that a simple cell sees.
    """
    body = Drawing(
        "level",
        arguments={"planes": 24, "area": 5, "border": 2, "gather": 5, "edge": 0},
    )
    body.add("x", "2D-identical")
    body.then("square", "2D-expression", "transfer", expression="x^2")
    body.then("v", "2D-expression", "convolution", kernels=1, kernel="=area", padding="=border", bias="none",
              expression="sqrt(abs(x) + 0.000001)")  # fmt: skip
    body.add("shunt", "2D-product", operation="quotient", offset=1, bias="none")
    body.connect("x", "shunt", "convolution", kernels="=planes", kernel="=area", padding="=border")
    body.connect("v", "shunt", "convolution", port="by", kernels="=planes", kernel=1)
    body.add("S", "2D-expression", expression="4*max(x, 0)")
    body.connect("shunt", "S", "transfer")
    # Complex cells of one plane see simple cells of the same plane alone.
    body.then("C", "2D-expression", "convolution", kernels="=planes", kernel="=gather", padding="=edge",
              groups="=planes", bias="none", expression="max(x, 0)/(0.5 + max(x, 0))")  # fmt: skip
    return body


def neocognitron(input: Sizes = (16, 16, 1), planes: int = 24) -> Drawing:
    """Three levels with the numbers of cells of the first neocognitron; here it learns by gradients."""
    drawing = Drawing("Neocognitron")
    drawing.define("level", level(), inputs={"in": "x"}, outputs={"out": "C"})
    add_data(drawing, "U0", input)
    for number, ((area, border), (gather, edge)) in enumerate(LEVELS, 1):
        drawing.then(f"U{number}", "level", planes=planes, area=area, border=border, gather=gather, edge=edge)
    return drawing


NETWORKS = (
    KnownNetwork(
        "neocognitron",
        "three levels in the manner of the neocognitron",
        Reference(
            "Fukushima",
            1980,
            "Neocognitron: A Self-Organizing Neural Network Model for a Mechanism of Pattern Recognition Unaffected by "
            "Shift in Position",
        ),
        neocognitron,
        (16, 16, 1),
    ),
)
