"""What must not change under any name: generated Python, SVG and TikZ, each held against harmless names."""

from __future__ import annotations

import gc
import random
import re
from collections import Counter
from collections.abc import Callable

from hostile import NAMES_IN, PLAIN, SHAPES, hostile_drawings, smuggle, twin_of
from judging_files import FORMS
from same_trees import SameTree, elements, without_texts

from inkcap.drawing import Drawing, from_bytes
from inkcap.drawing.picture_tikz import LETTERS, svg_to_tikz
from inkcap.engine import source_of
from inkcap.exchange.keras_file import NoKeras
from inkcap.exchange.keras_file import print_checked as print_keras
from inkcap.exchange.torch_file import print_checked as print_torch
from inkcap.network import Report, check
from inkcap.network.picture import Style, draw_figure, picture_of

MACROS = "|".join(re.escape(text) for text in sorted(LETTERS.values(), key=len, reverse=True))
TEXT = rf"(?:{MACROS}|\\inkcapletter\{{[^\\{{}}%$#&~^_\x00-\x7f]\}}\{{[0-9A-F]{{4,6}}\}}|[A-Za-z0-9 .:;()/*+=@])*"
FONT = r"\\fontsize\{10\}\{12\}\\selectfont\\(?:sf|tt)family(?:\\bfseries)?(?:\\itshape)?"
PATH = re.compile(r"\\path\[[a-z0-9=,. ]+\] [-0-9.,() a-z]+;")
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
    PATH.pattern,
    rf"\\node\[[a-z0-9=,. ]+\] at \([-\d.]+,[-\d.]+\) \{{{FONT} {TEXT}(?:\$_\{{\\mathrm\{{{TEXT}\}}\}}\$)?\}};",
]
KNOWN = re.compile("|".join(f"(?:{line})" for line in LINES))


def statements(tikz: str) -> list[str]:
    """Give what is drawn without what is written; a line that is none of the known ones came from a name."""
    found: list[str] = []
    for line in tikz.split("\n"):
        known = PATH if line.startswith("\\path") else KNOWN
        assert known.fullmatch(line), line
        assert line.startswith("%") or balanced(line) or line.startswith(UNBALANCED), line
        found.append(line.partition("\\selectfont")[0] if line.startswith("\\node") else line[:1])
    return found


UNBALANCED = ("\\ifdefined\\tikzpicture",)


def balanced(line: str) -> bool:
    """Tell whether every brace of a line that LaTeX sees is closed in it."""
    depth = 0
    for sign in re.findall(r"\\[\\{}]|[{}]", line):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if depth < 0:
            return False
    return not depth


def printed_keras(report: Report) -> str:
    """Print Keras, or nothing where a symbol has no layer there."""
    try:
        return print_keras(report).source
    except NoKeras:
        return ""


PRINTERS: tuple[Callable[[Report], str], ...] = (
    lambda report: print_torch(report, train=True).source,
    printed_keras,
    lambda report: source_of(report.network),
)
STYLES = (Style(opened=True), Style(), Style(opened=True, direction="down"), Style(compact=True))
CARRIES = ("png",)
"""Forms that carry the drawing's own text, which holds nothing that no file can hold."""
TWINS = 20
"""Every so many drawings the figure is held against that of harmless names of the same widths."""


def figure_of(report: Report, style: Style) -> str:
    """Draw the figure of a paper."""
    if style.compact:
        return draw_figure(report, "svg", style).content.decode()
    return picture_of(report, "paper", opened=style.opened, direction=style.direction)


class Judge:
    """Judges drawings under hostile names, each by one printer of Python, one style of figure, and TikZ."""

    def __init__(self) -> None:
        """Print everything under harmless names."""
        reports = {shape: check(PLAIN.drawing(shape)) for shape in SHAPES}
        self.reports = reports
        self.expected: dict[tuple[str, str], object] = {}
        self.names: Counter[str] = Counter()
        self.trees = {
            (shape, number): SameTree(printer(report))
            for shape, report in reports.items()
            for number, printer in enumerate(PRINTERS)
        }
        self.elements = {
            (shape, number): elements(figure_of(report, style))
            for shape, report in reports.items()
            for number, style in enumerate(STYLES)
            if style.opened
        }

    def judge(self, seed: str, count: int) -> Counter[str]:
        """Judge so many drawings and give how many names each form held; what is wrong is an error that shows it."""
        chance = random.Random(seed)  # noqa: S311
        for number, (shape, names, drawing) in enumerate(hostile_drawings(seed, count)):
            smuggled = number % 7 == 0
            if smuggled:
                smuggle(drawing, chance)
            report = check(drawing)
            try:
                self.python(shape, report, number % len(PRINTERS))
                twin = None if smuggled or number % TWINS else twin_of(names, chance).drawing(shape)
                # What no file can hold is not carried by a figure either.
                style = number % (len(STYLES) - smuggled)
                svg = self.figure(shape, report, style, twin)
                if STYLES[style].compact:
                    assert from_bytes(svg.encode()).to_text() == drawing.to_text()
                self.names.update(dict.fromkeys(("python", "svg", "tikz"), NAMES_IN[shape]))
                self.files(shape, report, number, smuggled)
            except Exception as error:
                raise AssertionError(
                    f"{error}, in drawing {number} of {seed}: {names.drawing(shape).to_text()}"
                ) from error
        return self.names

    def files(self, shape: str, report: Report, number: int, smuggled: bool) -> None:
        """Judge the other forms, those that take long for some drawings only, in turn."""
        for place, (form, (every, tree_of)) in enumerate(FORMS.items()):
            if number % every != (every // 2 + place if every > 1 else 0) or (smuggled and form in CARRIES):
                continue
            if (shape, form) not in self.expected:
                self.expected[shape, form] = tree_of(self.reports[shape])
            found, expected = tree_of(report), self.expected[shape, form]
            assert found == expected, f"{form}: {expected} became {found}"
            self.names[form] += NAMES_IN[shape]

    def python(self, shape: str, report: Report, number: int) -> None:
        """Compare the syntax tree."""
        self.trees[shape, number].check(PRINTERS[number](report))

    def figure(self, shape: str, report: Report, number: int, twin: Drawing | None) -> str:
        """Compare the element tree, and where there is a twin every attribute as well; read every line of TikZ."""
        style = STYLES[number]
        svg = figure_of(report, style)
        expected = self.elements.get((shape, number))
        # Of a folded group the arguments are written under its box where they fit: only a twin is as wide.
        assert expected is None or elements(svg) == expected
        drawn = statements(svg_to_tikz(svg))
        if twin is not None:
            other = figure_of(check(twin), style)
            assert without_texts(svg) == without_texts(other)
            assert drawn == statements(svg_to_tikz(other))
        return svg


def judge(seed: str, count: int) -> Counter[str]:
    """Judge in a process of its own, where nothing is thrown away in between."""
    gc.freeze()
    gc.set_threshold(100_000)
    return Judge().judge(seed, count)
