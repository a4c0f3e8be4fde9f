"""What pictures are made of: colours of both themes, shapes by rank, signs of connections as drawn paths."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Theme = Literal["light", "dark", "paper", "mono"]
"""Two for the screen, and two for print: coloured on white, and black on white."""
Shape = Literal["circle", "pill", "stack", "volume", "disc", "group", "stub"]

SHAPES: dict[int, Shape] = {0: "circle", 1: "pill", 2: "stack", 3: "volume"}
"""The shape of a capsule by its rank."""


@dataclass(frozen=True)
class Colours:
    """The colours of a theme."""

    paper: str
    panel: str
    ink: str
    soft: str
    line: str
    flaw: str


COLOURS: dict[Theme, Colours] = {
    "light": Colours("#faf9f5", "#ffffff", "#1d2130", "#6b7183", "#e3e1da", "#c8382d"),
    "dark": Colours("#161822", "#1e2130", "#e9e7df", "#9ca1b3", "#363a4c", "#ff7a6b"),
    "paper": Colours("#ffffff", "#ffffff", "#1d2130", "#555b6b", "#d8d8d8", "#c8382d"),
    "mono": Colours("#ffffff", "#ffffff", "#000000", "#333333", "#d8d8d8", "#000000"),
}


def blend(first: str, second: str, share: float) -> str:
    """Mix two colours: ``share`` of the second."""
    pairs = zip(_channels(first), _channels(second), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


@lru_cache(maxsize=256)
def family(ink: str, wash: str, theme: Theme) -> tuple[str, str]:
    """Give ink and wash of a symbol's family in a theme."""
    if theme == "mono":
        return COLOURS[theme].ink, _grey(wash)
    if theme != "dark":
        return ink, wash
    return blend(ink, "#ffffff", 0.42), blend(COLOURS["dark"].paper, ink, 0.30)


def _grey(colour: str) -> str:
    """Give the grey that is as bright as a colour."""
    red, green, blue = _channels(colour)
    return "#" + f"{round(0.299 * red + 0.587 * green + 0.114 * blue):02x}" * 3


@dataclass(frozen=True)
class Form:
    """How a shape is drawn: half its width and height, the size of its mark, how far sheets lie behind it."""

    half_width: float
    half_height: float
    mark: float
    sheets: float = 0.0

    @property
    def right(self) -> float:
        """From the anchor to the right border, the sheets behind included."""
        return self.half_width + self.sheets

    @property
    def above(self) -> float:
        """From the anchor to the upper border, the sheets behind included."""
        return self.half_height + self.sheets


FORMS: dict[Shape, Form] = {
    "circle": Form(17.0, 17.0, 26.0),
    "pill": Form(12.5, 32.7, 25.0),
    "stack": Form(24.0, 24.0, 44.0, 8.7),
    "volume": Form(24.0, 24.0, 40.0, 13.0),
    "disc": Form(16.0, 16.0, 0.0),
    "group": Form(40.0, 24.0, 0.0),
    "stub": Form(0.0, 16.0, 0.0),
}


def form_of(shape: Shape, direction: str) -> Form:
    """Give the form of a shape; a pill lies across the flow."""
    form = FORMS[shape]
    if shape == "pill" and direction == "down":
        return Form(form.half_height, form.half_width, form.mark)
    return form


SIGNS: dict[str, str] = {
    "∗": "M0-4.4V4.4M-3.8-2.2L3.8 2.2M-3.8 2.2L3.8-2.2",
    "→": "M-4.6 0H4.2M1.2-3.1L4.4 0L1.2 3.1",
    "◁": "M3.2-3.9V3.9L-4 0Z",
    "×": "M-3.3-3.3L3.3 3.3M-3.3 3.3L3.3-3.3",
    "·": "M0-.1V.1",
    "⊕": "M0-4.2V4.2M-4.2 0H4.2",
    "Δ": "M0-4L4 3.4H-4Z",
    "⊠": "M-3.6-3.6H3.6V3.6H-3.6ZM-3.6-3.6L3.6 3.6M-3.6 3.6L3.6-3.6",
    "⊡": "M-3.6-3.6H3.6V3.6H-3.6ZM-.7 0H.7",
    "⊖": "M-4.2-4.2H4.2V4.2H-4.2ZM-2 0H2",
    "⊙": "M-4-4H4V4H-4ZM-2-1.3H2M-2 1.3H2",
    "⊛": "M-4.2-4.2H4.2V4.2H-4.2ZM0-2.4V2.4M-2.1-1.2L2.1 1.2M-2.1 1.2L2.1-1.2",
    "⊞": "M-4-4H4V4H-4ZM0-4V4M-4 0H4",
    "↕": "M0-4.4V4.4M-2.4-2L0-4.4L2.4-2M-2.4 2L0 4.4L2.4 2",
    "Σ": "M3.2-4H-3.2L.6 0L-3.2 4H3.2",
    "≡": "M-3.8-2.8H3.8M-3.8 0H3.8M-3.8 2.8H3.8",
    "∨": "M-3.4-3.6L0 3.6L3.4-3.6",
    "∷": "M-2.4-2.5V-2.3M2.4-2.5V-2.3M-2.4 2.3V2.5M2.4 2.3V2.5",
}
"""Signs of connections as strokes in a box of about ten, so that no font is needed for them."""
HEAVY_SIGNS = {"·": 3.4, "∷": 2.6}
"""Signs that are made of dots take a stroke of their own width."""
