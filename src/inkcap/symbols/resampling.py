"""The resampling connection: the same image with more or fewer positions, without a weight."""

from __future__ import annotations

from typing import Any

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import PartialShape, Shape, named
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.symbol import ConnectionSymbol, Given, Problem, Refusal, Sample


def resampling(y: Traced, given: Given, attributes: Attributes) -> Traced:
    """Gives every channel so many rows and columns: of the nearest number, or between its neighbours."""
    size: Any = attributes["size"]
    if size is None:
        factor = attributes["factor"] or tuple(named(letter) for letter in ("f′", "f", "f")[1 - len(y.shape) :])
        size = tuple(length * times for length, times in zip(y.shape[1:], factor, strict=True))
    return op.resample(y, size=size, mode=attributes["mode"], align=attributes["align"])


def _solve(attributes: Attributes, back: PartialShape, front: PartialShape) -> Attributes:
    if attributes["size"] is not None or attributes["factor"] is not None or None in front[1:]:
        return {}
    return {"size": tuple(front[1:])}


def _back(front: PartialShape, attributes: Attributes) -> PartialShape:
    factor = attributes["factor"]
    if factor is None:
        return (front[0], *(None,) * (len(front) - 1))
    sizes = (
        size // f if size is not None and size % f == 0 else None for size, f in zip(front[1:], factor, strict=True)
    )
    return (front[0], *sizes)


def _problem(shape: Shape, attributes: Attributes) -> Problem | None:
    size, factor = attributes["size"], attributes["factor"]
    if size is None and factor is None:
        return Problem(
            "missing-attribute",
            "it needs a factor or a size, where the front end does not tell it; set factor, e.g. 2",
            {},
            {"factor": (2,) * (len(shape) - 1)},
        )
    if size is not None and factor is not None:
        return Problem(
            "attributes-clash",
            "it has both a factor and a size, and each tells the positions; one of the two must go",
            {"size": size, "factor": factor},
            {"size": None},
        )
    return None


RESAMPLING = ConnectionSymbol(
    id="resampling",
    title="resampling",
    mark="↕",
    formula="Y_{⌊i/f⌋, ⌊j/f⌋}",
    ranks=((2, 2), (3, 3)),
    forward=resampling,
    solve=_solve,
    back=_back,
    problem=_problem,
    attributes=(
        Attribute("factor", "axes", "How many times as many rows and columns.", inferred=True, letter="f", axes=0),
        Attribute("size", "axes", "Rows and columns of the front end, instead of a factor.", inferred=True, axes=0),
        Attribute(
            "mode",
            "choice",
            "Which number a new position takes: the nearest one's, or one between its neighbours' (linear).",
            default="nearest",
            choices=("nearest", "linear"),
        ),
        Attribute("align", "flag", "Whether the corners stay where they are, between neighbours.", default=False),
    ),
    samples=(
        Sample({"factor": 2}, (2, 2, 3)),
        Sample({"mode": "linear", "factor": (2, 3)}, (1, 2, 2)),
        Sample({"mode": "linear", "align": True, "size": (4, 5)}, (1, 2, 3)),
        Sample({"mode": "linear", "factor": 2}, (1, 2, 2, 1)),
        Sample({}, (2, 3, 4), front=(2, 5, 3)),
    ),
    refusals=(
        Refusal({}, (2, 3, 4), "missing-attribute"),
        Refusal({"factor": 2, "size": 4}, (2, 2, 2), "attributes-clash"),
        Refusal({"factor": (2, 2)}, (1, 2, 2, 2), "structure-mismatch"),
        Refusal({"factor": 2}, (2, 3, 4), "structure-mismatch", front=(2, 5, 8)),
        Refusal({"factor": 2}, (2, 3, 4), "not-floating", dtype="int64"),
    ),
)

SYMBOLS = (RESAMPLING,)
