"""Pictures as PDF: lines stay lines and text stays text, with its fonts inside."""

from __future__ import annotations

import importlib
import importlib.util
import re
from typing import Any

from inkcap.drawing.picture_scene import PictureError

PAGE = "#set page(width: {width:.3f}pt, height: {height:.3f}pt, margin: 0pt)\n" + (
    '#image(bytes(sys.inputs.svg), format: "svg", width: 100%, height: 100%)\n'
)


def known_fonts() -> list[str] | None:
    """List the fonts of this machine; none where nothing is there that could tell."""
    if importlib.util.find_spec("typst") is None:
        return None
    typst: Any = importlib.import_module("typst")
    # A font without a file is typst's own, and known to nothing else.
    return sorted({font.family for font in typst.Fonts().fonts() if font.path})


def svg_to_pdf(svg: str, width: float | None = None) -> bytes:
    """Turn an SVG text into a PDF of one page, ``width`` points wide; otherwise three quarters of a point a unit."""
    if importlib.util.find_spec("typst") is None:
        raise PictureError("PDF needs the package typst; 'pip install inkcap[pdf]' brings it, SVG needs nothing")
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    assert found is not None
    across, down = float(found[1]), float(found[2])
    unit = width / across if width else 0.75
    typst: Any = importlib.import_module("typst")
    page = PAGE.format(width=across * unit, height=down * unit)
    try:
        return typst.compile(page.encode(), sys_inputs={"svg": svg}, format="pdf")
    except RuntimeError as error:
        raise PictureError(f"the picture cannot be turned into PDF: {str(error)[:200]}") from None
