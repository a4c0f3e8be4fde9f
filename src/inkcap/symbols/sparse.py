"""The sparse connection: a matrix of which only some entries exist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import Shape
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.connections import back_of_matrix, solve_matrix
from inkcap.symbols.stated import INITIALISER_ATTRIBUTE, WEIGHT_ATTRIBUTES
from inkcap.symbols.symbol import (
    ConnectionSymbol,
    Given,
    Problem,
    Refusal,
    Sample,
    Weight,
)


def sparse(y: Traced, given: Given, attributes: Attributes) -> Traced:
    """Multiplies the back end by a matrix of which only the listed entries exist; entries may share a number."""
    strengths = given["weight"]
    if attributes["share"]:
        strengths = op.take(strengths, index=attributes["share"])
    entries = op.scale(op.take(y, index=attributes["columns"]), strengths, per="element")
    return op.place(entries, index=attributes["rows"], size=attributes["height"])


def _weights(back: Shape, attributes: Attributes) -> Mapping[str, Weight]:
    entries, height, width = len(attributes["rows"]), attributes["height"], attributes["width"]
    count = max(attributes["share"]) + 1 if attributes["share"] else entries
    into, out_of = (-(-entries // size) if isinstance(size, int) else 1 for size in (height, width))
    return {"weight": Weight((count,), max(into, 1), max(out_of, 1))}


def _problem(shape: Shape, attributes: Attributes) -> Problem | None:
    return next(_problems(shape, attributes), None)


def _problems(shape: Shape, attributes: Attributes) -> Iterator[Problem]:
    width, height = attributes["width"], attributes["height"]
    rows, columns, share = (attributes[name] for name in ("rows", "columns", "share"))
    if isinstance(shape[0], int) and width not in (None, shape[0]):
        yield _mismatch(
            f"the matrix is {height}×{width}, so it takes a vector of {width}, but the back end has {shape[0]}; "
            f"set width to {shape[0]} or leave it empty",
            {"width": width, "back end": shape[0]},
            {"width": shape[0]},
        )
    if not rows or len(rows) != len(columns):
        yield _mismatch(
            f"it has {len(rows)} rows and {len(columns)} columns; give every entry one of each, and one entry at least",
            {"rows": len(rows), "columns": len(columns)},
        )
        return
    for name, numbers, size, side in (("rows", rows, height, "height"), ("columns", columns, shape[0], "width")):
        if isinstance(size, int) and max(numbers) >= size:
            place = next(i for i, number in enumerate(numbers) if number >= size)
            yield _mismatch(
                f"{name}[{place}] is {numbers[place]}, but the {side} is {size}: give a number from 0 to {size - 1}",
                {name: numbers[place], side: size},
            )
    if len(set(zip(rows, columns, strict=True))) < len(rows):
        (row, column), times = Counter(zip(rows, columns, strict=True)).most_common(1)[0]
        yield _mismatch(
            f"the entry ({row}, {column}) is listed {times} times; list it once, or draw a second sparse connection",
            {"row": row, "column": column, "times": times},
        )
    if share and len(share) != len(rows):
        yield _mismatch(
            f"share has {len(share)} numbers for {len(rows)} entries; give one for each, or none at all",
            {"share": len(share), "rows": len(rows)},
        )
    elif share and len(used := set(share)) <= (most := max(share)):
        missing = next(number for number in range(most) if number not in used)
        yield _mismatch(
            f"share goes up to {most}, but no entry uses {missing}; number the shared weights from 0 without gaps",
            {"share": most, "missing": missing},
        )


def _mismatch(message: str, numbers: Mapping[str, Any], fix: Attributes | None = None) -> Problem:
    return Problem("structure-mismatch", message, numbers, fix)


_ENTRIES: Attributes = {"rows": (0, 0, 2, 1), "columns": (1, 3, 0, 1)}

SPARSE = ConnectionSymbol(
    id="sparse",
    title="sparse",
    mark="∷",
    formula="Σ_j W_{ij}·Y_j over the entries (i, j)",
    ranks=((1, 1),),
    forward=sparse,
    weights=_weights,
    solve=solve_matrix,
    back=back_of_matrix,
    problem=_problem,
    attributes=(
        Attribute("height", "size", "Rows M of the matrix: the dimension of the front end.", letter="M"),
        Attribute("width", "size", "Columns N of the matrix: the dimension of the back end.", letter="N"),
        Attribute("rows", "list", "Row of each entry, counted from 0: the element that it enters.", default=()),
        Attribute("columns", "list", "Column of each entry, counted from 0: the element that it leaves.", default=()),
        Attribute(
            "share",
            "list",
            "Which number of the weight each entry uses, counted from 0; left empty, each has its own.",
            default=(),
        ),
        INITIALISER_ATTRIBUTE,
        *WEIGHT_ATTRIBUTES,
    ),
    samples=(
        Sample({"height": 3, **_ENTRIES}, (4,)),
        Sample({**_ENTRIES, "share": (0, 1, 0, 1)}, (4,), front=(3,)),
        Sample({"height": 2, "rows": (1,), "columns": (0,), "trainable": False}, (1,)),
    ),
    refusals=(
        Refusal(_ENTRIES, (4,), "missing-attribute"),
        Refusal({"height": 3}, (4,), "structure-mismatch"),
        Refusal({"height": 3, "width": 5, **_ENTRIES}, (4,), "structure-mismatch"),
        Refusal({"height": 2, **_ENTRIES}, (4,), "structure-mismatch"),
        Refusal({"height": 3, **_ENTRIES}, (3,), "structure-mismatch"),
        Refusal({"height": 3, "rows": (0, 1), "columns": (0,)}, (4,), "structure-mismatch"),
        Refusal({"height": 3, "rows": (0, 1, 0), "columns": (2, 1, 2)}, (4,), "structure-mismatch"),
        Refusal({"height": 3, **_ENTRIES, "share": (0, 1)}, (4,), "structure-mismatch"),
        Refusal({"height": 3, **_ENTRIES, "share": (0, 1, 3, 0)}, (4,), "structure-mismatch"),
        Refusal({"height": 3, **_ENTRIES}, (4,), "structure-mismatch", front=(5,)),
        Refusal({"height": 3, **_ENTRIES}, (1, 2, 2), "rank-mismatch", front_rank=1),
        Refusal({"height": 3, **_ENTRIES}, (4,), "not-floating", dtype="int64"),
    ),
)

SYMBOLS = (SPARSE,)
