"""Notebooks: a drawing shows itself as SVG, a report as a table; names in them stay text."""

from __future__ import annotations

from xml.etree import ElementTree as Xml

from inkcap import Drawing, check, draw
from inkcap.drawing import Edit, Meta, Plain, Put
from inkcap.network.picture import picture_of


def test_a_drawing_is_its_picture_with_structures() -> None:
    drawing = draw("lenet")
    svg = drawing._repr_svg_()
    assert svg == picture_of(check(drawing))
    assert "24×24×32" in svg


def test_a_drawing_that_is_too_large_is_told_in_words() -> None:
    drawing = Drawing("large")
    many = 2_001
    drawing.apply(Edit("fill", (Put(Plain(["relu"] * many, [0.0] * many, [], [], [], {}, {})),)))
    assert drawing._repr_svg_() is None
    assert "large" in repr(drawing)


def test_a_report_is_a_table_with_what_is_wrong() -> None:
    table = check(draw("lenet"))._repr_html_()
    assert Xml.fromstring(f"<div>{table.replace('<br>', '<br/>')}</div>").findall(".//tr")[0] is not None  # noqa: S314
    assert "582 026 parameters" in table
    assert table.count("<tr>") == 9
    drawing = Drawing("<b>&</b>")
    drawing.apply(Edit("name", (Put(Meta("<script>", "float32")),)))
    drawing.add("a", "1D-relu")
    wrong = check(drawing)._repr_html_()
    assert "<script>" not in wrong
    assert "<li><b>" in wrong
