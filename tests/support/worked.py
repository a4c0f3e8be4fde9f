"""The worked example of universal backpropagation, in exact fractions: skips, two inputs, two outputs."""

from __future__ import annotations

from inkcap.drawing import Drawing

WEIGHTS = {
    "X1-H1.weight": [[1, -1], [2, 1]],
    "H1.bias": [0, -1],
    "H1-H2.weight": [[1, 1 / 2], [0, -1 / 3]],
    "H2.bias": [-2, 1],
    "H2-O1.weight": [[1, -1]],
    "H1-O1.weight": [[3, 1 / 2]],
    "O1.bias": [-1],
    "H2-O2.weight": [[1, 1], [-1, 2]],
    "O2.bias": [0, 1],
}
INPUTS = {"X1": [1.0, 2.0], "X2": [-1.0, 3.0]}
TARGETS = {"O1": [2.0], "O2": [3.0, 2.0]}
SECOND_INPUTS = {"X1": [0.0, 1.0], "X2": [2.0, -1.0]}
SECOND_TARGETS = {"O1": [1.0], "O2": [0.0, -1.0]}


def draw_worked_example() -> Drawing:
    drawing = Drawing("worked example", "float64")
    drawing.add("X1", "1D-data", dimension=2)
    drawing.add("X2", "1D-data", dimension=2)
    drawing.add("H1", "1D-relu", dimension=2)
    drawing.add("H2", "1D-identical", dimension=2)
    drawing.add("O1", "1D-identical", dimension=1)
    drawing.add("O2", "1D-identical", dimension=2)
    for back, front, kind in (
        ("X1", "H1", "full"),
        ("X2", "H1", "transfer"),
        ("H1", "H2", "full"),
        ("X1", "H2", "transfer"),
        ("H2", "O1", "full"),
        ("H1", "O1", "full"),
        ("H2", "O2", "full"),
        ("X2", "O2", "transfer"),
    ):
        drawing.connect(back, front, kind)
    return drawing
