"""Networks: drawings that were checked, with structures, costs and diagnostics."""

from inkcap.drawing import Drawing
from inkcap.network.check import check
from inkcap.network.diagnostics import RULES, Diagnostic
from inkcap.network.memory import Memory
from inkcap.network.network import CheckedCapsule, CheckedConnection, CheckedPart, Network, WeightRecord, structure_of
from inkcap.network.plain import PlainFacts
from inkcap.network.plain_form import as_plain
from inkcap.network.report import NotWellFormed, Report


def _shown(drawing: Drawing) -> str:
    from inkcap.network.picture import picture_of

    return picture_of(check(drawing))


Drawing.painted_by = _shown

__all__ = [
    "RULES",
    "CheckedCapsule",
    "CheckedConnection",
    "CheckedPart",
    "Diagnostic",
    "Memory",
    "Network",
    "NotWellFormed",
    "PlainFacts",
    "Report",
    "WeightRecord",
    "as_plain",
    "check",
    "structure_of",
]
