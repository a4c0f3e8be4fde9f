"""Training on the network: colours, values, evaluation, playground and surface of runs that were really trained."""

import base64
import json
import math
import time

import pytest
from hands import quick_add, select_vertex, serious
from playwright.sync_api import expect

from inkcap.zoo import NETWORKS

PLANE = {
    "format": 1,
    "name": "Plane",
    "capsules": [
        {"id": "x", "symbol": "data", "rank": 1, "attributes": {"dimension": 2}},
        {"id": "h", "symbol": "tanh", "rank": 1, "attributes": {"dimension": 12}},
        {"id": "y", "symbol": "softmax", "rank": 1, "attributes": {"dimension": 2}},
    ],
    "connections": [
        {"id": "x-h", "symbol": "full", "back": "x", "front": "h"},
        {"id": "h-y", "symbol": "full", "back": "h", "front": "y"},
    ],
}
BLOCKS = {
    "format": 1,
    "name": "Blocks",
    "capsules": [
        {"id": "x", "symbol": "data", "rank": 1, "attributes": {"dimension": 4}},
        {"id": "y", "symbol": "softmax", "rank": 1, "attributes": {"dimension": 3}},
    ],
    "groups": [
        {
            "id": "block",
            "inputs": {"in": "a"},
            "outputs": {"out": "b"},
            "capsules": [
                {"id": "a", "symbol": "identical", "rank": 1},
                {"id": "b", "symbol": "relu", "rank": 1, "attributes": {"dimension": 8}},
            ],
            "connections": [{"id": "a-b", "symbol": "full", "back": "a", "front": "b"}],
        }
    ],
    "uses": [{"id": "stage", "group": "block", "repeat": 2}],
    "connections": [
        {"id": "x-stage", "symbol": "transfer", "back": "x", "front": "stage"},
        {"id": "stage-y", "symbol": "full", "back": "stage", "front": "y"},
    ],
}
STEPS = 4
DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAAAAADhZOFXAAAAGElEQVR4nGNkYPj/n4GBgYGJAQ1QU+A/AwCoDQMNqFyrFwAAAABJRU5ErkJggg=="
)


def make(client, **what):
    made = client.post("/api/drawings", json=what)
    assert made.is_success, made.text
    return made.json()["id"]


def train(client, drawing, data, **recipe):
    """Train a drawing as the dock does, and wait for the end."""
    started = client.post(f"/api/drawings/{drawing}/train", json={"data": data, "recipe": recipe})
    assert started.is_success, started.text
    run = started.json()["run"]
    for _ in range(600):
        told = client.get(f"/api/runs/{run}").json()
        if told["state"] not in ("created", "running"):
            assert told["state"] == "finished", told
            # Whoever looks into runs is started by the first question, and takes longest then.
            assert client.get(f"/api/runs/{run}/examples?count=1").is_success
            return drawing, run
        time.sleep(0.2)
    raise AssertionError(told)


@pytest.fixture(scope="session")
def client(studio):
    with studio.client() as opened:
        yield opened


@pytest.fixture(scope="session")
def digits(client):
    drawing = make(client, name=NETWORKS["lenet-digits"].title, zoo="lenet-digits")
    return train(client, drawing, "digits", epochs=STEPS)


@pytest.fixture(scope="session")
def plane(client):
    drawing = make(client, name="Plane", text=json.dumps(PLANE))
    return train(client, drawing, "moons", epochs=6, optimiser={"kind": "adam", "rate": 0.02})


@pytest.fixture(scope="session")
def blocks(client):
    return train(client, make(client, name="Blocks", text=json.dumps(BLOCKS)), "iris", epochs=2)


def show(page, drawing):
    page.evaluate("id => { location.hash = `#/drawing/${id}` }", drawing)
    page.wait_for_selector(f"#canvas[data-drawing='{drawing}']")
    page.wait_for_selector(".chip.ok")


def see(page, drawing):
    """Open a drawing and what was trained with it, by the key."""
    show(page, drawing)
    page.keyboard.press("o")
    page.wait_for_selector("#insight .legend-scale")


def number(page, id):
    return page.locator(f".react-flow__node[data-id='{id}'] .vertex-number")


def expect_number(page, id, value):
    """Wait until a capsule's number is the given one, as far as it is written out."""
    page.wait_for_function(
        """([id, value]) => {
            const there = document.querySelector(`.react-flow__node[data-id='${id}'] .vertex-number`);
            return there && Math.abs(parseFloat(there.dataset.number) - value) <= 0.06 * Math.abs(value) + 1e-12;
        }""",
        arg=[id, value],
    )


