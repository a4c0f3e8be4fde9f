"""Layers of torch that are several numbers or several operators: norms, and attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from inkcap.exchange.importing.aten import Calling, NotRead, at
from inkcap.exchange.importing.graph import BATCH


def _affine(c: Calling, scale: Any, shift: Any, count: int) -> tuple[str, str]:
    """Give a norm's scale and shift, or those that change nothing."""
    return (
        c.value(scale) or c.store(np.ones(count, np.float32)),
        c.value(shift) or c.store(np.zeros(count, np.float32)),
    )


def call_batch_norm(c: Calling, node: Any) -> None:
    """Read batch norm by running numbers."""
    x, scale, shift, mean, variance = node.args[:5]
    training, momentum, epsilon = node.args[5:8]
    if training or mean is None:
        raise NotRead
    count = c.constants[c.value(mean)].count
    numbers = (*_affine(c, scale, shift, count), c.value(mean), c.value(variance))
    c.add(node, "BatchNormalization", (c.value(x), *numbers), epsilon=epsilon, momentum=1 - momentum)


def call_layer_norm(c: Calling, node: Any) -> None:
    """Read layer norm."""
    x, over = node.args[0], tuple(node.args[1])
    scale, shift, epsilon = at(node, 2, "weight"), at(node, 3, "bias"), at(node, 4, "eps", 1e-5)
    inputs = (c.value(x), c.value(scale), c.value(shift))
    c.add(node, "LayerNormalization", inputs, axis=-len(over), epsilon=epsilon)


def call_group_norm(c: Calling, node: Any) -> None:
    """Read group norm."""
    x, groups = node.args[0], node.args[1]
    scale, shift, epsilon = at(node, 2, "weight"), at(node, 3, "bias"), at(node, 4, "eps", 1e-5)
    channels = c.sizes(x.meta["val"].shape)[1]
    numbers = _affine(c, scale, shift, channels)
    c.add(node, "GroupNormalization", (c.value(x), *numbers), num_groups=groups, epsilon=epsilon)


def call_instance_norm(c: Calling, node: Any) -> None:
    """Read instance norm by the sample itself."""
    x, scale, shift, mean = node.args[:4]
    if mean is not None or not node.args[5]:
        raise NotRead
    channels = c.sizes(x.meta["val"].shape)[1]
    numbers = _affine(c, scale, shift, channels)
    c.add(node, "InstanceNormalization", (c.value(x), *numbers), epsilon=node.args[7])


def call_attention(c: Calling, node: Any) -> None:
    """softmax(Q·Kᵀ/√d)·V, written out."""
    query, key, value = node.args[:3]
    if at(node, 3, "attn_mask") is not None or at(node, 5, "is_causal", False) or at(node, 4, "dropout_p", 0.0):
        raise NotRead
    *_, rows, size = c.sizes(query.meta["val"].shape)
    if not rows % BATCH:
        # One sample would look at the others.
        raise NotRead
    factor = node.kwargs.get("scale")
    factor = 1 / math.sqrt(size) if factor is None else float(factor)
    axes = len(key.meta["val"].shape)
    order = (*range(axes - 2), axes - 1, axes - 2)
    turned = c.add(node, "Transpose", (c.value(key),), f"{node.name} keys", perm=order)
    product = c.add(node, "MatMul", (c.value(query), turned), f"{node.name} scores")
    scaled = c.add(node, "Mul", (product, c.store(np.array(factor, np.float32))), f"{node.name} scaled")
    shares = c.add(node, "Softmax", (scaled,), f"{node.name} shares", axis=-1)
    c.add(node, "MatMul", (shares, c.value(value)))
