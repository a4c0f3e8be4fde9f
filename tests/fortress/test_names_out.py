"""S7. No name changes what goes out: trees of Python, SVG, HTML, statements of TikZ, operators of ONNX and more."""

from __future__ import annotations

import ast
import multiprocessing
import os
import random
import re
import shutil
import subprocess
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from hostile import FRAGMENTS, PLAIN, UNSEEN, hostile_drawings, hostile_text, smuggle
from judging import PRINTERS, STYLES, TEXT, Judge, figure_of, judge, statements
from judging_files import FORMS as FILE_FORMS
from judging_files import SLOW, html_tree, judge_terminal
from same_trees import Differs, SameTree

import inkcap
from inkcap.drawing import DrawingError, Edit, Meta, Put
from inkcap.drawing.picture_tikz import latex_text, svg_to_tikz
from inkcap.exchange.forms import FORMS
from inkcap.network import check

QUICK, FULL, SHARE = 300, 100_000, 1000
PROMISED = 200_000
"""Names that are promised for Python, figures, HTML and terminals; the forms that take seconds each have fewer."""


def test_no_name_changes_a_tree_or_breaks_a_form(tally) -> None:
    names = Judge().judge("quick", QUICK)
    tally("S7", drawings=QUICK, **names)
    assert set(FILE_FORMS) - SLOW <= set(names), "every form was judged at least once"


@pytest.mark.soak
def test_two_hundred_thousand_names_change_nothing(tally) -> None:
    processes = multiprocessing.get_context("spawn")
    names: Counter[str] = Counter()
    with ProcessPoolExecutor(os.cpu_count(), mp_context=processes) as pool:
        for share in [pool.submit(judge, f"full {number}", SHARE) for number in range(FULL // SHARE)]:
            names += share.result()
    tally("S7", drawings=FULL, **names)
    assert min(names[form] for form in ("python", "svg", "tikz", "notebook", "terminal")) >= PROMISED


def test_every_form_that_goes_out_has_a_judge() -> None:
    judged = {"torch", "keras", "svg", "tikz", *FILE_FORMS}
    assert {form.name for form in FORMS} <= judged


def test_no_table_goes_out_as_csv() -> None:
    # Cells that begin with = + - @ are formulas to spreadsheets: whoever writes the first CSV escapes them, here.
    source = Path(inkcap.__file__).parent
    writes = re.compile(r"csv\.writer|DictWriter|\.to_csv\(|write_csv|text/csv")
    assert not [path.name for path in source.rglob("*.py") if writes.search(path.read_text("utf-8"))]


# The judges themselves ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("self.Q2Q = nn.Linear(A1A, A1A)", "self.Q2Q = nn.Linear(A1A, 4)"),
        ("self.Q2Q = nn.Linear(A1A, A1A)", "self.Q1Q = nn.Linear(A1A, A1A)"),
        ("Q1Q = F.relu(self.Q1Q(x))", "Q1Q = F.relu(self.Q1Q(x)); import os"),
        ("Q1Q = F.relu(self.Q1Q(x))", "Q1Q = F.gelu(self.Q1Q(x))"),
        ("return Q10Q", "return Q9Q"),
        ("def forward(self, x: Tensor) -> Tensor:", "def forward(self, x: Tensor, y: Tensor) -> Tensor:"),
        ('"""T0T.', '"""T0\\nT.'),
    ],
)
def test_another_tree_is_noticed(good: str, bad: str) -> None:
    source = PRINTERS[0](check(PLAIN.drawing("rows")))
    same = SameTree(source)
    same.check(source.replace("Q1Q", "other").replace("Q2Q", "names"))
    changed = source.replace(good, bad, 1)
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))
    with pytest.raises(Differs):
        same.check(changed)


@pytest.mark.parametrize(
    "bad", ["<i>x</i>", "<b onclick=x>", "<p style=color:red>", "<!-- x -->", "<script>", "</table><img src=x>"]
)
def test_what_a_browser_would_read_is_noticed(bad: str) -> None:
    html = check(PLAIN.drawing("tied"))._repr_html_()
    assert html_tree(html)
    with pytest.raises((AssertionError, SyntaxError)):
        html_tree(html.replace("T0T", bad, 1))


def test_what_a_terminal_would_obey_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = PLAIN.drawing("tied")
    smuggle(drawing, random.Random("terminal"))  # noqa: S311
    drawing.apply(Edit("name", (Put(Meta("\x1b[2J\x9b2J", drawing.dtype)),)))
    judge_terminal(check(drawing))
    monkeypatch.setattr("inkcap.cli.output.harmless", lambda text: text)
    with pytest.raises(AssertionError, match=r"x1b|x9b"):
        judge_terminal(check(drawing))


@pytest.mark.parametrize("bad", ["\\input{x}", "a}", "$", "#1", "50%", "a_b", "^^5c"])
def test_what_latex_would_read_is_noticed(bad: str) -> None:
    tikz = svg_to_tikz(figure_of(check(PLAIN.drawing("tied")), STYLES[0]))
    assert "T3T" in tikz
    with pytest.raises(AssertionError):
        statements(tikz.replace("T3T", bad, 1))


@pytest.mark.parametrize("unseen", UNSEEN)
def test_what_no_one_sees_is_refused_in_names(unseen: str) -> None:
    names = type(PLAIN)(PLAIN.ids, [f"a{unseen}b"] * len(PLAIN.texts), PLAIN.arguments)
    with pytest.raises(DrawingError, match="has a control or direction character"):
        names.drawing("tied")


# LaTeX -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_each_fragment_is_written_as_text(fragment: str) -> None:
    assert re.fullmatch(TEXT, latex_text(fragment)), latex_text(fragment)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize("count", [2, pytest.param(60, marks=pytest.mark.soak)])
def test_pdflatex_compiles_hostile_names(tmp_path: Path, count: int) -> None:
    chance = random.Random("latex")  # noqa: S311
    texts = [*FRAGMENTS, *(hostile_text(chance, 8) for _ in range(200))]
    lines = "".join(f"\\node at (0,0) {{{latex_text(text)}}};\n" for text in texts)
    for number, (_, _, drawing) in enumerate(hostile_drawings("latex", count)):
        tikz = svg_to_tikz(figure_of(check(drawing), STYLES[number % len(STYLES)]))
        if not number:
            tikz = tikz.replace("\\end{tikzpicture}", f"{lines}\\end{{tikzpicture}}")
        (tmp_path / "figure.tex").write_text(tikz, "utf-8")
        done = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "figure.tex"],
            cwd=tmp_path, capture_output=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-3000:].decode("utf-8", "replace")
        assert b"(1 page" in done.stdout.replace(b"\n", b"")
