"""The page as a whole: no serious barrier for anyone, no lost edit when the server dies, both themes and languages."""

from __future__ import annotations

import pytest
from hands import AXE, expect_total, expect_vertices, quick_add, serious, start_empty
from serving import Server


@pytest.mark.skipif(not AXE.is_file(), reason="web/node_modules is not installed: run `make test`")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_barrier(page, theme):
    if theme == "dark":
        page.get_by_text("Dark mode").click()
    assert serious(page) == []
    start_empty(page)
    quick_add(page, "2D-data 9x9x1")
    quick_add(page, "2D-maximum window=2")
    page.wait_for_selector(".chip.bad")
    page.keyboard.press("r")
    page.wait_for_selector("#dock .recipe option", state="attached")
    assert serious(page) == []


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
