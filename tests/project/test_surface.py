"""The public surface, pinned: a name comes or goes only on purpose. And imports that every platform has."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import inkcap

SOURCE = Path(inkcap.__file__).parent
POSIX_ONLY = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}

PUBLIC = [
    "Drawing",
    "DrawingError",
    "InkcapError",
    "Network",
    "Recipe",
    "Report",
    "RunFailure",
    "Structure",
    "backpropagate",
    "build",
    "check",
    "contract",
    "coupling",
    "draw",
    "evaluate",
    "expand",
    "from_torch",
    "import_onnx",
    "load_drawing",
    "predict",
    "resume",
    "save_drawing",
    "source_of",
    "train",
]


def test_the_public_names() -> None:
    assert sorted(inkcap.__all__) == PUBLIC
    for name in PUBLIC:
        assert getattr(inkcap, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = inkcap.nonsense


def test_importing_inkcap_needs_neither_torch_nor_numpy() -> None:
    program = "import sys, inkcap; sys.exit(bool({'torch', 'numpy', 'sklearn', 'fastapi'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_module_needs_posix_to_be_imported(path: Path) -> None:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        assert not {name.split(".")[0] for name in names} & POSIX_ONLY
