"""Drawings: documents that a person makes and git stores, and the edits that change them."""

from typing import TYPE_CHECKING

from inkcap.drawing.codec import DrawingError
from inkcap.drawing.difference import difference
from inkcap.drawing.document import Drawing
from inkcap.drawing.edits import Edit, Meta, Patch, Put, Record, Remove
from inkcap.drawing.files import SUFFIX, from_bytes, from_text, load_drawing, save_drawing, to_text
from inkcap.drawing.flattening import Flattened, Flattener, flatten, output_ends
from inkcap.drawing.grouping import dissolve, dissolve_all, extract_group, inside, make_group, take_groups
from inkcap.drawing.groups import Group, Use
from inkcap.drawing.plain import FIXED, Plain
from inkcap.drawing.records import Capsule, Connection, Note, Position, Worn
from inkcap.drawing.schema import drawing_schema
from inkcap.drawing.trail import Mark, Touched, Trail, touched_between
from inkcap.structures.lazy import later

if TYPE_CHECKING:
    from inkcap.drawing.layout import Box, Layout
    from inkcap.drawing.picture import draw_svg
    from inkcap.drawing.picture_png import svg_to_png
    from inkcap.drawing.picture_scene import PictureError

__getattr__ = later(
    __name__,
    {
        "Box": "inkcap.drawing.layout",
        "Layout": "inkcap.drawing.layout",
        "PictureError": "inkcap.drawing.picture_scene",
        "draw_svg": "inkcap.drawing.picture",
        "svg_to_png": "inkcap.drawing.picture_png",
    },
)

__all__ = [
    "FIXED",
    "SUFFIX",
    "Box",
    "Capsule",
    "Connection",
    "Drawing",
    "DrawingError",
    "Edit",
    "Flattened",
    "Flattener",
    "Group",
    "Layout",
    "Mark",
    "Meta",
    "Note",
    "Patch",
    "PictureError",
    "Plain",
    "Position",
    "Put",
    "Record",
    "Remove",
    "Touched",
    "Trail",
    "Use",
    "Worn",
    "difference",
    "dissolve",
    "dissolve_all",
    "draw_svg",
    "drawing_schema",
    "extract_group",
    "flatten",
    "from_bytes",
    "from_text",
    "inside",
    "load_drawing",
    "make_group",
    "output_ends",
    "save_drawing",
    "svg_to_png",
    "take_groups",
    "to_text",
    "touched_between",
]
