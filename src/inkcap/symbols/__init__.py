"""Symbols: the catalogue, from which palette, checks, program, file schema and documentation derive."""

from inkcap.symbols.attributes import Attribute, Attributes, complete, jsonable
from inkcap.symbols.catalogue import (
    CAPSULES,
    CONNECTIONS,
    PARTS,
    UnknownSymbol,
    capsule_symbol,
    connection_symbol,
    parse_face,
    part_symbol,
    suggest,
    worn_in_face,
)
from inkcap.symbols.part import PartSymbol, Symbol
from inkcap.symbols.port import MAIN_PORT, Port, level_of, socket
from inkcap.symbols.symbol import CapsuleSymbol, ConnectionSymbol, Glyph, Problem, Refusal, Sample, Weight

__all__ = [
    "CAPSULES",
    "CONNECTIONS",
    "MAIN_PORT",
    "PARTS",
    "Attribute",
    "Attributes",
    "CapsuleSymbol",
    "ConnectionSymbol",
    "Glyph",
    "PartSymbol",
    "Port",
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
    "level_of",
    "parse_face",
    "part_symbol",
    "socket",
    "suggest",
    "worn_in_face",
]
