"""Capsule symbols that make structures smaller."""

from __future__ import annotations

from typing import cast

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import PartialShape, Shape
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.symbol import CapsuleSymbol, Given, Glyph, Problem, Refusal, Sample


def downsampling(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Keeps the largest number of every window λ×τ, matrix by matrix."""
    return op.window_max(
        u,
        window=attributes["window"],
        stride=_stride(attributes),
        padding=attributes["padding"],
        edge=attributes["edge"],
    )


def _stride(attributes: Attributes) -> tuple[int, ...]:
    return cast("tuple[int, ...]", attributes["stride"] or attributes["window"])


def _problem(shape: Shape, attributes: Attributes) -> Problem | None:
    window, stride, padding = attributes["window"], _stride(attributes), attributes["padding"]
    for m, p in zip(window, padding, strict=True):
        if 2 * p > m:
            return Problem(
                "padding-too-large",
                f"padding {p} is more than half of the window's {m}: a window could lie in the padding alone; "
                f"set the padding to {m // 2} at most",
                {"padding": p, "window": m},
                {"padding": tuple(min(p, m // 2) for m, p in zip(window, padding, strict=True))},
            )
    for axis, size, m, s, p in zip(("height", "width"), shape[1:], window, stride, padding, strict=True):
        room = size + 2 * p - m
        if not isinstance(room, int) or room < 0 or room % s == 0 or attributes["edge"] != "error":
            continue
        return Problem(
            "window-does-not-divide",
            f"the {axis} {size} does not divide into windows of {m} by steps of {s}: {room % s} would be left over; "
            f"edge 'floor' drops them ({room // s + 1} windows), 'ceil' adds a smaller window ({room // s + 2})",
            {"axis": axis, "size": size, "window": m, "stride": s, "rest": room % s},
            {"edge": "floor"},
        )
    return None


def _back(front: PartialShape, attributes: Attributes) -> PartialShape:
    if attributes["window"] is None:
        return (front[0], None, None)
    stride, padding = _stride(attributes), attributes["padding"]
    sizes: list[int | None] = []
    for count, m, s, p in zip(front[1:], attributes["window"], stride, padding, strict=True):
        # Only the strict edge rule makes the count of windows tell the size.
        solvable = count is not None and attributes["edge"] == "error"
        sizes.append((count - 1) * s + m - 2 * p if count is not None and solvable else None)
    return (front[0], *sizes)


DOWNSAMPLING = CapsuleSymbol(
    id="downsampling",
    title="maximum downsampling",
    family="downsampling",
    ranks=(2,),
    glyph=Glyph("M0 -.3V.26M-.2 .06L0 .28L.2 .06", "#2a63c9", "#e6eefb"),
    formula="Y_{ij} = max { U_{st} : (i−1)λ < s ≤ iλ, (j−1)τ < t ≤ jτ }",
    forward=downsampling,
    back=_back,
    problem=_problem,
    own_attributes=(
        Attribute("window", "axes", "Downsampling window λ×τ: rows and columns of a block.", letter="λ×τ"),
        Attribute("stride", "axes", "Steps from window to window; the window itself when empty.", inferred=True),
        Attribute("padding", "axes", "Rows and columns added around, never chosen.", default=(0, 0), minimum=0),
        Attribute(
            "edge",
            "choice",
            "When windows do not divide the size: refuse (error), drop the rest (floor), or take a smaller last "
            "window (ceil).",
            default="error",
            choices=("error", "floor", "ceil"),
        ),
    ),
    samples=(
        Sample({"window": (2, 2)}, (2, 4, 6)),
        Sample({"window": (2, 1)}, (1, 4, 4)),
        Sample({"window": (3, 3), "stride": (2, 2)}, (2, 7, 5)),
        Sample({"window": (3, 3), "stride": (2, 2), "padding": (1, 1), "edge": "floor"}, (1, 6, 5)),
        Sample({"window": (2, 2), "edge": "ceil"}, (1, 5, 5)),
        Sample({"window": (2, 2), "edge": "floor"}, (1, 5, 5)),
        Sample({"window": (3, 2), "stride": (2, 3), "padding": (1, 0), "edge": "ceil"}, (2, 6, 6)),
    ),
    refusals=(
        Refusal({"window": (2, 2)}, (1, 5, 4), "window-does-not-divide"),
        Refusal({"window": (6, 2)}, (1, 5, 4), "window-too-large"),
        Refusal({"window": (2, 2), "padding": (2, 0)}, (1, 4, 4), "padding-too-large"),
        Refusal({}, (1, 4, 4), "missing-attribute"),
        Refusal({"window": (2, 2)}, (1, 4, 4), "not-floating", dtype="int64"),
    ),
)

SYMBOLS = (DOWNSAMPLING,)
