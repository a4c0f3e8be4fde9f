"""Symbols: the catalogue, from which palette, checks, program, file schema and documentation derive."""

from inkcap.symbols.attributes import Attribute, Attributes, complete, jsonable
from inkcap.symbols.catalogue import (
    CAPSULES,
    CONNECTIONS,
    UnknownSymbol,
    capsule_symbol,
    connection_symbol,
    parse_face,
    suggest,
)
from inkcap.symbols.symbol import CapsuleSymbol, ConnectionSymbol, Glyph, Problem, Refusal, Sample, Symbol, Weight

__all__ = [
    "CAPSULES",
    "CONNECTIONS",
    "Attribute",
    "Attributes",
    "CapsuleSymbol",
    "ConnectionSymbol",
    "Glyph",
    "Problem",
    "Refusal",
    "Sample",
    "Symbol",
    "UnknownSymbol",
    "Weight",
    "capsule_symbol",
    "complete",
    "connection_symbol",
    "jsonable",
    "parse_face",
    "suggest",
]
