"""No name changes what is generated: the syntax tree of Python, the element tree of SVG, the statements of TikZ."""

from __future__ import annotations

import ast
import multiprocessing
import os
import random
import re
import shutil
import subprocess
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from hostile import FRAGMENTS, PLAIN, UNSEEN, hostile_drawings, hostile_text
from judging import PRINTERS, STYLES, TEXT, Judge, figure_of, judge, statements
from same_trees import Differs, SameTree

from inkcap.drawing import DrawingError
from inkcap.drawing.picture_tikz import latex_text, svg_to_tikz
from inkcap.network import check

QUICK, FULL, SHARE = 300, 100_000, 500


def test_no_name_changes_a_tree_or_breaks_tikz() -> None:
    assert Judge().judge("quick", QUICK) == QUICK


@pytest.mark.soak
def test_a_hundred_thousand_drawings_change_nothing() -> None:
    processes = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=processes) as pool:
        shares = [pool.submit(judge, f"full {number}", SHARE) for number in range(FULL // SHARE)]
        assert sum(share.result() for share in shares) == FULL


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
