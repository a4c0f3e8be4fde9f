"""Models from elsewhere on the page: dropped, read by the server, drawn, trained from their weights; others refused."""

from __future__ import annotations

import pytest
from foreign import model_of
from hands import drawing_id, drop, expect_total, expect_vertices, serious, start_empty
from playwright.sync_api import expect

from inkcap.exchange import export_onnx
from inkcap.zoo import draw


@pytest.fixture(scope="session")
def lenet(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("model") / "lenet.onnx"
    export_onnx(draw("lenet-digits"), path)
    return path.read_bytes()


def test_a_model_is_dropped_and_trained_from_its_weights(page, lenet):
    drop(page, ".start", mine__onnx=lenet)
    page.wait_for_selector(".bringing >> text=mine.onnx")
    expect_vertices(page, 8)
    expect_total(page, "53002")
    page.wait_for_selector(".chip.ok")
    assert float(page.inner_text(".brought [data-difference]")) < 1e-5
    page.wait_for_selector(".brought code >> text=mine.weights.safetensors")
    assert serious(page) == []
    page.get_by_role("button", name="Train from these weights").click()
    expect(page.locator("[data-weights]")).to_be_checked()
    page.wait_for_selector("#data option[value=digits]", state="attached")
    page.fill("#dock [data-attribute=epochs]", "1")
    page.keyboard.press("Tab")
    with page.expect_response(lambda answer: answer.url.endswith("/train")) as told:
        page.click("#dock .recipe .primary:not([disabled])")
    page.wait_for_selector("#dock [data-run-state=finished]", timeout=90_000)
    run = page.request.get(f"{page.url.split('#')[0]}api/runs/{told.value.json()['run']}").json()
    assert run["recipe"]["init_from"] == "mine.weights.safetensors"
    assert run["summary"]["init_from"]["left"] == {}
    assert len(run["summary"]["init_from"]["taken"]) == 8


def test_what_has_no_symbol_leads_to_its_capsule_and_the_import_is_undone(page):
    start_empty(page)
    first = drawing_id(page)
    nodes = [("Relu", "x", "a", {}), ("CumSum", ("a", "axis"), "y", {}), ("Relu", "y", "z", {})]
    drop(page, "#canvas", odd__onnx=model_of(nodes, {"x": ("n", 4)}, ["z"], {"axis": [1]}))
    page.wait_for_function("id => !location.hash.includes(id)", arg=first, timeout=60_000)
    page.wait_for_selector(".brought .unproven")
    page.locator(".brought li button").click()
    page.wait_for_selector("#inspector >> text=CumSum")
    chosen = page.locator(".react-flow__node.selected")
    expect(chosen).to_have_count(1)
    expect(chosen).to_contain_text("CumSum")
    assert serious(page) == []
    page.get_by_role("button", name="Undo the import").click()
    page.wait_for_selector(".hero-card.new")
    page.wait_for_selector(".notice >> text=odd was deleted")


def test_files_that_are_no_model_are_refused_in_a_sentence(page, lenet):
    drop(page, ".start", net__py=b"print('never run')")
    page.wait_for_selector(".notice.bad >> text=inkcap import net.py:Class")
    drop(page, ".start", net__pt=b"PK")
    page.wait_for_selector(".notice.bad >> text=export the model as .onnx")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open a file").click()
    chooser.value.set_files({"name": "torn.onnx", "mimeType": "", "buffer": lenet[:5000]})
    page.wait_for_selector(".notice.bad >> text=/torn.onnx: these 5.?000 bytes are no ONNX model/", timeout=60_000)
    page.complaints.clear()
    assert page.locator(".tile h3", has_text="torn").count() == 0


def test_an_import_is_stopped(page, lenet):
    drop(page, ".start", slow__onnx=lenet)
    page.locator(".bringing button").click()
    page.wait_for_selector(".bringing", state="detached")
    page.wait_for_timeout(1500)
    assert page.locator(".hero-card.new").count() == 1
    page.reload()
    page.wait_for_selector("[data-zoo]")
    assert page.locator(".tile h3", has_text="slow").count() == 0
