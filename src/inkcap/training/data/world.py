"""Worlds: games whose states are samples, so that the network that learns can make its own data by playing."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Moved:
    """What came of one move in each of several games."""

    states: NDArray[Any]
    rewards: NDArray[np.float32]
    over: NDArray[np.bool_]
    """Whether the game has ended: nothing comes after it."""
    won: NDArray[np.bool_]


class World(Protocol):
    """A game for one player. What a move leads to depends on the state alone, which is what the network sees."""

    @property
    def actions(self) -> int:
        """How many moves there are to choose from."""
        ...

    @property
    def discount(self) -> float:
        """How much a reward one move later counts."""
        ...

    @property
    def longest(self) -> int:
        """Moves after which a game that is measured counts as lost."""
        ...

    def exploration(self, epoch: int) -> float:
        """Give the share of moves of an epoch that are drawn at random."""
        ...

    def moved(self, states: NDArray[Any], actions: NDArray[np.int64]) -> Moved:
        """Make one move in every game."""
        ...
