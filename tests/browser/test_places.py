"""Detectors and segmenters in the studio: ports connected by mouse and by keys, and what is found on pictures."""

import json

import pytest
from hands import open_text, select_vertex, serious
from playwright.sync_api import expect

SELECTS = {
    "format": 1,
    "name": "Selects",
    "capsules": [
        {"id": "loc", "symbol": "data", "rank": 2, "attributes": {"height": 12, "width": 4, "channels": 1}},
        {"id": "conf", "symbol": "data", "rank": 2, "attributes": {"height": 12, "width": 3, "channels": 1}},
        {"id": "rows", "symbol": "data", "rank": 2, "attributes": {"height": 12, "width": 4, "channels": 1}},
        {"id": "end", "symbol": "selection", "rank": 2, "attributes": {"count": 5, "picture": [32, 32]}},
    ],
    "connections": [{"id": "loc-end", "symbol": "transfer", "back": "loc", "front": "end"}],
    "positions": {"loc": [0, -150], "conf": [0, 0], "rows": [0, 150], "end": [320, 0]},
}


@pytest.fixture
def selects(page):
    open_text(page, json.dumps(SELECTS), "Selects")
    page.wait_for_selector(".react-flow__node[data-id=end] [data-port=boxes]")
    page.wait_for_timeout(400)
    return page


def line_into(page, port: str):
    return page.locator(f".react-flow__edge[aria-label$='port {port}']")


def test_a_connection_is_drawn_into_the_port_by_mouse_and_by_keys(selects):
    page = selects
    end = page.locator(".react-flow__node[data-id=end]")
    assert end.locator("[data-port]").evaluate_all("all => all.map(one => one.dataset.port)") == [
        "in",
        "scores",
        "boxes",
        "image",
    ]
    assert "entered" in end.locator("[data-port=in]").get_attribute("class")
    assert "needed" in end.locator("[data-port=scores]").get_attribute("class")
    assert "open" in end.locator("[data-port=boxes]").get_attribute("class")
    assert "may stay open" in end.locator("[data-port=boxes]").get_attribute("title")
    start = page.locator(".react-flow__node[data-id=rows] .gives").bounding_box()
    to = end.locator("[data-port=boxes]").bounding_box()
    page.mouse.move(start["x"] + start["width"] - 5, start["y"] + start["height"] / 2)
    page.mouse.down()
    page.mouse.move(to["x"] - 40, to["y"] + 40, steps=6)
    page.mouse.move(to["x"] + to["width"] / 2, to["y"] + to["height"] / 2, steps=6)
    page.wait_for_selector(".drawn")
    page.mouse.up()
    expect(line_into(page, "boxes")).to_have_count(1)
    expect(page.locator("#connection-port")).to_have_value("boxes")
    select_vertex(page, ".react-flow__node[data-id=conf]")
    page.keyboard.press("c")
    page.wait_for_selector(".quick")
    page.keyboard.type("end scores")
    page.wait_for_selector(".quick [role=option]:has-text('→ scores')")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(line_into(page, "scores")).to_have_count(1)
    page.wait_for_selector(".chip.ok")
    select_vertex(page, ".react-flow__node[data-id=end]")
    expect(page.locator("#inspector [data-port=boxes]")).to_contain_text("rows")
    expect(page.locator("#inspector .facts")).to_contain_text("list of 5 boxes")
    assert serious(page) == []


def test_another_port_is_chosen_and_the_order_of_levels_changes(selects):
    page = selects
    page.locator(".react-flow__edge .badge").first.click(force=True)
    page.select_option("#connection-port", "scores")
    expect(line_into(page, "scores")).to_have_count(1)
    page.select_option("#connection-port", "in")
    select_vertex(page, ".react-flow__node[data-id=rows]")
    page.keyboard.press("c")
    page.wait_for_selector(".quick")
    page.keyboard.type("end in")
    page.wait_for_selector(".quick [role=option]:has-text('→ in')")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".wire-place")).to_have_text(["1", "2"])
    select_vertex(page, ".react-flow__node[data-id=end]")
    lines = page.locator("#inspector [data-port=in] .port-line .link")
    expect(lines).to_have_text(["loc", "rows"])
    page.get_by_role("button", name="Move before the one above: rows").click()
    expect(lines).to_have_text(["rows", "loc"])


def test_a_detector_is_trained_and_its_boxes_are_seen_on_the_pictures(page):
    page.wait_for_selector("[data-zoo=ssd_narrow]")
    page.wait_for_selector("[data-zoo=unet_narrow]")
    page.click("[data-zoo=ssd_narrow]")
    page.wait_for_selector(".chip.ok")
    page.keyboard.press("r")
    page.wait_for_selector("#data option[value=shapes]", state="attached")
    # What finds boxes learns from the pictures of shapes without being told; here from few of them.
    expect(page.locator("#data")).to_have_value("shapes")
    page.select_option("#data", label="Own data …")
    page.fill("dialog [name=path]", "shapes")
    page.get_by_role("button", name="Look into it").click()
    page.wait_for_selector("dialog .marked[data-there='pixels']")
    expect(page.locator("dialog .class-legend li")).to_have_text(["circle", "square", "triangle"])
    assert serious(page) == []
    page.locator("dialog details summary").click()
    page.fill("dialog [data-option=n]", "60")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog .data-outline:has-text('60')")
    page.locator("dialog footer .primary").click()
    page.fill("#dock [data-attribute=epochs]", "3")
    page.keyboard.press("Tab")
    page.click("#dock .recipe .primary:not([disabled])")
    page.wait_for_selector("#dock [data-run-state=finished]", timeout=180_000)
    expect(page.locator("#dock [data-quality=map]")).to_contain_text("%")
    page.locator("#dock").get_by_text("Show on the network").click()
    page.wait_for_selector("#insight .legend-scale")
    page.keyboard.press("w")
    page.wait_for_selector(".found-gallery [data-shown] .marked", timeout=120_000)
    least = page.locator(".found-gallery .least input")
    least.fill("0")
    page.wait_for_selector(".found-gallery .marked:not([data-found='0'])")
    assert page.locator(".found-gallery .box.found").count() > 0
    assert page.locator(".found-gallery .box.there").count() > 0
    assert "found:" in page.locator(".found-gallery .marked").first.get_attribute("aria-label")
    page.locator(".found-gallery [data-marks=there]").uncheck()
    expect(page.locator(".found-gallery .box.there")).to_have_count(0)
    page.locator(".found-gallery [data-marks=there]").check()
    page.locator(".found-gallery [data-shown]").first.click()
    page.keyboard.press("p")
    page.wait_for_selector(".fed .marked .box.found", timeout=60_000)
    assert page.locator(".play-answer .found-list li").count() == page.locator(".fed .box.found").count()
    assert serious(page) == []
