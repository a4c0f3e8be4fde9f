"""The opaque capsule: an operator of an imported model for which the catalogue has no symbol."""

from __future__ import annotations

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import Shape, product
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.port import MAIN_PORT, Port
from inkcap.symbols.symbol import CapsuleSymbol, Given, Glyph, Problem, Refusal


def opaque(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Stands for an operator that has no symbol: it tells its name and what it gives, and computes nothing.

    The numbers that enter it lie one behind another, and so do those that it gives.
    """
    # Only the structure is meant: the check refuses a network with such a capsule before anything is computed.
    return op.repeat(op.total(u, axes=(-1,), keep=False), before=(product(attributes["shape"] or (1,)),), after=())


def _unknown(shape: Shape, attributes: Attributes) -> Problem:
    operator = attributes["operator"] or "an operator"
    return Problem(
        "opaque-operator",
        f"{operator} of an imported model has no symbol, so the network can be looked at but neither computed nor "
        "trained: put capsules that do the same in its place, or import the model only up to here",
        {"operator": operator},
    )


OPAQUE = CapsuleSymbol(
    id="opaque",
    title="opaque",
    titled=lambda attributes: str(attributes.get("operator") or "opaque"),
    family="opaque",
    ranks=(1,),
    glyph=Glyph(
        "M-.14 -.12C-.14 -.32 .16 -.32 .16 -.12C.16 .02 0 0 0 .14M0 .28V.28", "#5f6676", "#f3f3f1", broken=True
    ),
    formula="not known here",
    forward=opaque,
    ports=(Port(MAIN_PORT, "All that enters the operator, each as a vector, one behind another.", "gathers"),),
    problem=_unknown,
    own_attributes=(
        Attribute("operator", "text", "Name of the operator in the model that was imported.", default="operator"),
        Attribute("shape", "shape", "Sizes of what it gives, channels first.", inferred=True),
    ),
    samples=(),
    refusals=(Refusal({"operator": "TopK", "shape": (2, 3, 4)}, (5,), "opaque-operator"),),
)

SYMBOLS = (OPAQUE,)
