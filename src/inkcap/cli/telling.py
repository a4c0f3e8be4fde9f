"""One step of Algorithm 1 told in short: small tensors by all their numbers, large ones by shape, norm and a strip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from inkcap.cli.backpropagation import Walk
    from inkcap.network import Network

STRIP = 32


def in_short(walk: Walk, most: int) -> dict[str, Any]:
    """Tell a walk with at most so many numbers of each tensor, and which capsule or connection has which weight."""
    network, found = walk.network, walk.found
    owners = _owners(network)
    told = walk.to_json(lambda value: tensor_in_short(value, most))
    for update in told["updates"]:
        update["owners"] = owners.get(update["weight"], [])
        update["letter"] = "B" if update["weight"] in found.bias_updates else "W"
    targets = {id: tensor_in_short(target, most) for id, target in walk.targets.items()}
    return {**told, "inputs": list(network.inputs), "outputs": list(network.outputs), "targets": targets}


def tensor_in_short(value: Any, most: int) -> dict[str, Any]:
    """Tell a tensor: its shape, norm and extremes, all its numbers when they are few, else a strip of them."""
    numbers = np.asarray(value, dtype=float)
    flat = numbers.ravel()
    told: dict[str, Any] = {
        "shape": list(numbers.shape),
        "norm": float(np.linalg.norm(flat)),
        "least": float(flat.min()) if flat.size else 0.0,
        "greatest": float(flat.max()) if flat.size else 0.0,
        "values": flat.tolist() if flat.size <= most else None,
    }
    if flat.size > most:
        told["strip"] = _strip(flat)
    return told


def _strip(flat: Any) -> Sequence[float]:
    """Give the number farthest from zero of each of equal pieces: a mean would fade to nothing."""
    pieces = np.array_split(flat, min(STRIP, flat.size))
    return [float(piece[np.abs(piece).argmax()]) for piece in pieces]


def _owners(network: Network) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for connection in network.connections.values():
        for weight in connection.weights.values():
            found.setdefault(weight.name, []).append(connection.id)
    for capsule in network.capsules.values():
        for weight in capsule.stored:
            found.setdefault(weight.name, []).append(capsule.id)
    return found
