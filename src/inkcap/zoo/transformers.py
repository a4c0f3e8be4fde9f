"""Transformers: blocks that let rows attend to one another, then work on every row for itself; both are added."""

from __future__ import annotations

from inkcap.drawing import Drawing
from inkcap.zoo.building import add_data
from inkcap.zoo.record import KnownNetwork, Reference, Sizes


def vision_transformer(
    *,
    classes: int = 1000,
    input: Sizes = (224, 224, 3),
    patch: int = 16,
    width: int = 768,
    heads: int = 12,
    blocks: int = 12,
) -> Drawing:
    """A vision transformer: every patch of an image is a row, and one learnt row before them gathers the class."""
    drawing = Drawing("vision transformer")
    drawing.define("block", block(heads, causal=False, epsilon=1e-6), inputs={"in": "x"}, outputs={"out": "sum"})
    add_data(drawing, "image", input)
    drawing.then("patches", "2D-identical", "convolution", kernels=width, kernel=patch, stride=patch)
    drawing.add("rows", "2D-identical", channels=1, width=width)
    # The channels of a patch are the numbers of its row.
    drawing.connect("patches", "rows", "reshaping", order=(1, 2, 0))
    drawing.then("class-token", "2D-leading-rows", "transfer")
    drawing.then("positions", "2D-identical", "transfer", bias="full")
    drawing.then("encoder", "block", repeat=blocks, hidden=4 * width, width=width)
    _normal(drawing, "norm", "encoder", 1e-6)
    drawing.then("class", "2D-identical", "select", axis="height", size=1)
    drawing.then("flat", "1D-identical", "reshaping")
    drawing.then("prob", "1D-softmax", "full", dimension=classes)
    return drawing


def small_gpt(*, classes: int = 28, input: Sizes = (64,), width: int = 64, heads: int = 4, blocks: int = 2) -> Drawing:
    """A small GPT: every character of a text says which comes next, and sees none behind itself.

    ``classes`` are the characters. The table of rows that characters pick is the matrix of the scores too.
    """
    drawing = Drawing("small GPT")
    drawing.define("block", block(heads, causal=True, epsilon=1e-5), inputs={"in": "x"}, outputs={"out": "sum"})
    drawing.add("text", "1D-data", dimension=input[0], dtype="int64")
    # One number for each element of each place is learnt: positions.
    drawing.add("rows", "2D-identical", bias="full", width=width)
    drawing.connect("text", "rows", "embedding", height=classes, tie="characters")
    drawing.then("decoder", "block", repeat=blocks, hidden=4 * width, width=width)
    _normal(drawing, "norm", "decoder", 1e-5)
    drawing.add("next", "2D-row-softmax", bias="none")
    drawing.connect("norm", "next", "full", height=classes, tie="characters")
    return drawing


def block(heads: int, *, causal: bool, epsilon: float) -> Drawing:
    """Attention and two full connections, row by row; each has a norm before it and its input goes around it."""
    body = Drawing("block", arguments={"hidden": 3072, "width": 768})
    body.add("x", "2D-identical")
    _normal(body, "norm1", "x", epsilon)
    body.add("attention", "2D-attention", heads=heads, causal=causal, biases=True)
    for port in ("in", "keys", "values"):
        body.connect("norm1", "attention", "full", port=port, height="=width", items=True)
    body.add("seen", "2D-identical")
    body.connect("attention", "seen", "full", height="=width", items=True)
    body.connect("x", "seen", "transfer")
    _normal(body, "norm2", "seen", epsilon)
    body.add("wide", "2D-gelu")
    body.connect("norm2", "wide", "full", height="=hidden", items=True)
    body.add("sum", "2D-identical")
    body.connect("wide", "sum", "full", height="=width", items=True)
    body.connect("seen", "sum", "transfer")
    return body


def _normal(drawing: Drawing, id: str, back: str, epsilon: float) -> None:
    drawing.add(id, "2D-identical")
    drawing.connect(back, id, "transfer")
    drawing.wear(id, "row-norm", epsilon=epsilon)


DOSOVITSKIY = Reference(
    "Dosovitskiy, Beyer, Kolesnikov, Weissenborn, Zhai and others",
    2021,
    "An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale",
)
RADFORD = Reference(
    "Radford, Wu, Child, Luan, Amodei and Sutskever", 2019, "Language Models are Unsupervised Multitask Learners"
)
NETWORKS = (
    KnownNetwork(
        "vit_b_16",
        "vision transformer, base, patches of 16×16",
        DOSOVITSKIY,
        vision_transformer,
        (224, 224, 3),
        1000,
        ("vit",),
    ),
    KnownNetwork("gpt_small", "small GPT over characters", RADFORD, small_gpt, (64,), 28, ("gpt",)),
)
