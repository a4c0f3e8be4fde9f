"""Selection: of many boxes with their scores, the few that are the best; what detectors end with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from inkcap.operations import ShapeError, Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import PartialShape, Shape, Size
from inkcap.symbols.anchors import (
    INK,
    PAIRED,
    PLACE,
    RATIOS,
    ROUNDING,
    SCALES_HELP,
    WASH,
    anchors_of,
    count_of,
    listed,
    numbers,
)
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.port import MAIN_PORT, Port, level_of, levels
from inkcap.symbols.symbol import CapsuleSymbol, Given, Glyph, Refusal, Sample

TINY = 1e-12
"""The smallest probability whose logarithm is taken."""


def selection(rows: Traced, given: Given, attributes: Attributes) -> Traced:
    """Gives the best of corrected boxes that overlap no better one of their kind: label, score, x1, y1, x2, y2.

    It chooses from candidates: offsets, scores and the box that is corrected, a row for each. Places that nothing fills
    are zeros, at the end. No gradient passes the choice; a loss is computed from the candidates.
    """
    image = (given["image"],) if "image" in given else ()
    counts = [rows.shape[1]]
    if "boxes" not in given:
        scales = _scales(1 + sum(name.startswith("scores.") for name in given), attributes)
        maps = levels(given["scores"], given, "scores")
        counts = [m.shape[1] * m.shape[2] * count_of(own, attributes) for m, own in zip(maps, scales, strict=True)]
    return op.select(
        rows,
        *image,
        scores=score_count({name: value.shape for name, value in given.items()}, attributes),
        count=attributes["count"],
        before=attributes["before"],
        levels=tuple(counts),
        overlap=float(attributes["overlap"]),
        least=float(attributes["least"]),
        smallest=float(attributes["smallest"]),
        variances=listed(attributes["variances"]),
        picture=attributes["picture"],
    )


def candidates(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Lay offsets, scores as logits and boxes into rows, one for each box."""
    if len(listed(attributes["variances"])) != 4:
        raise ShapeError(f"variances are four numbers, of dx, dy, dw and dh, not {attributes['variances']!r}")
    offsets, scores = levels(u, given, MAIN_PORT), levels(given["scores"], given, "scores")
    if len(offsets) != len(scores):
        raise ShapeError(f"offsets enter by {len(offsets)} connections, scores by {len(scores)}; each level has both")
    if "boxes" in given:
        if len(offsets) > 1:
            raise ShapeError(
                "with boxes, offsets and scores are the rows of one connection each; inject several into one"
            )
        _fit_rows(u.shape, given["scores"].shape)
        return op.concatenate(u, _logits(given["scores"], attributes), op.boxes(given["boxes"]), axis=2)
    parts: list[Traced] = []
    strides = _strides(len(offsets), attributes)
    for offset, score, scales, stride in zip(offsets, scores, _scales(len(offsets), attributes), strides, strict=True):
        count, kinds = count_of(scales, attributes), _kinds(score.shape[0], count_of(scales, attributes))
        if isinstance(offset.shape[0], int) and offset.shape[0] != 4 * count:
            raise ShapeError(f"{count} anchors a place need {4 * count} channels of offsets, not {offset.shape[0]}")
        rows = (_rows(offset, (count, 4)), _logits(_rows(score, (count, kinds), kinds > 1), attributes))
        parts.append(op.concatenate(*rows, anchors_of(offset, scales, stride, attributes), axis=2))
    return op.concatenate(*parts, axis=1) if len(parts) > 1 else parts[0]


def _rows(map: Traced, sizes: tuple[int, int], apart: bool = False) -> Traced:
    """Lay the numbers of each anchor of a map together, place by place; ``apart``, those of one kind lie together."""
    _, height, width = map.shape
    count, length = sizes
    if apart:
        split = op.reshape(map, shape=(length, count, height, width))
        return op.reshape(op.permute(split, order=(2, 3, 1, 0)), shape=(1, height * width * count, length))
    return op.reshape(op.permute(map, order=(1, 2, 0)), shape=(1, height * width * count, length))


