"""Connections that carry a block: injection into a wider front end, and selection of a part of the back end."""

from __future__ import annotations

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import AXES, PartialShape, Shape, Size, named
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.symbol import ConnectionSymbol, Given, Problem, Refusal, Sample

POSITIONS = "positions"


def inject(y: Traced, given: Given, attributes: Attributes) -> Traced:
    """Lays the back end into a wider front end that is zero elsewhere: the sum of several is their concatenation."""
    axis, offset, size = _axis(len(y.shape), attributes), attributes["offset"] or 0, attributes["size"]
    before: list[Size] = [0] * len(y.shape)
    after = list(before)
    before[axis], after[axis] = offset, (named("size") if size is None else size) - offset - y.shape[axis]
    return op.pad(y, before=tuple(before), after=tuple(after)) if any((*before, *after)) else y


def select(y: Traced, given: Given, attributes: Attributes) -> Traced:
    """Keeps a block of the back end: some channels in a row, or the positions inside a border."""
    chosen = _cut(len(y.shape), attributes)
    first: list[Size] = [0] * len(y.shape)
    sizes: list[Size | None] = [None] * len(y.shape)
    for number, axis in enumerate(chosen):
        first[axis], sizes[axis] = attributes["offset"][number], attributes["size"][number]
    return op.block(y, first=tuple(first), sizes=tuple(sizes))


def _names(count: int) -> tuple[str, ...]:
    """Name the axes of a structure as tensors have them; a vector's one axis goes by the name of channels."""
    return ("channels", *AXES[count - 1][:-1]) if count > 1 else ("channels",)


def _axis(count: int, attributes: Attributes) -> int:
    names = _names(count)
    return names.index(attributes["axis"]) if attributes["axis"] in names else 0


def _cut(count: int, attributes: Attributes) -> tuple[int, ...]:
    return tuple(range(1, count)) if attributes["axis"] == POSITIONS and count > 1 else (_axis(count, attributes),)


def _wrong_axis(shape: Shape, attributes: Attributes) -> Problem | None:
    axis, names = attributes["axis"], _names(len(shape))
    if axis in names or axis == POSITIONS:
        return None
    return Problem(
        "structure-mismatch",
        f"the back end has no {axis}: its axes are {', '.join(names)}; set axis to channels",
        {"axis": axis, "axes": names},
        {"axis": "channels"},
    )


def _inject_problem(shape: Shape, attributes: Attributes) -> Problem | None:
    if wrong := _wrong_axis(shape, attributes):
        return wrong
    axis = _axis(len(shape), attributes)
    offset, size, length = attributes["offset"], attributes["size"], shape[axis]
    if offset is None or size is None or not isinstance(length, int) or offset + length <= size:
        return None
    name = "elements" if len(shape) == 1 else attributes["axis"]
    return Problem(
        "structure-mismatch",
        f"{length} {name} from number {offset} on do not fit into the {size} of the front end; make it "
        f"{offset + length}, or leave its {name} empty",
        {"length": length, "offset": offset, "size": size},
    )


def _inject_back(front: PartialShape, attributes: Attributes) -> PartialShape:
    axis = _axis(len(front), attributes)
    return (*front[:axis], None, *front[axis + 1 :])


def _select_solve(attributes: Attributes, back: PartialShape, front: PartialShape) -> Attributes:
    if attributes["size"] is not None:
        return {}
    found = [front[axis] for axis in _cut(len(front), attributes)]
    axes = max(len(back) - 1, 1)
    return {} if None in found else {"size": tuple(found) if len(found) == axes else tuple(found * axes)}


def _select_back(front: PartialShape, attributes: Attributes) -> PartialShape:
    cut = _cut(len(front), attributes)
    return tuple(None if axis in cut else size for axis, size in enumerate(front))


