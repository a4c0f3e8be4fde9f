"""Importing: foreign models become drawings with weights.

What is imported when it is first asked for needs torch; the limited process, which reads files, does without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inkcap.exchange.importing.errors import ImportRefused
from inkcap.structures.lazy import later

if TYPE_CHECKING:
    from inkcap.exchange.importing.importing import Imported, from_torch, import_onnx, read_pt

__getattr__ = later(
    __name__,
    dict.fromkeys(("Imported", "from_torch", "import_onnx", "read_pt"), "inkcap.exchange.importing.importing"),
)

__all__ = ["ImportRefused", "Imported", "from_torch", "import_onnx", "read_pt"]
