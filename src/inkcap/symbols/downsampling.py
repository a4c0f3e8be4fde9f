"""Capsule symbols that make structures smaller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from inkcap.operations import ShapeError, Trace, Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import PartialShape, Shape, ceiling_quotient, named
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.symbol import CapsuleSymbol, Given, Glyph, Problem, Refusal, Sample, Weight

TITLES = {"max": "maximum", "average": "average", "sum": "sum", "L2": "L2"}


def downsampling(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Keeps one number of every window λ×τ, matrix by matrix: the largest, the mean, the sum or √Σ².

    With bins there are so many windows, whatever the size. A coefficient multiplies what is kept, and a shift is
    added.
    """
    if attributes["bins"] is None:
        kept = _kept(u, attributes, attributes["window"] or _unknown(u), _stride(attributes) or _unknown(u))
    else:
        kept = _in_bins(u, attributes)
    if attributes["coefficient"] == "none":
        return kept
    flat = op.reshape(kept, shape=_maps(kept.shape)) if _per_layer(kept.shape, attributes) else kept
    scaled = op.bias(op.scale(flat, given["coefficient"], per="channel"), given["shift"], per="channel")
    return op.reshape(scaled, shape=kept.shape) if flat is not kept else scaled


def _per_layer(shape: Shape, attributes: Attributes) -> bool:
    return attributes["coefficient"] == "map" and len(shape) == 4


def _maps(shape: Shape) -> Shape:
    """Give the layers of a volume array as channels."""
    return (shape[0] * shape[1], *shape[2:])


def _unknown(u: Traced) -> Shape:
    return tuple(named(letter) for letter in ("λ′", "λ", "τ")[1 - len(u.shape) :])


def _kept(u: Traced, attributes: Attributes, window: Shape, stride: Shape, **fixed: Any) -> Traced:
    places = {"window": window, "stride": stride, "padding": attributes["padding"], "edge": attributes["edge"], **fixed}
    kind = attributes["kind"]
    if kind == "max":
        return op.window_max(u, **places)
    if kind == "average":
        return op.window_mean(u, **places, count_padding=attributes["count_padding"])
    return op.window_sum(u, **places) if kind == "sum" else op.root(op.window_sum(op.multiply(u, u), **places))


