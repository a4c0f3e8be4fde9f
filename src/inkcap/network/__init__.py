"""Networks: drawings that were checked, with structures, costs and diagnostics."""

from inkcap.network.check import check
from inkcap.network.diagnostics import RULES, Diagnostic
from inkcap.network.network import CheckedCapsule, CheckedConnection, CheckedPart, Network, WeightRecord, structure_of
from inkcap.network.report import NotWellFormed, Report

__all__ = [
    "RULES",
    "CheckedCapsule",
    "CheckedConnection",
    "CheckedPart",
    "Diagnostic",
    "Network",
    "NotWellFormed",
    "Report",
    "WeightRecord",
    "check",
    "structure_of",
]
