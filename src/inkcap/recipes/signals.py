"""The log of a run's signals: what every capsule and connection does after each epoch. Epoch 0 is the start.

‖Y‖ and ‖δ‖ are root mean squares, over the samples of one batch, of a sample's Euclidean norm; δ is that of a
sample's own loss. A unit is dead when its Y is 0 for every sample of the batch. Weights have their Euclidean norm,
that of their gradient for the same batch, and |ΔW|/|W| of the epoch's last step. Milliseconds and megabytes are those
of one batch, forwards and backwards, of a capsule with what enters it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from inkcap.recipes.metrics import read_log

_CONNECTION = "connection."


@dataclass(frozen=True)
class Weighing:
    """The weights of a connection, or a capsule's own: None where there are none, or no step has changed them yet."""

    weight: float | None = None
    update: float | None = None
    gradient: float | None = None


@dataclass(frozen=True)
class Signal:
    """A capsule's signals; δ is None for data of whole numbers, the dead share is None for data."""

    output: float
    delta: float | None = None
    dead: float | None = None
    milliseconds: float | None = None
    megabytes: float | None = None
    weight: float | None = None
    update: float | None = None
    gradient: float | None = None


@dataclass(frozen=True)
class EpochSignals:
    """The signals of all capsules after an epoch, in topological order, and of the connections that have weights."""

    epoch: int
    capsules: Mapping[str, Signal]
    connections: Mapping[str, Weighing] = field(default_factory=dict[str, Weighing])


_KINDS = tuple(part.name for part in fields(Signal))
_WEIGHED = tuple(part.name for part in fields(Weighing))


@dataclass(frozen=True)
class SignalLog:
    """What a log of signals holds, and a word on what of it could not be trusted, if anything."""

    epochs: tuple[EpochSignals, ...] = ()
    note: str = ""


def signal_values(signals: EpochSignals) -> dict[str, float]:
    """Write signals as the values of one line of the log."""
    values = {f"{kind}/{id}": getattr(signal, kind) for id, signal in signals.capsules.items() for kind in _KINDS}
    values |= {
        f"{_CONNECTION}{kind}/{id}": getattr(weighing, kind)
        for id, weighing in signals.connections.items()
        for kind in _WEIGHED
    }
    return {name: value for name, value in values.items() if value is not None}


def read_signals(path: Path) -> tuple[EpochSignals, ...]:
    """Read the log as far as it can be trusted; nothing where there is none."""
    return read_signal_log(path).epochs


def read_signal_log(path: Path) -> SignalLog:
    """Read the log as far as it can be trusted, and say what was left out."""
    found: list[EpochSignals] = []
    log = read_log(path)
    for record in log.records:
        named: dict[str, dict[str, float]] = {}
        weighed: dict[str, dict[str, float]] = {}
        for name, value in record.values.items():
            kind, slash, id = name.partition("/")
            short = kind.removeprefix(_CONNECTION)
            if slash and kind in _KINDS:
                named.setdefault(id, {})[kind] = value
            elif slash and kind != short and short in _WEIGHED:
                weighed.setdefault(id, {})[short] = value
        capsules = {id: Signal(**values) for id, values in named.items() if "output" in values}
        connections = {id: Weighing(**values) for id, values in weighed.items()}
        found.append(EpochSignals(record.epoch, capsules, connections))
    return SignalLog(tuple(found), log.note)