def expect_epoch(page, epoch):
    page.wait_for_selector(f".epochs output[data-epoch='{epoch}']")


def fill_of(page, id):
    return page.locator(f".react-flow__node[data-id='{id}'] .glyph rect").last.get_attribute("fill")


def pointed(page, selector, places):
    """Draw with the mouse through places that are shares of a thing's sides."""
    box = page.locator(selector).bounding_box()
    at = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in places]
    page.mouse.move(*at[0])
    page.mouse.down()
    for place in at[1:]:
        page.mouse.move(*place, steps=4)
    page.mouse.up()


def test_the_overlay_is_led_by_the_keys_and_shows_what_was_measured(page, client, digits):
    drawing, run = digits
    told = client.get(f"/api/runs/{run}/signals").json()
    see(page, drawing)
    expect_epoch(page, STEPS)
    expect_number(page, "b", told["capsules"]["b"]["delta"][-1])
    newest = fill_of(page, "b")
    page.keyboard.press(",")
    expect_epoch(page, STEPS - 1)
    expect_number(page, "b", told["capsules"]["b"]["delta"][-2])
    page.keyboard.press("m")
    expect_number(page, "b", told["capsules"]["b"]["output"][-2])
    expect(page.locator("#insight-measure")).to_have_value("output")
    page.keyboard.press("m")
    expect_number(page, "b", told["capsules"]["b"]["weight"][-2])
    # Data have no weights: they are there, without a colour and without a number.
    expect(number(page, "a")).to_have_count(0)
    assert fill_of(page, "a") == "transparent"
    line = page.locator(".react-flow__edgelabel-renderer .wire-number").all_inner_texts()
    assert any(math.isclose(float(text), told["connections"]["a-b"]["weight"][-2], rel_tol=0.02) for text in line)
    # Played to its end it stands at the newest epoch.
    page.keyboard.press("Space")
    expect_epoch(page, STEPS)
    page.keyboard.press("o")
    page.wait_for_selector("#insight", state="detached")
    expect(number(page, "b")).to_have_count(0)
    assert fill_of(page, "b") not in (newest, "transparent")


def test_the_overlay_is_led_by_the_mouse_from_the_runs_and_the_dock(page, client, digits):
    drawing, run = digits
    name = client.get(f"/api/runs/{run}").json()["name"]
    page.click("header a[href='#/runs']")
    page.click(f"tr[data-run='{name}']")
    page.get_by_text("Show on the network").click()
    page.wait_for_selector("#insight .legend-scale")
    assert page.locator("#canvas").get_attribute("data-drawing") == drawing
    expect(page.locator("#insight-run")).to_have_value(run)
    page.select_option("#insight-measure", "megabytes")
    page.wait_for_selector(".react-flow__node[data-id=b] .vertex-number >> text=MB")
    page.locator(".epochs input").fill("0")
    expect_epoch(page, 0)
    page.hover(".react-flow__node[data-id=b] .glyph")
    tip = page.locator(".react-flow__node[data-id=b] .insight-tip")
    tip.wait_for()
    assert "time" in tip.inner_text()
    assert "ms" in tip.inner_text()
    page.locator("#insight .button.icon").last.click()
    page.wait_for_selector("#insight", state="detached")
    page.keyboard.press("r")
    page.locator("#dock").get_by_text("Show on the network").click()
    page.wait_for_selector("#insight .legend-scale")
    page.wait_for_selector("#dock")


def test_values_follow_the_epochs_and_an_example_stays(page, client, digits):
    drawing, run = digits
    see(page, drawing)
    page.locator(".react-flow__edge[data-id='a-b'] .badge").click(force=True)
    page.wait_for_selector(f".values[data-item='a-b'][data-epoch='{STEPS}']")
    expect(page.locator("[data-weight] .kernels canvas")).to_have_count(32)
    assert page.locator("[data-weight] .histogram rect.above, [data-weight] .histogram rect.below").count() > 10
    expect(page.locator("[data-values=gradient]")).to_have_count(1)
    page.locator(".epochs input").fill("1")
    page.wait_for_selector(".values[data-item='a-b'][data-epoch='1']")
    page.locator("[data-example]").nth(2).click()
    page.wait_for_selector(".react-flow__node[data-id=c] canvas.mosaic")
    for id, maps in (("b", 32), ("d", 32)):
        select_vertex(page, f".react-flow__node[data-id={id}]")
        page.wait_for_selector(f".values[data-item='{id}'] [data-values=activation]")
        expect(page.locator("[data-values=activation] canvas"), "and the scale").to_have_count(maps + 1)
        expect(page.locator("[data-values=output] svg")).to_have_count(1)
        expect(page.locator("[data-values=delta] svg")).to_have_count(1)
    answer = client.post(f"/api/runs/{run}/answer", json={"epoch": 1, "example": {"part": "validation", "number": 2}})
    best = answer.json()["answers"][0]["classes"][0]["name"]
    assert page.locator(".answer-line b").inner_text().startswith(best)
    page.locator(".examples .button.icon").click()
    page.wait_for_selector("canvas.mosaic", state="detached")


