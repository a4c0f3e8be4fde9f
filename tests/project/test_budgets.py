"""The size budgets: the tree keeps them, and the tool names what does not."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def measure(*folders: Path) -> tuple[int, str]:
    command = [sys.executable, str(ROOT / "tools" / "budgets.py"), *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def function(lines: int, name: str = "long") -> str:
    return f"def {name}():\n" + "    pass\n" * (lines - 1)


def test_the_tree_keeps_its_budgets():
    code, said = measure()
    assert code == 0, said


@pytest.mark.parametrize(
    ("path", "allowed"),
    [("inkcap/drawing/codec.py", 400), ("inkcap/symbols/pooling.py", 250), ("other/symbols/pooling.py", 400)],
)
def test_a_module_may_be_so_long_and_no_longer(tmp_path, path, allowed):
    module = tmp_path / path
    module.parent.mkdir(parents=True)
    module.write_text("x = 1\n" * allowed, encoding="utf-8")
    assert measure(tmp_path)[0] == 0
    module.write_text("x = 1\n" * (allowed + 1), encoding="utf-8")
    code, said = measure(tmp_path)
    assert code == 1
    assert f"{module}:{allowed + 1}: the module has {allowed + 1} lines" in said


def test_a_function_may_be_so_long_and_no_longer(tmp_path):
    module = tmp_path / "a.py"
    module.write_text(function(60), encoding="utf-8")
    assert measure(tmp_path)[0] == 0
    module.write_text("\n" + function(61), encoding="utf-8")
    code, said = measure(tmp_path)
    assert code == 1
    assert f"{module}:2: the function long has 61 lines" in said


def test_methods_and_nested_and_async_functions_are_measured(tmp_path):
    inner = function(61, "inner").replace("\n", "\n    ")
    (tmp_path / "a.py").write_text(f"class A:\n    async {inner}\n", encoding="utf-8")
    (tmp_path / "b.py").write_text(f"def outer():\n    {inner}\n", encoding="utf-8")
    code, said = measure(tmp_path)
    assert code == 1
    assert said.count("the function inner has 61 lines") == 2
    assert "the function outer has 62 lines" in said


def test_a_folder_that_is_not_there_is_no_success(tmp_path):
    assert measure(tmp_path / "nowhere")[0] == 1
