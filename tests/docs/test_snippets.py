"""Snippets: every command and every piece of Python on a page is run, and gives what the page shows.

A page's blocks run in order in one empty folder: `python` blocks in one namespace, the lines of `console` blocks that
start with `$ ` in a shell. What is shown below a command, or in a `text` block right after a Python block, must come
out in that order; `…` stands for anything, and numbers that training measures may differ. A comment before a block
says what is special: `<!-- exit 2 -->`, `<!-- not run: why -->`, or `<!-- file: path, after: line -->` (or before,
replace, end) for code that a guide adds to Inkcap itself, which is tried on a copy.
"""

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from warm import warm_commands

from inkcap.drawing import from_text
from inkcap.recipes import recipe_from_text

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BIN = Path(sys.executable).parent
COLD = {"docs/guides/groups.md", "docs/guides/cluster.md"}
"""Pages whose commands start as they do for a person; on the others PyTorch is imported already."""
LANGUAGES = {"python", "console", "json", "text"}
SYMBOL_GUIDE = "docs/guides/add-a-symbol.md"
NETWORK_GUIDE = "docs/guides/add-a-network.md"

NOT_RUN = {
    "README.md": ["$ make studio", "$ make test", "$ source .venv/bin/activate"],
    "docs/benchmarks.md": [
        "$ inkcap bench --growth --markdown docs/benchmarks.md --picture docs/pictures/benchmark.svg",
        "$ inkcap bench mlp-2-6-4-2@1 figure20-64 lenet --with inkcap-eager --with inkcap-explicit --threads 1",
        "$ python benchmarks/rewrites.py",
        "$ python benchmarks/inference.py",
        "$ python benchmarks/input.py",
        "$ python benchmarks/signals.py",
        "$ python benchmarks/checks.py",
    ],
    "docs/guides/speed.md": ["$ inkcap bench lenet --with inkcap --quick"],
    "docs/tutorial.md": ["$ inkcap train lenet.inkcap.json --data mnist"],
    "docs/guides/games.md": ["$ inkcap train dqn_small.inkcap.json --data grid-world --epochs 20 --schedule cosine"],
    "docs/guides/transformers.md": [
        "$ inkcap train gpt_small.inkcap.json --data sentences --batch 32 --rate 0.003 --epochs 8"
    ],
    "docs/guides/cluster.md": [
        "$ pip install 'inkcap[cluster]'",
        "$ python3 -m venv inkcap && source inkcap/bin/activate && pip install 'inkcap[cluster]'",
        "$ mkdir -p /shared/workspace",
        "$ ray get-auth-token --generate > /dev/null && chmod 600 ~/.ray/auth_token",
        "$ ssh 10.0.0.2 mkdir -p .ray && scp -p ~/.ray/auth_token 10.0.0.2:.ray/auth_token",
        "$ RAY_AUTH_MODE=token ray start --head --node-ip-address 10.0.0.1 --port 6379 --include-dashboard false "
        "--disable-usage-stats",
        "$ RAY_AUTH_MODE=token ray start --address 10.0.0.1:6379 --node-ip-address 10.0.0.2",
        "$ inkcap train moons.inkcap.json --data moons --workers 2 --cluster 10.0.0.1:6379 --expose "
        "--workspace /shared/workspace",
        "$ inkcap evaluate moons-moons-0001 --workspace /shared/workspace",
        "$ ray stop",
        *(
            "$ torchrun --nnodes 2 --nproc-per-node 1 --rdzv-backend c10d --rdzv-endpoint 10.0.0.1:29400 "
            f"--rdzv-conf is_host={first} --rdzv-id moons-1 --local-addr {address} --max-restarts 3 -m inkcap train "
            "moons.inkcap.json --data moons --workspace /shared/workspace"
            for first, address in ((1, "10.0.0.1"), (0, "10.0.0.2"))
        ),
    ],
    "docs/fortress.md": [
        "$ make soak",
        "$ INKCAP_TALLY=quick.jsonl pytest tests/fortress && python tools/scoreboard.py quick.jsonl",
        "$ make offline",
        "$ make lock",
        "$ make audit",
        "$ make sbom",
    ],
    "docs/scaling.md": ["$ python benchmarks/scaling.py"],
    SYMBOL_GUIDE: ["$ make docs", "$ make test"],
    NETWORK_GUIDE: ["$ make docs", "$ make test"],
}
"""The only blocks that may be left out, by page and first line: they take minutes, the network, or a whole checkout."""


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    language: str
    marker: str
    lines: tuple[str, ...]
    follows: bool
    """Whether only blank lines part it from the block before."""

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def blocks_of(text: str, page: str) -> list[Block]:
    found: list[Block] = []
    lines = text.split("\n")
    marker, follows, i = "", False, 0
    while i < len(lines):
        line = lines[i]
        if line.startswith("```"):
            end = lines.index("```", i + 1)
            found.append(Block(page, i + 1, line[3:].strip(), marker, tuple(lines[i + 1 : end]), follows))
            marker, follows, i = "", True, end
        elif line.strip():
            comment = re.fullmatch(r"<!-- (.+) -->", line.strip())
            marker, follows = comment[1] if comment else "", False
        i += 1
    return found


