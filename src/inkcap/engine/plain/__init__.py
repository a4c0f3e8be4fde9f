"""Plain networks: scalar neurons on any directed acyclic graph, given by columns, compiled to kernels.

Nothing is compiled before the first network is, and the machine code is kept for the next process.
"""

from inkcap.engine.plain.columns import Columns, PlainColumns, PlainError
from inkcap.engine.plain.module import PlainModule
from inkcap.engine.plain.network import PlainNetwork
from inkcap.engine.plain.training import LOSSES, RULES, PlainTrainer, UpdateRule

__all__ = [
    "LOSSES",
    "RULES",
    "Columns",
    "PlainColumns",
    "PlainError",
    "PlainModule",
    "PlainNetwork",
    "PlainTrainer",
    "UpdateRule",
]