def test_what_is_taken_for_what_and_the_worst_answers(page, client, digits):
    drawing, run = digits
    told = client.get(f"/api/runs/{run}/confusion?part=validation&worst=200").json()
    show(page, drawing)
    page.keyboard.press("w")
    page.wait_for_selector(".heat-table [data-cell]")
    shown = page.locator(".heat-table [data-cell]").all_inner_texts()
    assert [int(text or 0) for text in shown] == [count for row in told["counts"] for count in row]
    expect(page.locator("[data-worst]")).to_have_count(24)
    # A cell shows its own examples alone.
    row, column = next(
        (i, j) for i, counts in enumerate(told["counts"]) for j, count in enumerate(counts) if count and i != j
    )
    page.click(f"[data-cell='{row}-{column}']")
    page.wait_for_selector(f"[data-cell='{row}-{column}'][aria-pressed=true]")
    page.wait_for_function(
        "n => document.querySelectorAll('[data-worst]').length === n", arg=told["counts"][row][column]
    )
    page.locator("[data-worst]").first.click()
    page.wait_for_selector(".react-flow__node[data-id=h] canvas.mosaic")
    page.wait_for_selector(".answer-line .bad")


def test_a_drawn_digit_is_answered_while_it_is_drawn(page, digits):
    drawing, _ = digits
    show(page, drawing)
    page.keyboard.press("p")
    page.wait_for_selector(".pad canvas")
    pointed(page, ".pad canvas", [(0.5, 0.15), (0.5, 0.5), (0.5, 0.85)])
    page.wait_for_selector(".answer[data-best='1']")
    page.wait_for_selector(".fed canvas")
    expect(page.locator(".class-bars li")).to_have_count(10)
    # Every capsule shows what the stroke becomes in it.
    expect(page.locator("canvas.mosaic")).to_have_count(8)
    turns = [turn / 8 * math.pi for turn in range(17)]
    circle = [(0.5 + 0.28 * math.cos(turn), 0.5 + 0.36 * math.sin(turn)) for turn in turns]
    page.get_by_text("Clear", exact=True).click()
    page.wait_for_selector("canvas.mosaic", state="detached")
    pointed(page, ".pad canvas", circle)
    page.wait_for_selector(".answer[data-best='0']")
    pointed(page, ".pad canvas", [(0.1, 0.1), (0.2, 0.1)])
    page.wait_for_selector(".pad canvas[data-strokes='2']")
    page.get_by_text("Undo stroke").click()
    page.wait_for_selector(".pad canvas[data-strokes='1']")
    page.wait_for_selector(".answer[data-best='0']")
    # With the keys alone: Shift and arrows draw, Delete clears.
    page.locator(".pad canvas").focus()
    page.keyboard.press("Delete")
    page.wait_for_selector(".pad canvas[data-strokes='0']")
    for _ in range(6):
        page.keyboard.press("Shift+ArrowDown")
    page.wait_for_selector(".pad canvas[data-strokes='1']")
    page.wait_for_selector(".answer[data-best]:not([data-best=''])")


def test_a_picture_file_is_answered(page, digits, tmp_path):
    drawing, _ = digits
    show(page, drawing)
    page.keyboard.press("p")
    file = tmp_path / "dot.png"
    file.write_bytes(DOT)
    page.set_input_files("#sheet input[type=file]", file)
    page.wait_for_selector(".answer[data-best]:not([data-best=''])")
    (tmp_path / "words.txt").write_text("no picture")
    page.set_input_files("#sheet input[type=file]", tmp_path / "words.txt")
    page.wait_for_selector(".notice.bad >> text=PNG or JPEG")


