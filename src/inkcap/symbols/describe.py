"""Symbols as data: what a palette, an inspector or a page of the reference shows."""

from __future__ import annotations

from typing import Any

from inkcap.structures import AXES, named, show_shape
from inkcap.symbols.attributes import Attribute, jsonable
from inkcap.symbols.part import PartSymbol, Symbol
from inkcap.symbols.symbol import CapsuleSymbol, ConnectionSymbol, Glyph


def describe(symbol: Symbol) -> dict[str, Any]:
    """Describe a symbol as JSON."""
    common: dict[str, Any] = {
        "id": symbol.id,
        "version": symbol.version,
        "tooltip": symbol.tooltip,
        "formula": symbol.formula,
    }
    if isinstance(symbol, ConnectionSymbol):
        return {
            **common,
            "kind": "connection",
            "title": f"{symbol.title} connection",
            "mark": symbol.mark,
            "joins": [list(pair) for pair in symbol.ranks],
            "attributes": [_attribute(a) for a in symbol.attributes],
        }
    if isinstance(symbol, PartSymbol):
        return {
            **common,
            "kind": "part",
            "title": symbol.title,
            "place": symbol.place,
            "ranks": list(symbol.ranks),
            "glyph": _glyph(symbol.glyph),
            "attributes": [_attribute(a) for a in symbol.attributes],
        }
    return {
        **common,
        "kind": "capsule",
        "title": ", ".join(symbol.title_of(rank) for rank in symbol.ranks),
        "family": symbol.family,
        "ranks": list(symbol.ranks),
        "glyph": _glyph(symbol.glyph),
        "output_ranks": {str(rank): symbol.output_rank(rank) for rank in symbol.ranks},
        "ports": [
            {
                "name": port.name,
                "help": port.help,
                "kind": port.kind,
                "open": port.open,
                "ranks": {str(rank): port.rank(rank) for rank in symbol.ranks},
            }
            for port in symbol.ports
        ],
        "attributes": [_attribute(a) for a in _all_attributes(symbol)],
        "faces": {str(rank): [a.name for a in symbol.attributes(rank)] for rank in symbol.ranks},
    }


def _glyph(glyph: Glyph) -> dict[str, Any]:
    own = {"path": glyph.path, "ink": glyph.ink, "wash": glyph.wash, "filled": glyph.filled}
    return own | {"broken": True} if glyph.broken else own


def _all_attributes(symbol: CapsuleSymbol) -> list[Attribute]:
    found: dict[str, Attribute] = {}
    for rank in symbol.ranks:
        for attribute in symbol.attributes(rank):
            found.setdefault(attribute.name, attribute)
    return list(found.values())


def _attribute(attribute: Attribute) -> dict[str, Any]:
    return {
        "name": attribute.name,
        "kind": attribute.kind,
        "letter": attribute.letter,
        "help": attribute.help,
        "default": jsonable(attribute.default),
        "required": attribute.required,
        "inferred": attribute.inferred,
        "choices": list(attribute.choices),
        "schema": attribute.schema(),
    }


def general_shape(rank: int) -> tuple[Any, ...]:
    """Give a structure of this rank whose sizes have the paper's letters."""
    letters = {"dimension": "M", "depth": "D", "height": "M", "width": "N", "channels": "d"}
    names = [named(letters[name]) for name in AXES[rank]]
    return (names[-1], *names[:-1]) if rank > 1 else tuple(names)


def show_general(rank: int) -> str:
    """Write the general structure of a rank: ``M×N×d``."""
    return show_shape(general_shape(rank))
