"""The paper's figures, drawn anew: networks of neurons and of capsules, galleries, and the symbols as a legend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inkcap.drawing import Drawing
from inkcap.drawing.glyphs import Theme
from inkcap.drawing.picture import Panel, compose, draw_svg, layout_of
from inkcap.drawing.picture_scene import Link, Node, Scene, capsule_node, scene_of_graph
from inkcap.network import check
from inkcap.network.picture import picture_of
from inkcap.structures import InkcapError
from inkcap.symbols import CAPSULES, CONNECTIONS
from inkcap.theory import ComputationalGraph, Graph, Vertex, list_networks
from inkcap.zoo.flexible import layered_figure_15, plain_mlp, skip_figure_16
from inkcap.zoo.lenet import cnn_figure_2, lenet_figure_21
from inkcap.zoo.perceptrons import mlp_figure_20


class UnknownFigure(InkcapError):
    """A figure that is not drawn here."""


@dataclass(frozen=True)
class Figure:
    """A figure of the paper: its number, what it shows, and how it is drawn."""

    number: int
    caption: str
    paint: Callable[[Theme, str], str]

    def svg(self, theme: Theme = "light") -> str:
        """Draw it, with its caption."""
        return self.paint(theme, f"Figure {self.number}. {self.caption}")


# Networks of neurons -----------------------------------------------------------------------------------------


def _plain(sizes: Sequence[int], name: str) -> Callable[[Theme, str], str]:
    def paint(theme: Theme, caption: str) -> str:
        return draw_svg(plain_mlp(sizes, name), theme=theme, show_labels=False, caption=caption)

    return paint


def computation_figure_3() -> ComputationalGraph:
    """The computational graph of Figure 3: x8 = sin(0.3·x7) with x7 = 2(3x1+x2) × 0.5(−x1 − 2·(2x2/3x3))."""
    return ComputationalGraph(
        ("x1", "x2", "x3"),
        (
            Vertex("x4", "/", ((2, "x2"), (3, "x3"))),
            Vertex("x5", "−", ((-1, "x1"), (2, "x4"))),
            Vertex("x6", "+", ((3, "x1"), (1, "x2"))),
            Vertex("x7", "×", ((2, "x6"), (0.5, "x5"))),
            Vertex("x8", "sin", ((0.3, "x7"),)),
        ),
    )


def scene_of_computation(graph: ComputationalGraph, title: str) -> Scene:
    """Make a scene of a computational graph: operations in discs, weights on the edges."""
    signs = {vertex.name: vertex.function for vertex in graph.vertices}
    order = (*graph.inputs, *(vertex.name for vertex in reversed(graph.vertices)))
    nodes = {v: Node(v, "disc", signs.get(v, v), about=f"{v}: {signs.get(v, 'input')}") for v in order}
    links = tuple(
        Link(f"{back}→{vertex.name}", back, vertex.name, label=f"{weight:g}".replace("-", "−"))
        for vertex in graph.vertices
        for weight, back in vertex.arguments
    )
    return Scene(title, f"{len(nodes)} vertices, {len(links)} edges", nodes, links)


def _figure_3(theme: Theme, caption: str) -> str:
    scene = scene_of_computation(computation_figure_3(), "Computational graph")
    return compose([Panel(scene, layout_of(scene))], scene.title, theme=theme, caption=caption)


# Galleries ---------------------------------------------------------------------------------------------------


TRIVIAL = Graph.of(("x1",), ())
ONE_ONE = Graph.of(("x1", "h1"), (("x1", "h1"),))
TWO_ONE = Graph.of(("x1", "x2", "h1"), (("x1", "h1"), ("x2", "h1")))
CONVERGENCE = (
    ONE_ONE,
    Graph.of(("x2", "h2"), (("x2", "h2"),)),
    Graph.of(("x1", "x2", "h1", "h2", "h3"), (("x1", "h1"), ("x2", "h2"), ("h1", "h3"), ("h2", "h3"))),
)


def _grown_from_first(inputs: int, neurons: int) -> Iterator[Graph]:
    # The networks that one growth makes of the first network with one neuron less, names and order kept.
    parent = set(next(list_networks(inputs, neurons - 1)).edges)
    for graph in list_networks(inputs, neurons):
        if {(back, front) for back, front in graph.edges if front != f"h{neurons}"} == parent:
            yield graph


def _gallery(
    title: str, networks: Callable[[], Iterable[Graph]], widest: float = 1200.0
) -> Callable[[Theme, str], str]:
    def paint(theme: Theme, caption: str) -> str:
        found = [scene_of_graph(graph, title) for graph in networks()]
        panels = [_panel(scene, i, len(found)) for i, scene in enumerate(found)]
        return compose(panels, title, theme=theme, caption=caption, widest=widest)

    return paint


def _panel(scene: Scene, number: int, count: int, text: str = "") -> Panel:
    letter = f"({chr(ord('a') + number)})" if count > 1 else ""
    return Panel(scene, layout_of(scene), f"{letter} {text}".strip())


# Capsule networks --------------------------------------------------------------------------------------------


def _capsules(draw: Callable[[], Drawing], **options: Any) -> Callable[[Theme, str], str]:
    def paint(theme: Theme, caption: str) -> str:
        return picture_of(check(draw()), theme, caption=caption, **options)

    return paint


def mlp_figure_13() -> Drawing:
    """The MLP of Figure 1 as a path of capsules X, H1, H2, H3, O."""
    drawing = Drawing("Capsule structure of an MLP")
    drawing.add("X", "1D-data", dimension=5)
    for id in ("H1", "H2", "H3"):
        drawing.then(id, "1D-relu", "full", dimension=7)
    drawing.then("O", "1D-identical", "full", dimension=4)
    return drawing


def cnn_figure_14() -> Drawing:
    """The CNN of Figure 2 as a path of capsules X, H1 to H5, O."""
    drawing = Drawing("Capsule structure of a CNN")
    drawing.add("X", "2D-data", height=28, width=28, channels=1)
    drawing.then("H1", "2D-relu", "convolution", kernels=20, kernel=5)
    drawing.then("H2", "2D-downsampling", "transfer", window=2)
    drawing.then("H3", "2D-relu", "convolution", kernels=50, kernel=5)
    drawing.then("H4", "2D-downsampling", "transfer", window=2)
    drawing.then("H5", "1D-identical", "reshaping")
    drawing.then("O", "1D-softmax", "full", dimension=10)
    return drawing


# The symbols -------------------------------------------------------------------------------------------------

CAPSULE_FACES = (
    ("data", 1),
    ("data", 2),
    ("relu", 2),
    ("downsampling", 2),
    ("identical", 1),
    ("relu", 1),
    ("softmax", 1),
)
NEURON_FACES = (("data", 0), ("relu", 0), ("identical", 0))


def _face(symbol: str, rank: int) -> Scene:
    node = capsule_node(symbol, symbol, rank)
    bare = Node(node.id, node.shape, glyph=node.glyph, about=CAPSULES[symbol].title_of(rank))
    return Scene(bare.about, "a symbol", {bare.id: bare}, ())


def _line(sign: str, *, arrow: bool = True, thin: bool = False) -> Scene:
    ends = {"back": Node("back", "stub"), "front": Node("front", "stub")}
    length = Link("line", "back", "front", sign, arrow=arrow, thin=thin)
    return Scene("connection", "a symbol", ends, (length,))


def _legend(title: str, entries: Callable[[], Sequence[tuple[Scene, str]]]) -> Callable[[Theme, str], str]:
    def paint(theme: Theme, caption: str) -> str:
        found = entries()
        panels = [_panel(scene, i, len(found), text) for i, (scene, text) in enumerate(found)]
        return compose(panels, title, theme=theme, caption=caption, widest=1100.0)

    return paint


def _capsule_legend() -> list[tuple[Scene, str]]:
    return [(_face(symbol, rank), CAPSULES[symbol].title_of(rank)) for symbol, rank in CAPSULE_FACES]


def _connection_legend() -> list[tuple[Scene, str]]:
    chosen = ("convolution", "transfer", "reshaping", "full")
    return [(_line(CONNECTIONS[id].mark), CONNECTIONS[id].title) for id in chosen]


def _plain_legend() -> list[tuple[Scene, str]]:
    neurons = [(_face(symbol, rank), CAPSULES[symbol].title_of(rank)) for symbol, rank in NEURON_FACES]
    lines = [(_line("", thin=True), "arrow amplifying"), (_line("", arrow=False, thin=True), "amplifying")]
    return [*neurons, *lines]


# The list ----------------------------------------------------------------------------------------------------


def _figures() -> Iterator[Figure]:
    yield Figure(1, "A multilayer perceptron with layers of 5, 7, 7, 7 and 4 neurons.", _plain((5, 7, 7, 7, 4), "MLP"))
    text = "A convolutional network, every layer a capsule; the sizes are those of Caffe's LeNet."
    yield Figure(2, text, _capsules(cnn_figure_2))
    yield Figure(3, "A computational graph. It is no neural network: × and / are not activations.", _figure_3)
    text = "Networks of one input: (a) the trivial one, (b) the one with one neuron."
    yield Figure(4, text, _gallery("Trivial and 1-1 network", lambda: (TRIVIAL, ONE_ONE)))
    text = "The three growths of the 1-1 network."
    yield Figure(5, text, _gallery("Three 1-2 networks", lambda: list_networks(1, 2)))
    text = "The seven growths of network (a) of Figure 5."
    yield Figure(6, text, _gallery("Seven 1-3 networks", lambda: _grown_from_first(1, 3)))
    yield Figure(7, "Two inputs and one neuron.", _gallery("A 2-1 network", lambda: (TWO_ONE,)))
    text = "The seven growths of the 2-1 network."
    yield Figure(8, text, _gallery("Seven 2-2 networks", lambda: list_networks(2, 2)))
    text = "The fifteen growths of network (a) of Figure 8."
    yield Figure(9, text, _gallery("Fifteen 2-3 networks", lambda: _grown_from_first(2, 3)))
    text = "Why convergence is needed: no growth of (a) or (b) gives (c)."
    yield Figure(10, text, _gallery("Convergence", lambda: CONVERGENCE))
    yield Figure(
        13, "The perceptron of Figure 1 as a path of capsules; × is the product of matrices.", _capsules(mlp_figure_13)
    )
    text = "The network of Figure 2 as a path of capsules: ∗ convolves, → transfers, ◁ reshapes, × multiplies."
    yield Figure(14, text, _capsules(cnn_figure_14))
    text = "A layered capsule network: five layers of 2, 3, 2, 3 and 3 capsules, each joined to the next."
    yield Figure(15, text, _capsules(layered_figure_15, show_structures=False))
    text = "A skip capsule network: Figure 15 with the connection from X1 to H6."
    yield Figure(16, text, _capsules(skip_figure_16, show_structures=False))
    yield Figure(
        17, "Capsule symbols: the shape tells the rank, the mark the function.", _legend("Capsules", _capsule_legend)
    )
    yield Figure(18, "Connection symbols.", _legend("Connections", _connection_legend))
    yield Figure(19, "Symbols of plain networks.", _legend("Plain symbols", _plain_legend))
    yield Figure(20, "The capsuled MLP with dimensions 2, 6, 4 and 2.", _capsules(mlp_figure_20))
    yield Figure(21, "The capsuled LeNet for images of 28×28.", _capsules(lenet_figure_21))
    text = "The plain MLP that equals Figure 20: 14 neurons, 44 connections."
    yield Figure(22, text, _plain((2, 6, 4, 2), "Plain MLP"))


PAPER_FIGURES: Mapping[int, Figure] = {figure.number: figure for figure in _figures()}


def paper_figure(number: int) -> Figure:
    """Find a figure of the paper by its number."""
    if number not in PAPER_FIGURES:
        known = ", ".join(map(str, PAPER_FIGURES))
        raise UnknownFigure(f"figure {number} is not drawn; there are {known}")
    return PAPER_FIGURES[number]
