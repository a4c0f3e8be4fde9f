"""Drawings: documents that a person makes and git stores, and the edits that change them."""

from inkcap.drawing.codec import DrawingError
from inkcap.drawing.document import Drawing
from inkcap.drawing.edits import Edit, Meta, Patch, Put, Record, Remove
from inkcap.drawing.files import SUFFIX, from_text, load_drawing, save_drawing, to_text
from inkcap.drawing.groups import Group, Plain, Use
from inkcap.drawing.records import Capsule, Connection, Note, Position
from inkcap.drawing.schema import drawing_schema

__all__ = [
    "SUFFIX",
    "Capsule",
    "Connection",
    "Drawing",
    "DrawingError",
    "Edit",
    "Group",
    "Meta",
    "Note",
    "Patch",
    "Plain",
    "Position",
    "Put",
    "Record",
    "Remove",
    "Use",
    "drawing_schema",
    "from_text",
    "load_drawing",
    "save_drawing",
    "to_text",
]
