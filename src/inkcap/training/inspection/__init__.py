"""Inspection: what the capsules of a run hold and do, which samples it takes for what, and what it answers."""

from inkcap.training.inspection.questions import Inspection, ask

__all__ = ["Inspection", "ask"]
