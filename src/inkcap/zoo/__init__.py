"""The zoo: known networks as drawings."""

from typing import TYPE_CHECKING

from inkcap.structures.lazy import later
from inkcap.zoo.lenet import lenet_figure_21
from inkcap.zoo.perceptrons import mlp
from inkcap.zoo.record import KnownNetwork, Reference
from inkcap.zoo.registry import NAMES, NETWORKS, UnfitChoice, UnknownNetwork, draw, find

if TYPE_CHECKING:
    from inkcap.zoo.paper_figures import PAPER_FIGURES, Figure, UnknownFigure, paper_figure, picture_of
    from inkcap.zoo.torchvision import torchvision_names

_PICTURES = ("PAPER_FIGURES", "Figure", "UnknownFigure", "paper_figure", "picture_of")
_LATER = {**dict.fromkeys(_PICTURES, "inkcap.zoo.paper_figures"), "torchvision_names": "inkcap.zoo.torchvision"}
__getattr__ = later(__name__, _LATER)

__all__ = [
    "NAMES",
    "NETWORKS",
    "PAPER_FIGURES",
    "Figure",
    "KnownNetwork",
    "Reference",
    "UnfitChoice",
    "UnknownFigure",
    "UnknownNetwork",
    "draw",
    "find",
    "lenet_figure_21",
    "mlp",
    "paper_figure",
    "picture_of",
    "torchvision_names",
]
