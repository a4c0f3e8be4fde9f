"""Inference: networks with their weights as folded, frozen programs, and the other ways to answer."""

from inkcap.engine.inference.engines import (
    ENGINES,
    WORTH_FREEZING,
    Answerer,
    EngineError,
    EngineMaker,
    EngineName,
    make_answerer,
)
from inkcap.engine.inference.program import USUAL_BATCH, Frozen, freeze, freeze_module

__all__ = [
    "ENGINES",
    "USUAL_BATCH",
    "WORTH_FREEZING",
    "Answerer",
    "EngineError",
    "EngineMaker",
    "EngineName",
    "Frozen",
    "freeze",
    "freeze_module",
    "make_answerer",
]