def test_a_decision_surface_forms_and_its_points_are_sent_through_the_network(page, plane):
    drawing, _ = plane
    see(page, drawing)
    page.click("[data-sheet=surface]")
    page.wait_for_selector(".surface[data-epoch='6'] canvas")
    picture = "() => document.querySelector('.surface canvas').toDataURL()"
    learnt = page.evaluate(picture)
    page.locator(".epochs input").fill("0")
    page.wait_for_selector(".surface[data-epoch='0']")
    assert page.evaluate(picture) != learnt
    # The upper moon is one class, the lower one the other.
    page.locator(".epochs input").fill("6")
    page.wait_for_selector(".surface[data-epoch='6']")
    found = []
    for place in ((0.2, 0.3), (0.8, 0.75)):
        pointed(page, ".surface canvas", [place])
        page.wait_for_function(
            "old => { const now = document.querySelector('.answer')?.dataset.best; return now && now !== old }",
            arg=found[-1] if found else "",
        )
        found.append(page.locator(".answer").get_attribute("data-best"))
    assert sorted(found) == ["0", "1"]
    page.keyboard.press("p")
    fields = page.locator(".number-fields input")
    fields.first.fill("-0.5")
    fields.nth(1).fill("1.0")
    page.wait_for_selector(f".answer[data-best='{found[0]}']")
    page.wait_for_selector(".fed >> text=-0.5")


def test_a_closed_group_sums_up_and_its_copies_have_their_own(page, client, blocks):
    drawing, run = blocks
    told = client.get(f"/api/runs/{run}/signals").json()["capsules"]
    see(page, drawing)
    expect_number(page, "stage", max(told[f"stage.{copy}.b"]["delta"][-1] for copy in (0, 1)))
    page.select_option("#insight-measure", "megabytes")
    inside = sum(one["megabytes"][-1] for id, one in told.items() if id.startswith("stage."))
    expect_number(page, "stage", inside)
    page.select_option("#insight-measure", "delta")
    select_vertex(page, ".react-flow__node[data-id=stage]")
    page.keyboard.press("Enter")
    page.wait_for_selector(".copy-choice input")
    for copy in (0, 1):
        page.locator(".copy-choice input").fill(str(copy + 1))
        expect_number(page, "b", told[f"stage.{copy}.b"]["delta"][-1])
        page.keyboard.press("Escape")


def test_what_was_drawn_after_the_run_stays_plain_and_is_told(page, plane):
    see(page, plane[0])
    expect(page.locator(".changed-since")).to_have_count(0)
    select_vertex(page, ".react-flow__node[data-id=h]")
    quick_add(page, "1D-ReLU 5")
    page.wait_for_selector(".changed-since >> text=2 of its parts")
    added = page.locator(".react-flow__node.selected").get_attribute("data-id")
    assert fill_of(page, added) == "transparent"
    expect(number(page, added)).to_have_count(0)
    expect(number(page, "h")).to_have_count(1)
    page.keyboard.press("Control+z")
    page.wait_for_selector(".changed-since", state="detached")


def test_a_drawing_that_was_never_trained_says_what_to_do_and_is_then_followed_live(page, client):
    drawing = make(client, name="Live", text=json.dumps(PLANE))
    show(page, drawing)
    page.keyboard.press("o")
    page.wait_for_selector(".nothing-yet >> text=Nothing was trained")
    page.get_by_text("Open the training dock").click()
    page.wait_for_selector("#data option[value=moons]", state="attached")
    page.select_option("#data", "moons")
    page.fill("#dock [data-attribute=epochs]", "40")
    page.keyboard.press("Tab")
    page.click("#dock .recipe .primary:not([disabled])")
    page.wait_for_selector(".live-mark", timeout=60_000)
    # The newest epoch comes by itself.
    page.wait_for_function("() => Number(document.querySelector('.epochs output')?.dataset.epoch) >= 3", timeout=60_000)
    page.wait_for_selector("#dock [data-run-state=finished]", timeout=60_000)
    expect_epoch(page, 40)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_barrier(page, digits, plane, theme):
    if theme == "dark":
        page.get_by_text("Dark mode").click()
    see(page, digits[0])
    page.wait_for_selector("[data-example]")
    page.locator("[data-example]").first.click()
    select_vertex(page, ".react-flow__node[data-id=b]")
    page.wait_for_selector(".values [data-values=activation]")
    assert serious(page) == []
    page.keyboard.press("w")
    page.wait_for_selector(".heat-table [data-cell]")
    assert serious(page) == []
    page.keyboard.press("p")
    page.wait_for_selector(".class-bars")
    assert serious(page) == []
    see(page, plane[0])
    page.click("[data-sheet=surface]")
    page.wait_for_selector(".surface canvas")
    assert serious(page) == []


def test_it_speaks_chinese(page, digits):
    page.get_by_text("中文").click()
    see(page, digits[0])
    page.keyboard.press("w")
    page.wait_for_selector("text=混淆矩阵")
    page.wait_for_selector("#insight-measure option >> text=误差", state="attached")
