"""Capsule symbols with several ports: product and mask."""

from __future__ import annotations

from collections.abc import Mapping

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import PartialShape, product
from inkcap.symbols.attributes import Attributes
from inkcap.symbols.port import MAIN, Port
from inkcap.symbols.symbol import CapsuleSymbol, Given, Glyph, Refusal, Sample, keep_shape


def times(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Multiplies what enters its two ports, element by element: a gate."""
    return op.multiply(u, given["by"])


def mask(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Keeps the row whose label is the largest, or the longest row where all labels are zero; the rest gets zero.

    All is laid out as a vector.
    """
    channels, _, width = u.shape
    labelled = op.otherwise(given["label"], op.norm(u, axes=(-3, -1)))
    chosen = op.repeat(op.largest(labelled), before=(channels,), after=(width,))
    return op.reshape(op.multiply(u, chosen), shape=(product(u.shape),))


def _equal_factors(ports: Mapping[str, PartialShape], attributes: Attributes) -> Mapping[str, PartialShape]:
    return {"in": ports["by"], "by": ports["in"]}


def _one_label_a_row(ports: Mapping[str, PartialShape], attributes: Attributes) -> Mapping[str, PartialShape]:
    return {"in": (None, ports["label"][0], None), "label": (ports["in"][1],)}


PRODUCT = CapsuleSymbol(
    id="product",
    title="product",
    family="ports",
    ranks=(0, 1, 2, 3),
    glyph=Glyph("M-.22 -.22L.22 .22M-.22 .22L.22 -.22", "#8a4b12", "#f8ecdf"),
    formula="Y = U ∘ U^{by}",
    forward=times,
    ports=(MAIN, Port("by", "The other factor, summed over all connections that enter here.")),
    back=keep_shape,
    meet=_equal_factors,
    samples=(
        Sample({}, (), ports={"by": ()}),
        Sample({}, (5,), ports={"by": (5,)}),
        Sample({}, (2, 3, 4), ports={"by": (2, 3, 4)}),
        Sample({}, (2, 2, 3, 2), ports={"by": (2, 2, 3, 2)}),
    ),
    refusals=(
        Refusal({}, (3,), "structure-mismatch", ports={"by": (4,)}),
        Refusal({}, (3,), "no-input"),
        Refusal({}, (3,), "unknown-port", ports={"by": (3,), "labels": (3,)}),
        Refusal({}, (3,), "rank-mismatch", ports={"by": (2, 3, 1)}),
    ),
)

MASK = CapsuleSymbol(
    id="mask",
    title="mask",
    family="ports",
    ranks=(2,),
    glyph=Glyph("M-.3 -.24H.3M-.3 .24H.3M-.3 -.06H.3V.06H-.3Z", "#8a4b12", "#f8ecdf"),
    formula="Y = U_j for the largest U^{label}_j (the largest ‖U_j‖ without labels), else 0",
    forward=mask,
    ports=(
        MAIN,
        Port(
            "label", "One number for each row: a one-hot label, or scores; zeros where there is none.", "single", {2: 1}
        ),
    ),
    output_ranks={2: 1},
    meet=_one_label_a_row,
    samples=(Sample({}, (1, 4, 3), ports={"label": (4,)}), Sample({}, (2, 3, 2), ports={"label": (3,)})),
    refusals=(
        Refusal({}, (1, 4, 3), "structure-mismatch", ports={"label": (5,)}),
        Refusal({}, (1, 4, 3), "no-input"),
        Refusal({}, (1, 4, 3), "rank-mismatch", ports={"label": (4, 1, 1)}),
        Refusal({}, (1, 4, 3), "not-floating", ports={"label": (4,)}, dtype="int64"),
    ),
)

SYMBOLS = (PRODUCT, MASK)
