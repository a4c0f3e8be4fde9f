"""Hostile names of files: ways out of a folder in every spelling, and names that some system takes for a device."""

from __future__ import annotations

import os
import random
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

SECRET = "canary-4f1c-never-to-be-told"  # noqa: S105
TRAVERSAL = ["..", "../..", "../secret.csv", "..\\secret.csv", "....//secret.csv", "..;/secret.csv", "./../secret.csv",
             "data/../../secret.csv", "data/..", ".", "./.", "//", "/", "\\", "~", "~/x", "~root/x", "/etc/passwd",
             "//etc/passwd", "/../etc/passwd", "file:///etc/passwd", "\\\\host\\share\\x", "//host/share/x", "C:\\x",
             "C:x", "c:/x", "\\\\?\\C:\\x", "\\\\.\\PhysicalDrive0", "x:stream", "x::$DATA", "/dev/zero", "/dev/stdin",
             "/proc/self/environ", "/proc/self/root/etc/passwd", "../work_evil/secret.csv", "..\x00", "x\x00.png",
             "#/../../secret.csv", "?x=/../..", "link.csv", "linked/secret.csv", "hard.csv", "loop/x", "runs/evil",
             "../secret.inkcap.json", "linked.inkcap.json", ".inkcap/studio.db", ".git/config", "runs/../..", "%2e%2e",
             "..%2f..%2f", "%252e%252e%252f", "%c0%ae%c0%ae/", "..%c0%af", "%uff0e%uff0e/", "．．／secret", "‥/x",
             "..∕secret", "..⁄secret", "..\u2215x", "..\uff0fx", "..\uff3cx", "\u202e..", "a\u0000b"]  # fmt: skip
DEVICES = [
    "CON",
    "con.csv",
    "NUL",
    "nul.inkcap.json",
    "COM1",
    "com¹.csv",
    "LPT9",
    "AUX.png",
    "PRN ",
    "CONIN$",
    "con .csv",
]
ODD = [
    "",
    " ",
    "  ",
    "x.",
    "x ",
    "x. .",
    ".x",
    "..x",
    "-rf",
    "--help",
    "*",
    "?",
    "<x>",
    "|x",
    '"x"',
    "'x'",
    "`x`",
    "$(x)",
    "${x}",
    "x;y",
    "x&y",
    "x\ny",
    "x\ry",
    "x\r\nSet-Cookie: a=b",
    "x\ty",
    "\x1b[2J",
    "\x7f",
    "\x85",
    "\u2028",
    "\u200b",
    "\ufeff",
    "é",
    "e\u0301",
    "ﬁ",
    "Å",
    "\u212b",
    "ß",
    "İ",
    "ı",
    "名",
    "א\u05b0",
    "😀",
    "\ud800",
    "\udcff",
    "\uffff",
    "𝐱" * 70,
    "名" * 90,
    "a" * 255,
    "a" * 256,
    "a" * 5000,
    "a/" * 200,
    "../" * 200 + "etc/passwd",
    "x" * 79 + ".",
]
"""Ends, controls, shells, headers, letters of two spellings, lengths on both sides of what a disk takes."""
CURATED = [*TRAVERSAL, *DEVICES, *ODD]


def dressed(name: str, luck: random.Random) -> str:
    """Write a name in another spelling that someone may read as the same."""
    ways = (
        lambda n: quote(n.encode("utf-8", "surrogatepass"), safe=""),
        lambda n: quote(quote(n.encode("utf-8", "surrogatepass"), safe="")),
        lambda n: n.replace("/", "\\"),
        lambda n: n.replace("\\", "/"),
        lambda n: n.replace(".", "\uff0e").replace("/", "\uff0f"),
        lambda n: unicodedata.normalize(luck.choice(["NFC", "NFD", "NFKC", "NFKD"]), n),
        str.upper,
        lambda n: n + luck.choice([".", " ", "\x00", "/", "/.", ".csv", ".inkcap.json", "\x00.csv", "%00", "::$DATA"]),
        lambda n: luck.choice(["./", "data/", "data/../", "/", "x/../", " ", "\u202e", "linked/", "runs/"]) + n,
        lambda n: "".join(letter + luck.choice(["", "", "", "\u200b", "\x00", "\u0301"]) for letter in n[:60]),
        lambda n: n,
    )
    return luck.choice(ways)(name)


