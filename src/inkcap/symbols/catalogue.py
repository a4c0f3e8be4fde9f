"""The catalogue: every symbol by its id."""

from __future__ import annotations

import re
from typing import Any

from inkcap.structures.errors import InkcapError, nearest
from inkcap.symbols import (
    activations,
    anchors,
    attention,
    blocks,
    capsules,
    codes,
    connections,
    convolutional,
    downsampling,
    dropout,
    expression,
    frozen,
    grouped,
    hardwired,
    local,
    matrix_capsules,
    matrix_votes,
    normalisation,
    opaque,
    ported,
    region,
    resampling,
    rows,
    selection,
    sparse,
    subsampling,
    transposed,
    unshared,
    vectors,
)
from inkcap.symbols.part import PartSymbol
from inkcap.symbols.symbol import CapsuleSymbol, ConnectionSymbol

CAPSULES: dict[str, CapsuleSymbol] = {
    s.id: s
    for s in (
        *capsules.SYMBOLS,
        *grouped.SYMBOLS,
        *activations.SYMBOLS,
        *expression.SYMBOLS,
        *local.SYMBOLS,
        *downsampling.SYMBOLS,
        *ported.SYMBOLS,
        *vectors.CAPSULE_SYMBOLS,
        *matrix_capsules.SYMBOLS,
        *rows.SYMBOLS,
        *attention.SYMBOLS,
        *anchors.SYMBOLS,
        *selection.SYMBOLS,
        *region.SYMBOLS,
        *opaque.SYMBOLS,
    )
}
CONNECTIONS: dict[str, ConnectionSymbol] = {
    s.id: s
    for s in (
        *convolutional.SYMBOLS,
        *connections.SYMBOLS,
        *blocks.SYMBOLS,
        *hardwired.SYMBOLS,
        *transposed.SYMBOLS,
        *unshared.SYMBOLS,
        *resampling.SYMBOLS,
        *sparse.SYMBOLS,
        *codes.SYMBOLS,
        *subsampling.SYMBOLS,
        *vectors.CONNECTION_SYMBOLS,
        *matrix_votes.SYMBOLS,
        *attention.CONNECTION_SYMBOLS,
    )
}
PARTS: dict[str, PartSymbol] = {
    s.id: s for s in (*normalisation.SYMBOLS, *frozen.SYMBOLS, *rows.PART_SYMBOLS, *dropout.SYMBOLS)
}

FACE = re.compile(r"(?:(?P<rank>[0-3])[dD]-)?(?P<id>[a-z][a-z0-9-]*)(?P<neuron> neuron)?")


class UnknownSymbol(InkcapError):
    """A symbol that the catalogue does not have."""


def suggest(word: str, known: Any) -> str:
    """Give the nearest known words, or all of them when none is near."""
    near = nearest(word, known)
    return f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(sorted(known))}"


def capsule_symbol(name: str) -> CapsuleSymbol:
    """Find a capsule symbol by its id."""
    if name not in CAPSULES:
        raise UnknownSymbol(f"there is no capsule symbol {name!r}; {suggest(name, CAPSULES)}")
    return CAPSULES[name]


def connection_symbol(name: str) -> ConnectionSymbol:
    """Find a connection symbol by its id."""
    if name not in CONNECTIONS:
        raise UnknownSymbol(f"there is no connection symbol {name!r}; {suggest(name, CONNECTIONS)}")
    return CONNECTIONS[name]


def part_symbol(name: str) -> PartSymbol:
    """Find a worn part by its id."""
    if name not in PARTS:
        raise UnknownSymbol(f"there is no part {name!r} to wear; {suggest(name, PARTS)}")
    return PARTS[name]


def parse_face(face: str) -> tuple[str, int]:
    """Read a face such as ``2D-relu`` or ``relu neuron`` as the symbol's id and its rank."""
    match = FACE.fullmatch(face.strip().lower())
    if match is None or (match["rank"] is None) == (match["neuron"] is None):
        raise UnknownSymbol(f"{face!r} is not a capsule symbol with its rank; write it like 2D-relu or relu neuron")
    symbol = CAPSULES["identical"] if match["id"] in PARTS else capsule_symbol(match["id"])
    rank = 0 if match["neuron"] else int(match["rank"])
    if rank not in symbol.ranks:
        faces = ", ".join(symbol.title_of(r) for r in symbol.ranks)
        raise UnknownSymbol(f"there is no {symbol.title_of(rank)} capsule; there are {faces}")
    return symbol.id, rank


def worn_in_face(face: str) -> str:
    """Give the part of a face such as ``2D-batch-norm``, an identical capsule that wears it; else an empty text."""
    match = FACE.fullmatch(face.strip().lower())
    return match["id"] if match and match["id"] in PARTS else ""
