"""Drawings and data as files: dropped, named, copied, deleted and brought back; what a dead tab left arrives once."""

from __future__ import annotations

import json
import re
import time

import numpy as np
import pytest
from hands import drawing_id, drop, expect_total, expect_vertices, quick_add, start_empty
from playwright.sync_api import expect

from inkcap.zoo import draw


def test_a_file_is_dropped_on_the_start_screen_and_on_the_canvas(page):
    text = draw("mlp").to_text().encode()
    drop(page, ".start", mine__inkcap__json=text)
    expect_vertices(page, 4)
    first = drawing_id(page)
    drop(page, "#canvas", other__inkcap__json=text)
    page.wait_for_function("id => !location.hash.includes(id)", arg=first)
    expect_vertices(page, 4)
    drop(page, "#canvas", picture__png=b"\x89PNG")
    page.wait_for_selector(".notice.bad >> text=picture.png")
    drop(page, "#canvas", broken__inkcap__json=b'{"format": 1, "name": "x", "capsules": [{"id": "a"}]}')
    page.wait_for_selector(".notice.bad >> text=broken.inkcap.json")
    said = page.inner_text(".notice.bad")
    assert "capsules[0]" in said or "connections" in said
    # The browser itself notes every refusal of the server.
    page.complaints.clear()


