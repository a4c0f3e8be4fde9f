"""The reshaping connection: the same numbers in another shape, also channels as the atoms of capsules."""

from __future__ import annotations

from typing import cast

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import PartialShape, Shape, known, product
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.symbol import ConnectionSymbol, Given, Problem, Refusal, Sample


def reshaping(y: Traced, given: Given, attributes: Attributes) -> Traced:
    """Lays the same numbers out in another shape: channel by channel, row by row (Eq. 26).

    An order reads the axes otherwise: 1, 2, 0 goes row by row, with the channels of a place together.
    With atoms the channels are types of so many each, and what stands at one position in the channels of one type
    becomes a row: a capsule.
    """
    shape, atoms, order = attributes["shape"], attributes["atoms"], attributes["order"]
    if order:
        y = op.permute(y, order=order)
    if atoms is None:
        return op.reshape(y, shape=(product(y.shape),) if shape is None else shape)
    types, positions = y.shape[0] // atoms, product(y.shape[1:])
    rows = op.transpose(op.reshape(y, shape=(types, atoms, positions)))
    return op.reshape(rows, shape=(1, types * positions, atoms) if shape is None else shape)


def _solve(attributes: Attributes, back: PartialShape, front: PartialShape) -> Attributes:
    # A vector needs no stated shape, nor do capsules; anything else takes the front end's, with one gap filled by
    # counting.
    if attributes["shape"] is not None or attributes["atoms"] is not None or len(front) < 2:
        return {}
    if any(size is None for size in back):
        return {}
    gaps = [i for i, size in enumerate(front) if size is None]
    total = cast("int", product(cast("Shape", back)))
    rest = cast("int", product(tuple(size for size in front if size is not None)))
    if len(gaps) > 1 or total % rest:
        return {}
    return {"shape": tuple(total // rest if size is None else size for size in front)}


def _back(front: PartialShape, attributes: Attributes) -> PartialShape:
    sizes = known(cast("Shape", tuple(-1 if size is None else size for size in front)))
    count = product(sizes) if sizes is not None and -1 not in sizes else None
    # Only a vector behind can be told from the count alone; the checks drop an answer of another rank.
    return (cast("int | None", count),)


def _whole_capsules(shape: Shape, attributes: Attributes) -> Problem | None:
    order = attributes["order"]
    if order and sorted(order) != list(range(len(shape))):
        natural = tuple(range(len(shape)))
        return Problem(
            "structure-mismatch",
            f"the order {', '.join(map(str, order))} does not name the axes {', '.join(map(str, natural))} of the back "
            "end, 0 the channels, each once",
            {"order": order, "axes": natural},
            {"order": None},
        )
    atoms: int | None = attributes["atoms"]
    channels = shape[int(order[0])] if order else shape[0]
    if atoms is None or not isinstance(channels, int) or channels % atoms == 0:
        return None
    return Problem(
        "structure-mismatch",
        f"{channels} channels do not divide into types of {atoms} atoms; set atoms to a divisor of {channels}",
        {"channels": channels, "atoms": atoms},
    )


RESHAPING = ConnectionSymbol(
    id="reshaping",
    title="reshaping",
    mark="◁",
    formula="Y_{1·1}, …, Y_{M·d}",
    ranks=tuple((a, b) for a in (1, 2, 3) for b in (1, 2, 3)),
    forward=reshaping,
    solve=_solve,
    back=_back,
    problem=_whole_capsules,
    attributes=(
        Attribute(
            "shape", "shape", "Front end's sizes, channels first; a vector of all numbers when empty.", inferred=True
        ),
        Attribute(
            "atoms",
            "size",
            "Numbers a of a capsule: each a channels are a type, and their numbers at one position become a row.",
            inferred=True,
            letter="a",
        ),
        Attribute(
            "order",
            "list",
            "Order in which axes are read, 0 channels: [1, 2, 0] is row, column, channel; as they stand when empty.",
            inferred=True,
        ),
    ),
    samples=(
        Sample({}, (2, 2, 3)),
        Sample({"shape": (3, 2, 2)}, (12,)),
        Sample({}, (12,), front=(1, 3, 4)),
        Sample({"atoms": 2}, (4, 2, 3), front=(1, 12, 2)),
        Sample({"atoms": 3}, (6,), front=(1, 2, 3)),
        Sample({"atoms": 2, "shape": (8,)}, (4, 2, 1)),
        Sample({"order": (1, 2, 0)}, (4, 2, 3), front=(1, 12, 2)),
        Sample({"order": (3, 0, 2, 1)}, (2, 1, 3, 2)),
    ),
    refusals=(
        Refusal({}, (2, 2, 3), "structure-mismatch", front=(11,)),
        Refusal({"shape": (3, 2, 3)}, (12,), "structure-mismatch", front_rank=2),
        Refusal({"order": (0, 2)}, (4, 2, 3), "structure-mismatch"),
        Refusal({"atoms": 3}, (4, 2, 3), "structure-mismatch", front_rank=2),
        Refusal({"atoms": 2}, (4, 2, 3), "structure-mismatch", front_rank=1),
    ),
)
