"""Programs: networks as ordered steps and as layers."""

from inkcap.program.layers import Layer, Lowered, lower_to_layers
from inkcap.program.naming import MODULE_NAMES, RESERVED, Identifiers, class_name, identifier
from inkcap.program.peak import Moment, fullest_moment
from inkcap.program.program import Program, WornPart, lower_to_steps

__all__ = [
    "MODULE_NAMES",
    "RESERVED",
    "Identifiers",
    "Layer",
    "Lowered",
    "Moment",
    "Program",
    "WornPart",
    "class_name",
    "fullest_moment",
    "identifier",
    "lower_to_layers",
    "lower_to_steps",
]