def _logits(scores: Traced, attributes: Attributes) -> Traced:
    if not attributes["probabilities"]:
        return scores
    logarithm = op.curve(op.curve(scores, of="at_least", number=TINY, strict=True), of="log")
    if scores.shape[2] != 1:
        return logarithm
    rest = op.curve(scores, of="affine", scale=-1, shift=1)
    return op.subtract(logarithm, op.curve(op.curve(rest, of="at_least", number=TINY, strict=True), of="log"))


def _fit_rows(offsets: Shape, scores: Shape) -> None:
    width, kinds = offsets[2], scores[2]
    if isinstance(width, int) and isinstance(kinds, int) and width not in (4, 4 * kinds):
        raise ShapeError(f"rows of {width} offsets are neither 4 for all classes nor 4 for each of {kinds}")


def _kinds(channels: Size, count: int) -> int:
    """Tell how many scores an anchor has: one, or one for the background and one for an object."""
    if not isinstance(channels, int) or channels == count:
        return 1
    if channels != 2 * count:
        raise ShapeError(f"{count} anchors a place need {count} or {2 * count} channels of scores, not {channels}")
    return 2


def _scales(count: int, attributes: Attributes) -> list[tuple[float, ...]]:
    if attributes["scales"] is None:
        raise ShapeError("anchors need scales; state them, or let boxes enter the port boxes")
    found = listed(attributes["scales"])
    each = len(found) // count
    if len(found) % count:
        raise ShapeError(f"{len(found)} scales do not divide among {count} levels; state as many for each")
    return [found[i : i + each] for i in range(0, len(found), each)]


def _strides(count: int, attributes: Attributes) -> Sequence[float | None]:
    if attributes["strides"] is None:
        if attributes["picture"] is None:
            raise ShapeError("anchors need strides, or the size of the picture from which they follow")
        return [None] * count
    found = listed(attributes["strides"])
    if len(found) != count:
        raise ShapeError(f"{count} levels need as many strides, not {len(found)}")
    return found


def score_count(ports: Mapping[str, Shape], attributes: Attributes) -> int:
    """Count the scores of a candidate, C: one is "object or not", else the first is of the background."""
    scores = ports["scores"]
    if "boxes" in ports:
        return scores[2] if isinstance(scores[2], int) else 1
    maps = 1 + sum(name.startswith("scores.") for name in ports)
    return _kinds(scores[0], count_of(_scales(maps, attributes)[0], attributes))


def _meet(ports: Mapping[str, PartialShape], attributes: Attributes) -> Mapping[str, PartialShape]:
    if "boxes" in ports:
        rows = next((ports[name][1] for name in (MAIN_PORT, "scores", "boxes") if ports[name][1] is not None), None)
        return dict.fromkeys((MAIN_PORT, "scores", "boxes"), (1, rows, None))
    found: dict[str, PartialShape] = {}
    for number in range(len(ports)):
        one, other = level_of(MAIN_PORT, number), level_of("scores", number)
        if one in ports and other in ports:
            found |= {one: (None, *ports[other][1:]), other: (None, *ports[one][1:])}
    return found


def _share(name: str, help: str, default: float, most: float | None = 1) -> Attribute:
    return Attribute(name, "number", help, default=default, minimum=0, maximum=most)


ROWS: dict[str, Any] = {"scores": (1, 5, 3), "boxes": (1, 5, 4)}

