"""Networks and recipes in which everything that a training remembers is alive: what the campaign of kills goes over.

Each is as small as it can be and still be of its kind: a life lasts a few hundredths of a second.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from inkcap.drawing import Drawing, make_group
from inkcap.recipes import DataSpec, OptimiserSpec, Recipe, ScheduleSpec
from inkcap.zoo.capsule_networks import capsnet
from inkcap.zoo.games import small_q_network
from inkcap.zoo.perceptrons import mlp
from inkcap.zoo.recurrent import elman
from inkcap.zoo.transformers import small_gpt, vision_transformer

MOONS = DataSpec("moons", {"n": 60})
NOISY = DataSpec("moons", {"n": 60}, augment="noise=0.1")
GAME = DataSpec("grid-world", {"n": 40, "size": "2x3", "walls": 1, "pits": 1, "falling": 2})
TEXT = DataSpec("sentences", {"n": 40, "length": 6})
IMAGES = "images.npz"


@dataclass(frozen=True)
class Kind:
    """A network, and what its recipe has of its own."""

    drawing: Drawing
    changes: dict[str, Any] = field(default_factory=dict[str, Any])

    def recipe(self, seed: int) -> Recipe:
        """Give the whole recipe; the engine is never chosen by how busy the machine is."""
        settings: dict[str, Any] = {
            "data": MOONS,
            "batch": 8,
            "epochs": 6,
            "seed": seed,
            "threads": 1,
            "checkpoint": 0.0005,
            "engine": "eager",
            "optimiser": OptimiserSpec("adam", 0.02),
        }
        return Recipe(**{**settings, **self.changes})


def write_images(folder: Path) -> None:
    """Write a small set of images of three kinds into a workspace."""
    luck = np.random.default_rng(7)
    y = np.arange(40) % 3
    x = luck.integers(0, 128, size=(40, 6, 6, 1)) + 60 * y[:, None, None, None]
    np.savez(folder / IMAGES, x=x.astype(np.uint8), y=y)


def _layers(name: str, hidden: str = "tanh", dtype: str = "float32", worn: bool = True) -> Drawing:
    drawing = Drawing(f"killed-{name}", dtype)
    drawing.add("x", "1D-data", dimension=2)
    drawing.then("a", f"1D-{hidden}", dimension=6)
    drawing.then("b", "1D-tanh", dimension=5)
    drawing.then("y", "1D-softmax", dimension=2)
    if worn:
        drawing.wear("a", "batch-norm")
        drawing.wear("b", "dropout", probability=0.3)
    return drawing


def _convolutional() -> Drawing:
    drawing = Drawing("killed-convolutional")
    drawing.add("x", "2D-data", channels=1, height=6, width=6)
    drawing.then("a", "2D-relu", "convolution", kernels=3, kernel=3)
    drawing.then("flat", "1D-identical", "reshaping")
    drawing.then("b", "1D-tanh", "full", dimension=6)
    drawing.then("y", "1D-softmax", "full", dimension=3)
    drawing.wear("a", "batch-norm")
    drawing.wear("b", "dropout", probability=0.2)
    return drawing


def _sigmoids() -> Drawing:
    drawing = Drawing("killed-pretrained")
    drawing.add("x", "2D-data", channels=1, height=6, width=6)
    drawing.then("flat", "1D-identical", "reshaping")
    for name, size in (("a", 5), ("b", 4)):
        drawing.then(name, "1D-sigmoid", "full", dimension=size)
    drawing.then("y", "1D-softmax", "full", dimension=3)
    return drawing


def _matrix_capsules() -> Drawing:
    drawing = Drawing("killed-matrices")
    drawing.add("x", "2D-data", channels=1, height=6, width=6)
    drawing.then("a", "2D-relu", "convolution", kernels=3, kernel=3)
    drawing.then("b", "2D-primary-capsules", "convolution", kernels=17 * 2, kernel=1)
    drawing.then("c", "3D-em-routing", "matrix-vote", parents=2, kernel=3, inverse_temperature=0.1)
    drawing.then("y", "2D-em-routing", "class-vote", parents=3, gives="activations", inverse_temperature=0.06)
    return drawing


def _grouped() -> Drawing:
    drawing = _layers("grouped")
    make_group(drawing, ["a", "b"], "both")
    return drawing


def kinds() -> dict[str, Kind]:
    """Give all of them by name; the first ones are the cheapest."""
    image, pictures = (6, 6, 1), DataSpec(IMAGES)
    moving = DataSpec(IMAGES, augment="noise=0.1")
    return {
        "perceptron": Kind(_layers("perceptron"), {"schedule": ScheduleSpec("cosine", {"warm_up": 1})}),
        "stochastic": Kind(
            _layers("stochastic", "stochastic-binary"),
            {"optimiser": OptimiserSpec("nesterov", 0.02), "engine": "explicit", "data": NOISY, "loaders": 2},
        ),
        # Another engine goes on in the middle of its second epoch.
        "switched": Kind(
            _layers("switched", "relu"),
            {
                "optimiser": OptimiserSpec("rmsprop", 0.005),
                "schedule": ScheduleSpec("plateau", {"patience": 1}),
                "switch_engine": "explicit@9",
            },
        ),
        "frozen": Kind(_layers("frozen"), {"freeze": ("a.*",), "schedule": ScheduleSpec("exponential")}),
        "many steps in a call": Kind(
            mlp((2, 6, 4, 2), "killed-many", last="softmax"),
            {"engine": "plain", "optimiser": OptimiserSpec("momentum", 0.05)},
        ),
        "convolution": Kind(
            _convolutional(), {"data": moving, "loaders": 2, "schedule": ScheduleSpec("step", {"every": 1})}
        ),
        "narrow": Kind(_layers("narrow"), {"precision": "bfloat16", "schedule": ScheduleSpec("one-cycle")}),
        "stopped early": Kind(
            _layers("early"),
            {"early_stop": 2, "epochs": 8, "monitor": "accuracy", "optimiser": OptimiserSpec("adam", 0.3)},
        ),
        "signals": Kind(_layers("signals"), {"signals": True, "clip": 0.5}),
        "game": Kind(small_q_network(input=(2, 3, 4), width=2, hidden=6), {"data": GAME, "monitor": "solved"}),
        "recurrent": Kind(elman(classes=3, input=image, hidden=6), {"data": pictures, "clip": 1.0}),
        "embedding": Kind(small_gpt(input=(6,), width=8, heads=2, blocks=1), {"data": TEXT}),
        "attention": Kind(
            vision_transformer(classes=3, input=image, patch=3, width=8, heads=2, blocks=1), {"data": pictures}
        ),
        "routing": Kind(
            capsnet(3, 4, 2, (6, 6), "killed-routing", classes=3, input=image),
            {"data": pictures, "optimiser": OptimiserSpec("adamax", 0.01)},
        ),
        "matrix capsules": Kind(
            _matrix_capsules(), {"data": pictures, "optimiser": OptimiserSpec("adagrad", 0.05), "epochs": 4}
        ),
        "narrow by scale": Kind(_layers("scaled"), {"precision": "float16", "clip": 0.5}),
        "wide copies": Kind(
            _layers("copies", dtype="float16", worn=False), {"optimiser": OptimiserSpec("momentum", 0.05)}
        ),
        "computed again": Kind(
            _grouped(), {"recompute": ("all",), "engine": "explicit", "optimiser": OptimiserSpec("adadelta", 1.0)}
        ),
        "pre-trained": Kind(
            _sigmoids(),
            {"data": pictures, "pretrain": 1, "optimiser": OptimiserSpec("sgd", 0.1)},
        ),
    }
