"""The catalogue: every symbol by its id."""

from __future__ import annotations

import difflib
import re
from typing import Any

from inkcap.structures import InkcapError
from inkcap.symbols import capsules, connections, convolutional, downsampling, sparse
from inkcap.symbols.symbol import CapsuleSymbol, ConnectionSymbol

CAPSULES: dict[str, CapsuleSymbol] = {s.id: s for s in (*capsules.SYMBOLS, *downsampling.SYMBOLS)}
CONNECTIONS: dict[str, ConnectionSymbol] = {
    s.id: s for s in (*convolutional.SYMBOLS, *connections.SYMBOLS, *sparse.SYMBOLS)
}

FACE = re.compile(r"(?:(?P<rank>[0-3])[dD]-)?(?P<id>[a-z][a-z0-9-]*)(?P<neuron> neuron)?")


class UnknownSymbol(InkcapError):
    """A symbol that the catalogue does not have."""


def suggest(word: str, known: Any) -> str:
    """Give the nearest known words, or all of them when none is near."""
    near = difflib.get_close_matches(word.lower(), list(known), n=3, cutoff=0.6)
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


def parse_face(face: str) -> tuple[str, int]:
    """Read a face such as ``2D-relu`` or ``relu neuron`` as the symbol's id and its rank."""
    match = FACE.fullmatch(face.strip().lower())
    if match is None or (match["rank"] is None) == (match["neuron"] is None):
        raise UnknownSymbol(f"{face!r} is not a capsule symbol with its rank; write it like 2D-relu or relu neuron")
    symbol = capsule_symbol(match["id"])
    rank = 0 if match["neuron"] else int(match["rank"])
    if rank not in symbol.ranks:
        faces = ", ".join(symbol.title_of(r) for r in symbol.ranks)
        raise UnknownSymbol(f"there is no {symbol.title_of(rank)} capsule; there are {faces}")
    return symbol.id, rank