def blocks_on(path: Path) -> list[Block]:
    return blocks_of(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix())


BLOCKS = [block for path in PAGES for block in blocks_on(path)]
RUNNABLE = sorted({b.page for b in BLOCKS if b.language in ("python", "console") and not b.marker.startswith("file:")})


def measured(line: str) -> bool:
    return "loss" in line or "accuracy" in line or "%" in line


def matches(shown: str, said: str) -> bool:
    """Whether a line is the one that is shown; blanks count as one, and what training measures counts as equal."""
    shown, said = " ".join(shown.split()), " ".join(said.split())
    if measured(shown) and measured(said):
        shown, said = (re.sub(r"\d+(\.\d+)?(e[+-]?\d+)?", "#", line) for line in (shown, said))
    return re.fullmatch(".*".join(re.escape(part) for part in shown.split("…")), said) is not None


def missing(shown: list[str], said: str) -> list[str]:
    """The shown lines that were not said, each looked for after the one before."""
    rest = said.splitlines()
    lost = []
    for line in (line for line in shown if line.strip() not in ("", "…")):
        place = next((i for i, candidate in enumerate(rest) if matches(line, candidate)), None)
        if place is None:
            lost.append(line)
        else:
            rest = rest[place + 1 :]
    return lost


def commands_in(block: Block) -> list[tuple[str, list[str]]]:
    """The commands of a block, each with the lines shown below it."""
    found: list[tuple[str, list[str]]] = []
    for line in block.lines:
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            assert found, f"{block.where}: output before the first command"
            found[-1][1].append(line)
    return found


def run_console(block: Block, folder: Path, first: Path | None = None) -> None:
    """Run the commands of a block; those of the first folder, if one is given, go before the installed ones."""
    places = os.pathsep.join(map(str, [*([first] if first else []), BIN, os.environ.get("PATH", "")]))
    environment = {**os.environ, "PATH": places, "NO_COLOR": "1", "PYTHONUTF8": "1", "OMP_NUM_THREADS": "1"}
    commands = commands_in(block)
    expected = re.fullmatch(r"exit (\d+)", block.marker)
    assert commands, f"{block.where}: no command"
    assert not expected or len(commands) == 1, f"{block.where}: an exit code belongs to one command"
    for command, shown in commands:
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=240
        )
        said = done.stdout + done.stderr
        assert done.returncode == (int(expected[1]) if expected else 0), f"{block.where}: {command}\n{said}"
        assert missing(shown, said) == [], f"{block.where}: {command}\n{said}"


def run_python(block: Block, namespace: dict[str, object], shown: Block | None) -> None:
    output = io.StringIO()
    code = compile("\n" * block.line + block.text, str(ROOT / block.page), "exec")
    with contextlib.redirect_stdout(output):
        exec(code, namespace)  # noqa: S102
    if shown is not None:
        assert missing(list(shown.lines), output.getvalue()) == [], f"{block.where}\n{output.getvalue()}"


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Small networks gain nothing from threads, and lose much where other tests run beside them."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def warm() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="warm-") as folder, warm_commands(Path(folder)) as commands:
        yield commands


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("page", RUNNABLE)
def test_a_page_does_what_it_says(page: str, warm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "snippet"}
    blocks = [block for block in BLOCKS if block.page == page]
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        if block.marker.startswith(("not run:", "file:")):
            continue
        if block.language == "console":
            run_console(block, tmp_path, None if page in COLD else warm)
        elif block.language == "python":
            run_python(block, namespace, after if after and after.language == "text" and after.follows else None)


