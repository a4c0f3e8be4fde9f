"""Capsule symbols whose function keeps the structure: data, identical, ReLU, sigmoid, tanh, step, softmax."""

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.symbol import CapsuleSymbol, Given, Glyph, Refusal, Sample, keep_shape

ALL_RANKS = (0, 1, 2, 3)
ELEMENTWISE_SAMPLES = (Sample({}, ()), Sample({}, (5,)), Sample({}, (2, 3, 4)), Sample({}, (2, 2, 3, 2)))
NOT_FLOATING = (Refusal({}, (3,), "not-floating", dtype="int64"),)


def data(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """An input of the network: it holds the data as they come, Y = X."""
    return u


def identical(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Gives its total input unchanged, Y = U."""
    return u


def relu(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Keeps what is positive and sets the rest to zero, or to a small share of it, element by element."""
    slope = attributes["slope"]
    return op.curve(u, of="leaky_relu", slope=slope) if slope else op.relu(u)


def sigmoid(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Squeezes every element between 0 and 1."""
    return op.sigmoid(u)


def tanh(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Squeezes every element between −1 and 1, or between −a and a."""
    a, b = attributes["amplitude"], attributes["steepness"]
    inside = u if b == 1 else op.curve(u, of="affine", scale=b, shift=0)
    return op.tanh(inside) if a == 1 else op.curve(op.tanh(inside), of="affine", scale=a, shift=0)


def step(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Gives 1 where the total input reaches a threshold, else 0: the neuron of McCulloch and Pitts."""
    return op.step(u, threshold=attributes["threshold"])


def stochastic_binary(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Draws 1 with probability σ(U), else 0, anew for every batch in training; in evaluation it gives σ(U)."""
    probability = op.sigmoid(u)
    return op.add(probability, op.sampling_noise(probability))


def softmax(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Turns scores into probabilities that sum to one: over a vector, or over the channels at every position."""
    return op.softmax(u, axis=-len(u.shape))


DATA = CapsuleSymbol(
    id="data",
    title="data",
    family="data",
    ranks=ALL_RANKS,
    glyph=Glyph("M-.16 0A.16 .16 0 1 0 .16 0A.16 .16 0 1 0 -.16 0Z", "#c07a12", "#fbf1df", filled=True),
    formula="Y = X",
    forward=data,
    back=keep_shape,
    is_data=True,
    samples=(*ELEMENTWISE_SAMPLES, Sample({}, (3,), dtype="int64")),
    refusals=(Refusal({"dimension": 4}, (3,), "structure-mismatch"),),
)

IDENTICAL = CapsuleSymbol(
    id="identical",
    title="identical",
    family="activation",
    ranks=ALL_RANKS,
    glyph=Glyph("M-.26 .26L.26 -.26", "#5f6676", "#f4f3ee"),
    formula="Y = U",
    derivative="1",
    forward=identical,
    back=keep_shape,
    samples=ELEMENTWISE_SAMPLES,
    refusals=(Refusal({"dimension": 4}, (3,), "structure-mismatch"),),
)

RELU = CapsuleSymbol(
    id="relu",
    title="ReLU",
    family="activation",
    ranks=ALL_RANKS,
    glyph=Glyph("M-.32 .18H0L.3 -.24", "#5a3fd0", "#ece8fb"),
    formula="Y = max(0, U), or max(U, αU)",
    derivative="[U > 0] + α·[U < 0]",
    forward=relu,
    back=keep_shape,
    halves=True,
    own_attributes=(
        Attribute(
            "slope",
            "number",
            "Slope α below zero: 0 is the ReLU, a small one such as 0.1 the leaky ReLU.",
            default=0,
            minimum=0,
            maximum=1,
            letter="α",
        ),
    ),
    samples=(*ELEMENTWISE_SAMPLES, Sample({"slope": 0.1}, (5,))),
    refusals=NOT_FLOATING,
)

SIGMOID = CapsuleSymbol(
    id="sigmoid",
    title="sigmoid",
    family="activation",
    ranks=ALL_RANKS,
    glyph=Glyph("M-.34 .22C-.04 .22 .04 -.22 .34 -.22", "#5a3fd0", "#ece8fb"),
    formula="Y = 1/(1+e^{−U})",
    derivative="Y∘(1 − Y)",
    forward=sigmoid,
    back=keep_shape,
    loss_from_input="binary-cross-entropy",
    samples=ELEMENTWISE_SAMPLES,
    refusals=NOT_FLOATING,
)

TANH = CapsuleSymbol(
    id="tanh",
    title="tanh",
    family="activation",
    ranks=ALL_RANKS,
    glyph=Glyph("M-.34 .26C-.02 .26 .02 -.26 .34 -.26M-.34 0H.34", "#5a3fd0", "#ece8fb"),
    formula="Y = a·tanh(bU)",
    derivative="(a − Y)∘(a + Y)·b/a",
    forward=tanh,
    back=keep_shape,
    own_attributes=(
        Attribute(
            "amplitude",
            "number",
            "Amplitude a: Y lies between −a and a. LeNet-5 has 1.7159.",
            default=1,
            minimum=1e-6,
            maximum=1e6,
            letter="a",
        ),
        Attribute(
            "steepness",
            "number",
            "Factor b of the total input. LeNet-5 has 2/3.",
            default=1,
            minimum=1e-6,
            maximum=1e6,
            letter="b",
        ),
    ),
    samples=(*ELEMENTWISE_SAMPLES, Sample({"amplitude": 1.7159, "steepness": 2 / 3}, (5,))),
    refusals=NOT_FLOATING,
)

STEP = CapsuleSymbol(
    id="step",
    title="step",
    family="activation",
    ranks=ALL_RANKS,
    glyph=Glyph("M-.32 .22H0V-.22H.32", "#5a3fd0", "#ece8fb"),
    formula="Y = [U ≥ θ]",
    derivative="0",
    forward=step,
    back=keep_shape,
    own_attributes=(Attribute("threshold", "number", "Threshold θ from which on it is 1.", default=0, letter="θ"),),
    samples=(*ELEMENTWISE_SAMPLES, Sample({"threshold": 0.5}, (5,))),
    refusals=NOT_FLOATING,
)

STOCHASTIC_BINARY = CapsuleSymbol(
    id="stochastic-binary",
    title="stochastic binary",
    family="activation",
    ranks=ALL_RANKS,
    glyph=Glyph(
        "M-.34 .22H-.02V-.22H.34M-.28 -.12V-.12M-.16 -.26V-.26M-.12 0V0M.12 .04V.04M.2 .24V.24M.3 .08V.08",
        "#5a3fd0",
        "#ece8fb",
    ),
    formula="Y ∼ Bernoulli(σ(U)) in training, with the slope of σ; σ(U) in evaluation",
    derivative="σ(U)∘(1 − σ(U))",
    forward=stochastic_binary,
    back=keep_shape,
    samples=ELEMENTWISE_SAMPLES,
    refusals=NOT_FLOATING,
)

SOFTMAX = CapsuleSymbol(
    id="softmax",
    title="softmax",
    family="activation",
    ranks=(1, 2, 3),
    glyph=Glyph("M-.3 .26V.08M-.1 .26V-.28M.1 .26V-.02M.3 .26V.16", "#b0307a", "#fae7f2"),
    formula="Y_i = e^{U_i} / Σ_j e^{U_j}",
    forward=softmax,
    back=keep_shape,
    loss_from_input="cross-entropy",
    samples=ELEMENTWISE_SAMPLES[1:],
    refusals=NOT_FLOATING,
)

SYMBOLS = (DATA, IDENTICAL, RELU, SIGMOID, TANH, STEP, STOCHASTIC_BINARY, SOFTMAX)
