"""The zoo: known networks as drawings."""

from typing import TYPE_CHECKING

from inkcap.structures.lazy import later
from inkcap.zoo.figures import NETWORKS, UnknownNetwork, draw, lenet_figure_21, mlp

if TYPE_CHECKING:
    from inkcap.zoo.paper_figures import PAPER_FIGURES, Figure, UnknownFigure, paper_figure, picture_of

_FIGURES = "inkcap.zoo.paper_figures"
_PICTURES = ("PAPER_FIGURES", "Figure", "UnknownFigure", "paper_figure", "picture_of")
__getattr__ = later(__name__, dict.fromkeys(_PICTURES, _FIGURES))

__all__ = [
    "NETWORKS",
    "PAPER_FIGURES",
    "Figure",
    "UnknownFigure",
    "UnknownNetwork",
    "draw",
    "lenet_figure_21",
    "mlp",
    "paper_figure",
    "picture_of",
]
