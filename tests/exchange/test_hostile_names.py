"""No name changes what is generated: the syntax tree of Python, the element tree of SVG, the commands of TikZ."""

from __future__ import annotations

import ast
import random
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from hostile import FRAGMENTS, hostile_drawing, hostile_text, plain_drawing

from inkcap.drawing import Drawing, DrawingError, draw_svg, flatten, from_bytes
from inkcap.drawing.picture_carried import carry_in_svg
from inkcap.drawing.picture_tikz import LETTERS, latex_text, svg_to_tikz
from inkcap.engine import source_of
from inkcap.exchange import print_torch
from inkcap.exchange.keras_file import print_keras
from inkcap.network import check

QUICK, FULL = 60, 100_000
SEEDS = [("quick", QUICK), pytest.param("full", FULL, marks=pytest.mark.soak)]


def drawings(share: str, count: int):
    """Make so many drawings; what a drawing refuses goes nowhere."""
    chance = random.Random(share)  # noqa: S311
    made = 0
    while made < count:
        try:
            drawing = hostile_drawing(chance)
        except DrawingError:
            continue
        made += 1
        yield drawing


# Python ------------------------------------------------------------------------------------------------------


def shape_of(source: str) -> list[str]:
    """The syntax tree without its names and docstrings."""
    tree = ast.parse(source)
    bodies = [node.body[0] for node in ast.walk(tree) if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    told = {id(first.value) for first in bodies if isinstance(first, ast.Expr)}
    named = {
        id(word.value) for node in ast.walk(tree) if isinstance(node, ast.Call)
        for word in node.keywords if word.arg == "name"
    }  # fmt: skip
    return [
        f"{type(node).__name__} {node.value!r}"
        if isinstance(node, ast.Constant) and id(node) not in told | named
        else type(node).__name__
        for node in ast.walk(tree)
    ]


def counted(source: str) -> dict[str, int]:
    """What a source does, however it is parted into lines: the source that trains parts long expressions."""
    names = ("Name", "Store", "Load", "Assign")
    return Counter(node for node in shape_of(source) if node not in names)


PRINTERS = (
    (lambda drawing: print_torch(drawing, train=True).source, shape_of),
    (lambda drawing: print_keras(drawing).source, shape_of),
    (lambda drawing: source_of(check(drawing).network), counted),
)


@pytest.mark.parametrize(("share", "count"), SEEDS)
def test_no_name_changes_a_syntax_tree(share: str, count: int) -> None:
    expected = [judge(printer(plain_drawing())) for printer, judge in PRINTERS]
    for number, drawing in enumerate(drawings(share, count)):
        # Each drawing goes through one of the three printers.
        printer, judge = PRINTERS[number % len(PRINTERS)]
        source = printer(drawing)
        assert judge(source) == expected[number % len(PRINTERS)], drawing.to_text()
        names = (node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name))
        assert all(name.isascii() for name in names)


# SVG ---------------------------------------------------------------------------------------------------------


def elements(svg: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(element.tag, tuple(element.attrib)) for element in Xml.fromstring(svg).iter()]  # noqa: S314


def opened(drawing: Drawing) -> Drawing:
    """Open the groups: whether arguments fit under a box depends on how long their names are."""
    return flatten(drawing).drawing


@pytest.mark.parametrize(("share", "count"), SEEDS)
def test_no_name_changes_an_element_tree_or_breaks_tikz(share: str, count: int) -> None:
    plain = plain_drawing()
    expected = elements(draw_svg(opened(plain)))
    boxes = {tag for tag, _ in elements(draw_svg(plain))} | {"{http://www.w3.org/2000/svg}tspan"}
    statements = count_statements(svg_to_tikz(draw_svg(opened(plain))))
    for drawing in drawings(share, count):
        flat = draw_svg(opened(drawing))
        assert elements(flat) == expected, drawing.to_text()
        assert count_statements(svg_to_tikz(flat)) == statements
        folded = draw_svg(drawing)
        # A box that is called x1 is written with a subscript, as mathematics does.
        assert {tag for tag, _ in elements(folded)} <= boxes
        assert from_bytes(carry_in_svg(folded, drawing.to_text()).encode()).to_text() == drawing.to_text()


