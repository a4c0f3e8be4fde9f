"""Figures for papers: every form, of the width that was asked for, from the same lines as the SVG."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from xml.etree import ElementTree as Xml

import pytest
from PIL import Image

from inkcap.drawing import PictureError, from_bytes
from inkcap.drawing.picture_flat import Stroke, Writing, flatten_svg
from inkcap.drawing.picture_paths import read_path
from inkcap.drawing.picture_tikz import svg_to_tikz
from inkcap.network import check
from inkcap.network.picture import Style, draw_figure, picture_of, read_width
from inkcap.zoo import draw

LENET = check(draw("lenet"))
RESNET = check(draw("resnet18"))


def words(svg: bytes) -> list[str]:
    return [text.text or "" for text in Xml.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314


def test_every_form_has_the_width_that_was_asked_for() -> None:
    style = Style(millimetres=85.0)
    svg = draw_figure(LENET, "svg", style)
    root = Xml.fromstring(svg.content)  # noqa: S314
    assert root.get("width") == "85.000mm"
    assert svg.carries
    assert from_bytes(svg.content).to_text() == draw("lenet").to_text()
    png = draw_figure(LENET, "png", style)
    image = Image.open(io.BytesIO(png.content))
    assert image.width == pytest.approx(85 / 25.4 * 300, abs=2)
    assert from_bytes(png.content).to_text() == draw("lenet").to_text()
    pdf = draw_figure(LENET, "pdf", style).content
    box = re.search(rb"/MediaBox ?\[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    assert box is not None
    assert float(box[1]) == pytest.approx(85 / 25.4 * 72, abs=0.1)
    assert b"/FontFile" in pdf or b"/FontFile2" in pdf or b"/Type0" in pdf
    tikz = draw_figure(LENET, "tikz", style).content.decode()
    unit = re.search(r"x=([\d.]+)pt", tikz)
    across = re.search(r"rectangle \(([\d.]+),", tikz)
    assert unit is not None
    assert across is not None
    assert float(unit[1]) * float(across[1]) == pytest.approx(85 / 25.4 * 72, abs=0.1)


def test_text_is_as_large_as_rows_allow() -> None:
    sizes = [draw_figure(LENET, "svg", Style(millimetres=width)).text_points for width in (85.0, 120.0, 170.0)]
    assert all(5.5 <= size <= 8.0 for size in sizes)


def test_a_monochrome_figure_has_no_colour() -> None:
    svg = draw_figure(RESNET, "svg", Style(monochrome=True)).content.decode()
    for colour in set(re.findall("#[0-9a-f]{6}", svg)):
        assert colour[1:3] == colour[3:5] == colour[5:7]
    assert "#2a62c4" not in svg
    coloured = draw_figure(RESNET, "svg").content.decode()
    assert any(c[1:3] != c[3:5] for c in set(re.findall("#[0-9a-f]{6}", coloured)))


def test_labels_font_and_direction_are_taken() -> None:
    assert words(draw_figure(LENET, "svg", Style(labels=False)).content) == []
    assert "28×28×1" in words(draw_figure(LENET, "svg").content)
    svg = draw_figure(LENET, "svg", Style(font="Latin Modern Roman")).content.decode()
    assert svg.count("'Latin Modern Roman', ") > 1
    down = Xml.fromstring(draw_figure(LENET, "svg", Style(direction="down")).content)  # noqa: S314
    assert float(down.get("height", "0")) > float(down.get("width", "0"))


def test_a_compact_figure_draws_every_group_once_and_an_opened_one_every_use() -> None:
    boxes = words(draw_figure(RESNET, "svg").content)
    compact = words(draw_figure(RESNET, "svg", Style(compact=True)).content)
    opened = words(draw_figure(RESNET, "svg", Style(opened=True)).content)
    assert (boxes.count("sum"), compact.count("sum"), opened.count("sum")) == (0, 2, 8)
    assert [word for word in compact if ", as " in word] == ["block, as L1.0", "widen, as L2-0"]
    assert "block ×2" in compact
    assert "56×56×64" in compact


@pytest.mark.parametrize(
    ("form", "style", "said"),
    [
        ("svg", Style(font="x' onload='alert(1)"), "no name of a font"),
        ("tikz", Style(font="Arial"), "fonts of the document"),
        ("svg", Style(millimetres=3.0), "from 10 to 2000 mm"),
        ("svg", Style(opened=True, compact=True), "not both"),
    ],
)
def test_what_cannot_be_drawn_is_refused(form, style, said) -> None:
    with pytest.raises(PictureError, match=said):
        draw_figure(LENET, form, style)


def test_widths_are_read_with_their_unit() -> None:
    assert read_width("85mm") == 85
    assert read_width("8.5 cm") == 85
    assert read_width("72pt") == pytest.approx(25.4)
    for wrong in ("85", "-3mm", "1e3mm", "mm", "85px"):
        with pytest.raises(PictureError, match="no width"):
            read_width(wrong)


def test_an_arc_ends_where_it_should_and_keeps_its_radius() -> None:
    # A half circle from −1 to 1 around the origin.
    move, *curves = read_path("M-1 0A1 1 0 0 1 1 0")
    assert move.points == ((-1.0, 0.0),)
    assert curves[-1].points[-1] == (1.0, 0.0)
    assert curves[0].points[-1] == pytest.approx((0.0, -1.0))
    assert len(curves) == 2
    (line,) = list(read_path("M0 0h3"))[1:]
    assert line.points == ((3.0, 0.0),)


def test_a_flat_picture_has_what_the_svg_shows() -> None:
    svg = picture_of(LENET)
    flat = flatten_svg(svg)
    texts = [item.text for item in flat.items if isinstance(item, Writing)]
    assert texts == words(svg.encode())
    strokes = [item for item in flat.items if isinstance(item, Stroke)]
    # Every connection has a line and the head of its arrow; every glyph its sheets and its mark.
    assert sum(not s.fill and len(s.segments) == 2 for s in strokes) >= len(draw("lenet").connections)
    inside = [p for s in strokes for segment in s.segments for p in segment.points]
    assert all(0 <= x <= flat.width and 0 <= y <= flat.height for x, y in inside)


def test_tikz_is_refused_where_tex_knows_no_such_length() -> None:
    with pytest.raises(PictureError, match="TeX knows no more"):
        svg_to_tikz(picture_of(LENET), 20_000.0)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize("way", ["alone", "in a document"])
def test_pdflatex_compiles_it(tmp_path, way: str) -> None:
    tikz = draw_figure(LENET, "tikz", Style(millimetres=120.0)).content
    (tmp_path / "figure.tex").write_bytes(tikz)
    document = r"\documentclass{article}\usepackage{tikz}\begin{document}Look: \input{figure} here.\end{document}"
    (tmp_path / "paper.tex").write_text(document, encoding="utf-8")
    file = "figure" if way == "alone" else "paper"
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", f"{file}.tex"],
        cwd=tmp_path, capture_output=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    assert f"Output written on {file}.pdf (1 page".encode() in done.stdout.replace(b"\n", b"")
