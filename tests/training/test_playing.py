"""Playing: the rules of the grid world, what is learnt from a game, and a small Q-network that learns to win it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from inkcap import Drawing, Recipe, evaluate, train
from inkcap.recipes import DataSpec, LossSpec, OptimiserSpec, RecipeError
from inkcap.training.data import DataError, load, validate
from inkcap.training.data.grid_world import AGENT, GOAL, PIT, WALL, GridWorld
from inkcap.training.errors import TrainingError
from inkcap.training.playing import ROUNDS, play, solve
from inkcap.zoo.games import small_q_network

UP, DOWN, LEFT, RIGHT = range(4)
THINGS = {"A": AGENT, "G": GOAL, "#": WALL, "o": PIT}
WORLD = GridWorld(3, 4, discount=0.5, explore=0.2, falling=4)


def drawn(*rows: str) -> np.ndarray:
    """Read a state from a picture."""
    state = np.zeros((1, 4, len(rows), len(rows[0])), np.uint8)
    for i, row in enumerate(rows):
        for j, sign in enumerate(row):
            if sign in THINGS:
                state[0, THINGS[sign], i, j] = 1
    return state


START = drawn(
    ".#.G",
    "A.o.",
    "....",
)


def test_a_move_goes_to_the_next_cell_or_nowhere() -> None:
    moved = WORLD.moved(np.repeat(START, 4, axis=0), np.arange(4))
    places = [tuple(np.argwhere(state[AGENT])[0]) for state in moved.states]
    assert places == [(0, 0), (2, 0), (1, 0), (1, 1)]
    assert moved.rewards.tolist() == pytest.approx([-0.02] * 4)
    assert not moved.over.any()
    assert (moved.states[:, GOAL:] == START[:, GOAL:]).all()
    up = WORLD.moved(moved.states[:1], np.array([RIGHT]))
    assert (up.states == moved.states[:1]).all(), "a wall lets nobody in"


def test_the_goal_and_a_pit_end_the_game() -> None:
    beside = drawn("..AG", "..o.", "....")
    won, fallen = (WORLD.moved(beside, np.array([action])) for action in (RIGHT, DOWN))
    assert (won.rewards.tolist(), won.over.tolist(), won.won.tolist()) == ([1.0], [True], [True])
    assert (fallen.rewards.tolist(), fallen.over.tolist(), fallen.won.tolist()) == ([-1.0], [True], [False])


def test_the_values_of_moves_are_those_of_the_best_way_on() -> None:
    # Two moves from the goal: −0.02 + ½·1; up and left bump and stay; down goes one away and comes back.
    values = WORLD.best_values(drawn(".A.G", "..o.", "...."))[0]
    two, three, four = (-0.02 + 0.5 * 1.0), (-0.02 + 0.5 * 0.48), (-0.02 + 0.5 * 0.22)
    assert values[RIGHT] == pytest.approx(two)
    assert values[UP] == pytest.approx(three)
    assert values[LEFT] == pytest.approx(four)
    assert values[DOWN] == pytest.approx(four)
    assert WORLD.best_values(drawn("..AG", "..o.", "...."))[0][DOWN] == -1.0
    locked = WORLD.best_values(drawn("A#.G", "##..", "...."))[0]
    assert locked == pytest.approx([-0.04] * 4), "who can reach nothing walks for ever: −0.02/(1 − ½)"


def test_every_position_can_be_solved_and_is_drawn_by_its_seed() -> None:
    options = {"n": "200", "size": "4x5", "walls": "6", "pits": "3"}
    dataset = load("grid-world", options, Path())
    assert validate(dataset) == []
    states, world = dataset.inputs["x"], dataset.world
    assert states.shape == (200, 4, 4, 5)
    assert states.sum(axis=(2, 3)).tolist() == [[1, 1, 6, 3]] * 200
    assert states.sum(axis=1).max() == 1, "no two things on one cell"
    assert world is not None
    assert solve(world, lambda s: world.best_values(s).astype(np.float32), states)["solved"] == 1.0
    again, other = (load("grid-world", {**options, "seed": seed}, Path()) for seed in ("0", "1"))
    assert again.manifest == dataset.manifest
    assert not np.array_equal(other.inputs["x"], states)


def test_of_every_position_the_move_that_was_made_is_asked_for() -> None:
    starts = load("grid-world", {"n": "50", "size": "3x4", "walls": "1", "pits": "1"}, Path()).inputs["x"]
    asked = []

    def answer(states: np.ndarray) -> np.ndarray:
        asked.append(len(states))
        return WORLD.best_values(states).astype(np.float32)

    states, worth = play(WORLD, answer, starts, 100, epoch=9, seed=3)
    assert states.shape == (100, 4, 3, 4)
    assert (np.isfinite(worth).sum(axis=1) == 1).all()
    # A network that knows all values sees them confirmed by each of its moves, at the end of a game too.
    known = WORLD.best_values(states)
    assert worth[np.isfinite(worth)] == pytest.approx(known[np.isfinite(worth)], abs=1e-6)
    assert asked == [4] * (ROUNDS + 1)
    again = play(WORLD, answer, starts, 100, epoch=9, seed=3)
    assert np.array_equal(again[0], states)
    assert not np.array_equal(play(WORLD, answer, starts, 100, epoch=10, seed=3)[0], states)
    # Greedy moves are the best ones; of the moves drawn at random three of four are not.
    chosen = np.isfinite(worth).argmax(axis=1)
    best = known[np.arange(100), chosen] == known.max(axis=1)
    assert 0.75 < best.mean() < 1.0


def test_exploration_falls_in_a_line() -> None:
    assert [WORLD.exploration(epoch) for epoch in (1, 3, 5, 50)] == pytest.approx([1.0, 0.6, 0.2, 0.2])


def test_who_walks_in_circles_or_falls_has_not_solved() -> None:
    starts = np.concatenate([drawn("A..G", "....", "...."), drawn("...G", "A.o.", "....")])

    def always(action: int) -> dict[str, float]:
        return solve(WORLD, lambda s: np.eye(4, dtype=np.float32)[np.full(len(s), action)], starts)

    # The first walks two cells and arrives, the second one and falls.
    assert always(RIGHT) == {"solved": 0.5, "reward": pytest.approx((1 - 0.04 + -1 - 0.02) / 2)}
    assert always(LEFT) == {"solved": 0.0, "reward": pytest.approx(-0.02 * 12)}


TINY = {"n": 1000, "size": "2x3", "walls": 0, "pits": 0, "falling": 3, "discount": 0.7, "explore": 0.3}


def test_a_small_q_network_learns_to_win(tmp_path: Path) -> None:
    drawing = small_q_network(input=(2, 3, 4), width=16, hidden=64)
    fast = OptimiserSpec("adam", 0.003)
    spec = DataSpec("grid-world", TINY)
    result = train(drawing, Recipe(spec, optimiser=fast, batch=16, epochs=5, monitor="solved", threads=1), tmp_path)
    epochs = result.run.metrics().epochs()
    assert epochs[0].values["val_solved"] < 0.8
    assert result.best_value == max(epoch.values["val_solved"] for epoch in epochs) >= 0.95
    assert epochs[result.best_epoch - 1].values["val_reward"] > 0.75
    assert [loss.kind for loss in result.run.recipe().losses] == ["huber"]
    assert evaluate(result.run).values["solved"] == result.best_value
    elsewhere = evaluate(result.run, DataSpec("grid-world", {**TINY, "seed": 7})).values
    assert elsewhere["solved"] == pytest.approx(result.best_value, abs=0.1)
    assert math.isfinite(elsewhere["reward"])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"data": DataSpec("grid-world", TINY, resize="6x6")}, "data.resize: grid-world is played"),
        ({"data": DataSpec("grid-world", TINY, augment="flip=horizontal")}, "data.augment: grid-world is played"),
        ({"losses": (LossSpec(kind="mean-squared-error"),)}, "give the loss huber in place of mean-squared-error"),
    ],
)
def test_what_makes_no_sense_in_a_game_is_refused(tmp_path: Path, settings: dict, words: str) -> None:
    drawing = small_q_network(input=(2, 3, 4), width=2, hidden=4)
    with pytest.raises(TrainingError, match=words):
        train(drawing, Recipe(**{"data": DataSpec("grid-world", TINY), **settings}), tmp_path)


def test_what_cannot_be_drawn_or_watched_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no room on 2×2 cells"):
        load("grid-world", {"size": "2x2"}, Path())
    # On a strip with a wall for all but two of twenty cells, agent and goal are hardly ever neighbours.
    with pytest.raises(DataError, match="Give fewer walls and pits"):
        load("grid-world", {"size": "1x200", "walls": "198", "pits": "0", "n": "5"}, Path())
    drawing = Drawing("plain")
    drawing.add("x", "1D-data", dimension=2)
    drawing.then("y", "1D-softmax", "full", dimension=2)
    with pytest.raises(RecipeError, match=r"solved .* is not measured of these outputs; give loss or accuracy"):
        train(drawing, Recipe(DataSpec("moons"), monitor="solved"), tmp_path)
