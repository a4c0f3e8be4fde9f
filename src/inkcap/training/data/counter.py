"""Random numbers without state: each is a function of a key and of counters.

A number that belongs to sample i of epoch e must not depend on which batch or worker asks for it, nor on the version
of a library's generator. So every number here is a hash of (key, index, position), computed with 64-bit integer
arithmetic that gives the same bits everywhere.
"""

import hashlib

import numpy as np
from numpy.typing import ArrayLike, NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def key_of(*parts: int | str) -> np.uint64:
    """Hash integers and texts into a 64-bit key; different parts give unrelated keys."""
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in parts)
    return np.uint64(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little"))


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64-bit integers in place by SplitMix64's finaliser, whose output passes the usual statistical tests."""
    values ^= values >> np.uint64(30)
    values *= _MIX_1
    values ^= values >> np.uint64(27)
    values *= _MIX_2
    values ^= values >> np.uint64(31)
    return values


def bits(key: np.uint64, indices: ArrayLike, count: int) -> NDArray[np.uint64]:
    """Give `count` 64-bit integers for each index, as an array (indices, count)."""
    rows = np.array(indices, dtype=np.int64).astype(np.uint64).reshape(-1)
    # Two rounds: the first spreads the index, the second the position, so that neighbouring indices share nothing.
    rows *= _GOLDEN
    rows += key
    starts = _mixed(rows)
    positions = np.arange(1, count + 1, dtype=np.uint64) * _GOLDEN
    return _mixed(starts[:, None] + positions[None, :])


def uniforms(key: np.uint64, indices: ArrayLike, count: int) -> NDArray[np.float64]:
    """Give `count` numbers in [0, 1) for each index, as an array (indices, count)."""
    return (bits(key, indices, count) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def normals(key: np.uint64, indices: ArrayLike, count: int) -> NDArray[np.float32]:
    """Give `count` standard normal numbers for each index, by the Box–Muller transform."""
    pairs = (count + 1) // 2
    # One 64-bit hash feeds both uniforms of a pair: 32 bits each are ample for noise and halve the work.
    source = bits(key, indices, pairs)
    first = ((source >> np.uint64(32)).astype(np.float32) + np.float32(0.5)) * np.float32(2.0**-32)
    second = (source & np.uint64(0xFFFFFFFF)).astype(np.float32) * np.float32(2.0**-32)
    # float32 rounds the largest 32-bit values up to 1; the logarithm of 1 is a harmless 0.
    radius = np.sqrt(np.float32(-2.0) * np.log(np.minimum(first, np.float32(1.0))))
    angle = np.float32(2.0 * np.pi) * second
    both = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return both[:, :count]


def integers(key: np.uint64, indices: ArrayLike, count: int, low: int, high: int) -> NDArray[np.int64]:
    """Give `count` integers from low to high, both included, for each index."""
    return np.floor(uniforms(key, indices, count) * (high - low + 1)).astype(np.int64) + low


def permutation(key: np.uint64, count: int) -> NDArray[np.int64]:
    """Give an order of 0..count-1 by sorting one hash per index; ties, if ever, keep their order."""
    return np.argsort(bits(key, np.arange(count), 1)[:, 0], kind="stable").astype(np.int64)
