"""The size budgets of the code base: modules, functions and symbol families that have grown too long are named.

Usage: python tools/budgets.py [folder ...]     (default: src and tools)
"""

import ast
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

MODULE_LINES = 400
FAMILY_LINES = 250
FUNCTION_LINES = 60
ROOT = Path(__file__).resolve().parent.parent


def module_budget(path: Path) -> int:
    """Return how many lines the module may have: a file of the symbol catalogue is a family, and smaller."""
    return FAMILY_LINES if path.parent.parts[-2:] == ("inkcap", "symbols") else MODULE_LINES


def offences(path: Path) -> Iterator[str]:
    """Yield one line of text for each budget that the module breaks."""
    text = path.read_text(encoding="utf-8")
    lines, allowed = len(text.splitlines()), module_budget(path)
    if lines > allowed:
        yield f"{path}:{allowed + 1}: the module has {lines} lines, {allowed} are allowed: part it in two"
    for node in ast.walk(ast.parse(text, filename=str(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                yield (
                    f"{path}:{node.lineno}: the function {node.name} has {length} lines, "
                    f"{FUNCTION_LINES} are allowed: name a part of it"
                )


def main(arguments: Sequence[str]) -> int:
    """Check every Python file below the folders; print the offenders and return 1 when there are any."""
    folders = [Path(argument) for argument in arguments] or [ROOT / "src", ROOT / "tools"]
    missing = [folder for folder in folders if not folder.is_dir()]
    for folder in missing:
        print(f"{folder}: no such folder, so there is nothing to measure", file=sys.stderr)
    modules = sorted(path for folder in folders for path in folder.rglob("*.py"))
    found = [offence for path in modules for offence in offences(path)]
    for offence in found:
        print(offence)
    print(f"budgets: {len(modules)} modules measured, {len(found)} over budget")
    return 1 if found or missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
