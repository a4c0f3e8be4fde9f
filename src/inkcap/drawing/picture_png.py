"""Pictures as PNG, with text on every machine: system fonts where there are some, else the one that Pillow carries."""

from __future__ import annotations

import math
import re
import tempfile
import threading
from functools import cache
from pathlib import Path

import resvg_py

from inkcap.drawing.picture_scene import PictureError

PIXELS = 12_000
"""The longest side of a PNG."""
AREA = 64_000_000
"""The most pixels of a PNG: each takes eight bytes while it is made."""
_ONE_AT_A_TIME = threading.Lock()
PROBE = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text y="9" font-family="serif">{}</text></svg>'


def svg_to_png(svg: str, scale: float = 1.0) -> bytes:
    """Turn an SVG text into the bytes of a PNG, ``scale`` pixels for each of its units."""
    head = svg[: svg.find(">")]
    sides = [float(size) * scale for size in re.findall(r' (?:width|height)="([\d.]+)"', head)]
    if max(sides, default=0.0) > PIXELS:
        raise PictureError(
            f"the PNG would be {max(sides):.0f} pixels long, {PIXELS} are allowed; take a smaller scale or SVG"
        )
    if math.prod(sides) > AREA:
        size = "×".join(f"{side:.0f}" for side in sides)
        raise PictureError(f"the PNG would have {size} pixels, {AREA} are allowed; take a smaller scale or SVG")
    try:
        # Several at once would take several times the memory, and no less time.
        with _ONE_AT_A_TIME:
            if has_system_fonts():
                return resvg_py.svg_to_bytes(svg_string=svg, zoom=scale)
            return with_carried_font(svg, scale)
    except ValueError as error:
        raise PictureError(f"the picture cannot be turned into PNG: {error}") from None


@cache
def has_system_fonts() -> bool:
    """Tell whether text leaves any trace: on a machine without fonts it leaves none."""
    blank, written = (resvg_py.svg_to_bytes(svg_string=PROBE.format(text)) for text in ("", "W"))
    return blank != written


def with_carried_font(svg: str, scale: float) -> bytes:
    """Turn an SVG into a PNG with Pillow's own font in place of every other."""
    from PIL import ImageFont

    font = ImageFont.load_default(12)
    if not isinstance(font, ImageFont.FreeTypeFont):
        return resvg_py.svg_to_bytes(svg_string=svg, zoom=scale)
    name = str(font.getname()[0])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "font.ttf"
        path.write_bytes(font.font_bytes)
        return resvg_py.svg_to_bytes(
            svg_string=svg,
            zoom=scale,
            skip_system_fonts=True,
            font_files=[str(path)],
            font_family=name,
            sans_serif_family=name,
            monospace_family=name,
        )
