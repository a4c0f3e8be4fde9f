"""LeNet is drawn in a real browser, by mouse and by keys alone; mistakes are mended; undo goes to empty and back."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hands import expect_total, expect_vertices, quick_add, select_vertex, start_empty
from lenet_by_hand import CHARACTERS_BY_MOUSE, GESTURES_BY_KEYS, GESTURES_BY_MOUSE, PARAMETERS, TYPED
from playwright.sync_api import expect


def draw_lenet_by_keys(page):
    for number, text in enumerate(TYPED, 1):
        quick_add(page, text)
        expect_vertices(page, number)


def test_lenet_by_keys_alone(page):
    start_empty(page)
    draw_lenet_by_keys(page)
    expect_total(page, PARAMETERS)
    page.wait_for_selector(".chip.ok")
    assert len(TYPED) == GESTURES_BY_KEYS
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("() => document.activeElement?.dataset.id === 'g'")
    assert "1D-ReLU" in page.evaluate("document.activeElement.getAttribute('aria-label')")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.closest('#inspector') !== null")


def drop(page, face: str, x: float, y: float):
    page.locator(f"[data-face='{face}']").drag_to(page.locator("#canvas"), target_position={"x": x, "y": y})


def join(page, back: str, front: str):
    """Drag from the right edge of one capsule to the middle of another."""
    a = page.locator(f".react-flow__node[data-id={back}] .gives").bounding_box()
    b = page.locator(f".react-flow__node[data-id={front}]").bounding_box()
    page.mouse.move(a["x"] + a["width"] / 2, a["y"] + a["height"] / 2)
    page.mouse.down()
    page.mouse.move(a["x"] + a["width"] / 2 + 4, a["y"] + a["height"] / 2)
    page.mouse.move(b["x"] + b["width"] / 2, b["y"] + b["height"] / 2, steps=6)
    page.mouse.up()
    page.wait_for_selector(f".react-flow__edge[data-id='{back}-{front}']", state="attached")


def fill(page, **attributes: str):
    for name, value in attributes.items():
        page.fill(f"#inspector [data-attribute={name}]", value)
        page.keyboard.press("Enter")


def test_lenet_by_mouse(page):
    gestures = characters = 0
    start_empty(page)
    faces = ("data/2", "relu/2", "downsampling/2", "relu/2", "downsampling/2", "identical/1", "relu/1", "softmax/1")
    for i, face in enumerate(faces):
        drop(page, face, 70 + 100 * i, 300)
        expect_vertices(page, i + 1)
        gestures += 1
    names = "abcdefgh"
    for back, front in pairwise(names):
        join(page, back, front)
        gestures += 1
    proposed = page.locator(".react-flow__edge").evaluate_all("all => all.map(e => e.getAttribute('aria-label'))")
    assert [text.split(" connection")[0] for text in proposed] == [
        "convolutional", "transfer", "convolutional", "transfer", "reshaping", "full", "full"
    ]  # fmt: skip
    for item, attributes in (
        ("a", {"height": "28", "width": "28", "channels": "1"}),
        ("g", {"dimension": "512"}),
        ("h", {"dimension": "10"}),
    ):
        page.locator(f".react-flow__node[data-id={item}]").click()
        fill(page, **attributes)
        gestures += 1 + len(attributes)
        characters += sum(map(len, attributes.values()))
    for line, kernels in (("a-b", "32"), ("c-d", "64")):
        page.locator(f".react-flow__edge[data-id='{line}'] .badge").click(force=True)
        fill(page, kernels=kernels, kernel="5")
        gestures += 3
        characters += len(kernels) + 1
    expect_total(page, PARAMETERS)
    page.wait_for_selector(".chip.ok")
    assert (gestures, characters) == (GESTURES_BY_MOUSE, CHARACTERS_BY_MOUSE)


def test_undo_to_empty_and_redo_to_full(page):
    start_empty(page)
    draw_lenet_by_keys(page)
    expect_total(page, PARAMETERS)
    page.keyboard.press("Escape")
    for left in range(len(TYPED) - 1, -1, -1):
        page.keyboard.press("Control+z")
        expect_vertices(page, left)
    page.wait_for_selector(".empty-canvas")
    for there in range(1, len(TYPED) + 1):
        page.keyboard.press("Control+Shift+z")
        expect_vertices(page, there)
    expect_total(page, PARAMETERS)


@pytest.mark.parametrize(
    ("typed", "rule"),
    [
        (("2D-data 28x28x1", "2D-ReLU kernels=8 kernel=31"), "window-too-large"),
        (("2D-data 9x9x1", "2D-maximum window=2"), "window-does-not-divide"),
        (("1D-data 4", "1D-ReLU 3"), "structure-mismatch"),
    ],
)
def test_an_error_is_on_the_very_thing_and_its_button_mends_it(page, typed, rule):
    start_empty(page)
    for text in typed:
        quick_add(page, text)
    if rule == "structure-mismatch":
        # A transfer keeps the structure; the fix makes it the full connection that was proposed at first.
        page.keyboard.press("l")
        page.click("#inspector .choices [aria-label=transfer]")
    page.wait_for_selector(".chip.bad")
    page.wait_for_selector("#canvas .flaw-mark", state="attached")
    page.keyboard.press("Escape")
    fix = page.locator(f"#inspector .fix[data-rule={rule}]")
    if fix.count() == 0:
        fix = page.locator(f"#canvas .fix[data-rule={rule}]")
    assert fix.count(), page.inner_text("#inspector")
    page.keyboard.press("f")
    page.wait_for_selector(".chip.ok")


def test_a_line_into_the_void_asks_what_comes_next(page):
    start_empty(page)
    quick_add(page, "1D-data 4")
    a = page.locator(".react-flow__node[data-id=a]").bounding_box()
    page.mouse.move(a["x"] + a["width"] - 2, a["y"] + a["height"] / 2)
    page.mouse.down()
    page.mouse.move(a["x"] + 60, a["y"] + 40)
    page.mouse.move(a["x"] + 190, a["y"] + 60, steps=5)
    page.mouse.up()
    page.wait_for_selector(".quick")
    page.keyboard.type("1D-tanh 3")
    page.keyboard.press("Enter")
    page.wait_for_selector(".react-flow__edge[data-id='a-b']", state="attached")
    expect_total(page, "15")


def test_what_is_copied_is_text_and_pastes_in_another_tab(page, context):
    start_empty(page)
    quick_add(page, "1D-data 4")
    quick_add(page, "1D-ReLU 3")
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+c")
    page.wait_for_selector(".notice")
    copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert [one["id"] for one in copied["capsules"]] == ["a", "b"]
    other = context.new_page()
    other.goto(page.url)
    expect_vertices(other, 2)
    other.locator("#canvas").focus()
    other.keyboard.press("Control+v")
    expect_vertices(other, 4)
    expect_vertices(page, 4)
    other.close()


def test_a_selection_becomes_a_group_that_opens_and_dissolves(page):
    start_empty(page)
    for text in ("1D-data 4", "1D-ReLU 3", "1D-tanh 3", "1D-softmax 2"):
        quick_add(page, text)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Control+g")
    page.wait_for_selector(".react-flow__node-use.selected .group-box")
    expect_total(page, "35")
    page.keyboard.press("Enter")
    page.wait_for_selector(".crumbs >> text=group")
    page.wait_for_selector(".react-flow__node-capsule[data-id=c]")
    expect(page.locator(".react-flow__node-capsule[data-id=d]")).to_have_count(0)
    page.keyboard.press("Escape")
    page.wait_for_selector(".group-box")
    select_vertex(page, ".react-flow__node-use")
    page.keyboard.press("Control+Shift+g")
    page.wait_for_selector(".group-box", state="detached")
    page.wait_for_selector(".react-flow__node-capsule[data-id=d]")
    expect_total(page, "35")