def _in_bins(u: Traced, attributes: Attributes) -> Traced:
    bins, kind, sizes = attributes["bins"], attributes["kind"], u.shape[1:]
    if any(isinstance(a, int) and a < n for a, n in zip(sizes, bins, strict=True)):
        raise ShapeError(f"{'×'.join(map(str, sizes))} does not divide into {'×'.join(map(str, bins))} bins")
    if attributes["bin_rule"] == "even" and kind in ("max", "average"):
        return (op.bins_max if kind == "max" else op.bins_mean)(u, bins=bins)
    window = tuple(ceiling_quotient(a, n) for a, n in zip(sizes, bins, strict=True))
    stride = tuple(a // n for a, n in zip(sizes, bins, strict=True))
    kept = _kept(u, attributes, window, stride, padding=(0,) * len(bins), edge="floor")
    # Windows ⌈a/n⌉ by steps ⌊a/n⌋ may be more than n: the first n count.
    wanted = (u.shape[0], *bins)
    if all(isinstance(size, int) for size in kept.shape) and kept.shape != wanted:
        return op.block(kept, first=(0,) * len(wanted), sizes=(None, *bins))
    return kept


def _coefficients(shapes: Mapping[str, Shape], attributes: Attributes) -> Mapping[str, Weight]:
    if attributes["coefficient"] == "none":
        return {}
    kept = downsampling(Trace().value(shapes["in"], "float32"), {}, {**attributes, "coefficient": "none"}).shape
    count = _maps(kept)[0] if _per_layer(kept, attributes) else kept[0]
    return {"coefficient": Weight((count,), initialiser="ones"), "shift": Weight((count,), initialiser="zeros")}


def _stride(attributes: Attributes) -> tuple[int, ...] | None:
    return cast("tuple[int, ...] | None", attributes["stride"] or attributes["window"])


def _problem(shape: Shape, attributes: Attributes) -> Problem | None:
    window, bins = attributes["window"], attributes["bins"]
    axes = len(shape) - 1
    if (window is None) == (bins is None):
        both = "has both a window and bins, and each tells the sizes" if bins else "needs a window, or bins"
        return Problem(
            "missing-attribute" if bins is None else "attributes-clash",
            f"it {both}: set window, e.g. {'×'.join(['2'] * axes)}, for windows of this size, or bins for so many of "
            "them (1 takes the whole map); one of the two",
            {"window": window, "bins": bins},
            {"bins": None} if bins else {"window": (2,) * axes},
        )
    if bins is not None:
        return _bin_problem(shape, attributes)
    return _window_problem(shape, attributes)


def _bin_problem(shape: Shape, attributes: Attributes) -> Problem | None:
    bins, kind = attributes["bins"], attributes["kind"]
    uneven = [(a, n) for a, n in zip(shape[1:], bins, strict=True) if isinstance(a, int) and a % n]
    if uneven and attributes["bin_rule"] == "even" and kind in ("sum", "L2"):
        return Problem(
            "window-does-not-divide",
            f"{uneven[0][0]} does not divide into {uneven[0][1]} equal bins, and the {kind} of unequal ones would not "
            "compare; bin_rule 'pyramid' takes equal windows that overlap",
            {"size": uneven[0][0], "bins": uneven[0][1]},
            {"bin_rule": "pyramid"},
        )
    return None


def _window_problem(shape: Shape, attributes: Attributes) -> Problem | None:
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
    names = ("depth", "height", "width")[-len(window) :]
    for axis, size, m, s, p in zip(names, shape[1:], window, stride or window, padding, strict=True):
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
    stride, padding = _stride(attributes), attributes["padding"]
    if attributes["window"] is None or stride is None:
        return (front[0], *(None,) * (len(front) - 1))
    sizes: list[int | None] = []
    for count, m, s, p in zip(front[1:], attributes["window"], stride, padding, strict=True):
        # Only the strict edge rule makes the count of windows tell the size.
        solvable = count is not None and attributes["edge"] == "error"
        sizes.append((count - 1) * s + m - 2 * p if count is not None and solvable else None)
    return (front[0], *sizes)


def _choice(name: str, help: str, *choices: str) -> Attribute:
    return Attribute(name, "choice", help, default=choices[0], choices=choices)


DOWNSAMPLING = CapsuleSymbol(
    id="downsampling",
    title="maximum downsampling",
    titled=lambda attributes: f"{TITLES[attributes.get('kind') or 'max']} downsampling",
    family="downsampling",
    ranks=(2, 3),
    glyph=Glyph("M0 -.3V.26M-.2 .06L0 .28L.2 .06", "#2a63c9", "#e6eefb"),
    formula="Y_{ij} = max { U_{st} : (i−1)λ < s ≤ iλ, (j−1)τ < t ≤ jτ }, or their mean, sum, √Σ²",
    forward=downsampling,
    parameters=_coefficients,
    back=_back,
    problem=_problem,
    own_attributes=(
        _choice("kind", "What is kept of a window: the largest number, the mean, the sum, or √Σ².", *TITLES),
        Attribute("window", "axes", "Downsampling window λ×τ: rows and columns of a block.", None, True, "λ×τ", axes=0),
        Attribute(
            "stride", "axes", "Steps from window to window; the window itself when empty.", inferred=True, axes=0
        ),
        Attribute("padding", "axes", "Rows and columns added around, never the largest.", default=0, minimum=0, axes=0),
        _choice(
            "edge",
            "When windows do not divide the size: refuse (error), drop the rest (floor), or take a smaller last "
            "window that begins inside (ceil).",
            *("error", "floor", "ceil"),
        ),
        Attribute("count_padding", "flag", "Whether the mean of a window counts the padding in it.", default=True),
        Attribute(
            "bins",
            "axes",
            "So many windows along each axis instead of windows of one size; 1 takes the whole map.",
            inferred=True,
            axes=0,
        ),
        _choice(
            "bin_rule",
            "How n bins lie on a size a: 'even' from ⌊ia/n⌋ to ⌈(i+1)a/n⌉, 'pyramid' windows ⌈a/n⌉ by steps ⌊a/n⌋.",
            *("even", "pyramid"),
        ),
        _choice(
            "coefficient",
            "Numbers that it learns, to multiply what is kept and to add to it: none, one of each per channel, or per "
            "map (each layer of a volume is one).",
            *("none", "channel", "map"),
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
        Sample({"window": (2, 1, 2), "padding": (1, 0, 0), "edge": "ceil"}, (2, 2, 3, 5)),
        Sample({"kind": "average", "window": (3, 3), "stride": (2, 2), "padding": (1, 1), "edge": "ceil"}, (2, 6, 5)),
        Sample({"kind": "average", "window": 2, "padding": 1, "edge": "ceil", "count_padding": False}, (1, 2, 3, 2)),
        Sample({"kind": "sum", "window": (2, 3), "padding": (1, 1), "edge": "ceil"}, (2, 4, 3)),
        Sample({"kind": "L2", "window": 3, "stride": 1, "padding": 1}, (2, 3, 4)),
        Sample({"bins": (2, 3)}, (2, 5, 4)),
        Sample({"kind": "average", "bins": 2}, (1, 3, 2, 3)),
        Sample({"bins": 3, "bin_rule": "pyramid"}, (1, 5, 6)),
        Sample({"kind": "L2", "bins": 1}, (2, 3, 2)),
        Sample({"kind": "sum", "window": 2, "coefficient": "channel"}, (2, 2, 4)),
        Sample({"kind": "sum", "window": (1, 2, 2), "coefficient": "map"}, (2, 3, 2, 4)),
        Sample({"kind": "sum", "window": (1, 2, 2), "coefficient": "channel"}, (2, 2, 2, 2)),
    ),
    refusals=(
        Refusal({"window": (2, 2)}, (1, 5, 4), "window-does-not-divide"),
        Refusal({"window": (6, 2)}, (1, 5, 4), "window-too-large"),
        Refusal({"window": (2, 2), "padding": (2, 0)}, (1, 4, 4), "padding-too-large"),
        Refusal({}, (1, 4, 4), "missing-attribute"),
        Refusal({"window": 2, "bins": 2}, (1, 4, 4), "attributes-clash"),
        Refusal({"bins": 5}, (1, 4, 6), "structure-mismatch"),
        Refusal({"kind": "sum", "bins": 2}, (1, 5, 4), "window-does-not-divide"),
        Refusal({"window": (2, 2)}, (1, 4, 4), "not-floating", dtype="int64"),
    ),
)

SYMBOLS = (DOWNSAMPLING,)