def _select_problem(shape: Shape, attributes: Attributes) -> Problem | None:
    if wrong := _wrong_axis(shape, attributes):
        return wrong
    cut = _cut(len(shape), attributes)
    for name in ("offset", "size"):
        if len(cut) == 1 and len(set(attributes[name])) > 1:
            return Problem(
                "attributes-clash",
                f"{name} has several numbers, and the block is cut along {attributes['axis']} alone: write one number, "
                f"or set axis to {POSITIONS}",
                {name: attributes[name]},
                {"axis": POSITIONS} if len(shape) > 1 else {name: attributes[name][:1]},
            )
    for axis, begin, size in zip(cut, attributes["offset"], attributes["size"], strict=False):
        length = shape[axis]
        if isinstance(length, int) and begin + size > length:
            return Problem(
                "structure-mismatch",
                f"{size} {_names(len(shape))[axis]} from number {begin} on are not there: the back end has {length}; "
                "take a smaller block or begin earlier",
                {"size": size, "offset": begin, "back end": length},
            )
    return None


def _axis_attribute(default: str, *choices: str) -> Attribute:
    help = "Along which axis; a vector has but one, and needs none stated."
    return Attribute("axis", "choice", help, default=default, choices=choices)


SIDES = ("channels", "depth", "height", "width")
THREE: tuple[tuple[int, int], ...] = ((1, 1), (2, 2), (3, 3))

INJECT = ConnectionSymbol(
    id="inject",
    title="injecting",
    mark="⊕",
    formula="0 … 0, Y, 0 … 0",
    ranks=THREE,
    forward=inject,
    back=_inject_back,
    problem=_inject_problem,
    lays_along=lambda shape, attributes: _axis(len(shape), attributes),
    attributes=(
        _axis_attribute("channels", *SIDES),
        Attribute(
            "offset",
            "size",
            "Where the block begins, counted from 0; behind the injection drawn before it when empty.",
            inferred=True,
            letter="o",
            minimum=0,
        ),
        Attribute(
            "size",
            "size",
            "Size of the front end along the axis; the sum of all injections when empty.",
            inferred=True,
            letter="n",
        ),
    ),
    samples=(
        Sample({}, (3,)),
        Sample({"offset": 1, "size": 5}, (2, 3, 2)),
        Sample({"axis": "width", "offset": 2}, (2, 2, 3), front=(2, 2, 5)),
        Sample({"axis": "depth", "size": 4}, (1, 3, 2, 2)),
    ),
    refusals=(
        Refusal({"offset": 2, "size": 4}, (3,), "structure-mismatch"),
        Refusal({"axis": "depth"}, (3, 2, 2), "structure-mismatch"),
        Refusal({}, (3, 2, 2), "structure-mismatch", front=(2, 2, 2)),
        Refusal({}, (3, 2, 2), "rank-mismatch", front_rank=1),
    ),
)

SELECT = ConnectionSymbol(
    id="select",
    title="selecting",
    mark="⊖",
    formula="Y_{o+1}, …, Y_{o+n}",
    ranks=THREE,
    forward=select,
    solve=_select_solve,
    back=_select_back,
    problem=_select_problem,
    attributes=(
        _axis_attribute(POSITIONS, POSITIONS, *SIDES),
        Attribute("offset", "axes", "Where the block begins, counted from 0.", default=0, minimum=0, axes=0),
        Attribute(
            "size", "axes", "Size of the block along the axis, or along all of its positions.", letter="n", axes=0
        ),
    ),
    samples=(
        Sample({"offset": 1, "size": 2}, (4,)),
        Sample({"offset": (1, 0), "size": (2, 3)}, (2, 4, 3)),
        Sample({"offset": 1}, (2, 4, 5), front=(2, 2, 3)),
        Sample({"axis": "channels", "size": 1, "offset": 2}, (3, 2, 2)),
        Sample({"size": 1}, (2, 2, 3, 2)),
        Sample({"axis": "depth", "size": 2}, (1, 3, 2, 2), dtype="int64"),
    ),
    refusals=(
        Refusal({"size": 5}, (4,), "structure-mismatch"),
        Refusal({"axis": "height", "size": 3}, (4,), "structure-mismatch"),
        Refusal({}, (1, 4, 4), "missing-attribute"),
        Refusal({"axis": "channels", "size": (1, 2)}, (3, 4, 4), "attributes-clash"),
        Refusal({"size": (1, 2)}, (1, 2, 4, 4), "structure-mismatch"),
        Refusal({"offset": 1, "size": 4}, (1, 4, 4), "structure-mismatch"),
    ),
)

SYMBOLS = (INJECT, SELECT)
