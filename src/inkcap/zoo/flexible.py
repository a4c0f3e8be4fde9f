"""Networks with flexible connections: layered and skip capsule networks, and networks drawn neuron by neuron.

Of the paper's Figures 15, 16, 25 and 26 only captions and a few words are left, so these stand in for them.
"""

from __future__ import annotations

from collections.abc import Sequence

from inkcap.drawing import Drawing
from inkcap.zoo.perceptrons import LI_SHAN
from inkcap.zoo.record import KnownNetwork

LAYERS = (("X1", "X2"), ("H3", "H4", "H5"), ("H6", "H7"), ("H8", "H9", "H10"), ("O1", "O2", "O3"))


def layered_figure_15() -> Drawing:
    """The layered capsule network of Figure 15, every layer joined to the next completely."""
    drawing = Drawing("Layered capsule network")
    before: Sequence[str] = ()
    for number, layer in enumerate(LAYERS):
        for id in layer:
            drawing.add(id, "1D-data" if not number else "1D-identical" if number == 4 else "1D-relu", dimension=4)
            for back in before:
                drawing.connect(back, id, "full")
        before = layer
    return drawing


def skip_figure_16() -> Drawing:
    """The network of Figure 15 with one connection more, from X1 past a layer to H6."""
    drawing = layered_figure_15()
    drawing.connect("X1", "H6", "full")
    return drawing


def capsules_figure_26() -> Drawing:
    """A capsule network with flexible connections: two images in, convolutions, skips, a class and a number out."""
    drawing = Drawing("Flexible capsule network")
    drawing.add("X1", "2D-data", height=12, width=12, channels=1)
    drawing.add("X2", "1D-data", dimension=4)
    drawing.add("H1", "2D-relu")
    drawing.connect("X1", "H1", "convolution", kernels=8, kernel=3, padding=1)
    drawing.add("H2", "2D-relu")
    drawing.connect("H1", "H2", "convolution", kernels=8, kernel=3, padding=1)
    drawing.connect("H1", "H2", "transfer")
    drawing.add("H3", "2D-downsampling", window=2)
    drawing.connect("H2", "H3", "transfer")
    drawing.add("H4", "1D-identical")
    drawing.connect("H3", "H4", "reshaping")
    drawing.add("H5", "1D-relu", dimension=16)
    drawing.connect("H4", "H5", "full")
    drawing.connect("X2", "H5", "full")
    drawing.add("O1", "1D-softmax", dimension=10)
    drawing.connect("H5", "O1", "full")
    drawing.connect("H4", "O1", "full")
    drawing.add("O2", "1D-identical", dimension=1)
    drawing.connect("H5", "O2", "full")
    drawing.connect("X2", "O2", "full")
    return drawing


def plain_mlp(sizes: Sequence[int], name: str, *, arrow: bool = True) -> Drawing:
    """Draw a multilayer perceptron neuron by neuron: data, ReLU and identical neurons, every layer to the next."""
    drawing = Drawing(name)
    before: list[str] = []
    for number, size in enumerate(sizes):
        last = number == len(sizes) - 1
        stem = "x" if not number else "y" if last else f"h{number}_"
        face = "data" if not number else "identical" if last else "relu"
        layer = [drawing.add(f"{stem}{i}", f"{face} neuron") for i in range(1, size + 1)]
        for front in layer:
            for back in before:
                drawing.connect(back, front, "amplifying", arrow=arrow)
        before = layer
    return drawing


def mlp_figure_22() -> Drawing:
    """The MLP of Figure 20 drawn neuron by neuron, as Figure 22 has it."""
    return plain_mlp((2, 6, 4, 2), "MLP of neurons")


FLEXIBLE = {
    "h1": ("relu", 1.5, {"x1": 1.0, "x2": -1.0}),
    "h2": ("relu", -1.0, {"x1": 2.0, "h1": 0.5}),
    "h3": ("relu", 2.0, {"x2": -1.0, "h1": 3.0, "h2": -0.25}),
    "o1": ("identical", 0.0, {"h2": 1.0, "h3": 1.0, "x1": 1.0}),
    "o2": ("identical", 1.0, {"h3": 0.5, "h1": -1.0}),
}
"""Symbol, bias and what enters with which strength, for every neuron of Figure 25."""


def neurons_figure_25() -> Drawing:
    """A network of neurons with flexible connections, with the strengths that the tests know by heart."""
    drawing = Drawing("Flexible network of neurons", "float64")
    for id in ("x1", "x2"):
        drawing.add(id, "data neuron")
    for id, (symbol, bias, entering) in FLEXIBLE.items():
        drawing.add(id, f"{symbol} neuron", b=bias)
        for back, strength in entering.items():
            drawing.connect(back, id, "amplifying", strength=strength)
    return drawing


NETWORKS = (
    KnownNetwork("mlp-figure-22", "MLP of Figure 22, neuron by neuron", LI_SHAN, mlp_figure_22),
    KnownNetwork("figure-15", "layered capsule network of Figure 15", LI_SHAN, layered_figure_15),
    KnownNetwork("figure-16", "skip capsule network of Figure 16", LI_SHAN, skip_figure_16),
    KnownNetwork("figure-25", "neurons with flexible connections, for Figure 25", LI_SHAN, neurons_figure_25),
    KnownNetwork("figure-26", "capsules with flexible connections, for Figure 26", LI_SHAN, capsules_figure_26),
)
