"""Weights as safetensors, written piece by piece: what one number states need never lie in memory as a whole."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from inkcap.exchange.importing.graph import Constant

CHUNK = 1 << 22
"""Numbers that are written at a time."""


def write_weights(path: Path, weights: Mapping[str, Constant]) -> None:
    """Write constants as float32 under their names in the drawing."""
    header: dict[str, object] = {}
    offset = 0
    for name, constant in weights.items():
        size = 4 * math.prod(constant.shape)
        header[name] = {"dtype": "F32", "shape": list(constant.shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for constant in weights.values():
            numbers = constant.array()
            if not numbers.ndim:
                file.write(np.asarray(numbers, "<f4").tobytes())
                continue
            rows = max(1, CHUNK // max(1, math.prod(numbers.shape[1:])))
            for start in range(0, len(numbers), rows):
                file.write(np.ascontiguousarray(numbers[start : start + rows], "<f4").tobytes())
