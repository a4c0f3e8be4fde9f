"""Pictures of checked drawings: for the screen, and as figures for papers, with the drawing itself inside."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from inkcap.drawing import Drawing, Group, Use, inside, output_ends
from inkcap.drawing.glyphs import Theme
from inkcap.drawing.layout import Direction
from inkcap.drawing.picture import Panel, Sheet, compose, draw_svg, layout_of
from inkcap.drawing.picture_files import POINTS, can_carry, picture_file
from inkcap.drawing.picture_pdf import known_fonts
from inkcap.drawing.picture_scene import TITLE_SIZE, PictureError, Shown, scene_of_drawing
from inkcap.network.report import Report
from inkcap.structures import show_shape
from inkcap.symbols import suggest

Form = Literal["svg", "pdf", "png", "tikz"]
ENDINGS: dict[Form, str] = {"svg": ".svg", "pdf": ".pdf", "png": ".png", "tikz": ".tex"}
TIGHT = 4.0
"""The margin of a figure: the page around it has its own."""
FEWEST_UNITS, MOST_UNITS = 4 / 3, 1.7
"""Units in a point of a figure that has a width: text is 8 points large, or smaller as far as rows need it, to 6."""
NARROWEST, BROADEST = 10.0, 2_000.0
"""The widths in millimetres that a figure may have."""
FONT_NAME = re.compile(r"[\w][\w .-]{0,79}")


@dataclass(frozen=True)
class Style:
    """How a figure looks."""

    font: str = ""
    millimetres: float | None = None
    monochrome: bool = False
    labels: bool = True
    opened: bool = False
    compact: bool = False
    direction: Direction = "right"
    stored: bool = True

    def check(self, form: Form) -> None:
        """Refuse what cannot be drawn."""
        if self.font and not FONT_NAME.fullmatch(self.font):
            raise PictureError(
                f"{self.font[:80]!r} is no name of a font: letters, digits, blanks, '-' and '.' make one"
            )
        if self.font and form == "tikz":
            raise PictureError("TikZ takes the fonts of the document that it stands in: leave the font out")
        if self.font and form in ("pdf", "png"):
            _check_font(self.font)
        if self.millimetres is not None and not NARROWEST <= self.millimetres <= BROADEST:
            raise PictureError(
                f"a figure is from {NARROWEST:.0f} to {BROADEST:.0f} mm wide, not {self.millimetres:g} mm"
            )
        if self.opened and self.compact:
            raise PictureError("a figure is opened or compact, not both")


def _check_font(font: str) -> None:
    """Refuse a font that would be replaced by another without a word; an SVG leaves that to whoever opens it."""
    fonts = known_fonts()
    if fonts and font.lower() not in map(str.lower, fonts):
        raise PictureError(f"this machine has no font {font!r}; {suggest(font, fonts)}")


@dataclass(frozen=True)
class Figure:
    """A drawn figure: the bytes of its file, how large its text is in points, and whether its drawing is inside."""

    content: bytes
    text_points: float
    carries: bool


def read_width(text: str) -> float:
    """Read the width of a figure, ``85mm`` or ``240pt``, in millimetres."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?(mm|cm|pt|in)", text.strip())
    if found is None:
        raise PictureError(f"{text[:40]!r} is no width: write 85mm, 8.5cm, 240pt or 3.3in")
    return float(found[1]) * {"mm": 1.0, "cm": 10.0, "pt": 25.4 / 72, "in": 25.4}[found[2]]


def draw_figure(report: Report, form: Form, style: Style | None = None) -> Figure:
    """Draw a checked drawing as a figure; SVG and PNG carry the drawing, and it is read back before they are given."""
    style = style or Style()
    style.check(form)
    svg = _figure_svg(report, style, physical=form == "svg")
    across = float(re.findall(r'viewBox="0 0 ([\d.]+)', svg)[0])
    points = None if style.millimetres is None else style.millimetres * POINTS
    text = (points / across if points else 1 / FEWEST_UNITS) * TITLE_SIZE
    drawing = (report.drawn or report.drawing).to_text()
    content = picture_file(svg, ENDINGS[form], drawing, style.millimetres)
    return Figure(content, text, carries=form in ("svg", "png") and can_carry(drawing))


