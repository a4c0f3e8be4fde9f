"""Capsule symbols of matrix capsules: primary capsules and EM routing.

A map of B types of matrix capsules is a matrix array of 17·B channels: the 4×4 poses of all types first, row by row,
and behind them one activation for each type.
"""

from __future__ import annotations

from collections.abc import Mapping

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import Shape, product
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.port import MAIN_PORT, Port
from inkcap.symbols.symbol import CapsuleSymbol, Given, Glyph, Problem, Refusal, Sample, Weight, keep_shape

NUMBERS = 17
"""Numbers of a matrix capsule: a pose of 4×4 and an activation."""
POSE = 16
INK, WASH = "#0f766e", "#e0f4f1"


def primary(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Makes matrix capsules of a map: 16 channels a type stay as poses, the last channels become activations."""
    types = u.shape[0] // NUMBERS
    poses = op.channels(u, first=0, count=POSE * types)
    return op.concatenate(poses, op.sigmoid(op.channels(u, first=POSE * types, count=types)), axis=0)


def em_routing(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Finds the parents that the children's votes agree on, by rounds of expectation and maximisation.

    The step ``em_coefficients`` makes R of the last round: how much of each child every parent takes.
    """
    rate, decay, epsilon = (attributes[name] for name in ("inverse_temperature", "decay", "epsilon"))
    # Twelve digits, so that the printed numbers are those that a person would write.
    *rising, last = (float(f"{rate * (1 - decay**t):.12g}") for t in range(1, attributes["iterations"] + 1))
    betas = given["beta_u"], given["beta_a"]
    shares = op.em_coefficients(u, *betas, inverse_temperatures=tuple(rising), epsilon=epsilon)
    parents = op.em_parents(u, shares, *betas, inverse_temperature=last, epsilon=epsilon)
    if attributes["gives"] == "activations":
        parents = op.channels(parents, first=u.shape[1] - 1, count=given["beta_a"].shape[0])
    return parents if len(u.shape) > 3 else op.reshape(parents, shape=(product(parents.shape),))


def not_matrix_capsules(shape: Shape, attributes: Attributes) -> Problem | None:
    """Find channels that are no whole number of matrix capsules."""
    channels = shape[0]
    if not isinstance(channels, int) or not channels % NUMBERS:
        return None
    below = channels // NUMBERS * NUMBERS
    fitting = f"{below} or {below + NUMBERS}" if below else f"{NUMBERS}"
    return Problem(
        "structure-mismatch",
        f"{channels} channels are no matrix capsules, which have {NUMBERS} each, a pose of 4×4 and an activation; "
        f"{fitting} channels would do",
        {"channels": channels},
    )


def _betas(shapes: Mapping[str, Shape], attributes: Attributes) -> Mapping[str, Weight]:
    parents = (shapes[MAIN_PORT][1] - 1) // attributes["pose"]
    return {name: Weight((parents,), initialiser="zeros") for name in ("beta_u", "beta_a")}


def _not_votes(shape: Shape, attributes: Attributes) -> Problem | None:
    numbers, pose = shape[1], attributes["pose"]
    if not isinstance(numbers, int) or (numbers > 1 and numbers % pose == 1 % pose):
        return None
    return Problem(
        "structure-mismatch",
        f"every child brings {numbers} numbers, which are no votes of {pose} for each parent and one activation; "
        f"{max(numbers - 1, pose) // pose * pose + 1} numbers would do",
        {"numbers": numbers, "pose": pose},
    )


PRIMARY = CapsuleSymbol(
    id="primary-capsules",
    title="primary capsules",
    family="matrix capsules",
    ranks=(2,),
    glyph=Glyph("M-.3 -.3H.06V.06H-.3ZM-.12 -.3V.06M-.3 -.12H.06M.12 .3C.2 .3 .2 .12 .3 .12", INK, WASH),
    formula="Y = U for the poses, 1/(1+e^{−U}) for the activations",
    forward=primary,
    back=keep_shape,
    problem=not_matrix_capsules,
    samples=(Sample({}, (17, 2, 1)), Sample({}, (34, 1, 2))),
    refusals=(
        Refusal({}, (16, 2, 2), "structure-mismatch"),
        Refusal({}, (35, 2, 2), "structure-mismatch"),
        Refusal({}, (17, 2, 2), "not-floating", dtype="int64"),
    ),
)

EM_ROUTING = CapsuleSymbol(
    id="em-routing",
    title="EM routing",
    family="matrix capsules",
    ranks=(2, 3),
    glyph=Glyph("M-.32 -.28L.2 0M-.32 0H.2M-.32 .28L.2 0M.2 -.1A.1 .1 0 1 0 .2 .1A.1 .1 0 1 0 .2 -.1Z", INK, WASH),
    formula="M: μ_j, σ_j of the votes V_{ij} by R_{ij}a_i, a_j = logistic(λ(β_a − Σ_h(β_u + ln σ_j^h)Σ_i R_{ij}a_i)); "
    "E: R_{ij} = a_j p_{ij}/Σ_k a_k p_{ik}",
    forward=em_routing,
    ports=(
        Port(MAIN_PORT, "The children, gathered: each with its votes for all parents and its activation.", "gathers"),
    ),
    parameters=_betas,
    output_ranks={3: 2, 2: 1},
    problem=_not_votes,
    own_attributes=(
        Attribute("iterations", "size", "Rounds of expectation and maximisation.", default=3, maximum=100, letter="r"),
        Attribute(
            "inverse_temperature",
            "number",
            "Inverse temperature λ that the rounds rise to: round t has λ·(1−decay^t).",
            default=0.01,
            minimum=0,
            letter="λ",
        ),
        Attribute("decay", "number", "How slowly the rounds rise to λ.", default=0.95, minimum=0, maximum=1),
        Attribute("epsilon", "number", "Number ε added to every variance.", default=1e-4, minimum=1e-12, letter="ε"),
        Attribute("pose", "size", "Numbers of a pose.", default=POSE),
        Attribute(
            "gives",
            "choice",
            "What it gives: poses and activations (both), or one activation for each parent, for a loss.",
            default="both",
            choices=("both", "activations"),
        ),
    ),
    samples=(
        Sample({"pose": 2}, (3, 5, 2, 1)),
        Sample({"pose": 2, "iterations": 1, "gives": "activations"}, (2, 7, 1, 2)),
        Sample({"pose": 3, "inverse_temperature": 1, "decay": 0.5}, (3, 7, 1)),
        Sample({"pose": 1, "iterations": 2, "gives": "activations", "inverse_temperature": 2}, (4, 4, 1)),
        Sample({"iterations": 2, "epsilon": 0.01}, (2, 33, 1)),
    ),
    refusals=(
        Refusal({}, (3, 34, 2, 2), "structure-mismatch"),
        Refusal({"pose": 2}, (3, 1, 1), "structure-mismatch"),
        Refusal({}, (3, 33, 2, 2), "not-floating", dtype="int64"),
    ),
)

SYMBOLS = (PRIMARY, EM_ROUTING)
