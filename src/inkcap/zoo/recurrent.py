"""A recurrent network unrolled: each row of an image is a step, and all steps share their weights."""

from __future__ import annotations

from inkcap.drawing import Drawing
from inkcap.zoo.building import add_data
from inkcap.zoo.record import KnownNetwork, Reference, Sizes


def elman(*, classes: int = 10, input: Sizes = (8, 8, 1), hidden: int = 48) -> Drawing:
    """Elman's network over the rows of an image: what it remembers enters the next step, by the same weights."""
    height, *rest = input
    numbers = rest[0] * input[-1]
    drawing = Drawing("recurrent network over rows")
    add_data(drawing, "data", input)
    # Row by row, the channels of a place together.
    drawing.add("rows", "1D-identical")
    drawing.connect("data", "rows", "reshaping", order=(1, 2, 0))
    for step in range(height):
        drawing.add(f"x{step}", "1D-identical")
        drawing.connect("rows", f"x{step}", "select", offset=step * numbers, size=numbers)
        drawing.add(f"h{step}", "1D-tanh", tie="remembered")
        drawing.connect(f"x{step}", f"h{step}", "full", height=hidden, tie="seen")
        if step:
            drawing.connect(f"h{step - 1}", f"h{step}", "full", tie="recalled")
    drawing.then("class", "1D-softmax", "full", dimension=classes)
    return drawing


ELMAN = Reference("Elman", 1990, "Finding Structure in Time")
NETWORKS = (
    KnownNetwork("elman_rows", "recurrent network over the rows of an image", ELMAN, elman, (8, 8, 1), 10, ("rnn",)),
)
