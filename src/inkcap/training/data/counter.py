"""Random numbers without state: each is a function of a key and of counters.

A number that belongs to sample i of epoch e must not depend on which batch or worker asks for it, nor on the version
of a library's generator. So every number here is a hash of (key, index, position), computed with 64-bit integer
arithmetic that gives the same bits everywhere.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


Key = np.uint64 | NDArray[np.uint64]
"""One key for all indices, or one for each."""

_SHORT = 16
_TILE = 1 << 13
"""Hashes at a time: few enough that what is computed from them stays in the processor's cache."""


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


def bits(key: Key, indices: ArrayLike, count: int) -> NDArray[np.uint64]:
    """Give `count` 64-bit integers for each index, as an array (indices, count)."""
    return _mixed(_starts(key, indices)[:, None] + _positions(0, count)[None, :])


def _starts(key: Key, indices: ArrayLike) -> NDArray[np.uint64]:
    """Spread the indices; the positions are spread after it, so that neighbouring indices share nothing."""
    rows = np.array(indices, dtype=np.int64).astype(np.uint64).reshape(-1)
    rows *= _GOLDEN
    rows += key
    return _mixed(rows)


def _positions(first: int, end: int) -> NDArray[np.uint64]:
    return np.arange(first + 1, end + 1, dtype=np.uint64) * _GOLDEN


def uniforms(key: Key, indices: ArrayLike, count: int) -> NDArray[np.float64]:
    """Give `count` numbers in [0, 1) for each index, as an array (indices, count)."""
    return (bits(key, indices, count) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def normals(key: Key, indices: ArrayLike, count: int) -> NDArray[np.float32]:
    """Give `count` standard normal numbers for each index, by the Box–Muller transform."""
    pairs = (count + 1) // 2
    starts = _starts(key, indices)
    found = np.empty((len(starts), 2 * pairs), np.float32)
    wide = max(1, min(pairs, _TILE))
    high = max(1, _TILE // wide)
    for row in range(0, len(starts), high):
        rows, begun = found[row : row + high], starts[row : row + high]
        if pairs < _SHORT:
            # The long way first: numpy loses its time between short rows.
            made = np.empty((2 * pairs, len(begun)), np.float32)
            _paired(_mixed(_positions(0, pairs)[:, None] + begun[None, :]), made[:pairs], made[pairs:])
            rows[:] = made.T
            continue
        for left in range(0, pairs, wide):
            right = min(left + wide, pairs)
            source = _mixed(begun[:, None] + _positions(left, right)[None, :])
            _paired(source, rows[:, left:right], rows[:, pairs + left : pairs + right])
    return found[:, :count]


def _paired(source: NDArray[np.uint64], cosines: NDArray[np.float32], sines: NDArray[np.float32]) -> None:
    """Make two normal numbers of every hash: 32 bits for each of its two uniforms are ample for noise."""
    angle = source.astype(np.uint32).astype(np.float32)
    angle *= np.float32(2.0**-32)
    angle *= np.float32(2.0 * np.pi)
    source >>= np.uint64(32)
    radius = source.astype(np.float32)
    radius += np.float32(0.5)
    radius *= np.float32(2.0**-32)
    # float32 rounds the largest 32-bit values up to 1; the logarithm of 1 is a harmless 0.
    np.minimum(radius, np.float32(1.0), out=radius)
    np.log(radius, out=radius)
    radius *= np.float32(-2.0)
    np.sqrt(radius, out=radius)
    np.multiply(radius, np.cos(angle), out=cosines)
    np.multiply(radius, np.sin(angle, out=angle), out=sines)


def integers(key: np.uint64, indices: ArrayLike, count: int, low: int, high: int) -> NDArray[np.int64]:
    """Give `count` integers from low to high, both included, for each index."""
    return np.floor(uniforms(key, indices, count) * (high - low + 1)).astype(np.int64) + low


def permutation(key: np.uint64, count: int) -> NDArray[np.int64]:
    """Give an order of 0..count-1 by sorting one hash per index; ties, if ever, keep their order."""
    return permutations([key], count)[0]


def permutations(keys: Sequence[np.uint64], count: int) -> NDArray[np.int64]:
    """Give an order for each key, as an array (keys, count)."""
    rows = np.tile(np.arange(count), len(keys))
    hashes = bits(np.repeat(np.array(keys, np.uint64), count), rows, 1).reshape(len(keys), count)
    return np.argsort(hashes, axis=1, kind="stable").astype(np.int64, copy=False)
