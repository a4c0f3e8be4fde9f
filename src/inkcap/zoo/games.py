"""Networks that play: the deep Q-network of Atari games, AlphaGo and AlphaGo Zero."""

from __future__ import annotations

from functools import partial
from typing import Any

from inkcap.drawing import Drawing
from inkcap.zoo.building import add_data, convolve
from inkcap.zoo.record import KnownNetwork, Reference, Sizes


def deep_q_network(classes: int = 18, input: Sizes = (84, 84, 4)) -> Drawing:
    """The value of every action, from the last four frames of a game; a class is an action."""
    drawing = Drawing("Deep Q-network")
    add_data(drawing, "frames", input)
    drawing.then("c1", "2D-relu", "convolution", kernels=32, kernel=8, stride=4)
    drawing.then("c2", "2D-relu", "convolution", kernels=64, kernel=4, stride=2)
    drawing.then("c3", "2D-relu", "convolution", kernels=64, kernel=3)
    return _valued(drawing, 512, classes)


def small_q_network(classes: int = 4, input: Sizes = (4, 4, 4), width: int = 32, hidden: int = 128) -> Drawing:
    """A deep Q-network for maps of a few cells: its kernels lose no cell, each channel is a kind of thing."""
    drawing = Drawing("small Q-network")
    add_data(drawing, "map", input)
    for number in range(1, 4):
        drawing.then(f"c{number}", "2D-relu", "convolution", kernels=width, kernel=3, padding=1)
    return _valued(drawing, hidden, classes)


def _valued(drawing: Drawing, hidden: int, actions: int) -> Drawing:
    drawing.then("f", "1D-identical", "reshaping")
    drawing.then("h", "1D-relu", "full", dimension=hidden)
    drawing.then("Q", "1D-identical", "full", dimension=actions)
    return drawing


def _trunk(drawing: Drawing, input: Sizes, width: int) -> None:
    """Twelve convolutions that keep the board's size: the trunk of AlphaGo's policy and value networks."""
    add_data(drawing, "planes", input)
    drawing.then("c1", "2D-relu", "convolution", kernels=width, kernel=5, padding=2)
    for number in range(2, 13):
        drawing.then(f"c{number}", "2D-relu", "convolution", kernels=width, kernel=3, padding=1)


def alphago_policy(input: Sizes = (19, 19, 48), width: int = 192) -> Drawing:
    """The policy of AlphaGo: a probability for every point of the board, each point with its own bias."""
    drawing = Drawing("AlphaGo policy")
    _trunk(drawing, input, width)
    drawing.then("c13", "2D-position-softmax", "convolution", kernels=1, kernel=1, bias="full")
    return drawing


def alphago_value(input: Sizes = (19, 19, 49), width: int = 192) -> Drawing:
    """The value of AlphaGo: who wins from here, between −1 and 1."""
    drawing = Drawing("AlphaGo value")
    _trunk(drawing, input, width)
    drawing.then("c13", "2D-relu", "convolution", kernels=1, kernel=1)
    drawing.then("f", "1D-identical", "reshaping")
    drawing.then("h", "1D-relu", "full", dimension=256)
    drawing.then("v", "1D-tanh", "full", dimension=1)
    return drawing


def _convolve(drawing: Drawing, id: str, face: str, back: str, kernel: int, biased: bool, **more: Any) -> None:
    convolve(drawing, id, face, back, kernel, {}, **more)
    if biased:
        drawing.change(id, bias="channel")


def residual_block(biased: bool) -> Drawing:
    """Two convolutions whose input is added to what they give."""
    body = Drawing("block", arguments={"width": 256})
    body.add("x", "2D-identical")
    _convolve(body, "a", "2D-relu", "x", 3, biased, kernels="=width")
    _convolve(body, "b", "2D-identical", "a", 3, biased, kernels="=width")
    body.then("sum", "2D-relu", "transfer")
    body.connect("x", "sum", "transfer")
    return body


def alphago_zero(
    blocks: int, *, biased: bool = False, input: Sizes = (19, 19, 17), width: int = 256, hidden: int = 256
) -> Drawing:
    """AlphaGo Zero: residual blocks on the board, a head for the move and a head for the winner.

    ``biased`` keeps the biases of the convolutions, which the normalisation takes away again.
    """
    drawing = Drawing(f"AlphaGo Zero of {blocks} blocks")
    drawing.define("block", residual_block(biased))
    add_data(drawing, "state", input)
    _convolve(drawing, "stem", "2D-relu", "state", 3, biased, kernels=width)
    drawing.then("b", "block", repeat=blocks, width=width)
    _convolve(drawing, "move", "2D-relu", "b", 1, biased, kernels=2)
    drawing.then("move-flat", "1D-identical", "reshaping")
    # One move more than there are points: to pass.
    drawing.then("policy", "1D-softmax", "full", dimension=input[0] * input[1] + 1)
    _convolve(drawing, "winner", "2D-relu", "b", 1, biased, kernels=1)
    drawing.then("winner-flat", "1D-identical", "reshaping")
    drawing.then("winner-hidden", "1D-relu", "full", dimension=hidden)
    drawing.then("value", "1D-tanh", "full", dimension=1)
    return drawing


DQN = Reference("Mnih and others", 2015, "Human-level Control through Deep Reinforcement Learning")
ALPHAGO = Reference(
    "Silver, Huang and others", 2016, "Mastering the Game of Go with Deep Neural Networks and Tree Search"
)
ZERO = Reference("Silver, Schrittwieser and others", 2017, "Mastering the Game of Go without Human Knowledge")

NETWORKS = (
    *(
        KnownNetwork(
            f"dqn_nature_A{actions}",
            f"deep Q-network of {actions} actions",
            DQN,
            partial(deep_q_network, classes=actions),
            (84, 84, 4),
            actions,
            ("dqn",) if actions == 18 else (),
        )
        for actions in (4, 6, 18)
    ),
    KnownNetwork("dqn_small", "deep Q-network for small maps", DQN, small_q_network, (4, 4, 4), 4, ("grid-dqn",)),
    KnownNetwork(
        "alphago2016_policy_k192", "policy of AlphaGo", ALPHAGO, alphago_policy, (19, 19, 48), None, ("alphago-policy",)
    ),
    KnownNetwork(
        "alphago2016_value", "value of AlphaGo", ALPHAGO, alphago_value, (19, 19, 49), None, ("alphago-value",)
    ),
    *(
        KnownNetwork(
            f"alphagozero_{blocks}{'_convbias' if biased else ''}",
            f"AlphaGo Zero of {blocks} blocks{', with biases' if biased else ''}",
            ZERO,
            partial(alphago_zero, blocks, biased=biased),
            (19, 19, 17),
            None,
            ("alphago-zero",) if blocks == 19 and not biased else (),
        )
        for biased in (False, True)
        for blocks in (19, 39)
    ),
)
