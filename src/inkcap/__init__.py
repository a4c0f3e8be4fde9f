"""Inkcap: a graphical programming platform for deep learning. A drawing is the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inkcap.drawing import Drawing, DrawingError, load_drawing, save_drawing
from inkcap.network import Network, Report, check
from inkcap.recipes import Recipe
from inkcap.structures import InkcapError, RunFailure, Structure
from inkcap.structures.lazy import later
from inkcap.zoo import draw

if TYPE_CHECKING:
    from inkcap.engine import backpropagate, build, contract, coupling, expand, source_of
    from inkcap.exchange import from_torch, import_onnx
    from inkcap.training import evaluate, predict, resume, train

__version__ = "0.1.0"

# What needs torch is imported when it is first asked for: checks answer in a blink.
__getattr__ = later(
    __name__,
    {
        "backpropagate": "inkcap.engine",
        "build": "inkcap.engine",
        "contract": "inkcap.engine",
        "coupling": "inkcap.engine",
        "evaluate": "inkcap.training",
        "expand": "inkcap.engine",
        "from_torch": "inkcap.exchange",
        "import_onnx": "inkcap.exchange",
        "predict": "inkcap.training",
        "resume": "inkcap.training",
        "source_of": "inkcap.engine",
        "train": "inkcap.training",
    },
)

__all__ = [
    "Drawing",
    "DrawingError",
    "InkcapError",
    "Network",
    "Recipe",
    "Report",
    "RunFailure",
    "Structure",
    "backpropagate",
    "build",
    "check",
    "contract",
    "coupling",
    "draw",
    "evaluate",
    "expand",
    "from_torch",
    "import_onnx",
    "load_drawing",
    "predict",
    "resume",
    "save_drawing",
    "source_of",
    "train",
]
