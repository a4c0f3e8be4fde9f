"""How long a large plain network takes from its file to its first answer: ``python benchmarks/plain_journey.py``.

Read, check, derive, compile, and once more at other sizes, so that it is seen that the cost grows with the
connections and no faster.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from inkcap.drawing import Drawing, Edit, Plain, Put, load_drawing, save_drawing
from inkcap.engine import build
from inkcap.network import check
from inkcap.theory import derive_edges


def random_block(connections: int, seed: int = 0) -> Plain:
    """Draw a connected block: a tenth as many neurons as connections, a hundredth of them data."""
    rng = np.random.default_rng(seed)
    neurons, data = connections // 10, connections // 1000
    front = np.concatenate([np.arange(data, neurons), rng.integers(data, neurons, connections - neurons)])
    back = (rng.random(front.size) * front).astype(np.int64)
    # Every data neuron is used, and the first one by many, so that the network is one piece.
    front = np.concatenate([front, np.full(data, neurons - 1)])
    back = np.concatenate([back, np.arange(data)])
    back, front = np.unique(np.stack([back, front]), axis=1)
    weight = rng.normal(0, 0.3, back.size).round(4)
    symbols = ("data",) * data + ("relu",) * (neurons - data)
    return Plain(
        symbols, (0.0,) * neurons, tuple(back.tolist()), tuple(front.tolist()), tuple(weight.tolist())
    )  # fmt: skip


def journey(path: Path) -> dict[str, float]:
    """Time every stage from the file on."""
    times: dict[str, float] = {}

    def timed(name: str, work: Callable[[], Any]) -> Any:
        begun = time.perf_counter()
        result = work()
        times[name] = time.perf_counter() - begun
        return result

    drawing = timed("read", lambda: load_drawing(path))
    network = timed("check", lambda: check(drawing).network)
    plain = drawing.plain
    timed("derive", lambda: derive_edges(len(plain.symbol), plain.back, plain.front))
    module = timed("compile", lambda: build(network))
    timed("first answer", lambda: module(torch.zeros(1, len(network.plain.inputs))))
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often each size goes the whole way")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for connections in (250_000, 1_000_000, 2_000_000):
            path = Path(folder) / f"{connections}.inkcap.json"
            drawing = Drawing("journey")
            drawing.apply(Edit("block", (Put(random_block(connections)),)))
            save_drawing(drawing, path)
            rounds = [journey(path) for _ in range(arguments.rounds)]
            middle = {name: statistics.median(times[name] for times in rounds) for name in rounds[0]}
            told = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in middle.items())
            total = [sum(times.values()) for times in rounds]
            print(f"{connections:>9,} connections: {statistics.median(total):.1f} s in all "
                  f"({min(total):.1f} to {max(total):.1f}); {told}")  # fmt: skip


if __name__ == "__main__":
    main()
