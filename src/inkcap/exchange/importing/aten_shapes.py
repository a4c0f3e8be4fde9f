"""Calls of torch that change the layout: shapes, orders, pieces, borders."""

from __future__ import annotations

from typing import Any

import numpy as np

from inkcap.exchange.importing.aten import Calling, NotRead, at, call_same
from inkcap.exchange.importing.graph import Node, Sizes


def call_view(c: Calling, node: Any) -> None:
    """Read a change of shape."""
    c.add(node, "Reshape", (c.value(node.args[0]),), shape=c.sizes(node.meta["val"].shape), allowzero=1)


def call_permute(c: Calling, node: Any) -> None:
    """Read another order of axes."""
    c.add(node, "Transpose", (c.value(node.args[0]),), perm=tuple(node.args[1]))


def call_transpose(c: Calling, node: Any) -> None:
    """Read an exchange of two axes."""
    count = len(node.args[0].meta["val"].shape)
    order = list(range(count))
    one, other = (axis % count for axis in (node.args[1], node.args[2])) if len(node.args) > 2 else (0, count - 1)
    order[one], order[other] = order[other], order[one]
    c.add(node, "Transpose", (c.value(node.args[0]),), perm=tuple(order))


def call_turned(c: Calling, node: Any) -> None:
    """Read an exchange of the last two axes."""
    count = len(node.args[0].meta["val"].shape)
    c.add(node, "Transpose", (c.value(node.args[0]),), perm=(*range(count - 2), count - 1, count - 2))


def call_cat(c: Calling, node: Any) -> None:
    """Read a concatenation."""
    c.add(node, "Concat", tuple(c.value(value) for value in node.args[0]), axis=at(node, 1, "dim", 0))


def call_stack(c: Calling, node: Any) -> None:
    """Read a concatenation along a new axis."""
    axis = at(node, 1, "dim", 0) % len(node.meta["val"].shape)
    parts: list[str] = []
    for i, value in enumerate(node.args[0]):
        parts.append(c.add(node, "Unsqueeze", (c.value(value),), f"{node.name} {i}", axes=(axis,)))
    c.add(node, "Concat", tuple(parts), axis=axis)


def call_slice(c: Calling, node: Any) -> None:
    """Read a slice."""
    axis, first, last, step = (
        at(node, i, n, d) for i, n, d in ((1, "dim", 0), (2, "start", 0), (3, "end", None), (4, "step", 1))
    )
    bounds = c.sizes([first or 0, 2**40 if last is None else min(int(c.sizes([last])[0]), 2**40)])
    if step != 1:
        raise NotRead
    if axis == 0 and bounds[0] == 0 and bounds[1] >= c.sizes(node.args[0].meta["val"].shape)[0]:
        call_same(c, node)
        return
    c.add(node, "Slice", (c.value(node.args[0]),), starts=bounds[:1], ends=bounds[1:], axes=(axis,))


def call_roll(c: Calling, node: Any) -> None:
    """Read a turning along axes: what leaves at one end comes in at the other."""
    shape = c.sizes(node.args[0].meta["val"].shape)
    shifts: list[int] = node.args[1]
    axes: list[int] = at(node, 2, "dims", [])
    if len(axes) != len(shifts):
        raise NotRead
    name = c.value(node.args[0])
    for number, (shift, axis) in enumerate(zip(shifts, axes, strict=True)):
        size = shape[axis]
        cut = size - shift % size
        whole = number == len(axes) - 1
        bounds: dict[str, tuple[int, int]] = {"all": (0, size)}
        if cut < size:
            bounds = {"last": (cut, size), "first": (0, cut)}
        parts = [
            c.add(node, "Slice", (name,), f"{node.name} {number} {end}", starts=(a,), ends=(b,), axes=(axis,))
            for end, (a, b) in bounds.items()
        ]
        name = c.add(node, "Concat", tuple(parts), "" if whole else f"{node.name} {number}", axis=axis)


def call_select(c: Calling, node: Any) -> None:
    """Read one place along an axis."""
    index = c.store(np.array(node.args[2], np.int64))
    c.add(node, "Gather", (c.value(node.args[0]), index), axis=node.args[1])


def call_split(c: Calling, node: Any) -> None:
    """Read pieces."""
    axis: int = at(node, 2, "dim", 0)
    parts: list[Sizes] = [c.sizes(part.shape) for part in node.meta["val"]]
    outputs = tuple(f"{node.name}.{i}" for i in range(len(parts)))
    attributes: dict[str, Any] = {"axis": axis, "split": tuple(part[axis] for part in parts)}
    c.nodes.append(Node("Split", (c.value(node.args[0]),), outputs, attributes, node.name, c.scope))


def call_unbind(c: Calling, node: Any) -> None:
    """Read all places along an axis."""
    axis = at(node, 1, "dim", 0)
    for i in range(len(node.meta["val"])):
        index = c.store(np.array(i, np.int64))
        c.add(node, "Gather", (c.value(node.args[0]), index), f"{node.name}.{i}", axis=axis)


def call_getitem(c: Calling, node: Any) -> None:
    """Read one of several outputs."""
    source, place = node.args
    c.alias(node.name, f"{source.name}.{place}")


def call_pad(c: Calling, node: Any) -> None:
    """Read zeros around."""
    pads = list(node.args[1])
    fill = node.args[-1] if isinstance(node.args[-1], (int, float)) else 0
    mode = node.args[2] if len(node.args) > 2 and isinstance(node.args[2], str) else "constant"
    count = len(node.args[0].meta["val"].shape)
    before, after = [0] * count, [0] * count
    for i in range(len(pads) // 2):
        before[count - 1 - i], after[count - 1 - i] = pads[2 * i], pads[2 * i + 1]
    c.add(node, "Pad", (c.value(node.args[0]),), pads=tuple(before + after), value=float(fill), mode=mode)


def call_expand(c: Calling, node: Any) -> None:
    """Read a spreading."""
    shape = c.store(np.array(c.sizes(node.meta["val"].shape), np.int64))
    c.add(node, "Expand", (c.value(node.args[0]), shape))
