"""The inside of a group: structures and errors of the very copy, mended there; places that stay; expressions."""

from __future__ import annotations

import pytest
from hands import expect_total, quick_add, select_vertex
from playwright.sync_api import expect

from inkcap import Drawing, check
from inkcap.drawing import from_text


def residual(side: int = 8) -> str:
    """A stage of three blocks; with an odd side its pooling leaves something over."""
    block = Drawing("block", arguments={"width": 64})
    block.add("x", "2D-identical")
    block.then("first", "2D-relu", "convolution", kernels="=width", kernel=3, padding=1)
    block.then("sum", "2D-relu", "convolution", kernels="=width", kernel=3, padding=1)
    block.connect("x", "sum", "transfer")
    stage = Drawing("stage", arguments={"width": 16})
    stage.define("block", block)
    stage.add("in", "2D-identical")
    stage.then("blocks", "block", repeat=3, width="=width")
    stage.then("pool", "2D-downsampling", window=2)
    drawing = Drawing("residual")
    drawing.define("stage", stage)
    drawing.add("image", "2D-data", height=side, width=side, channels=1)
    drawing.then("stem", "2D-relu", "convolution", kernels=16, kernel=3, padding=1)
    drawing.then("one", "stage", width=16)
    drawing.then("flat", "1D-identical", "reshaping")
    drawing.then("class", "1D-softmax", "full", dimension=10)
    return drawing.to_text()


@pytest.fixture
def opened(page, studio):
    def go(text: str) -> str:
        with studio.client() as client:
            made = client.post("/api/drawings", json={"name": "residual", "text": text}).json()["id"]
        page.goto(f"{studio.address}#/drawing/{made}")
        page.wait_for_selector(".react-flow__node-use")
        page.wait_for_selector(".chip")
        return made

    return go


def captions(page) -> dict[str, str]:
    found = page.locator(".react-flow__node .captions").evaluate_all(
        "all => all.map(one => [one.querySelector('b').innerText, one.querySelector('code').innerText])"
    )
    return dict(found)


def open_use(page, id: str, inner: str):
    # Where it can be selected, the view has come to rest: a double click on the paper would mean something else.
    select_vertex(page, f".react-flow__node[data-id={id}]")
    page.wait_for_timeout(250)
    page.locator(f".react-flow__node[data-id={id}]").dblclick()
    page.wait_for_selector(f".react-flow__node[data-id={inner}]")


def place(page, id: str) -> dict[str, float]:
    box = page.locator(f".react-flow__node[data-id={id}]").bounding_box()
    other = page.locator(".react-flow__node[data-id=x]").bounding_box()
    return {"x": round(box["x"] - other["x"]), "y": round(box["y"] - other["y"])}


def test_an_error_inside_is_on_the_very_capsule_and_its_button_mends_it(page, opened):
    opened(residual(side=9))
    page.wait_for_selector(".chip.bad")
    page.wait_for_selector(".react-flow__node[data-id=one] .flaw-mark", state="attached")
    open_use(page, "one", "pool")
    page.wait_for_selector(".react-flow__node[data-id=pool] .flaw-mark", state="attached")
    expect(page.locator(".flaw-mark")).to_have_count(1)
    assert captions(page)["in"] == "9×9×16"
    select_vertex(page, ".react-flow__node[data-id=pool]")
    page.click("#inspector .fix")
    page.wait_for_selector(".chip.ok")
    assert captions(page)["pool"] == "4×4×16"


def test_each_copy_tells_its_own_numbers_and_an_expression_is_typed(page, opened):
    opened(residual())
    page.wait_for_selector(".react-flow__node[data-id=one]")
    select_vertex(page, ".react-flow__node[data-id=one]")
    page.keyboard.press("Enter")
    page.wait_for_selector(".react-flow__node[data-id=blocks]")
    open_use(page, "blocks", "first")
    expect(page.locator(".crumbs")).to_contain_text("one", use_inner_text=True)
    select_vertex(page, ".react-flow__node[data-id=first]")
    page.keyboard.press("l")
    page.wait_for_selector("#inspector .formulas >> text=one.blocks.0.first")
    page.fill(".copy-choice input", "3")
    page.wait_for_selector("#inspector .formulas >> text=one.blocks.2.first")
    page.fill("#inspector [data-attribute=kernels]", "=8*(copy+1)")
    page.keyboard.press("Enter")
    page.wait_for_selector(".computed output >> text=24")
    page.wait_for_function("() => document.querySelector('#canvas').innerText.includes('24@3×3')")
    assert captions(page)["first"] == "8×8×24"
    page.fill(".copy-choice input", "1")
    page.wait_for_selector(".computed output >> text=8")
    page.locator("#canvas").focus()
    page.keyboard.press("Control+z")
    page.wait_for_selector(".computed output >> text=16")


def test_places_inside_are_kept(page, opened):
    opened(residual())
    open_use(page, "one", "blocks")
    open_use(page, "blocks", "sum")
    page.wait_for_timeout(300)
    box = page.locator(".react-flow__node[data-id=sum]").bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 25)
    page.mouse.down()
    page.mouse.move(box["x"] + 40, box["y"] + 140, steps=6)
    page.mouse.up()
    moved = place(page, "sum")
    assert moved["y"] > 80
    page.reload()
    page.wait_for_selector(".react-flow__node-use")
    open_use(page, "one", "blocks")
    open_use(page, "blocks", "sum")
    page.wait_for_timeout(400)
    zoomed = place(page, "sum")
    assert zoomed["y"] / zoomed["x"] == pytest.approx(moved["y"] / moved["x"], abs=0.05)
    page.keyboard.press("Control+a")
    page.keyboard.press("h")
    page.wait_for_function(
        "() => new Set([...document.querySelectorAll('.react-flow__node-capsule')]"
        ".map(one => Math.round(one.getBoundingClientRect().y))).size === 1"
    )
    page.keyboard.press("Control+z")
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    page.wait_for_selector(".react-flow__node[data-id=sum]")


def test_an_argument_is_made_and_used(page, opened):
    opened(residual())
    expect_total(page, str(check(from_text(residual())).parameters))
    open_use(page, "one", "blocks")
    page.fill("#inspector .new-pair input >> nth=0", "deep")
    page.fill("#inspector .new-pair input >> nth=1", "2")
    page.keyboard.press("Enter")
    page.wait_for_selector("#inspector [data-argument=deep]")
    select_vertex(page, ".react-flow__node[data-id=pool]")
    page.fill("#inspector [data-attribute=window]", "=2*deep")
    page.keyboard.press("Enter")
    page.wait_for_selector(".computed output >> text=4")
    page.wait_for_selector(".react-flow__node[data-id=pool] .captions >> text=2×2×16")
    quick_add(page, "2D-tanh")
    page.wait_for_selector(".react-flow__node[data-id=a]")
