"""The page and its JSON: what they show of a workspace."""

import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from inkcap.structures.errors import InkcapError
from inkcap.studio import create_app, workspace
from inkcap.studio.page import element

HOSTILE = "<script>alert(1)</script>\" onload='x' & </title>"


class Tags(HTMLParser):
    """Collects what a browser would see as tags, attributes and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def report(**changes):
    base = {"well_formed": True, "kind": "layered", "capsules": 8, "connections": 7, "parameters": 582026}
    ends = {"inputs": ["a"], "outputs": ["h"], "depth": 7, "frozen_parameters": 0, "structures": {}}
    return {**base, **ends, "multiply_adds": 4267008, "diagnostics": [], **changes}


def finding(**changes):
    base = {"rule": "N07", "severity": "error", "message": "5 meets 7", "where": ["a-b"], "numbers": {}, "fix": None}
    return {**base, **changes}


def put(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}", encoding="utf-8")


def test_an_empty_workspace_says_how_to_begin(ask):
    assert "inkcap new lenet" in ask().text


def test_a_good_drawing_shows_its_figures(ask, checks, tmp_path):
    put(tmp_path, "lenet.inkcap.json")
    checks.reports["lenet.inkcap.json"] = report()
    text = Tags(ask().text).text.replace("\N{NO-BREAK SPACE}", " ")
    for words in ("lenet.inkcap.json", "well formed · layered", "8 capsules · 7 connections", "582 026", "4 267 008"):
        assert words in text
    assert "inkcap new" not in text


def test_diagnostics_are_told_in_words(ask, checks, tmp_path):
    put(tmp_path, "skip.inkcap.json")
    item = finding(message="5 meets 7", where=["a-b", "b-c"])
    checks.reports["skip.inkcap.json"] = report(well_formed=False, kind=None, parameters=1, diagnostics=[item])
    text = Tags(ask().text).text
    for words in ("not well formed", "1 parameter so far", "5 meets 7", "a-b, b-c", "N07", "1 to mend"):
        assert words in text


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (InkcapError("line 3: a comma is missing"), "line 3: a comma is missing"),
        (PermissionError(13, "Permission denied"), "cannot be read: Permission denied"),
        (RecursionError("too deep"), "RecursionError: too deep"),
    ],
)
def test_a_broken_file_shows_its_error_beside_the_good_ones(ask, checks, tmp_path, error, words):
    put(tmp_path, "bad.inkcap.json", "good.inkcap.json")
    checks.reports.update({"bad.inkcap.json": error, "good.inkcap.json": report()})
    answer = ask()
    assert answer.status_code == 200
    assert words in Tags(answer.text).text
    assert "good.inkcap.json" in answer.text
    bad, good = ask("/api/drawings").json()["drawings"]
    assert words in bad["error"]
    assert bad["summary"] is None
    assert good["error"] is None


def test_a_report_without_an_expected_key_breaks_only_its_own_card(ask, checks, tmp_path):
    put(tmp_path, "odd.inkcap.json")
    checks.reports["odd.inkcap.json"] = {"well_formed": True}
    answer = ask()
    assert answer.status_code == 200
    assert "ValidationError" in answer.text


def test_the_json_says_the_same(ask, checks, tmp_path):
    put(tmp_path, "deep/lenet.inkcap.json")
    fix = {"label": "fix a-b", "patches": [{"remove": "connection", "id": "a-b"}]}
    checks.reports["lenet.inkcap.json"] = report(diagnostics=[finding(numbers={"width": 5}, fix=fix)])
    answer = ask("/api/drawings").json()
    (drawing,) = answer["drawings"]
    assert answer["more"] is False
    assert drawing["path"] == "deep/lenet.inkcap.json"
    assert drawing["summary"]["parameters"] == 582026
    assert drawing["summary"]["diagnostics"] == [finding(numbers={"width": 5}, fix=fix)]


@pytest.mark.skipif(sys.platform == "win32", reason="such names do not exist there")
def test_no_text_becomes_markup(ask, checks, tmp_path):
    name = f"{HOSTILE.replace('/', '∕')}.inkcap.json"
    put(tmp_path, name, "b.inkcap.json", "c.inkcap.json")
    item = finding(message=HOSTILE, where=[HOSTILE], rule=HOSTILE, severity=HOSTILE)
    checks.reports["b.inkcap.json"] = report(kind=HOSTILE, diagnostics=[item])
    checks.reports["c.inkcap.json"] = InkcapError(HOSTILE)
    seen = Tags(ask().text)
    assert "script" not in seen.tags
    assert "onload" not in seen.attributes
    assert seen.text.count("alert(1)") == 7


def test_an_attribute_cannot_be_left():
    seen = Tags(element("img", alt=HOSTILE))
    assert (seen.tags, seen.attributes) == (["img"], {"alt"})


def test_the_page_runs_nothing_and_styles_nothing_inline(ask, checks, tmp_path):
    put(tmp_path, "a.inkcap.json")
    checks.reports["a.inkcap.json"] = report(diagnostics=[finding()])
    seen = Tags(ask().text)
    assert not {"script", "style", "iframe", "form"} & set(seen.tags)
    assert not {name for name in seen.attributes if name.startswith("on") or name == "style"}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse a name that is not UTF-8")
def test_a_file_name_that_is_not_text_is_shown_all_the_same(ask, tmp_path):
    with open(os.fsencode(tmp_path) + b"/\xff.inkcap.json", "wb"):
        pass
    assert ask().status_code == 200
    assert ask("/api/drawings").json()["drawings"][0]["path"] == "?.inkcap.json"


def test_a_lone_surrogate_in_a_report_is_shown_all_the_same(ask, checks, tmp_path):
    put(tmp_path, "a.inkcap.json")
    checks.reports["a.inkcap.json"] = report(diagnostics=[finding(message="\ud800", numbers={"\ud800": ["\ud800"]})])
    assert ask().status_code == 200
    assert ask("/api/drawings").json()["drawings"][0]["summary"]["diagnostics"][0]["numbers"] == {"?": ["?"]}


def test_only_drawings_in_open_folders_are_listed(ask, tmp_path):
    put(tmp_path, "a.inkcap.json", "sub/b.inkcap.json", "c.json", ".hidden/d.inkcap.json", "runs/e.inkcap.json")
    put(tmp_path, "sub/runs/f.inkcap.json")
    (tmp_path / "g.inkcap.json").mkdir()
    paths = [drawing["path"] for drawing in ask("/api/drawings").json()["drawings"]]
    assert paths == ["a.inkcap.json", "sub/b.inkcap.json"]


def test_a_link_does_not_lead_out_of_the_workspace(ask, tmp_path, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    put(outside, "x.inkcap.json")
    try:
        (tmp_path / "file.inkcap.json").symlink_to(outside / "x.inkcap.json")
        (tmp_path / "folder").symlink_to(outside, target_is_directory=True)
    except OSError:
        pytest.skip("this system does not let the user make links")
    assert ask("/api/drawings").json()["drawings"] == []


def test_the_list_ends_where_it_says(ask, tmp_path, monkeypatch):
    monkeypatch.setattr(workspace, "MOST_DRAWINGS", 2)
    put(tmp_path, "a.inkcap.json", "b.inkcap.json")
    assert ask("/api/drawings").json()["more"] is False
    put(tmp_path, "c.inkcap.json")
    answer = ask("/api/drawings").json()
    assert (len(answer["drawings"]), answer["more"]) == (2, True)
    assert "There are more" in ask().text


def test_a_check_is_kept_until_the_file_changes(ask, checks, tmp_path):
    put(tmp_path, "a.inkcap.json")
    ask()
    ask()
    assert checks.asked == ["a.inkcap.json"]
    (tmp_path / "a.inkcap.json").write_text("{ }", encoding="utf-8")
    ask()
    assert checks.asked == ["a.inkcap.json"] * 2


def test_a_workspace_that_is_no_folder_is_refused(tmp_path):
    with pytest.raises(InkcapError, match="nowhere is not a folder"):
        create_app(tmp_path / "nowhere", 1)


def test_the_studio_leaves_torch_out(tmp_path):
    source = Path(workspace.__file__).parents[2]
    code = (
        "import sys; from pathlib import Path; from inkcap.studio import create_app; "
        f"create_app(Path({str(tmp_path)!r}), 1); sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(source)}, timeout=60)
    assert done.returncode == 0
