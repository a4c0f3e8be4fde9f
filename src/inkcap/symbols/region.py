"""Region: what maps hold inside of boxes, brought to one size; the second stage of a detector begins with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inkcap.operations import ShapeError, Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import PartialShape
from inkcap.symbols.anchors import INK, WASH, listed, numbers
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.port import MAIN_PORT, Port, level_of, levels
from inkcap.symbols.symbol import CapsuleSymbol, Given, Glyph, Refusal, Sample


def region(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Cuts every box out of the maps and brings it to as many bins; the boxes are the depth of what it gives.

    Of several levels, the one is read whose stride fits the size of the box. No gradient passes to the boxes.
    """
    maps, strides = levels(u, given, MAIN_PORT), listed(attributes["strides"])
    at: dict[str, Any] = {"bins": attributes["bins"], "strides": strides, "usual": float(attributes["usual"])}
    boxes = op.boxes(given["boxes"])
    if len(strides) != len(maps):
        raise ShapeError(f"{len(maps)} levels need as many strides, not {len(strides)}")
    if attributes["kind"] == "maximum":
        return op.region_max(*maps, boxes, **at)
    return op.region_align(*maps, boxes, **at, samples=attributes["samples"], aligned=attributes["aligned"])


def _alike(ports: Mapping[str, PartialShape], attributes: Attributes) -> Mapping[str, PartialShape]:
    names = [level_of(MAIN_PORT, number) for number in range(len(ports) - 1)]
    channels = next((ports[name][0] for name in names if ports[name][0] is not None), None)
    return {**dict.fromkeys(names, (channels, None, None)), "boxes": (1, None, None)}


def _channels(front: PartialShape, attributes: Attributes) -> PartialShape:
    return (front[0], None, None)


MAP, BOXES = (2, 3, 4), {"boxes": (1, 3, 4)}

REGION = CapsuleSymbol(
    id="region",
    title="region",
    family="ports",
    items="maps",
    ranks=(2,),
    glyph=Glyph("M-.34 -.34H.34V.34H-.34ZM-.14 -.18H.22V.18H-.14ZM.04 -.18V.18M-.14 0H.22", INK, WASH),
    formula="Y_{c,k,i,j} = mean or maximum of U_c in bin i, j of box k",
    forward=region,
    ports=(
        Port("in", "Maps that are read: one, or the levels of a pyramid, the finest first.", kind="keeps"),
        Port("boxes", "Rows that end with a box, x1, y1, x2, y2 in pixels of the picture.", kind="single"),
    ),
    output_ranks={2: 3},
    back=_channels,
    meet=_alike,
    own_attributes=(
        Attribute(
            "kind",
            "choice",
            "The mean of samples between neighbours (RoIAlign), or the largest of whole places (RoIPool).",
            default="align",
            choices=("align", "maximum"),
        ),
        Attribute("bins", "axes", "Bins n along both axes of every box.", default=(7, 7), letter="n"),
        Attribute("samples", "size", "Samples along each axis of a bin, for the mean.", default=2),
        Attribute("aligned", "flag", "Whether a place of a map stands for its centre, half a place in.", default=False),
        Attribute("strides", "text", "Pixels between two places of each map, one number a level.", reads=numbers),
        Attribute("usual", "number", "Side of the boxes that are read at stride 16.", default=224, minimum=1e-3),
    ),
    samples=(
        Sample({"strides": "0.5", "bins": 2}, MAP, ports=BOXES),
        Sample({"strides": "0.5", "bins": (1, 2), "samples": 1, "aligned": True}, MAP, ports={"boxes": (1, 2, 6)}),
        Sample({"strides": "0.5", "bins": 2, "kind": "maximum"}, MAP, ports=BOXES),
        Sample({"strides": "0.5 1", "bins": 2, "usual": 16}, (1, 4, 4), ports={"in.1": (1, 2, 2), "boxes": (1, 4, 4)}),
        Sample(
            {"strides": "0.5 1", "bins": (2, 1), "usual": 16, "kind": "maximum"},
            (1, 4, 4),
            ports={"in.1": (1, 2, 2), "boxes": (1, 4, 4)},
        ),
    ),
    refusals=(
        Refusal({"strides": "4"}, MAP, "no-input"),
        Refusal({}, MAP, "missing-attribute", ports=BOXES),
        Refusal({"strides": "4 8"}, MAP, "structure-mismatch", ports=BOXES),
        Refusal({"strides": "4"}, MAP, "structure-mismatch", ports={"boxes": (1, 3, 3)}),
        Refusal({"strides": "4 8"}, MAP, "structure-mismatch", ports={"in.1": (3, 2, 2), "boxes": (1, 3, 4)}),
        Refusal({"strides": "4"}, MAP, "not-floating", ports=BOXES, dtype="int64"),
    ),
)

SYMBOLS = (REGION,)
