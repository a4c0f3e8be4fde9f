"""Inference: networks with their weights as folded, frozen programs."""

from inkcap.engine.inference.program import USUAL_BATCH, Frozen, freeze, freeze_module

__all__ = ["USUAL_BATCH", "Frozen", "freeze", "freeze_module"]
