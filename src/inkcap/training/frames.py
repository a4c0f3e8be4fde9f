"""Frames as weights: the tensors of a file, and those of an epoch of a run."""

from collections.abc import Mapping
from pathlib import Path

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor

from inkcap.recipes import RunFolderError
from inkcap.recipes.frames import LARGEST, keep_frame, read_frame


def keep_weights(run: Path, epoch: int, weights: Mapping[str, Tensor]) -> None:
    """Keep weights as the frame of an epoch; larger ones than a frame may be are not kept."""
    if sum(value.numel() * value.element_size() for value in weights.values()) <= LARGEST:
        keep_frame(run, epoch, safetensors.torch.save({name: value.contiguous() for name, value in weights.items()}))


def read_frame_weights(path: Path) -> dict[str, Tensor]:
    """Read the weights of a frame, its check sum compared."""
    try:
        return safetensors.torch.load(read_frame(path))
    except SafetensorError as problem:
        raise RunFolderError(f"{path.name}: no weights can be read from it ({problem}).") from None
