"""Installing what a lock names, and nothing else: each file must have one of the hashes that the lock has for it.

Usage: python tools/installing.py studio|dev|supply|node [--unlocked]

It runs in a virtual environment that has pip alone. Where a lock has no wheels for this Python or system, or with
``--unlocked``, the newest versions that pyproject.toml allows are installed instead, without hashes, and it says so.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import platform
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "locks"
UNLOCKED = {"studio": ("-e", "."), "dev": ("-e", ".[dev]"), "supply": ("-e", ".[supply]"), "node": ()}
"""What pip is asked for without a lock."""
ON_THE_GPU = ("cuda-", "nvidia-", "triton")
"""How the packages begin that torch needs only where it was built for a GPU: locks/cuda.txt has them."""


def here() -> str:
    """Name this Python and system as locks/covers.json does."""
    machine = platform.machine().lower()
    machine = {"x64": "amd64"}.get(machine, machine)
    implementation = "" if platform.python_implementation() == "CPython" else f" {platform.python_implementation()}"
    version = ".".join(platform.python_version_tuple()[:2])
    return f"{version} {platform.system().lower()} {machine}{implementation}"


def pip(*words: str) -> int:
    """Run this environment's pip; what goes wrong it says itself."""
    return subprocess.run([sys.executable, "-m", "pip", "install", "-qq", *words], check=False, cwd=ROOT).returncode


def locked(name: str) -> int:
    """Install exactly what a lock names: no other package, no other file, and nothing built on the way."""
    lock = str(FOLDER / f"{name}.txt")
    done = pip("--no-deps", "--require-hashes", "--only-binary", ":all:", "-r", lock)
    if done:
        print(
            f"locks/{name}.txt could not be installed. If a file has another hash than the lock names, it is not the "
            "one that was tested: find out why. If you trust where your pip fetches from (a build of torch for "
            "another processor, say), 'make LOCKED=no …' installs without hashes.",
            file=sys.stderr,
        )
    return done


def take_local_build() -> bool:
    """Take the build of torch for processors alone, where this machine's pip finds the very file that was tested.

    The index has only the one for a GPU, which brings gigabytes; so whoever has set this up wants it.
    """
    words = ("--no-deps", "--require-hashes", "--only-binary", ":all:", "-r", str(FOLDER / "cpu.txt"))
    command = [sys.executable, "-m", "pip", "install", "-qq", *words]
    return subprocess.run(command, check=False, cwd=ROOT, capture_output=True).returncode == 0


def wants_gpu() -> bool:
    """Tell whether the torch that was installed asks for the packages of a GPU here."""
    importlib.invalidate_caches()
    try:
        needed = importlib.metadata.requires("torch") or []
    except importlib.metadata.PackageNotFoundError:
        return False
    linux = [line for line in needed if "extra ==" not in line and platform.system() == "Linux"]
    return any(re.match(r"[\w.-]+", line.lower())[0].startswith(ON_THE_GPU) for line in linux)  # type: ignore[index]


def install(name: str, unlocked: bool) -> int:
    """Install a lock and, but for tools alone, Inkcap itself with the build backend that the lock has brought."""
    covers = json.loads((FOLDER / "covers.json").read_text(encoding="utf-8"))[name]
    if unlocked or here() not in covers:
        why = "as you ask" if unlocked else f"{here()} is none of {', '.join(covers)}"
        print(f"installing without locks/{name}.txt ({why}): the newest versions allowed, hashes unchecked")
        return pip(*(UNLOCKED[name] or unpinned(name)))
    if name != "node":
        take_local_build()
    done = locked(name)
    if not done and name != "node" and wants_gpu():
        done = locked("cuda")
    if not done and name in ("studio", "dev"):
        done = pip("--no-deps", "--no-build-isolation", "-e", ".")
    return done


def unpinned(name: str) -> list[str]:
    """Give the packages of a lock with their versions as the oldest that will do."""
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    return [f"{package}>={version}" for package, version in re.findall(r"(?m)^([\w.-]+)==([^\s;]+)", text)]


def main(arguments: Sequence[str]) -> int:
    """Install what is named."""
    names = [argument for argument in arguments if argument in UNLOCKED]
    if len(names) != 1:
        raise SystemExit(f"name one of {', '.join(UNLOCKED)}")
    return install(names[0], "--unlocked" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
