"""The connection to stored codes: squared distances to the rows of a matrix, LeNet-5's radial basis functions."""

from __future__ import annotations

from collections.abc import Mapping

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import Shape
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.connections import back_of_matrix, solve_matrix
from inkcap.symbols.symbol import ConnectionSymbol, Given, Problem, Refusal, Sample, Weight


def codes(y: Traced, given: Given, attributes: Attributes) -> Traced:
    """Gives the squared distance of the back end to each of some stored codes, which training leaves as they are."""
    return op.code_distance(given["weight"], y)


def _weights(back: Shape, attributes: Attributes) -> Mapping[str, Weight]:
    height, width = attributes["height"], attributes["width"]
    # Bits stand for −1 and 1, the levels between which a tanh lives.
    starts = tuple(2.0 * bit - 1 for bit in attributes["bits"])
    return {"weight": Weight((height, width), width, height, starts=starts)}


def _problem(shape: Shape, attributes: Attributes) -> Problem | None:
    height, width, bits = attributes["height"], attributes["width"], attributes["bits"]
    if isinstance(shape[0], int) and width not in (None, shape[0]):
        return Problem(
            "structure-mismatch",
            f"codes of {width} numbers cannot be compared with a vector of {shape[0]}; set width to {shape[0]} or "
            "leave it empty",
            {"width": width, "back end": shape[0]},
            {"width": shape[0]},
        )
    if bits and (len(bits) != height * width or max(bits) > 1):
        return Problem(
            "structure-mismatch",
            f"{height} codes of {width} numbers need {height * width} bits, each 0 or 1, but {len(bits)} are stated, "
            f"the largest {max(bits)}; state them all, or none for codes at random",
            {"bits": len(bits), "needed": height * width},
            {"bits": ()},
        )
    return None


CODES = ConnectionSymbol(
    id="codes",
    title="codes",
    mark="Δ",
    formula="Σ_i (Y_i − W_{ji})²",
    ranks=((1, 1),),
    forward=codes,
    weights=_weights,
    solve=solve_matrix,
    back=back_of_matrix,
    problem=_problem,
    measures=True,
    attributes=(
        Attribute("height", "size", "Codes M: the dimension of the front end.", letter="M"),
        Attribute("width", "size", "Numbers N of a code: the dimension of the back end.", letter="N"),
        Attribute(
            "bits",
            "list",
            "The codes as bits, one code behind another: 0 stands for −1, 1 for 1. Left empty, the initialiser makes "
            "them.",
            default=(),
        ),
        Attribute(
            "initialiser",
            "choice",
            "How codes without bits start: 'signs' draws −1 or 1 at random, 'normal' has deviation 0.01.",
            default="signs",
            choices=("signs", "normal", "zeros"),
        ),
        Attribute("trainable", "flag", "Whether training changes the codes.", default=False),
    ),
    samples=(
        Sample({"height": 3}, (4,)),
        Sample({}, (2,), front=(3,)),
        Sample({"height": 2, "bits": (0, 1, 1, 1, 0, 0), "trainable": True}, (3,)),
    ),
    refusals=(
        Refusal({}, (4,), "missing-attribute"),
        Refusal({"height": 3, "width": 5}, (4,), "structure-mismatch"),
        Refusal({"height": 2, "bits": (0, 1, 1)}, (3,), "structure-mismatch"),
        Refusal({"height": 3}, (1, 2, 2), "rank-mismatch", front_rank=1),
        Refusal({"height": 3}, (4,), "not-floating", dtype="int64"),
    ),
)

SYMBOLS = (CODES,)
