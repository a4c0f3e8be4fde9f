"""Exchange: drawings go out as PyTorch, Keras, ONNX and weights, each proven, and models come in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inkcap.structures.lazy import later

if TYPE_CHECKING:
    from inkcap.exchange.exporting import (
        Exported,
        ExportError,
        export_keras,
        export_onnx,
        export_program,
        export_safetensors,
        export_torch,
    )
    from inkcap.exchange.importing import Imported, ImportRefused, from_torch, import_onnx
    from inkcap.exchange.onnx_answers import by_onnxruntime
    from inkcap.exchange.proof import NotProven, Proof, prove_torch
    from inkcap.exchange.torch_file import TorchFile, print_torch

_EXPORTING, _PROOF, _TORCH_FILE = "inkcap.exchange.exporting", "inkcap.exchange.proof", "inkcap.exchange.torch_file"
_IMPORTING = "inkcap.exchange.importing"

# Imported when they are asked for: the limited process that reads foreign files has no room for torch.
__getattr__ = later(
    __name__,
    {
        "ExportError": _EXPORTING,
        "Exported": _EXPORTING,
        "ImportRefused": _IMPORTING,
        "Imported": _IMPORTING,
        "NotProven": _PROOF,
        "Proof": _PROOF,
        "TorchFile": _TORCH_FILE,
        "by_onnxruntime": "inkcap.exchange.onnx_answers",
        "export_keras": _EXPORTING,
        "export_onnx": _EXPORTING,
        "export_program": _EXPORTING,
        "export_safetensors": _EXPORTING,
        "export_torch": _EXPORTING,
        "from_torch": _IMPORTING,
        "import_onnx": _IMPORTING,
        "print_torch": _TORCH_FILE,
        "prove_torch": _PROOF,
    },
)

__all__ = [
    "ExportError",
    "Exported",
    "ImportRefused",
    "Imported",
    "NotProven",
    "Proof",
    "TorchFile",
    "by_onnxruntime",
    "export_keras",
    "export_onnx",
    "export_program",
    "export_safetensors",
    "export_torch",
    "from_torch",
    "import_onnx",
    "print_torch",
    "prove_torch",
]
