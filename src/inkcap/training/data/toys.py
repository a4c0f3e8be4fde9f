"""Small two-dimensional sets made by formulae: moons, circles, spirals."""

import numpy as np
from numpy.typing import NDArray

from inkcap.training.data import counter
from inkcap.training.data.dataset import Dataset, with_manifest
from inkcap.training.data.options import Option, OptionValues

TOY_OPTIONS = (
    Option("n", "1000", "how many points"),
    Option("noise", "0.1", "standard deviation of the noise on each coordinate"),
    Option("seed", "0", "seed of the noise"),
)
SPIRAL_OPTIONS = (*TOY_OPTIONS, Option("turns", "1.5", "how often each arm winds round the middle"))

Points = NDArray[np.float64]


def _halves(count: int) -> tuple[Points, Points]:
    """Give positions from 0 to 1 along the first and along the second class's curve."""
    first = (count + 1) // 2
    return np.linspace(0.0, 1.0, first), np.linspace(0.0, 1.0, count - first)


def load_moons(options: OptionValues) -> Dataset:
    """Make two interleaved half circles."""
    first, second = (np.pi * part for part in _halves(options.integer("n", 4, 10_000_000)))
    upper = np.stack([np.cos(first), np.sin(first)], axis=1)
    lower = np.stack([1.0 - np.cos(second), 0.5 - np.sin(second)], axis=1)
    return _toy("moons", "two interleaved half circles", upper, lower, options)


def load_circles(options: OptionValues) -> Dataset:
    """Make one circle inside another, with half its radius."""
    first, second = _halves(options.integer("n", 4, 10_000_000))
    outer, inner = (2.0 * np.pi * np.arange(len(part), dtype=np.float64) / len(part) for part in (first, second))
    ring = np.stack([np.cos(outer), np.sin(outer)], axis=1)
    core = 0.5 * np.stack([np.cos(inner), np.sin(inner)], axis=1)
    return _toy("circles", "one circle inside another", ring, core, options)


def load_spirals(options: OptionValues) -> Dataset:
    """Make two arms that wind round each other, always one unit apart whatever the number of turns."""
    turns = options.number("turns", 0.1, 20.0)
    arms: list[Points] = []
    for arm, part in enumerate(_halves(options.integer("n", 4, 10_000_000))):
        # The square root spreads the points evenly along the arm, whose length grows with the radius squared.
        along = np.sqrt(part)
        angle = 2.0 * np.pi * turns * along + np.pi * arm
        radius = 2.0 * turns * along
        arms.append(np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1))
    return _toy("spirals", "two spiral arms", arms[0], arms[1], options)


def _toy(name: str, words: str, first: Points, second: Points, options: OptionValues) -> Dataset:
    """Join both classes in turn and add the noise."""
    noise = options.number("noise", 0.0, 100.0)
    seed = options.integer("seed", 0, 2**63 - 1)
    points = np.concatenate([first, second])
    labels = np.concatenate([np.zeros(len(first), np.int64), np.ones(len(second), np.int64)])
    points = points + noise * counter.normals(counter.key_of(seed, "toy", name), np.arange(len(points)), 2)
    dataset = Dataset(
        name=name,
        inputs={"x": points.astype(np.float32)},
        targets={"y": labels},
        classes=("0", "1"),
        description=f"{words.capitalize()}: {len(points)} points with noise {noise:g}, seed {seed}.",
        kind="toy",
    )
    return with_manifest(dataset, name, options={option: options.text(option) for option in ("n", "noise", "seed")})
