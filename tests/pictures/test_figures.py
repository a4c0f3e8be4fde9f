"""The paper's figures and the commands that draw."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from inkcap.network import check
from inkcap.theory import classify
from inkcap.zoo import PAPER_FIGURES, UnknownFigure, draw, paper_figure, picture_of
from inkcap.zoo.flexible import layered_figure_15, plain_mlp, skip_figure_16
from inkcap.zoo.paper_figures import computation_figure_3, mlp_figure_13

ROOT = Path(__file__).resolve().parents[2]
DRAWN = [*range(1, 11), *range(13, 23)]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("number", DRAWN)
def test_every_figure_is_drawn_with_its_caption_and_the_same_twice(number, theme):
    svg = paper_figure(number).svg(theme)
    assert svg == paper_figure(number).svg(theme)
    words = " ".join(t.text or "" for t in Xml.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"))  # noqa: S314
    assert f"Figure {number}." in words


def test_the_figures_are_these_and_others_are_refused():
    assert list(PAPER_FIGURES) == DRAWN
    with pytest.raises(UnknownFigure, match="figure 11 is not drawn"):
        paper_figure(11)


def lines_in(svg: str) -> int:
    return len(re.findall(r'<path d="M[^"]*"[^>]*marker-end', svg))


def discs_in(svg: str) -> int:
    return len(re.findall(r'xlink:href="#light-disc"', svg))


@pytest.mark.parametrize(
    ("number", "discs", "lines"), [(3, 8, 9), (4, 3, 1), (5, 9, 7), (6, 28, 26), (7, 3, 2), (8, 28, 26), (9, 75, 77)]
)
def test_graphs_and_galleries_have_the_vertices_and_edges_they_should(number, discs, lines):
    svg = paper_figure(number).svg()
    assert (discs_in(svg), lines_in(svg)) == (discs, lines)


@pytest.mark.parametrize(("sizes", "neurons", "lines"), [((5, 7, 7, 7, 4), 30, 161), ((2, 6, 4, 2), 14, 44)])
def test_plain_networks_have_the_neurons_and_connections_of_the_paper(sizes, neurons, lines):
    drawing = plain_mlp(sizes, "plain")
    assert (len(drawing.capsules), len(drawing.connections)) == (neurons, lines)
    assert check(drawing).well_formed


def test_figure_15_is_layered_and_figure_16_is_not():
    for draw_it, kind in ((layered_figure_15, "layered"), (skip_figure_16, "skip")):
        report = check(draw_it())
        assert report.well_formed
        assert classify(report.graph).kind == kind
    assert check(mlp_figure_13()).parameters == 186


def test_the_graph_of_figure_3_computes_what_the_paper_says():
    assert computation_figure_3().evaluate({"x1": 1, "x2": 3, "x3": 2})["x8"] == pytest.approx(0.7727644875559877)


def test_the_pictures_in_the_documentation_are_up_to_date():
    stored = (ROOT / "docs" / "pictures" / "lenet.svg").read_text(encoding="utf-8")
    assert stored == picture_of(check(draw("lenet")))
    assert (ROOT / "docs" / "pictures" / "figures.png").stat().st_size < 500_000


# Commands ----------------------------------------------------------------------------------------------------


def test_picture_writes_svg_beside_the_drawing_and_png_where_told(run):
    run("new", "lenet")
    answer = run("picture", "lenet.inkcap.json")
    assert (answer.code, answer.err) == (0, "")
    svg = Path("lenet.svg").read_text(encoding="utf-8")
    assert re.sub("<metadata>.*</metadata>", "", svg, flags=re.DOTALL) == picture_of(check(draw("lenet")))
    assert run("picture", "lenet.inkcap.json", "-o", "l.png", "--dark", "--down", "--no-labels").code == 0
    assert Path("l.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(p.name for p in Path().iterdir()) == ["l.png", "lenet.inkcap.json", "lenet.svg"]


def test_a_drawing_with_errors_is_drawn_with_red_and_a_word(run):
    run("new", "lenet")
    text = json.loads(Path("lenet.inkcap.json").read_text(encoding="utf-8"))
    text["capsules"][4]["attributes"]["window"] = [3, 3]
    Path("lenet.inkcap.json").write_text(json.dumps(text), encoding="utf-8")
    answer = run("picture", "lenet.inkcap.json")
    assert answer.code == 0
    assert "marked in red: inkcap check lenet.inkcap.json" in answer.err
    assert "#c8382d" in Path("lenet.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere.inkcap.json",), "no such file"),
        (("lenet.inkcap.json", "-o", "lenet.gif"), ".svg, .png, .pdf or .tex"),
        (("lenet.inkcap.json", "-o", "no/where.svg"), "cannot be written"),
        (("lenet.inkcap.json", "--scale", "0"), "the scale"),
        (("lenet.inkcap.json", "-o", "x.png", "--scale", "19"), "pixels"),
        (("drawing.svg",), "take the place"),
    ],
)
def test_what_cannot_be_drawn_is_told_in_one_line(run, words, said):
    run("new", "lenet")
    Path("drawing.svg").write_text(Path("lenet.inkcap.json").read_text(encoding="utf-8"), encoding="utf-8")
    answer = run("picture", *words)
    assert answer.code == 2
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert "Traceback" not in answer.err


def test_figures_fill_a_folder(run):
    answer = run("figures", "-o", "deep/folder")
    assert answer.code == 0
    assert len(list(Path("deep/folder").glob("figure-*.svg"))) == len(DRAWN)
    assert run("figures", "-o", "few", "--png", "--dark").code == 0
    assert len(list(Path("few").glob("figure-*.png"))) == len(DRAWN)
    Path("taken").write_text("", encoding="utf-8")
    assert run("figures", "-o", "taken").code == 2