def picture_of(report: Report, theme: Theme = "light", *, opened: bool = False, **options: Any) -> str:
    """Draw a checked drawing: structures and weights as far as they are known, and what is wrong in red.

    Uses of groups are drawn as one box each, or, when ``opened``, as what they stand for inside a frame.
    """
    drawing, known = _known(report, opened)
    return draw_svg(
        drawing, labels=known.structures, weight_labels=known.weights, theme=theme, flaws=known.flaws, **options
    )


@dataclass(frozen=True)
class _Known:
    """What the checks found, as texts by ids."""

    structures: Mapping[str, str]
    weights: Mapping[str, str]
    flaws: Mapping[str, str]

    def below(self, path: str, drawing: Drawing) -> _Known:
        """Give what is known of a group's inside, by its own ids."""
        ids = (*drawing.capsules, *drawing.connections)
        found = [
            {id: told[path + id] for id in ids if path + id in told}
            for told in (self.structures, self.weights, self.flaws)
        ]
        return _Known(*found)


def _known(report: Report, opened: bool) -> tuple[Drawing, _Known]:
    structures = {id: show_shape(c.output.shape) for id, c in report.capsules.items() if c.output and c.output.shape}
    weights = {
        id: text
        for id, connection in report.connections.items()
        # Of several weights the first is the one that weighs; others are added to it.
        for weight in list(connection.weights.values())[:1]
        if (text := weight_text(weight.structure.shape))
    }
    flaws = {id: error.message for error in reversed(report.errors) for id in error.where}
    drawing = report.drawing
    if report.drawn is not None and report.drawn.uses and not opened:
        drawing = report.drawn
        structures |= {id: structures[end] for id, end in output_ends(drawing).items() if end in structures}
        flaws |= {id.partition(".")[0]: message for id, message in flaws.items()}
    return drawing, _Known(structures, weights, flaws)


def weight_text(shape: Sequence[Any]) -> str:
    """Write the shape of a weight: ``32@5×5`` for kernels, ``512×1024`` for a matrix, nothing for a single number."""
    if len(shape) > 2:
        # Kernels of a table are stored pair by pair, and have no axis of channels.
        return f"{shape[0]}@{'×'.join(map(str, shape[2:] if len(shape) > 3 else shape[1:]))}"
    return "×".join(map(str, shape))


def _figure_svg(report: Report, style: Style, *, physical: bool) -> str:
    drawing, known = _known(report, style.opened)
    sheet = Sheet(style.font, TIGHT, narrowest=0.0, flow=True)
    if style.millimetres is not None:
        widest, narrowest = (style.millimetres * POINTS * units for units in (MOST_UNITS, FEWEST_UNITS))
        wide = style.millimetres if physical else None
        sheet = replace(sheet, widest=widest, aspect=0.75, narrowest=narrowest, millimetres=wide)
    theme: Theme = "mono" if style.monochrome else "paper"
    panels = [_panel(drawing, known, style, sheet)]
    if style.compact:
        for group, path in used_groups(drawing):
            body = inside(drawing, group.id)
            panel = _panel(body, known.below(path, body), style, sheet)
            panels.append(replace(panel, under=_told(group, path)))
    return compose(panels, panels[0].scene.title, theme=theme, direction=style.direction, sheet=sheet)


def _panel(drawing: Drawing, known: _Known, style: Style, sheet: Sheet) -> Panel:
    shown = Shown(style.labels, style.labels)
    scene = scene_of_drawing(drawing, known.structures, known.weights, known.flaws, shown)
    # Places that a person chose are kept while the figure is as wide as they made it.
    stated = drawing.positions.values() if style.stored else ()
    placed = {place.id: (place.x, place.y) for place in stated if place.id in scene.nodes}
    if len(placed) < len(scene.nodes):
        placed = {}
    layout = layout_of(scene, style.direction, placed, sheet)
    return Panel(scene, layout)


def _told(group: Group, path: str) -> str:
    return f"{group.label or group.id}, as {path[:-1]}"


def used_groups(drawing: Drawing) -> Iterator[tuple[Group, str]]:
    """Give every group that is used, with the path of its first use, those inside of others after them."""
    told: set[str] = set()
    waiting: list[tuple[Use, str]] = [(use, "") for use in drawing.uses.values()]
    while waiting:
        use, outside = waiting.pop(0)
        if use.group in told:
            continue
        told.add(use.group)
        group = drawing.groups[use.group]
        inside = f"{outside}{use.id}." if use.repeat == 1 else f"{outside}{use.id}.0."
        yield group, inside
        waiting += [(inner, inside) for inner in group.uses]
