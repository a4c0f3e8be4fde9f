"""The log of a run's signals: how strong Y and δ of every capsule are after each epoch, and how many units are dead.

‖Y‖ and ‖δ‖ are root mean squares, over the samples of one batch, of a sample's Euclidean norm; δ is that of a
sample's own loss. A unit is dead when its Y is 0 for every sample of the batch. Epoch 0 is the start.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from inkcap.recipes.metrics import read_log

_KINDS = ("output", "delta", "dead")


@dataclass(frozen=True)
class Signal:
    """A capsule's signals; δ is None for data of whole numbers, the dead share is None for data."""

    output: float
    delta: float | None = None
    dead: float | None = None


@dataclass(frozen=True)
class EpochSignals:
    """The signals of all capsules after an epoch, in topological order."""

    epoch: int
    capsules: Mapping[str, Signal]


def signal_values(signals: Mapping[str, Signal]) -> dict[str, float]:
    """Write signals as the values of one line of the log."""
    values = {f"{kind}/{id}": getattr(signal, kind) for id, signal in signals.items() for kind in _KINDS}
    return {name: value for name, value in values.items() if value is not None}


def read_signals(path: Path) -> tuple[EpochSignals, ...]:
    """Read the log as far as it can be trusted; nothing where there is none."""
    found: list[EpochSignals] = []
    for record in read_log(path).records:
        named: dict[str, dict[str, float]] = {}
        for name, value in record.values.items():
            kind, slash, id = name.partition("/")
            if slash and kind in _KINDS:
                named.setdefault(id, {})[kind] = value
        capsules = {id: Signal(**values) for id, values in named.items() if "output" in values}
        found.append(EpochSignals(record.epoch, capsules))
    return tuple(found)