def hostile_files(count: int, seed: str = "S2") -> Iterator[tuple[int, str]]:
    """Give all curated names, then as many more as are wanted: some joined, all in other spellings."""
    for number in range(count):
        luck = random.Random(f"{seed} {number}")  # noqa: S311
        name = CURATED[number] if number < len(CURATED) else luck.choice(CURATED)
        if number >= len(CURATED):
            for _ in range(luck.randint(0, 2)):
                name = luck.choice([name + luck.choice(CURATED), f"{luck.choice(CURATED)}/{name}", name])
            for _ in range(luck.randint(1, 3)):
                name = dressed(name, luck)
        yield number, name[:6000]


def planted(root: Path) -> Path:
    """Make a workspace among secrets, with every kind of link that could lead to them; give the workspace."""
    work = root / "work"
    (work / "data").mkdir(parents=True)
    (work / "runs").mkdir()
    (work / "sweeps").mkdir()
    for folder in (root, root / "work_evil", root / "elsewhere" / "runs-0001"):
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("secret.csv", "secret.txt", "run.json", "sweep.json", "notes.json"):
            (folder / name).write_text(f"{SECRET},y\n1,2\n2,1\n")
        (folder / "secret.inkcap.json").write_text(
            f'{{"format": 1, "name": "{SECRET}", "capsules": [], "connections": []}}\n'
        )
    (work / "link.csv").symlink_to(root / "secret.csv")
    (work / "linked").symlink_to(root)
    (work / "data" / "linked").symlink_to(root / "work_evil")
    (work / "linked.inkcap.json").symlink_to(root / "secret.inkcap.json")
    (work / "runs" / "evil").symlink_to(root / "elsewhere" / "runs-0001")
    (work / "sweeps" / "evil").symlink_to(root / "elsewhere" / "runs-0001")
    (work / "loop").symlink_to("loop")
    (work / "own.csv").write_text("a,y\n1,2\n2,1\n")
    for folder in ("", "data", "runs", "sweeps"):
        odd = os.fsdecode(b"odd-\xff\xfe" + (b".csv" if folder in ("", "data") else b""))
        (work / folder / odd).mkdir() if folder in ("runs", "sweeps") else (work / folder / odd).touch()
    (work / os.fsdecode(b"odd-\xff.inkcap.json")).write_text('{"format": 1}')
    return work


def outside(root: Path, work: Path) -> dict[str, bytes | str]:
    """Give everything around a workspace, as it is."""
    found: dict[str, bytes | str] = {}
    for folder, folders, files in os.walk(root):
        if Path(folder) == root:
            folders.remove(work.name)
        found |= {os.path.join(folder, name): "folder" for name in folders}
        found |= {os.path.join(folder, name): Path(folder, name).read_bytes() for name in files}
    return found


# The watch -------------------------------------------------------------------------------------------------------

PATHS = {"open": 1, "os.listdir": 1, "os.scandir": 1, "os.mkdir": 1, "os.rmdir": 1, "os.remove": 1, "os.rename": 2,
         "os.link": 2, "os.symlink": 2, "os.truncate": 1, "os.chmod": 1, "os.chown": 1, "os.utime": 1, "os.chdir": 1,
         "shutil.copyfile": 2, "shutil.move": 2, "shutil.rmtree": 1, "sqlite3.connect": 1}  # fmt: skip
"""Events of Python's audit, and how many of their first arguments are paths."""


class Watch:
    """Notes every file that this process touches outside of a workspace and of what Python itself is made of."""

    def __init__(self) -> None:
        self.on = False
        self.work = ""
        self.touched: list[str] = []
        self.events = 0
        source = Path(__file__).parents[2]
        machine = (
            sys.prefix,
            sys.base_prefix,
            source / "src",
            source / ".venv",
            "/usr",
            "/lib",
            "/proc/self/fd",
            "/dev",
        )
        self.own = tuple(os.path.realpath(path) for path in machine)
        # A hook stays for ever; it looks only while it is asked to.
        sys.addaudithook(self._heard)

    def _heard(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.on or event not in PATHS:
            return
        for path in arguments[: PATHS[event]]:
            if isinstance(path, (str, bytes, os.PathLike)):
                self.events += 1
                self._look(event, os.fsdecode(path))

    def _look(self, event: str, path: str) -> None:
        try:
            # What is renamed, removed or linked is the link itself; only its folder is followed.
            follows = event in ("open", "os.listdir", "os.scandir", "os.chdir", "os.truncate", "shutil.copyfile")
            folder, name = os.path.split(path)
            real = os.path.realpath(path) if follows else os.path.join(os.path.realpath(folder), name)
        except (OSError, ValueError):
            return
        if not _within(real, self.work) and not any(_within(real, one) for one in self.own):
            self.touched.append(f"{event} {path!r} is {real!r}")


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
