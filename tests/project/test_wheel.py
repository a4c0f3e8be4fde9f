"""The wheel: what a user installs holds the whole package, and nothing else."""

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "inkcap"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("inkcap-*.whl")
    with zipfile.ZipFile(built) as opened:
        yield opened


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return Parser().parsestr(wheel.read(name).decode())


def test_every_file_of_the_package_is_inside(wheel):
    files = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {"inkcap/py.typed", "inkcap/studio/static/studio.css", "inkcap/studio/app.py"} <= files
    assert files - set(wheel.namelist()) == set()


def test_nothing_else_is_inside(wheel):
    assert {name.split("/")[0] for name in wheel.namelist()} == {"inkcap", "inkcap-0.1.0.dist-info"}
    assert not [name for name in wheel.namelist() if "test" in name or name.endswith(".pyc")]


def test_the_metadata_say_what_is_needed(wheel, metadata):
    needed = metadata.get_all("Requires-Dist")
    assert "torch<2.14,>=2.8" in needed
    assert not [line for line in needed if line.startswith("pytest") and "extra ==" not in line]
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "MIT"
    assert "Inkcap contributors" in wheel.read("inkcap-0.1.0.dist-info/licenses/LICENSE").decode()
    assert "inkcap = inkcap.cli:command" in wheel.read("inkcap-0.1.0.dist-info/entry_points.txt").decode()