def test_names_copies_and_deletion_with_a_way_back(page):
    start_empty(page)
    quick_add(page, "1D-data 4")
    expect_total(page, "0")
    id = drawing_id(page)
    page.locator("#top .menu").last.click()
    page.get_by_role("menuitem", name="Rename").click()
    page.fill("dialog input", "Petrushka")
    page.keyboard.press("Enter")
    page.wait_for_selector(".crumbs b >> text=Petrushka")
    page.locator("#top .menu").last.click()
    page.get_by_role("menuitem", name="Duplicate").click()
    page.wait_for_selector(".crumbs b >> text=Petrushka copy")
    page.locator("#top .menu").last.click()
    page.get_by_role("menuitem", name="Delete").click()
    page.wait_for_selector(".hero-card.new")
    page.wait_for_selector(".tile h3 >> text=/^Petrushka$/")
    expect(page.locator(".tile h3", has_text="Petrushka copy")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    page.wait_for_selector(".crumbs b >> text=Petrushka copy")
    page.goto(page.url.split("#")[0] + "#/")
    tile = page.locator(".tile", has=page.locator("h3", has_text=re.compile("^Petrushka$")))
    tile.locator(".menu button").first.click()
    tile.get_by_role("menuitem", name="Delete").click()
    tile.wait_for(state="detached")
    page.get_by_role("button", name="Undo").click()
    tile.wait_for()
    assert tile.locator("a").get_attribute("href").endswith(id)
    newest = page.locator(".tiles").first.locator(".tile h3").first.inner_text()
    assert newest == "Petrushka copy", "the drawing that was open last stands first"


def test_pictures_file_and_code_are_exported(page, studio):
    start_empty(page)
    quick_add(page, "1D-data 4")
    quick_add(page, "1D-softmax 3")
    expect_total(page, "15")
    page.get_by_text("Export").click()
    links = page.locator("#top .menu-list a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert len(links) == 3
    kinds = [page.request.get(studio.address.rstrip("/") + link).headers["content-type"] for link in links]
    assert [kind.split(";")[0] for kind in kinds] == ["image/svg+xml", "image/png", "application/json"]
    page.get_by_role("menuitem", name="PyTorch").click()
    page.wait_for_selector(".code-box code >> text=nn.Linear(4, 3)", timeout=40_000)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download").click()
    assert saved.value.suggested_filename.endswith(".py")
    page.get_by_role("button", name="Copy", exact=True).click()
    page.wait_for_selector(".notice")
    assert "nn.Linear(4, 3)" in page.evaluate("navigator.clipboard.readText()")


def test_a_figure_is_exported_and_dropped_back(page):
    start_empty(page)
    quick_add(page, "1D-data 4")
    quick_add(page, "1D-softmax 3")
    expect_total(page, "15")
    first = drawing_id(page)
    page.get_by_text("Export").click()
    page.get_by_role("menuitem", name="ONNX").click()
    page.get_by_label("Form").select_option("png")
    page.get_by_role("dialog").get_by_role("button", name="Export", exact=True).click()
    page.wait_for_selector(".export-made >> text=opens again", timeout=60_000)
    with page.expect_download() as saved:
        page.locator(".export-made a").click()
    picture = saved.value.path().read_bytes()
    assert saved.value.suggested_filename.endswith(".png")
    page.get_by_label("Form").select_option("torch")
    page.get_by_role("dialog").get_by_role("button", name="Export", exact=True).click()
    page.wait_for_selector(".export-made >> text=proven with random weights", timeout=90_000)
    page.get_by_role("button", name="Close").click()
    drop(page, "#canvas", figure__png=picture)
    page.wait_for_function("id => !location.hash.includes(id)", arg=first)
    expect_vertices(page, 2)


def test_own_data_are_looked_into_and_trained_on(page, tmp_path):
    start_empty(page)
    quick_add(page, "1D-data 3")
    quick_add(page, "1D-softmax 2")
    expect_total(page, "8")
    page.keyboard.press("r")
    page.wait_for_selector("#data option >> nth=3", state="attached")
    page.select_option("#data", label="Own data …")
    page.wait_for_selector(".own-data")
    (tmp_path / "holes.csv").write_text("a,b,c,kind\n" + "1,2,3,x\n4,,6,y\n" * 6)
    page.set_input_files(".own-data input[type=file]", tmp_path / "holes.csv")
    page.wait_for_selector(".own-data .finding.error >> text=the value is missing", timeout=40_000)
    assert page.locator(".sample-rows th").all_inner_texts() == ["a", "b", "c", "kind"]
    assert page.locator(".own-data footer .primary").is_disabled()
    page.fill("[data-option=missing]", "mean")
    page.keyboard.press("Enter")
    page.wait_for_selector(".data-outline >> text=12 samples")
    expect(page.locator(".class-counts meter")).to_have_count(2)
    images = tmp_path / "pictures.npz"
    np.savez(images, x=np.arange(6 * 16, dtype=np.uint8).reshape(6, 4, 4), y=np.arange(6) % 2)
    page.set_input_files(".own-data input[type=file]", images)
    page.wait_for_selector(".sample-pictures img >> nth=5")
    page.wait_for_selector(".own-data .finding.note >> text=4×4×1")
    page.fill(".data-path input", "data/holes.csv")
    page.keyboard.press("Enter")
    page.wait_for_selector(".own-data .finding.error")
    page.fill("[data-option=missing]", "mean")
    page.keyboard.press("Enter")
    page.wait_for_selector(".data-outline >> text=12 samples")
    page.get_by_role("button", name="Train on these").click()
    assert page.eval_on_selector("#data", "one => one.value") == "data/holes.csv"
    page.fill("#dock [data-attribute=epochs]", "1")
    page.keyboard.press("Tab")
    page.click("#dock .recipe .primary:not([disabled])")
    page.wait_for_selector("#dock [data-run-state=finished], #dock [data-run-state=done]", timeout=60_000)


BUSY = """
() => {
  const canvas = document.querySelector("#canvas");
  new MutationObserver((_, watch) => {
    if (canvas.dataset.vertices !== "3") return;
    watch.disconnect();
    for (const end = Date.now() + 30_000; Date.now() < end; );
  }).observe(canvas, { attributes: true });
  const enter = new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true });
  setTimeout(() => document.activeElement.dispatchEvent(enter), 100);
}
"""
"""Press Enter, and do nothing any more from the moment on when what it makes is drawn."""


@pytest.mark.parametrize("lost", ["on the way there", "on the way back", "by a page that is busy until its end"])
def test_what_a_closed_tab_left_arrives_exactly_once(page, context, studio, lost):
    cut = {"there": False, "back": False}

    def pipe(socket):
        server = socket.connect_to_server()
        socket.on_message(lambda text: None if cut["there"] else server.send(text))
        server.on_message(lambda text: None if cut["back"] else socket.send(text))

    start_empty(page)
    id = drawing_id(page)
    page.goto(studio.address)
    dying = context.new_page()
    dying.route_web_socket(re.compile(r"/live$"), pipe)
    dying.goto(f"{studio.address}#/drawing/{id}")
    dying.wait_for_selector(".empty-canvas")
    quick_add(dying, "1D-data 4")
    expect_total(dying, "0")
    cut["back" if lost == "on the way back" else "there"] = True
    quick_add(dying, "1D-ReLU 3")
    with studio.client() as client:

        def history() -> list[str]:
            return [row["label"] for row in client.get(f"/api/drawings/{id}/history").json()]

        if "busy" in lost:
            dying.keyboard.press("/")
            dying.wait_for_selector(".quick")
            dying.keyboard.type("1D-softmax 2")
            dying.evaluate(BUSY)
            page.wait_for_timeout(1000)
        else:
            quick_add(dying, "1D-softmax 2")
            expect_vertices(dying, 3)
        end = time.monotonic() + 20
        while "back" in lost and len(history()) < 3 and time.monotonic() < end:
            dying.wait_for_timeout(100)
        assert len(history()) == (3 if "back" in lost else 1)
        dying.close()
        page.goto(f"{studio.address}#/drawing/{id}")
        expect_vertices(page, 3)
        expect_total(page, "23")
        assert history() == ["add a", "add b after a", "add c after b"]
        file = json.loads(client.get(f"/api/drawings/{id}/file").text)
    assert [one["id"] for one in file["capsules"]] == ["a", "b", "c"]
    page.reload()
    expect_vertices(page, 3)
    left = "n => new Promise(done => { const r = indexedDB.open(n); r.onsuccess = () => { const q = r.result"
    left += ".transaction('pending').objectStore('pending').count(); q.onsuccess = () => done(q.result); }; })"
    assert page.evaluate(left, "inkcap-outbox") == 0


def test_what_a_closed_tab_left_arrives_in_one_that_stays(page, context, studio):
    cut = {"there": False}

    def pipe(socket):
        server = socket.connect_to_server()
        socket.on_message(lambda text: None if cut["there"] else server.send(text))

    start_empty(page)
    id = drawing_id(page)
    dying = context.new_page()
    dying.route_web_socket(re.compile(r"/live$"), pipe)
    dying.goto(f"{studio.address}#/drawing/{id}")
    dying.wait_for_selector(".empty-canvas")
    cut["there"] = True
    quick_add(dying, "1D-data 4")
    expect_vertices(dying, 1)
    # It lives, and is loaded anew for a moment: nobody goes on for it.
    dying.reload()
    expect_vertices(dying, 1)
    page.wait_for_timeout(4000)
    expect_vertices(page, 0)
    dying.close()
    expect_vertices(page, 1)
    with studio.client() as client:
        assert [row["label"] for row in client.get(f"/api/drawings/{id}/history").json()] == ["add a"]
