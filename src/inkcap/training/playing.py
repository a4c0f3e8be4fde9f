"""Playing: the network that learns makes the samples of every epoch itself, and is measured by how it plays."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from inkcap.structures.errors import RunFailure
from inkcap.training.data import Fit, Preparation, World, counter
from inkcap.training.facts import NetworkFacts
from inkcap.training.material import prepared_input
from inkcap.training.scores import outputs_of

Answer = Callable[[NDArray[Any]], NDArray[np.float32]]
"""Gives what a network says that every move is worth, for some states."""

ROUNDS = 32
"""Moves that every game of an epoch has; so many games are played side by side as the epoch needs for its moves."""
_AT_ONCE = 1024


def answering(
    module: torch.nn.Module, facts: NetworkFacts, fit: Fit, preparation: Preparation, device: torch.device
) -> Answer:
    """Give the answers of a module as it stands at the moment when it is asked."""
    (taken,), (given,) = fit.inputs.values(), fit.outputs.values()

    @torch.no_grad()
    def answer(states: NDArray[Any]) -> NDArray[np.float32]:
        was_training = module.training
        module.eval()
        try:
            pieces: list[NDArray[np.float32]] = []
            for start in range(0, len(states), _AT_ONCE):
                piece = prepared_input(states[start : start + _AT_ONCE], facts, 0, preparation, taken)
                (value,) = outputs_of(module(piece.to(device)))
                pieces.append(value.reshape(len(piece), -1).float().cpu().numpy())
        finally:
            module.train(was_training)
        found = preparation.restore_targets(np.concatenate(pieces), given)
        if not np.isfinite(found).all():
            raise RunFailure("an answer of the network to a state that it came to in play is not finite")
        return found

    return answer


def play(
    world: World, answer: Answer, starts: NDArray[Any], moves: int, epoch: int, seed: int
) -> tuple[NDArray[Any], NDArray[np.float32]]:
    """Play so many moves, and give the states with what the moves that were made in them have turned out to be worth.

    All other moves are NaN. Which moves are drawn at random, and from where the games start, depends on the seed and
    the epoch alone.
    """
    games = -(-moves // ROUNDS)
    order = counter.permutation(counter.key_of(seed, "starts", epoch), len(starts))
    chances = counter.uniforms(counter.key_of(seed, "moves", epoch), np.arange(ROUNDS), 2 * games)
    states, begun = starts[order[np.arange(games) % len(order)]], games
    explore, answers = world.exploration(epoch), answer(states)
    seen: list[NDArray[Any]] = []
    worth: list[NDArray[np.float32]] = []
    for row in chances:
        actions, drawn = answers.argmax(axis=1), np.flatnonzero(row[:games] < explore)
        actions[drawn] = (row[games:][drawn] * world.actions).astype(np.int64)
        moved = world.moved(states, actions)
        seen.append(states)
        ended = np.flatnonzero(moved.over)
        states = moved.states
        states[ended] = starts[order[(begun + np.arange(len(ended))) % len(order)]]
        begun += len(ended)
        answers = answer(states)
        # Nothing comes after the end of a game; elsewhere the best move that follows counts, as the network sees it.
        later = np.where(moved.over, np.float32(0), answers.max(axis=1))
        targets = np.full((games, world.actions), np.nan, np.float32)
        targets[np.arange(games), actions] = moved.rewards + np.float32(world.discount) * later
        worth.append(targets)
    return np.concatenate(seen)[:moves], np.concatenate(worth)[:moves]


def solve(world: World, answer: Answer, starts: NDArray[Any]) -> dict[str, float]:
    """Play from every start by the best move, and give the share of games that are won and their mean reward."""
    states, rewards, won = starts.copy(), np.zeros(len(starts)), np.zeros(len(starts), bool)
    going = np.arange(len(starts))
    for _ in range(world.longest):
        if not len(going):
            break
        moved = world.moved(states[going], answer(states[going]).argmax(axis=1))
        rewards[going] += moved.rewards
        states[going], won[going] = moved.states, moved.won
        going = going[~moved.over]
    return {"solved": float(won.mean()), "reward": float(rewards.mean())}
