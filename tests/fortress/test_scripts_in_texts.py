"""S8. No text that a person writes runs as a script, wherever the studio shows it and in what it exports."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hands import drop
from payloads import ELSEWHERE, TOUCH, WATCH, payloads
from serving import Server, Tab

from browser import SWITCHES, find_chromium
from inkcap.drawing import from_text
from inkcap.network import check
from inkcap.network.picture import Style, draw_figure, picture_of
from inkcap.recipes import DataSpec, MetricWriter, Recipe, RunFolder, layout
from inkcap.studio.run_notes import write_notes
from inkcap.sweeps import read_space
from inkcap.sweeps.record import SweepLog
from inkcap.sweeps.running import begin_sweep, plan_sweep

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="no Chromium is here")
EACH = 50
"""Payloads in one drawing."""
TAGS = """() => [...document.querySelectorAll('*')]
  .filter((one) => one.localName !== 'use' || !/^#[\\w-]+$/.test(one.href.baseVal))
  .map((one) => one.localName)"""
"""The tags of an exported file, but for what is used by its name in the same file."""


def drawn(texts: list[str]) -> str:
    """Give a drawing in which every text that a person can write is a payload."""
    capsules, connections = [], []
    for number, text in enumerate(texts):
        symbol = "data" if number == 0 else "relu"
        capsules.append(
            {"id": f"c{number}", "symbol": symbol, "rank": 1, "attributes": {"dimension": 2}, "label": text}
        )
        if number:
            ends = {"back": f"c{number - 1}", "front": f"c{number}"}
            connections.append({"id": f"w{number}", "symbol": "full", **ends, "label": text})
    body = [{"id": "r", "symbol": "relu", "rank": 1, "attributes": {"dimension": 2}, "label": texts[-1]}]
    ports = {"inputs": {"into": "r"}, "outputs": {"out": "r"}}
    arguments = {f"a{number}": f"_{text}" for number, text in enumerate(texts[:10])}
    group = {"id": "g", "arguments": arguments, "capsules": body, "label": texts[0], **ports}
    connections.append({"id": "wu", "symbol": "full", "back": "c0", "front": "u", "port": "into", "label": texts[0]})
    notes = [{"id": f"n{number}", "text": f"{text}\n{text}"} for number, text in enumerate(texts)]
    positions = {f"n{number}": [150 * (number % 10), 300 + 90 * (number // 10)] for number in range(len(texts))}
    positions |= {f"c{number}": [150 * (number % 10), -90 * (number // 10)] for number in range(len(texts))}
    document = {
        "format": 1, "name": texts[0], "dtype": "float32", "capsules": capsules, "connections": connections,
        "groups": [group], "uses": [{"id": "u", "group": "g", "label": texts[-1]}], "notes": notes,
        "positions": {**positions, "u": [-200, 0]},
    }  # fmt: skip
    return json.dumps(document)


def make_runs(workspace: Path, texts: list[str]) -> None:
    """Write a run for every payload, with the payload in all that is told of it."""
    plain = from_text(drawn(["x", "y"]))
    for number, text in enumerate(texts):
        run = RunFolder.create(workspace, text, text)
        run.write_text(layout.DRAWING, drawn([text, texts[number - 1]]))
        run.write_recipe(Recipe(DataSpec(f"{text}.csv"), epochs=2))
        run.write_json(layout.ENVIRONMENT, {"machine": text})
        run.write_json(layout.DATA, {"split": {"training_samples": 10}, "classes": {"y": [text]}})
        with MetricWriter(run.path / layout.METRICS) as log:
            log.write("epoch", 1, 1, {"loss": 1.0, "val_loss": 1.0, text: 0.5})
        write_notes(run.path, f"{text}\n{text}", [text[:40]])
        run.update(state="failed", reason=f"the loss became nan: {text}", finished=layout.now())
    space = read_space({"drawing.c1.dimension": [2, 3]}, plain, Recipe(DataSpec("iris"), epochs=1))
    made = begin_sweep(workspace, plan_sweep(space, workspace, name="sweep"), space)
    log = SweepLog(made)
    log.sweep("running")
    for trial in made.trials.values():
        text = texts[trial.number % len(texts)]
        log.trial(dataclasses.replace(trial, state="impossible", reason=" ".join([text, *texts])[:4000]))
    log.sweep("failed", texts[0])
    log.close()


class Visit:
    """A page that is watched: what ran, what was asked for elsewhere, and what a payload has made of it."""

    def __init__(self, context: Any) -> None:
        self.page = context.new_page()
        self.page.set_default_timeout(60_000)
        self.views = 0
        self.wrong: list[str] = []
        self.page.on("dialog", lambda dialog: (self.wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda r: self.wrong.append(r.url) if r.url.startswith(ELSEWHERE) else None)
        self.page.on("pageerror", lambda error: self.wrong.append(f"error {error}"))

    def look(self, where: str) -> None:
        """Point at everything that is there, and note what should not be."""
        self.views += 1
        self.wrong += [f"{where}: {one}" for one in self.page.evaluate(TOUCH)]
        assert not self.wrong, self.wrong[:5]


def open_drawing(visit: Visit, server: Server, id: str, texts: list[str]) -> None:
    """Look at a drawing on its canvas, in the inspector, its group, its history and two of its states compared."""
    page = visit.page
    page.goto(f"{server.address}#/drawing/{id}")
    page.wait_for_selector(f"#canvas[data-drawing='{id}'][data-vertices]:not([data-vertices='0'])")
    page.wait_for_selector(".react-flow__node-note")
    assert texts[1] in page.inner_text("#canvas"), "the payload is shown"
    visit.look("canvas")
    for node in ("c1", "n1", "u"):
        page.locator(f".react-flow__node[data-id={node}]").dispatch_event("click")
        page.wait_for_timeout(150)
        visit.look(f"inspector of {node}")
    page.focus("#canvas")
    page.keyboard.press("Control+f")
    page.wait_for_selector(".quick")
    page.keyboard.type("<img src=x onerror=window.__pwned=1>")
    visit.look("find")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.keyboard.press("b")
    page.wait_for_selector(".compared-history")
    visit.look("history")
    page.get_by_role("button", name="Compare the two").click()
    page.wait_for_timeout(500)
    visit.look("compared")


def open_runs(visit: Visit, server: Server) -> None:
    """Look at the list of runs, at one run in every tab, and at a sweep."""
    page = visit.page
    page.goto(f"{server.address}#/runs")
    page.wait_for_selector("tr[data-run]")
    visit.look("runs")
    page.locator("tr[data-run]").first.click()
    page.locator("tr[data-run] input").nth(1).check()
    for tab in page.locator("[data-tab]").evaluate_all("all => all.map(one => one.dataset.tab)"):
        page.click(f"[data-tab='{tab}']")
        page.wait_for_timeout(300)
        visit.look(f"run, {tab}")
    page.goto(f"{server.address}#/sweeps")
    page.click("[data-sweep]")
    page.wait_for_selector("[data-trial-row]")
    visit.look("sweep")


def open_mistakes(visit: Visit, server: Server, texts: list[str]) -> None:
    """Look at errors that repeat what was given: files, addresses, fields."""
    page = visit.page
    page.goto(f"{server.address}#/")
    page.wait_for_selector(".hero-card.new")
    visit.look("start")
    for text in texts:
        broken = json.dumps({"format": 1, "name": text, "capsules": [{"id": text, "symbol": text}]})
        drop(page, ".start", **{f"{text.replace('/', '')}.inkcap__json": broken.encode()})
        page.wait_for_selector(".notice.bad")
        visit.look("notice")
    for text in texts:
        page.evaluate("text => { location.hash = `#/drawing/${text}` }", text)
        page.wait_for_timeout(30)
    visit.look("fragment")
    page.goto(f"{server.address}?code={texts[0]}&x={texts[-1]}#{texts[0]}")
    page.wait_for_timeout(300)
    visit.look("query")


def open_exports(visit: Visit, folder: Path, texts: list[str]) -> None:
    """Open what is exported from the disk, where no policy of the studio helps."""
    report = check(from_text(drawn(texts)))
    files = {
        "picture.svg": picture_of(report),
        "figure.svg": draw_figure(report, "svg", Style()).content.decode(),
        "compact.svg": draw_figure(report, "svg", Style(compact=True)).content.decode(),
        "table.html": f"<!doctype html><meta charset=utf-8><body>{report._repr_html_()}",
        "notebook.html": f"<!doctype html><meta charset=utf-8><body>{report.drawing._repr_svg_()}",
    }
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
        visit.page.goto((folder / name).as_uri())
        visit.page.wait_for_timeout(50)
        visit.views += 1
        seen = visit.page.evaluate("() => window.__seen")
        tags = visit.page.evaluate(TAGS)
        foreign = set(tags) & {"script", "img", "image", "iframe", "object", "embed", "foreignObject", "a", "use"}
        wrong = [*seen, *foreign, *visit.wrong]
        assert not wrong, (name, wrong)


@pytest.fixture
def context() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        switches = [*SWITCHES, "--force-prefers-reduced-motion"]
        opened = playwright.chromium.launch(executable_path=find_chromium(), args=switches)
        context = opened.new_context(viewport={"width": 1440, "height": 900}, locale="en-GB")
        context.add_init_script(WATCH)
        yield context
        opened.close()


@pytest.mark.parametrize("count", [pytest.param(20, id="quick"), pytest.param(300, id="full", marks=pytest.mark.soak)])
def test_no_payload_runs_in_any_field(tmp_path: Path, context: Any, tally, count: int) -> None:
    texts = payloads(count)
    workspace, exported = tmp_path / "workspace", tmp_path / "exported"
    workspace.mkdir()
    exported.mkdir()
    make_runs(workspace, texts)
    with Server(workspace) as server, server.client() as client:
        visit = Visit(context)
        visit.page.goto(f"{server.address}?code={server.code}")
        visit.page.wait_for_selector(".hero-card.new")
        for number, text in enumerate(texts if count > 100 else texts[:4]):
            (workspace / f"named-{number}.inkcap.json").write_text(drawn([text, text]))
        for first in range(0, count, EACH):
            part = texts[first : first + EACH]
            made = client.post("/api/drawings", json={"name": "s", "text": drawn(part)}).json()["id"]
            with Tab(server, made) as tab:
                for text in part:
                    moved = {"put": "position", "id": "c0", "record": [len(text), 0]}
                    assert tab.edit(moved, label=text)["type"] == "applied"
            open_drawing(visit, server, made, part)
        open_mistakes(visit, server, texts if count > 100 else texts[:3])
        open_runs(visit, server)
        for first in range(0, count, EACH):
            open_exports(visit, exported, texts[first : first + EACH])
    tally("S8", payloads=count, views=visit.views, scripts_run=0, policy_reports=0)


def test_the_watch_notices_scripts_and_elements(context: Any) -> None:
    page = context.new_page()
    page.route("**/*", lambda route: route.fulfill(body="<!doctype html><body></body>", content_type="text/html"))
    noticed = 0
    texts = payloads(60)
    for text in texts:
        page.goto("http://127.0.0.1:1/")
        page.evaluate("text => { document.body.innerHTML = text }", text)
        page.wait_for_timeout(20)
        noticed += bool(page.evaluate(TOUCH))
    # Some only run in an attribute, a formula or a template; shown as markup they are just words.
    assert noticed >= len(texts) // 2, noticed
