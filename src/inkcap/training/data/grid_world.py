"""A small world of our own: an agent walks on a grid to a goal, round walls and past pits."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inkcap.training.data import counter
from inkcap.training.data.dataset import Dataset, with_manifest
from inkcap.training.data.errors import DataError
from inkcap.training.data.options import Option, OptionValues
from inkcap.training.data.world import Moved

GRID_OPTIONS = (
    Option("n", "40000", "how many positions, each on a grid of its own; an epoch plays as many moves"),
    Option("size", "4x4", "rows and columns of the grid, HEIGHTxWIDTH"),
    Option("walls", "2", "cells that cannot be entered"),
    Option("pits", "1", "cells that end the game with a loss"),
    Option("discount", "0.8", "how much a reward one move later counts"),
    Option("explore", "0.3", "share of moves drawn at random in the end; the first epoch draws all"),
    Option("falling", "5", "epochs over which that share falls"),
    Option("seed", "0", "seed of the positions"),
)

AGENT, GOAL, WALL, PIT = range(4)
"""The channels of a state: each is 1 where such a thing stands, else 0."""
STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))
"""The moves: up, down, left, right."""
REACHED, FALLEN, WALKED = 1.0, -1.0, -0.02
"""The rewards of reaching the goal, of falling into a pit and of any other move."""

States = NDArray[np.uint8]
_TRIES = 50


@dataclass(frozen=True)
class GridWorld:
    """The rules: a move goes to the next cell, or nowhere when a wall or the edge is there."""

    height: int
    width: int
    discount: float
    explore: float
    falling: int

    @property
    def actions(self) -> int:
        """The number of moves."""
        return len(STEPS)

    @property
    def longest(self) -> int:
        """As many moves as there are cells: a way that enters none twice is shorter."""
        return self.height * self.width

    def exploration(self, epoch: int) -> float:
        """Give the share of moves of an epoch that are drawn at random: 1 at first, falling in a line."""
        return max(self.explore, 1.0 - (1.0 - self.explore) * (epoch - 1) / self.falling)

    def moved(self, states: NDArray[np.uint8], actions: NDArray[np.int64]) -> Moved:
        """Make one move in every game."""
        things = states.reshape(len(states), PIT + 1, -1)
        games = np.arange(len(states))
        cells = things[:, AGENT].argmax(axis=1)
        wanted = self._neighbours()[actions, cells]
        cells = np.where(things[games, WALL, wanted] > 0, cells, wanted)
        won, fallen = things[games, GOAL, cells] > 0, things[games, PIT, cells] > 0
        after = things.copy()
        after[:, AGENT] = 0
        after[games, AGENT, cells] = 1
        rewards = np.where(won, REACHED, np.where(fallen, FALLEN, WALKED)).astype(np.float32)
        return Moved(after.reshape(states.shape), rewards, won | fallen, won)

    def best_values(self, states: States) -> NDArray[np.float64]:
        """Give what every move is worth when all moves after it are the best ones, by going back from the ends."""
        things = states.reshape(len(states), PIT + 1, -1).astype(bool)
        games, cells = np.arange(len(states)), things[:, AGENT].argmax(axis=1)
        # Who never reaches anything walks for ever; a longest way has fewer moves than there are cells.
        values = np.full(things[:, AGENT].shape, self.wandering)
        worth = self._worth(things, values)
        for _ in range(self.longest):
            before, values = values, worth.max(axis=1)
            if np.array_equal(before, values):
                break
            worth = self._worth(things, values)
        return worth[games, :, cells]

    @property
    def wandering(self) -> float:
        """What it is worth to walk for ever."""
        return WALKED / (1.0 - self.discount)

    def _worth(self, things: NDArray[np.bool_], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give what every move from every cell is worth, from what the cells are."""
        found: list[NDArray[np.float64]] = []
        for wanted in self._neighbours():
            stays = things[:, WALL][:, wanted]
            later = WALKED + self.discount * np.where(stays, values, values[:, wanted])
            fallen, won = things[:, PIT][:, wanted], things[:, GOAL][:, wanted]
            found.append(np.where(won, REACHED, np.where(fallen, FALLEN, later)))
        return np.stack(found, axis=1)

    def _neighbours(self) -> NDArray[np.int64]:
        """Give for every move and cell the cell that it goes to; over the edge it stays."""
        rows, columns = np.divmod(np.arange(self.longest), self.width)
        return np.stack(
            [
                np.clip(rows + down, 0, self.height - 1) * self.width + np.clip(columns + right, 0, self.width - 1)
                for down, right in STEPS
            ]
        )


def load_grid_world(options: OptionValues) -> Dataset:
    """Draw positions from which the goal can be reached; their targets are what the four moves are really worth."""
    count, seed = options.integer("n", 2, 1_000_000), options.integer("seed", 0, 2**63 - 1)
    height, width = options.size("size") or (4, 4)
    walls, pits = options.integer("walls", 0, 10_000), options.integer("pits", 0, 10_000)
    if height * width > 10_000 or walls + pits + 2 > height * width:
        raise DataError(
            f"grid-world: {walls} walls, {pits} pits, a goal and an agent have no room on {height}×{width} cells, or "
            "there are more than 10 000 cells. Give fewer of them, or another size."
        )
    world = GridWorld(
        *(height, width, options.number("discount", 0.0, 0.999), options.number("explore", 0.0, 1.0)),
        options.integer("falling", 1, 1_000_000),
    )
    states, values = _solvable(world, count, walls, pits, seed)
    dataset = Dataset(
        name="grid-world",
        inputs={"x": states},
        targets={"y": values.astype(np.float32)},
        description=f"Positions on grids of {height}×{width}, seed {seed}, as channels for the agent, the goal, "
        f"{walls} walls and {pits} pits; the targets are what up, down, left and right are worth.",
        kind="images",
        ranges={"x": (0.0, 1.0)},
        world=world,
    )
    return with_manifest(
        dataset, "grid-world", options={option.name: options.text(option.name) for option in GRID_OPTIONS}
    )


def _solvable(world: GridWorld, count: int, walls: int, pits: int, seed: int) -> tuple[States, NDArray[np.float64]]:
    """Draw positions one after another and keep those from which the goal can be reached."""
    key = counter.key_of(seed, "grid-world", world.height, world.width, walls, pits)
    kept: list[States] = []
    worth: list[NDArray[np.float64]] = []
    found = 0
    for start in range(0, _TRIES * count, count):
        # Sorting one number for each cell draws the cells in an order: the first few get the things.
        drawn = counter.bits(key, np.arange(start, start + count), world.longest).argsort(axis=1, kind="stable")
        states = np.zeros((count, PIT + 1, world.longest), np.uint8)
        things = (AGENT, GOAL, *(WALL,) * walls, *(PIT,) * pits)
        for place, thing in enumerate(things):
            states[np.arange(count), thing, drawn[:, place]] = 1
        states = states.reshape(count, PIT + 1, world.height, world.width)
        values = world.best_values(states)
        good = values.max(axis=1) > world.wandering + 1e-9
        kept.append(states[good])
        worth.append(values[good])
        found += int(good.sum())
        if found >= count:
            return np.concatenate(kept)[:count], np.concatenate(worth)[:count]
    raise DataError(
        f"grid-world: only {found} of {count} positions were found from which the goal can be reached. "
        "Give fewer walls and pits."
    )
