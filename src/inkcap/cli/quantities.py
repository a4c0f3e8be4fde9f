"""Quantities with units as a person writes them: 25Gbit, 200GB/s, 1ms, 300G; read strictly, refused in words."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from inkcap.structures.errors import InkcapError

_PREFIXES: Mapping[str, float] = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY: Mapping[str, float] = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_SPEEDS = {f"{p}bit{s}": size / 8 for p, size in _PREFIXES.items() for s in ("", "/s")} | {
    f"{p}B/s": size for p, size in (_PREFIXES | _BINARY).items()
}
_TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}
_RATES = {f"{p}{unit}": size for p, size in _PREFIXES.items() for unit in ("", "FLOP/s")}

_FORM = re.compile(r"(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?) ?(\S*)", re.ASCII)
_LONGEST = 40


class QuantityError(InkcapError):
    """A quantity that cannot be read, and how to write it."""


def speed(text: str, option: str) -> float:
    """Read a speed of data, and give it in bytes a second."""
    return _read(text, option, _SPEEDS, "a speed with its unit, such as 25Gbit or 200GB/s")


def seconds(text: str, option: str) -> float:
    """Read a time, and give it in seconds; it may be none."""
    return _read(text, option, _TIMES, "a time with its unit, such as 50us or 1ms", least=0.0)


def rate(text: str, option: str) -> float:
    """Read how much is computed, and give it in floating-point operations a second."""
    return _read(text, option, _RATES, "operations a second, such as 300G or 15T")


def _read(text: str, option: str, units: Mapping[str, float], wanted: str, least: float = math.ulp(0.0)) -> float:
    found = _FORM.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if found is None:
        shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
        raise QuantityError(f"{option} {shown!r}: give {wanted}")
    number, unit = found.groups()
    if unit not in units:
        raise QuantityError(f"{option} {text!r}: {_unknown(unit, units)}; give {wanted}")
    value = float(number) * units[unit]
    if not least <= value < math.inf:
        raise QuantityError(f"{option} {text!r}: it has to be finite and {'not below' if not least else 'above'} 0")
    return value


def _unknown(unit: str, units: Mapping[str, float]) -> str:
    if not unit:
        return "it has no unit"
    if unit.rstrip("/s").endswith("b") and "Gbit" in units:
        return f"{unit!r} may be bits or bytes"
    same = [known for known in units if known.lower() == unit.lower()]
    return f"there is no unit {unit!r}" + (f", but {same[0]}" if len(same) == 1 else "")
