"""Forward passes in numbers of 16 bits: fast where the device has units for them, with weights that stay as drawn.

Autocast chooses operation by operation: products and convolutions are narrow, sums and normalisations are not. Losses
are computed from outputs in float32. Small gradients are 0 in float16, so the loss is scaled up before they are taken,
and they are scaled down before the weights move; a step whose gradients overflow is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from inkcap.network import Network, structure_of
from inkcap.recipes import Recipe
from inkcap.recipes.engines import AS_DRAWN
from inkcap.structures import FLOATING
from inkcap.training.engines import choice
from inkcap.training.errors import TrainingError
from inkcap.training.optimisers import NARROW
from inkcap.training.scores import outputs_of

if TYPE_CHECKING:
    from inkcap.training.session import Course

_TYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


def check_precision(recipe: Recipe, network: Network, device: torch.device) -> None:
    """Refuse a precision in which the drawing, or the device, cannot compute."""
    wanted = recipe.precision
    if wanted == AS_DRAWN:
        return
    place = f"recipe.precision: {wanted}"
    if network.plain is not None:
        raise TrainingError(f"{place} is not for plain neurons, whose kernels compute as drawn; give {AS_DRAWN}.")
    drawn = {structure_of(capsule).dtype for capsule in network.capsules.values()}
    if other := sorted((drawn & set(FLOATING)) - {"float32"}):
        raise TrainingError(
            f"{place} is for drawings in float32, and this one uses {', '.join(other)}; give {AS_DRAWN}, or draw with "
            "float32."
        )
    if device.type not in ("cpu", "cuda"):
        raise TrainingError(f"{place} is computed on cpu and cuda, not on {device.type}; give {AS_DRAWN}.")
    if device.type == "cuda" and wanted == "bfloat16" and not torch.cuda.is_bf16_supported():
        raise TrainingError(f"{place}: this device has no bfloat16; give float16 or {AS_DRAWN}.")


def forward_of(course: Course, wrapped: torch.nn.Module | None = None) -> Callable[..., Sequence[Tensor]]:
    """Give the forward pass of a course, maybe wrapped, in the precision of its recipe; outputs come wide."""
    module, device = wrapped or course.module, course.training.device.type
    if course.recipe.precision == AS_DRAWN:
        return lambda *inputs: outputs_of(module(*inputs))
    dtype = _TYPES[course.recipe.precision]

    def forward(*inputs: Tensor) -> list[Tensor]:
        with torch.autocast(device, dtype):
            made = outputs_of(module(*inputs))
        return [value.float() if value.dtype in NARROW else value for value in made]

    return forward


def make_scaler(recipe: Recipe, device: torch.device) -> torch.amp.GradScaler | None:
    """Give what scales the loss, where the precision needs it; bfloat16 reaches as far as float32 and does not."""
    return torch.amp.GradScaler(device.type) if recipe.precision == "float16" else None


def narrow_choice(device: str, pictures: bool, threads: int) -> choice.Choice:
    """Choose how narrow steps are computed, by what they are computed on: matrix units of a GPU take channels last."""
    layout = choice.CHANNELS_LAST if device == "cuda" and pictures else choice.AS_DRAWN
    return choice.Choice("eager", layout, threads)
