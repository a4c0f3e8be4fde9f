"""Links and pictures: whatever a page points at is there."""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOP = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
PAGES = [*(ROOT / name for name in TOP), *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)|(?:src|href)=\"([^\"]+)\"")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def links(text: str) -> list[str]:
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))
    return [first or second for first, second in LINK.findall(prose)]


def anchors(text: str) -> set[str]:
    """The anchors that a page's headings get: lower case, no punctuation, hyphens for blanks."""
    titles = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken(page: Path) -> list[str]:
    found = []
    for link in links(page.read_text(encoding="utf-8")):
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_every_page_of_the_docs_is_reached_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md" or not page.is_file():
            continue
        reached.add(page)
        text = page.read_text(encoding="utf-8")
        paths = (unquote(link).partition("#")[0] for link in links(text) if "://" not in link)
        waiting += [(page.parent / path).resolve() for path in paths if path]
    assert set(PAGES) - reached == set()


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text("# One thing\n[a](b.md) ![p](c.png) [d](#one-thing) [e](#other) `[f](g.md)`\n", encoding="utf-8")
    assert broken(page) == ["b.md", "c.png", "#other"]