SELECTION = CapsuleSymbol(
    id="selection",
    title="selection",
    family="ports",
    items="boxes",
    ranks=(2,),
    glyph=Glyph("M-.34 -.3H.06V.1H-.34ZM-.06 -.1V.3H.34V-.1ZM.04 .1L.12 .18L.26 .02", INK, WASH),
    formula="Y = label, score, box of the k best that overlap no better one by more than t",
    forward=selection,
    candidates=candidates,
    loss_from_input="boxes",
    ports=(
        Port("in", "Offsets dx, dy, dw, dh of boxes: rows, or maps, a level for each connection.", kind="keeps"),
        Port("scores", "Scores of the same boxes: rows, or maps, a level for each connection.", kind="keeps"),
        Port("boxes", "Rows that end with the boxes to correct; left open, they are anchors of the maps.", open=True),
        Port(
            "image",
            "Height, width and scale of the picture: boxes are cut there. It may be left open.",
            ranks={2: 1},
            open=True,
        ),
    ),
    meet=_meet,
    own_attributes=(
        Attribute("count", "size", "Boxes k that it gives at most.", default=100, letter="k"),
        Attribute("before", "size", "Boxes of each level, the best, that are compared at all.", default=1000),
        _share("overlap", "Overlap t, common area by joint area, beyond which the worse box goes.", 0.5),
        _share("least", "A box whose score is not above this goes.", 0),
        _share("smallest", "Pixels that both sides of a box must have, times the image's scale.", 0, None),
        Attribute(
            "variances", "text", "What dx, dy, dw and dh are multiplied by.", default="0.1 0.1 0.2 0.2", reads=numbers
        ),
        Attribute("probabilities", "flag", "Whether scores enter as probabilities, not as logits.", default=False),
        Attribute("picture", "axes", "Height and width of the picture: boxes are cut there.", inferred=True),
        Attribute("scales", "text", f"{SCALES_HELP}, as many for each level.", inferred=True, reads=numbers),
        RATIOS,
        Attribute(
            "strides",
            "text",
            "Pixels between two places of each level; left empty, the picture's size by the map's.",
            inferred=True,
            reads=numbers,
        ),
        PAIRED,
        ROUNDING,
        PLACE,
    ),
    samples=(
        Sample({"count": 4}, (1, 5, 4), ports=ROWS),
        Sample({"count": 3, "before": 4, "overlap": 0.3, "least": 0.2}, (1, 5, 12), ports=ROWS),
        Sample({"count": 6, "probabilities": True}, (1, 4, 4), ports={"scores": (1, 4, 1), "boxes": (1, 4, 6)}),
        Sample(
            {"count": 5, "scales": "3 5", "strides": "2", "picture": (5, 6)}, (8, 2, 2), ports={"scores": (2, 2, 2)}
        ),
        Sample(
            {"count": 4, "before": 3, "scales": "2 4", "ratios": "1 2", "picture": 8},
            (8, 2, 2),
            ports={"scores": (4, 2, 2), "in.1": (8, 1, 1), "scores.1": (4, 1, 1), "image": (3,)},
        ),
    ),
    refusals=(
        Refusal({}, (1, 5, 4), "no-input"),
        Refusal({}, (1, 5, 4), "structure-mismatch", ports={"scores": (1, 5, 3), "boxes": (1, 4, 4)}),
        Refusal({}, (1, 5, 8), "structure-mismatch", ports=ROWS),
        Refusal({}, (1, 5, 4), "structure-mismatch", ports={"scores": (1, 5, 3), "boxes": (1, 5, 3)}),
        Refusal({}, (4, 2, 2), "structure-mismatch", ports={"scores": (1, 2, 2)}),
        Refusal({"scales": "3"}, (4, 2, 2), "structure-mismatch", ports={"scores": (1, 2, 2)}),
        Refusal({"scales": "3", "strides": "2"}, (8, 2, 2), "structure-mismatch", ports={"scores": (1, 2, 2)}),
        Refusal({"scales": "3", "strides": "2"}, (4, 2, 2), "structure-mismatch", ports={"scores": (3, 2, 2)}),
        Refusal({"variances": "1 1"}, (1, 5, 4), "structure-mismatch", ports=ROWS),
        Refusal({"scales": "3", "strides": "2"}, (4, 2, 2), "not-floating", ports={"scores": (1, 2, 2)}, dtype="int64"),
    ),
)

SYMBOLS = (SELECTION,)
