"""Exchange: drawings go out as PyTorch, Keras, ONNX and weights, each proven against the drawing."""

from inkcap.exchange.exporting import (
    Exported,
    ExportError,
    export_keras,
    export_onnx,
    export_safetensors,
    export_torch,
)
from inkcap.exchange.proof import NotProven, Proof, prove_torch
from inkcap.exchange.torch_file import TorchFile, print_torch

__all__ = [
    "ExportError",
    "Exported",
    "NotProven",
    "Proof",
    "TorchFile",
    "export_keras",
    "export_onnx",
    "export_safetensors",
    "export_torch",
    "print_torch",
    "prove_torch",
]
