"""The export dialog: every form of the one list, a preview of figures, by keys alone, refusals, and stopping."""

from __future__ import annotations

import pytest
from hands import open_zoo, serious
from playwright.sync_api import expect

from inkcap.exchange.forms import FORMS


@pytest.fixture
def dialog(page):
    """The dialog over LeNet, opened from the menu."""
    open_zoo(page, "lenet-digits")
    return opened(page)


def opened(page):
    page.get_by_text("Export ▾").click()
    page.get_by_role("menuitem", name="ONNX").click()
    shown = page.get_by_role("dialog")
    expect(shown.get_by_label("Form").locator("option")).to_have_count(len(FORMS))
    return shown


def test_figures_are_previewed_and_exported_by_keys_alone(page, dialog):
    offered = dialog.get_by_label("Form").locator("option").evaluate_all("all => all.map(one => one.value)")
    assert sorted(offered) == sorted(form.name for form in FORMS)
    expect(dialog.get_by_label("Form")).to_be_focused()
    picture = dialog.get_by_alt_text("Preview of the figure")
    picture.wait_for()
    before = picture.get_attribute("src")
    dialog.get_by_label("black on white").check()
    page.wait_for_function("old => document.querySelector('.export-preview img')?.src !== old", arg=before)
    assert picture.evaluate("image => image.naturalWidth") > 100
    assert serious(page) == []
    page.keyboard.press("Control+Home")
    dialog.get_by_label("Width").fill("3mm")
    dialog.locator(".export-preview >> text=from 10 to 2000 mm").wait_for()
    page.keyboard.press("Enter")
    dialog.get_by_role("alert").get_by_text("from 10 to 2000 mm").wait_for(timeout=60_000)
    dialog.get_by_label("Width").fill("120mm")
    expect(dialog.get_by_role("alert")).to_have_count(0)
    page.keyboard.press("Enter")
    dialog.locator(".export-made >> text=120 mm wide").wait_for(timeout=60_000)
    dialog.get_by_label("Flow").select_option("down")
    expect(dialog.locator(".export-made")).to_have_count(0)
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    # The browser itself notes every refusal of the server.
    page.complaints.clear()


def test_what_keras_has_no_layer_for_is_told_and_another_form_is_made(page):
    open_zoo(page, "capsnet-digits")
    dialog = opened(page)
    dialog.get_by_label("Form").select_option("keras")
    go = dialog.get_by_role("button", name="Export", exact=True)
    go.click()
    dialog.get_by_role("status").first.wait_for()
    expect(go).to_be_disabled()
    told = dialog.get_by_role("alert")
    told.wait_for(timeout=60_000)
    assert "Keras" in told.inner_text()
    assert serious(page) == []
    dialog.get_by_label("Form").select_option("safetensors")
    dialog.get_by_text("train it first").wait_for()
    expect(go).to_be_disabled()
    dialog.get_by_label("Form").select_option("tikz")
    go.click()
    dialog.locator(".export-made a").wait_for(timeout=60_000)
    page.complaints.clear()


def test_an_export_that_takes_long_is_stopped(page, studio):
    open_zoo(page, "densenet121")
    dialog = opened(page)
    dialog.get_by_label("Form").select_option("onnx")
    go = dialog.get_by_role("button", name="Export", exact=True)
    go.click()
    dialog.get_by_text("1 s", exact=True).wait_for()
    dialog.get_by_role("button", name="Stop").click()
    expect(go).to_be_enabled()
    expect(dialog.get_by_role("alert")).to_have_count(0)
    left = studio.workspace / ".inkcap" / "exports"
    before = {path for path in left.iterdir() if not any(path.iterdir())}
    for _ in range(50):
        if not any(path.exists() for path in before):
            break
        page.wait_for_timeout(100)
    assert not any(path.exists() for path in before), "the server gave it up, too"
