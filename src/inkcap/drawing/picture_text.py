"""Text in pictures: how wide it is, where it is shortened, what may stand in it."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

SANS = "Inter, 'Segoe UI', 'Helvetica Neue', 'DejaVu Sans', 'Liberation Sans', 'Noto Sans', Arial, sans-serif"
MONO = "'JetBrains Mono', 'Cascadia Mono', Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"

NARROW, WIDE = set("iljI.,:;'|!·()[]/t f-"), set("mwMW@%—…→←⇒")
FIGURES, SIGNS = set("0123456789"), set("×−+=<>±∗")
"""As wide as the widest of the usual fonts makes them: sizes are made of these."""
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@lru_cache(8192)
def width_of(text: str, size: float, *, mono: bool = False, bold: bool = False) -> float:
    """Estimate the width of a text, rather too wide than too narrow."""
    if mono:
        return sum(1.0 if unicodedata.east_asian_width(c) in "WF" else 0.61 for c in text) * size
    total = 0.0
    for c in text:
        if c in NARROW:
            total += 0.36
        elif c in WIDE:
            total += 0.95
        elif c in FIGURES:
            total += 0.65
        elif c in SIGNS:
            total += 0.84
        elif unicodedata.east_asian_width(c) in "WF":
            total += 1.0
        elif unicodedata.combining(c):
            total += 0.0
        else:
            total += 0.68 if c.isupper() else 0.61
    return total * size * (1.09 if bold else 1.0)


def clean(text: str) -> str:
    """Make a text one line that XML may hold."""
    return " ".join(NOT_XML.sub("\ufffd", text).split())


def shorten(text: str, most: float, size: float, *, mono: bool = False, bold: bool = False) -> str:
    """Cut a text to a width, with an ellipsis where something is left out."""
    if width_of(text, size, mono=mono, bold=bold) <= most:
        return text
    while text and width_of(text + "…", size, mono=mono, bold=bold) > most:
        text = text[:-1]
    return text.rstrip() + "…"


def wrap(text: str, most: float, size: float, lines: int = 2) -> tuple[str, ...]:
    """Break a text at blanks into lines of a width; what does not fit into the last is shortened."""
    words = text.split()
    if lines == 2 and width_of(" ".join(words), size) > most:
        # Of the two lines neither should be much longer than the other.
        halves = [(" ".join(words[:i]), " ".join(words[i:])) for i in range(1, len(words))]
        wide = [max(width_of(first, size), width_of(second, size)) for first, second in halves]
        if wide and min(wide) <= most:
            return halves[wide.index(min(wide))]
    found: list[str] = []
    for word in words:
        if found and width_of(f"{found[-1]} {word}", size) <= most:
            found[-1] += f" {word}"
        elif len(found) < lines:
            found.append(word)
        else:
            found[-1] += f" {word}"
    return tuple(shorten(line, most, size) for line in found)
