"""The page as a whole: no serious barrier for anyone, no lost edit when the server dies, both themes and languages."""

from __future__ import annotations

import pytest
from hands import expect_total, expect_vertices, quick_add, serious, start_empty
from serving import Server


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_barrier(page, theme):
    if theme == "dark":
        page.get_by_text("Dark mode").click()
    assert serious(page) == []
    start_empty(page)
    assert serious(page) == []
    quick_add(page, "2D-data 9x9x1")
    quick_add(page, "2D-maximum window=2")
    page.wait_for_selector(".chip.bad")
    page.keyboard.press("r")
    page.wait_for_selector("#dock .recipe option", state="attached")
    assert serious(page) == []
    page.keyboard.press("l")
    page.wait_for_selector("#inspector .choices")
    assert serious(page) == []
    page.keyboard.press("/")
    page.wait_for_selector(".quick")
    assert serious(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open], [role=dialog]")
    assert serious(page) == []


def test_axe_finds_a_barrier_that_is_put_there(page):
    page.evaluate(
        "() => { const b = document.createElement('button'); b.className = 'hero'; document.body.append(b); }"
    )
    assert any(one.startswith("button-name") for one in serious(page))


def test_the_guide_leads_from_an_empty_sheet_to_a_training(page):
    """Only its button is pressed, then the one that it names."""
    page.get_by_text("Your first drawing").click()
    for step in range(1, 9):
        page.wait_for_selector(f".guide-count:has-text('{step} / ')")
        page.click(".guide .primary")
        expect_vertices(page, step)
    page.wait_for_selector(".chip.ok")
    page.click(".guide .primary")
    page.wait_for_selector("#dock .recipe")
    page.fill("#dock [data-attribute=epochs]", "1")
    page.keyboard.press("Tab")
    page.click("#dock .recipe .primary:not([disabled])")
    page.wait_for_selector("#dock [data-accuracy]", timeout=120_000)


def test_chinese_words_and_back(page):
    page.get_by_text("中文").click()
    page.wait_for_selector("text=新建绘图")
    page.get_by_text("English").click()
    page.wait_for_selector("text=New drawing")


def test_a_server_that_is_killed_loses_no_edit(browser, tmp_path):
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    server = Server(workspace)
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-GB")
    try:
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.goto(f"{server.address}?code={server.code}")
        start_empty(page)
        quick_add(page, "1D-data 4")
        expect_vertices(page, 1)
        expect_total(page, "0")
        server.kill()
        page.wait_for_selector(".notice.bad")
        quick_add(page, "1D-ReLU 3")
        expect_vertices(page, 2)
        server = Server(workspace, server.port)
        cookie = context.request.get(f"{server.address}?code={server.code}")
        assert cookie.ok
        page.wait_for_selector(".notice.bad", state="detached")
        expect_total(page, "15")
        page.reload()
        expect_vertices(page, 2)
    finally:
        context.close()
        server.kill()
