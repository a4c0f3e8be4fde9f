"""The catalogue for palette and inspector: everything that a new symbol brings, so that it needs no line of theirs."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, cast

from inkcap.drawing.glyphs import SIGNS
from inkcap.network.fixes import DEFAULTS
from inkcap.structures import DTYPES
from inkcap.symbols import CAPSULES, CONNECTIONS, PARTS, Attribute, CapsuleSymbol, jsonable
from inkcap.symbols.describe import describe


@cache
def catalogue() -> dict[str, Any]:
    """Describe all symbols."""
    families = list(dict.fromkeys(symbol.family for symbol in CAPSULES.values()))
    return {
        "version": _version(),
        "dtypes": list(DTYPES),
        "families": [{"id": family, "title": family.capitalize()} for family in families],
        "capsules": [_capsule(symbol) for symbol in CAPSULES.values()],
        "connections": [
            {
                **_kept(describe(symbol), "id", "tooltip", "formula", "mark"),
                "title": symbol.title,
                "sign": SIGNS.get(symbol.mark, ""),
                "ranks": [list(pair) for pair in symbol.ranks],
                "attributes": [_attribute(a, symbol.id) for a in symbol.attributes],
                "weights": symbol.weights is not None,
                "page": f"symbols/{symbol.id}",
            }
            for symbol in CONNECTIONS.values()
        ],
        "parts": [
            {
                **_kept(describe(symbol), "id", "title", "tooltip", "formula", "place", "ranks", "glyph"),
                "attributes": [_attribute(a, symbol.id) for a in symbol.attributes],
                "page": f"symbols/{symbol.id}",
            }
            for symbol in PARTS.values()
        ],
    }


def _version() -> str:
    try:
        return version("inkcap")
    except PackageNotFoundError:
        return ""


def _kept(described: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: described[name] for name in names}


def _capsule(symbol: CapsuleSymbol) -> dict[str, Any]:
    return {
        **_kept(describe(symbol), "id", "tooltip", "formula", "family", "ranks", "glyph", "ports", "output_ranks"),
        "title": symbol.title,
        "faces": {
            str(rank): {
                "title": symbol.title_of(rank),
                "attributes": [_attribute(a, symbol.id) for a in symbol.attributes(rank)],
            }
            for rank in symbol.ranks
        },
        "bias": symbol.has_bias,
        "data": symbol.is_data,
        "page": f"symbols/{symbol.id}",
    }


def _suggested(attribute: Attribute, symbol: str) -> Any:
    """Give what a new capsule or connection starts with where it must say something: the choice of the fixes."""
    usual = jsonable(DEFAULTS.get((symbol, attribute.name)))
    # One number stands for all axes, whatever the rank.
    return cast("list[int]", usual)[0] if attribute.kind == "axes" and isinstance(usual, list) else usual


def _attribute(attribute: Attribute, symbol: str) -> dict[str, Any]:
    return {
        "name": attribute.name,
        "kind": attribute.kind,
        "help": attribute.help,
        "default": jsonable(attribute.default),
        "inferred": attribute.inferred,
        "required": attribute.required,
        "letter": attribute.letter,
        "minimum": attribute.minimum,
        "maximum": attribute.maximum,
        "choices": list(DTYPES if attribute.kind == "dtype" else attribute.choices),
        "axes": attribute.axes,
        "unit": attribute.unit,
        "suggested": _suggested(attribute, symbol),
    }
