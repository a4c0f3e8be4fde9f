"""What hands do on the canvas: a rubber band, alignment, snapping, notes, search and the minimap."""

from __future__ import annotations

import pytest
from hands import expect_vertices

from inkcap.zoo import draw


@pytest.fixture
def lenet(page, studio):
    drawing = draw("lenet")
    for i, id in enumerate(drawing.capsules):
        drawing.move(id, 120.0 * i, 0.0)
    with studio.client() as client:
        made = client.post("/api/drawings", json={"name": "hands", "text": drawing.to_text()}).json()["id"]
    page.goto(f"{studio.address}#/drawing/{made}")
    expect_vertices(page, 8)
    page.wait_for_selector(".chip.ok")
    page.wait_for_timeout(400)

    def places() -> dict[str, list[float]]:
        with studio.client() as client:
            return client.get(f"/api/drawings/{made}/file").json().get("positions", {})

    return places


def box(page, id: str) -> dict[str, float]:
    return page.locator(f".react-flow__node[data-id={id}]").bounding_box()


def drag(page, id: str, dx: float, dy: float, *, drop: bool = True):
    at = box(page, id)
    page.mouse.move(at["x"] + 14, at["y"] + 20)
    page.mouse.down()
    # The drag begins with the first small step.
    page.mouse.move(at["x"] + 14, at["y"] + 22)
    page.mouse.move(at["x"] + 14 + dx, at["y"] + 22 + dy, steps=5)
    if drop:
        page.mouse.up()


def wait_until(page, holds) -> None:
    for _ in range(60):
        if holds():
            return
        page.wait_for_timeout(50)
    raise AssertionError("what was expected did not come")


def selected(page) -> list[str]:
    return page.locator(".react-flow__node.selected").evaluate_all("all => all.map(one => one.dataset.id)")


def test_a_rubber_band_selects_moves_and_aligns(page, lenet):
    a, c = box(page, "a"), box(page, "c")
    page.keyboard.down("Shift")
    page.mouse.move(a["x"] - 15, a["y"] - 40)
    page.mouse.down()
    page.mouse.move(c["x"] + c["width"] + 8, c["y"] + c["height"] + 30, steps=6)
    page.mouse.up()
    page.keyboard.up("Shift")
    assert selected(page) == ["a", "b", "c"]
    assert page.inner_text("#inspector h2") == "3 selected"
    drag(page, "b", 0, 90)
    wait_until(page, lambda: min(lenet()[id][1] for id in "abc") > 50)
    assert len({lenet()[id][1] for id in "abc"}) == 1
    assert lenet()["d"] == [360, 0]
    page.keyboard.press("Escape")
    drag(page, "c", 0, 60)
    page.keyboard.press("Control+a")
    page.keyboard.press("h")
    wait_until(page, lambda: len({y for _, y in lenet().values()}) == 1)
    page.keyboard.press("Control+z")
    wait_until(page, lambda: lenet()["d"] == [360, 0])


def test_what_is_dragged_snaps_to_what_lies_still(page, lenet):
    drag(page, "d", 0, 80)
    wait_until(page, lambda: lenet()["d"][1] > 60)
    assert lenet()["d"][0] == 360
    # Back to within a few points of the row: it lines up, and a line shows it.
    zoom = int("".join(filter(str.isdigit, page.inner_text(".percent")))) / 100
    drag(page, "d", 0, 3 - lenet()["d"][1] * zoom, drop=False)
    page.wait_for_selector(".guide-line", state="attached")
    page.mouse.up()
    page.wait_for_selector(".guide-line", state="detached")
    wait_until(page, lambda: lenet()["d"] == [360, 0])


def test_notes_are_written_moved_found_and_deleted(page, lenet):
    page.keyboard.press("/")
    page.wait_for_selector(".quick")
    page.keyboard.type("note")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement?.tagName === 'TEXTAREA'")
    page.keyboard.type("Two rounds of convolution")
    page.keyboard.press("Escape")
    note = page.locator(".react-flow__node-note")
    note.filter(has_text="Two rounds").wait_for()
    before = lenet()["note"]
    drag(page, "note", -40, 70)
    wait_until(page, lambda: lenet()["note"][1] > before[1] + 30)
    page.keyboard.press("Escape")
    page.keyboard.press("Control+f")
    page.keyboard.type("rounds")
    page.keyboard.press("Enter")
    wait_until(page, lambda: selected(page) == ["note"])
    page.keyboard.press("Delete")
    note.wait_for(state="detached")
    wait_until(page, lambda: "note" not in lenet())
    page.keyboard.press("Control+f")
    page.keyboard.type("softmax")
    page.keyboard.press("Enter")
    wait_until(page, lambda: selected(page) == ["h"])


def test_the_minimap_shows_a_long_network_and_moves_the_view(page, studio):
    with studio.client() as client:
        made = client.post("/api/drawings", json={"name": "long", "zoo": "googlenet"}).json()["id"]
    page.goto(f"{studio.address}#/drawing/{made}")
    page.wait_for_selector(".react-flow__minimap-node", state="attached")
    page.wait_for_timeout(400)
    for _ in range(3):
        page.keyboard.press("+")
        page.wait_for_timeout(150)
    before = page.evaluate("document.querySelector('.react-flow__viewport').style.transform")
    found = page.locator(".react-flow__minimap").bounding_box()
    page.mouse.move(found["x"] + found["width"] / 2, found["y"] + found["height"] / 2)
    page.mouse.down()
    page.mouse.move(found["x"] + found["width"] / 2 + 25, found["y"] + found["height"] / 2, steps=4)
    page.mouse.up()
    assert page.evaluate("document.querySelector('.react-flow__viewport').style.transform") != before
