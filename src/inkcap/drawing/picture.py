"""Pictures: a drawing as one SVG file that stands alone, the same bytes every time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from inkcap.drawing.document import Drawing
from inkcap.drawing.glyphs import Theme, form_of
from inkcap.drawing.layout import Direction, Layout, Point, Spacing, arrange
from inkcap.drawing.layout_layers import Wire
from inkcap.drawing.picture_paint import Painter
from inkcap.drawing.picture_scene import FULL_DETAIL, LINE, WEIGHT_SIZE, PictureError, Scene, Shown, scene_of_drawing
from inkcap.drawing.picture_text import width_of, wrap

MARGIN = 26.0
CAPTION_SIZE, CAPTION_LINE, UNDER_SIZE, UNDER_WIDTH = 12.0, 17.0, 11.5, 118.0
ROUND = ("circle", "disc")
WIDEST = 1700.0
FRAME_NAME = 16.0
LOOSE, DENSE = Spacing(), Spacing(16.0, 44.0, 10.0, 40.0)
NEURONS, SPREAD_NEURONS = Spacing(14.0, 54.0, 18.0, 44.0), Spacing(12.0, 132.0, 18.0, 44.0)


@dataclass(frozen=True)
class Sheet:
    """What a picture is drawn on: its font, its margin, how wide it may be and must be, its printed width."""

    font: str = ""
    margin: float = MARGIN
    widest: float = WIDEST
    aspect: float = 1.5
    """How many times as wide as high it may be, though it is wider than that: many rows are hard to read."""
    narrowest: float = 60.0 + 2 * MARGIN
    millimetres: float | None = None
    flow: bool = False
    """Whether panels follow each other like words, each as wide as it is, instead of standing in columns."""


SCREEN = Sheet()


@dataclass(frozen=True)
class Panel:
    """One scene of a picture with its layout, and the line under it."""

    scene: Scene
    layout: Layout
    under: str = ""


def draw_svg(
    drawing: Drawing,
    layout: Layout | None = None,
    labels: Mapping[str, str] | None = None,
    weight_labels: Mapping[str, str] | None = None,
    theme: Theme = "light",
    *,
    show_labels: bool = True,
    show_structures: bool = True,
    show_badges: bool = True,
    direction: Direction = "right",
    scale: float = 1.0,
    stored: bool = True,
    flaws: Mapping[str, str] | None = None,
    caption: str = "",
    sheet: Sheet = SCREEN,
) -> str:
    """Draw a drawing as SVG.

    ``labels`` tells the structure at each capsule, ``weight_labels`` the weight at each connection, ``flaws`` what is
    wrong with either: that is drawn in red. Without a layout one is made; it keeps ``stored`` positions.
    """
    shown = Shown(show_labels, show_structures, show_badges)
    scene = scene_of_drawing(drawing, labels or {}, weight_labels or {}, flaws or {}, shown)
    if layout is None:
        stated = drawing.positions.values() if stored else ()
        layout = layout_of(scene, direction, {p.id: (p.x, p.y) for p in stated if p.id in scene.nodes}, sheet)
    missing = next((id for id in scene.nodes if id not in layout.positions), None)
    if missing is not None:
        raise PictureError(f"the layout has no place for {missing!r}; it was made for another drawing")
    panels = [Panel(scene, layout)]
    return compose(panels, scene.title, theme=theme, direction=direction, scale=scale, caption=caption, sheet=sheet)


def layout_of(
    scene: Scene,
    direction: Direction = "right",
    placed: Mapping[str, Point] | None = None,
    sheet: Sheet = SCREEN,
) -> Layout:
    """Lay out a scene with room for everything that is written in it."""
    boxes = {id: node.box(direction) for id, node in scene.nodes.items()}
    wires = [Wire(link.id, link.back, link.front) for link in scene.links]
    spacing = replace(LOOSE if len(scene.nodes) <= FULL_DETAIL else DENSE, widest=sheet.widest, aspect=sheet.aspect)
    if all(node.shape in ROUND for node in scene.nodes.values()):
        spacing = NEURONS if len(wires) <= 2 * len(boxes) else SPREAD_NEURONS
    lengths = dict(_rooms(scene, direction))
    return arrange(tuple(boxes), wires, boxes, direction, placed=placed, lengths=lengths, spacing=spacing)


def _rooms(scene: Scene, direction: Direction) -> Iterator[tuple[str, float]]:
    # On a path, the text of a weight has the room between the glyphs; elsewhere only that between the columns.
    leaving: dict[str, int] = {}
    entering: dict[str, int] = {}
    for link in scene.links:
        leaving[link.back] = leaving.get(link.back, 0) + 1
        entering[link.front] = entering.get(link.front, 0) + 1
    for link in scene.links:
        if not (link.sign or link.label):
            continue
        back, front = scene.nodes[link.back], scene.nodes[link.front]
        alone = leaving[link.back] == entering[link.front] == 1
        if direction == "down":
            between = form_of(back.shape, direction).half_height + form_of(front.shape, direction).above
            yield link.id, between + (52.0 if link.sign else 40.0)
            continue
        text = width_of(link.label, WEIGHT_SIZE) + 16 if link.label else 0.0
        need = max(text, 50.0 if link.sign else 34.0)
        if alone:
            yield link.id, form_of(back.shape, direction).right + need + form_of(front.shape, direction).half_width
        else:
            among = 54.0 + 9.0 * min(leaving[link.back] + entering[link.front] - 1, 8)
            yield (
                link.id,
                back.box(direction).right
                + max(need + (20.0 if link.label else 12.0), among)
                + front.box(direction).left,
            )


def compose(
    panels: Sequence[Panel],
    title: str,
    *,
    theme: Theme = "light",
    direction: Direction = "right",
    scale: float = 1.0,
    caption: str = "",
    widest: float = 1000.0,
    sheet: Sheet = SCREEN,
) -> str:
    """Set panels in rows, with a line under each and a caption under all, and write the SVG."""
    if not 0.05 <= scale <= 20:
        raise PictureError(f"the scale must be from 0.05 to 20, not {scale:g}")
    painter = Painter(theme, direction, sheet.font)
    room = max((panel.scene.frame_room for panel in panels), default=0.0)
    # The name of a frame stands above it.
    margin = max(sheet.margin, FRAME_NAME if room else 0.0) + room
    places, across, height = _flow(panels) if sheet.flow else _rows(panels, widest)
    width = max(across, min(width_of(caption, CAPTION_SIZE) + 4, 460.0), sheet.narrowest - 2 * margin)
    indent = margin + (width - across) / 2
    for panel, (x, y, room, depth) in zip(panels, places, strict=True):
        left = x + (room - panel.layout.width) / 2
        top = y + (depth - panel.layout.height) / 2
        painter.scene(panel.scene, panel.layout, left + indent, top + margin)
        for i, line in enumerate(_under(panel)):
            painter.line(line, x + room / 2 + indent, y + depth + 22 + i * LINE + margin, UNDER_SIZE)
    lines = wrap(caption, width, CAPTION_SIZE, 12) if caption else ()
    for i, line in enumerate(lines):
        painter.line(line, width / 2 + margin, height + margin + 26 + i * CAPTION_LINE, CAPTION_SIZE)
    if lines:
        height += 14 + len(lines) * CAPTION_LINE
    described = caption or (panels[0].scene.description if panels else "")
    width, height = width + 2 * margin, height + 2 * margin
    if sheet.millimetres is not None:
        return painter.text(title, described, width, height, sheet.millimetres / width, "mm")
    return painter.text(title, described, width, height, scale)


def _under(panel: Panel) -> tuple[str, ...]:
    return wrap(panel.under, UNDER_WIDTH, UNDER_SIZE)


def _flow(panels: Sequence[Panel]) -> tuple[list[tuple[float, float, float, float]], float, float]:
    # The first panel is the picture, the others explain it: as many side by side as fit under it.
    gap = 40.0
    widths = [max(p.layout.width, *(width_of(line, UNDER_SIZE) for line in _under(p)), 0.0) for p in panels]
    widest = max(widths, default=0.0)
    rows: list[list[int]] = []
    for i, width in enumerate(widths):
        if i > 1 and sum(widths[j] + gap for j in rows[-1]) + width <= widest:
            rows[-1].append(i)
        else:
            rows.append([i])
    places: list[tuple[float, float, float, float]] = []
    y = 0.0
    for row in rows:
        depth = max(panels[i].layout.height for i in row)
        lines = max(len(_under(panels[i])) for i in row)
        x = (widest - sum(widths[i] for i in row) - gap * (len(row) - 1)) / 2
        for i in row:
            places.append((x, y, widths[i], depth))
            x += widths[i] + gap
        y += depth + (lines * LINE + 12 if lines else 0.0) + 28
    return places, widest, y - 28


def _rows(panels: Sequence[Panel], widest: float) -> tuple[list[tuple[float, float, float, float]], float, float]:
    # Columns of one width, as few as keep the number of rows; a row that is not full stands in the middle.
    if not panels:
        return [], 0.0, 0.0
    gap = 40.0
    texts = [width_of(line, UNDER_SIZE) for panel in panels for line in _under(panel)]
    room = max(*(panel.layout.width for panel in panels), *texts, 0.0)
    columns = max(1, min(len(panels), int((widest + gap) // (room + gap))))
    while columns > 1 and -(-len(panels) // columns) == -(-len(panels) // (columns - 1)):
        columns -= 1
    places: list[tuple[float, float, float, float]] = []
    y = 0.0
    for start in range(0, len(panels), columns):
        row = panels[start : start + columns]
        depth = max(panel.layout.height for panel in row)
        lines = max(len(_under(panel)) for panel in row)
        indent = (columns - len(row)) * (room + gap) / 2
        places += [(indent + i * (room + gap), y, room, depth) for i in range(len(row))]
        y += depth + (lines * LINE + 12 if lines else 0.0) + 28
    return places, columns * (room + gap) - gap, y - 28
