"""Files of pictures: an SVG becomes the bytes of any form; SVG and PNG carry the drawing, and it is read back."""

from __future__ import annotations

import re

from inkcap.drawing.files import from_text, to_text
from inkcap.drawing.limits import FILE_BYTES
from inkcap.drawing.picture_carried import carried_text, carry_in_png, carry_in_svg, state_resolution
from inkcap.drawing.picture_pdf import svg_to_pdf
from inkcap.drawing.picture_png import svg_to_png
from inkcap.drawing.picture_scene import PictureError
from inkcap.drawing.picture_tikz import svg_to_tikz

POINTS = 72 / 25.4
"""Points in a millimetre."""
PER_METRE = 11811
"""Pixels of a printed PNG in a metre: 300 in an inch."""
FINENESS = 2.0
"""Pixels of another PNG for a unit of its SVG."""


def picture_file(svg: str, ending: str, drawing: str = "", millimetres: float | None = None) -> bytes:
    """Turn an SVG that Inkcap drew into a file ``.svg``, ``.png``, ``.pdf`` or ``.tex``, of a printed width if given.

    ``drawing`` is the text of the drawing that SVG and PNG carry; one that is too large for that is left out.
    """
    points = None if millimetres is None else millimetres * POINTS
    if ending == ".tex":
        return svg_to_tikz(svg, points).encode()
    if ending == ".pdf":
        return svg_to_pdf(svg, points)
    carried = drawing if can_carry(drawing) else ""
    if ending == ".svg":
        content = (carry_in_svg(svg, carried) if carried else svg).encode()
    else:
        content = _png(svg, millimetres)
        content = carry_in_png(content, carried) if carried else content
    if carried and to_text(from_text(carried_text(content))) != carried:
        raise PictureError(
            "the drawing in the picture came back otherwise; this is a fault of Inkcap, please report it"
        )
    return content


def can_carry(drawing: str) -> bool:
    """Tell whether the text of a drawing is small enough to go into a picture."""
    return len(drawing.encode()) <= FILE_BYTES


def _png(svg: str, millimetres: float | None) -> bytes:
    if millimetres is None:
        return svg_to_png(svg, FINENESS)
    across = float(re.findall(r'viewBox="0 0 ([\d.]+)', svg)[0])
    return state_resolution(svg_to_png(svg, millimetres / 1000 * PER_METRE / across), PER_METRE)