# TikZ --------------------------------------------------------------------------------------------------------

MACROS = "|".join(re.escape(text) for text in sorted(LETTERS.values(), key=len, reverse=True))
TEXT = rf"(?:{MACROS}|\\inkcapletter\{{[^\\{{}}%$#&~^_\x00-\x7f]\}}\{{[0-9A-F]{{4,6}}\}}|[A-Za-z0-9 .:;()/*+=@])*"
FONT = r"\\fontsize\{10\}\{12\}\\selectfont\\(?:sf|tt)family(?:\\bfseries)?(?:\\itshape)?"
LINES = [
    r"% [\w .,:()-]*",
    r"% Drawn by Inkcap\. .*",
    r"\\ifdefined\\tikzpicture\\def\\inkcapend\{\}\\else",
    r"\\documentclass\{article\}|\\usepackage\{tikz\}|\\usepackage\[paperwidth=[\d.]+pt,paperheight=[\d.]+pt,margin=0pt\]"
    r"\{geometry\}|\\pagestyle\{empty\}\\parindent=0pt\\topskip=0pt|\\def\\inkcapend\{\\end\{document\}\}",
    r"\\begin\{document\}|\\fi|\\end\{tikzpicture\}%|\\inkcapend|",
    r"\\providecommand\\inkcapletter\[2\]\{\\ifdefined\\Umathchar#1\\else\{\\ttfamily U\+#2\}\\fi\}%",
    r"\\definecolor\{inkcap[a-z]{2}\}\{HTML\}\{[0-9A-F]{6}\}%",
    r"\\begin\{tikzpicture\}\[x=[\d.]+pt,y=-[\d.]+pt,line join=round\]",
    r"\\useasboundingbox \(0,0\) rectangle \([\d.]+,[\d.]+\);",
    r"\\path\[[a-z0-9=,. ]+\] [-0-9.,() a-z]+;",
    rf"\\node\[[a-z0-9=,. ]+\] at \([-\d.]+,[-\d.]+\) \{{{FONT} {TEXT}(?:\$_\{{\\mathrm\{{{TEXT}\}}\}}\$)?\}};",
]
KNOWN = re.compile("|".join(f"(?:{line})" for line in LINES))


def count_statements(tikz: str) -> int:
    """Count what is drawn; a line that is none of the known ones is a command that came from a name."""
    for line in tikz.split("\n"):
        assert KNOWN.fullmatch(line), line
    return sum(line.startswith(("\\path", "\\node")) for line in tikz.split("\n"))


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_each_fragment_is_written_as_text(fragment: str) -> None:
    assert re.fullmatch(TEXT, latex_text(fragment)), latex_text(fragment)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize("count", [2, pytest.param(300, marks=pytest.mark.soak)])
def test_pdflatex_compiles_hostile_names(tmp_path: Path, count: int) -> None:
    chance = random.Random("latex")  # noqa: S311
    texts = [*FRAGMENTS, *(hostile_text(chance, 8) for _ in range(200))]
    lines = "".join(f"\\node at (0,0) {{{latex_text(text)}}};\n" for text in texts)
    for number, drawing in enumerate(drawings("latex", count)):
        tikz = svg_to_tikz(draw_svg(drawing))
        if not number:
            tikz = tikz.replace("\\end{tikzpicture}", f"{lines}\\end{{tikzpicture}}")
        (tmp_path / "figure.tex").write_text(tikz, "utf-8")
        done = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "figure.tex"],
            cwd=tmp_path, capture_output=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-3000:].decode("utf-8", "replace")
        assert b"(1 page" in done.stdout.replace(b"\n", b"")
