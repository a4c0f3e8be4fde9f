"""The layers: the tree keeps its contracts, and a deliberate violation proves that the linter still sees."""

import copy
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
LAYERS = [name.strip("() ") for line in SETTINGS["contracts"][0]["layers"] for name in line.split("|")]
TORCH_FREE = [
    "structures",
    "theory",
    "operations",
    "symbols",
    "drawing",
    "network",
    "recipes",
    "remote",
    "sweeps",
    "studio",
]


def lint(folder: Path, config: Path) -> tuple[int, str]:
    program = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
    done = subprocess.run(
        [sys.executable, "-c", program, "--config", str(config), "--no-cache", "--no-logo"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "NO_COLOR": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


def renamed(value):
    """Return the settings with the package's name replaced by the canary's, wherever it stands."""
    if isinstance(value, dict):
        return {key: renamed(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [renamed(inner) for inner in value]
    return value.replace("inkcap", "canary") if isinstance(value, str) else value


def as_ini(settings) -> str:
    """Write the settings in the linter's other format: the standard library reads TOML and does not write it."""
    lines = ["[importlinter]"]
    for key, value in settings.items():
        if key == "contracts":
            continue
        lines.append(f"{key} = {written(value)}")
    for contract in settings["contracts"]:
        lines.append(f"[importlinter:contract:{contract['id']}]")
        lines += [f"{key} = {written(value)}" for key, value in contract.items() if key != "id"]
    return "\n".join(lines) + "\n"


def written(value) -> str:
    return "\n    " + "\n    ".join(value) if isinstance(value, list) else str(value)


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A package with one small module for every layer, and the real contracts under its name."""
    package = tmp_path / "canary"
    package.mkdir()
    (package / "__init__.py").touch()
    for layer in LAYERS:
        (package / f"{layer}.py").touch()
    (package / "training.py").unlink()
    (package / "training").mkdir()
    for name in ("__init__", "data", "other"):
        (package / "training" / f"{name}.py").touch()
    (tmp_path / "contracts.ini").write_text(as_ini(renamed(copy.deepcopy(SETTINGS))), encoding="utf-8")
    return tmp_path


def test_the_tree_keeps_its_contracts():
    code, said = lint(ROOT / "src", ROOT / "pyproject.toml")
    assert code == 0, said


def test_the_canary_sings_without_a_violation(canary):
    (canary / "canary" / "cli.py").write_text("import canary.structures\n", encoding="utf-8")
    code, said = lint(canary, canary / "contracts.ini")
    assert code == 0, said


@pytest.mark.parametrize(
    ("module", "imports", "contract"),
    [
        ("structures", "canary.cli", "Imports go downwards only"),
        ("drawing", "canary.network", "Imports go downwards only"),
        ("zoo", "canary.exchange", "Imports go downwards only"),
        ("newcomer", "os", "Imports go downwards only"),
        ("symbols", "torch", "Only these layers know torch"),
        ("studio", "canary.engine, torch", "Nothing below program reaches torch"),
        ("engine", "fastapi", "Only studio and cli know the server"),
        ("training/other", "uvicorn", "Only studio and cli know the server"),
        ("training/other", "sklearn.datasets", "Only canary.training.data knows scikit-learn"),
        ("sweeps", "optuna", "Only canary.sweeps.proposals knows Optuna"),
        ("training/other", "ray", "Only canary.cluster knows Ray"),
        ("recipes", "fsspec", "Only canary.remote knows fsspec"),
    ],
)
def test_a_violation_is_seen(canary, module, imports, contract):
    (canary / "canary" / f"{module}.py").write_text(f"import {imports}\n", encoding="utf-8")
    code, said = lint(canary, canary / "contracts.ini")
    assert code == 1, said
    assert any(line.startswith(contract) and line.endswith("BROKEN") for line in said.splitlines()), said


def test_the_studio_may_not_reach_torch_through_another_layer(canary):
    (canary / "canary" / "engine.py").write_text("import torch\n", encoding="utf-8")
    (canary / "canary" / "training" / "data.py").write_text("import sklearn, canary.engine\n", encoding="utf-8")
    assert lint(canary, canary / "contracts.ini")[0] == 0
    (canary / "canary" / "studio.py").write_text("import canary.training.data\n", encoding="utf-8")
    code, said = lint(canary, canary / "contracts.ini")
    assert code == 1, said


@pytest.mark.parametrize("layer", TORCH_FREE)
def test_importing_a_layer_below_program_leaves_torch_out(layer):
    code = f"import sys, inkcap.{layer}; sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, timeout=60)
    assert done.returncode == 0