def test_every_block_has_a_known_language_and_marker() -> None:
    assert [b.where for b in BLOCKS if b.language not in LANGUAGES] == []
    known = re.compile(r"|exit \d+|not run: .{5,}|file: \S+, (end|(after|before|replace): .+)")
    marked = [b for b in BLOCKS if b.language in ("python", "console")]
    assert [b.where for b in marked if not known.fullmatch(b.marker)] == []
    assert {b.page for b in BLOCKS if b.marker.startswith("file:")} <= {SYMBOL_GUIDE, NETWORK_GUIDE}


def test_only_the_listed_blocks_are_left_out() -> None:
    left_out: dict[str, list[str]] = {}
    for block in BLOCKS:
        if block.marker.startswith("not run:"):
            assert len([line for line in block.lines if line.startswith("$ ")]) == 1, block.where
            left_out.setdefault(block.page, []).append(block.lines[0])
    assert left_out == NOT_RUN


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language == "json"], ids=lambda block: block.where)
def test_every_file_that_is_shown_can_be_read(block: Block) -> None:
    value = json.loads(block.text)
    if value.get("format") == "inkcap-recipe":
        assert recipe_from_text(block.text)
    elif "format" in value:
        assert from_text(block.text).capsules


def add_to(folder: Path, block: Block) -> None:
    """Do what a guide says: put a block at the end of a file, or after, before or in place of one of its lines."""
    marked = re.fullmatch(r"file: (\S+), (?:end|(after|before|replace): (.+))", block.marker)
    assert marked, block.where
    path = folder / marked[1]
    lines = path.read_text(encoding="utf-8").split("\n")
    if marked[2] is None:
        path.write_text("\n".join([*lines, *block.lines, ""]), encoding="utf-8")
        return
    places = [i for i, line in enumerate(lines) if line.strip().startswith(marked[3])]
    assert len(places) == 1, f"{block.where}: {len(places)} lines of {marked[1]} start with {marked[3]!r}"
    (place,) = places
    first, last = {"after": (place + 1, place + 1), "before": (place, place), "replace": (place, place + 1)}[marked[2]]
    path.write_text("\n".join([*lines[:first], *block.lines, *lines[last:]]), encoding="utf-8")


@pytest.mark.parametrize(
    ("page", "tests", "wanted", "least"),
    [
        # Two symbols of four samples and one of two, nine tests a sample, and the comparison of the operations' tables.
        (SYMBOL_GUIDE, "tests/symbols/test_conformance.py", "softsign or rectified or weighted or is_whole", 91),
        # Its numbers, its choices, a training step, and the row.
        (NETWORK_GUIDE, "tests/zoo", "lenet5_today or known_row", 4),
    ],
)
def test_what_a_guide_adds_works_on_a_copy(page: str, tests: str, wanted: str, least: int, tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("src", "tests/support", "tests/symbols", "tests/zoo"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    added = [block for block in BLOCKS if block.page == page and block.marker.startswith("file:")]
    assert len(added) >= 2
    for block in added:
        add_to(tmp_path, block)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests, "-k", wanted]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed
    assert int(passed[1]) >= least, done.stdout


def test_the_runner_sees_what_is_wrong(tmp_path: Path) -> None:
    page = "text\n\n<!-- exit 2 -->\n```console\n$ exit 2\n```\n\n```console\n$ echo one\ntwo\n```\n\n```text\nx\n```\n"
    first, second, third = blocks_of(page, "p.md")
    assert (first.marker, second.marker, third.follows, second.line) == ("exit 2", "", True, 8)
    run_console(first, tmp_path)
    with pytest.raises(AssertionError, match="two"):
        run_console(second, tmp_path)
    with pytest.raises(AssertionError, match="exit 2"):
        run_console(Block("p.md", 1, "console", "", ("$ exit 2",), False), tmp_path)
    with pytest.raises(AssertionError, match=r"p\.md:12"):
        run_python(Block("p.md", 12, "python", "", ("print(1)",), False), {}, third)
    assert missing(["a … c", "loss 1.5"], "x\na b c\nloss 0.25") == []
    assert missing(["b", "a"], "a\nb") == ["a"]
    assert missing(["582 026"], "582 027") == ["582 026"]
    assert missing(["h: 0 …"], "h: 0 99.3 %, 9 0.4 %") == []
    assert missing(["h: 0 …"], "h: 9 99.3 %, 0 0.4 %") == ["h: 0 …"]
