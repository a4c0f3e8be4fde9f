"""The recipe in the training panel: several workers where they can be had, precision, engines, and groups anew."""

from importlib.util import find_spec

import pytest
from hands import drawing_id, open_text, serious
from playwright.sync_api import expect

from inkcap.drawing import Drawing

START = "#dock .recipe .primary:not([disabled])"
COMMAND = "pip install 'inkcap[cluster]'"
PATIENCE = 240_000
"""Milliseconds until workers have met, or parted: each loads torch for itself."""
GOES_ON = "async ([id, step]) => (await (await fetch(`/api/runs?drawing=${id}`)).json())[0].step > step"
CLUSTER = ("workers", "sharded", "joint_norm")


def grouped() -> Drawing:
    """A network for the digits that uses a group twice."""
    body = Drawing("body")
    body.add("x", "2D-identical")
    for name in "uvwy":
        body.then(name, "2D-relu", "convolution", kernels=16, kernel=3, padding=1)
    drawing = Drawing("grouped")
    drawing.define("block", body, inputs={"in": "x"}, outputs={"out": "y"})
    drawing.add("a", "2D-data", height=8, width=8, channels=1)
    drawing.then("b", "block", repeat=2)
    drawing.then("flat", "1D-identical", "reshaping")
    drawing.then("h", "1D-softmax", dimension=10)
    return drawing


def open_panel(page, name: str) -> None:
    open_text(page, grouped().to_text(), name)
    page.wait_for_selector(".chip.ok")
    page.keyboard.press("r")
    page.wait_for_selector("#data option[value='digits']", state="attached", timeout=90_000)
    page.locator("#dock .recipe details summary").click()


def with_extra(page, there: bool) -> None:
    """Let the server's answer say that the extra is installed, or is not, whatever is on this machine."""

    def answer(route) -> None:
        real = route.fetch()
        told = real.json()
        for field in told["recipe"]:
            if field["name"] in CLUSTER:
                assert field["missing"] in ("", COMMAND)
                field["missing"] = "" if there else COMMAND
        route.fulfill(response=real, json=told)

    page.route("**/api/recipes/fields", answer)


def needed(page) -> int:
    return int(page.get_attribute("#dock [data-needs]", "data-needs"))


def needs_change(page, before: int) -> int:
    page.wait_for_function("n => document.querySelector('#dock [data-needs]')?.dataset.needs != n", arg=str(before))
    return needed(page)


def run_of(page) -> dict:
    """The newest run of the drawing, in full."""
    asked = """async id => {
        const [run] = await (await fetch(`/api/runs?drawing=${id}`)).json();
        return (await fetch(`/api/runs/${run.id}`)).json();
    }"""
    return page.evaluate(asked, drawing_id(page))


def test_without_the_extra_workers_are_off_and_one_line_tells_how_to_get_them(page):
    with_extra(page, there=False)
    open_panel(page, "without the extra")
    section = page.locator("#dock [data-section=severalWorkers]")
    expect(section.locator(".missing")).to_contain_text(COMMAND)
    expect(section.locator("input:disabled")).to_have_count(3)
    assert serious(page) == []


def test_with_the_extra_one_worker_shares_nothing_and_two_may(page):
    with_extra(page, there=True)
    open_panel(page, "with the extra")
    section = page.locator("#dock [data-section=severalWorkers]")
    expect(section.locator(".missing")).to_have_count(0)
    expect(section.locator("input:disabled")).to_have_count(2)
    page.wait_for_selector("#dock [data-needs]")
    alone = needed(page)
    page.fill("#dock [data-attribute=workers]", "2")
    page.keyboard.press("Tab")
    expect(section.locator("input:disabled")).to_have_count(0)
    # Weights and what the optimiser remembers are there twice.
    both = needs_change(page, alone)
    assert both > alone
    expect(page.locator("#dock [data-choice=signals]")).to_be_checked()
    section.locator("[data-choice=sharded]").check()
    needs_change(page, both)
    # Weights that are parted give no signals.
    expect(page.locator("#dock [data-choice=signals]:disabled")).not_to_be_checked()
    page.fill("#dock [data-attribute=workers]", "none")
    page.keyboard.press("Tab")
    page.wait_for_selector("#dock .recipe .wrong")


def test_precision_and_groups_anew_are_offered_and_trained_by(page):
    open_panel(page, "anew")
    page.wait_for_selector("#dock [data-needs]")
    before = needed(page)
    page.locator("[data-recompute=block]").check()
    assert needs_change(page, before) < before
    page.select_option("#dock [data-choice=precision]", "bfloat16")
    page.fill("#dock [data-attribute=epochs]", "1")
    page.click(START)
    page.locator("#dock [data-refused]").filter(has_text="leave precision out, or recompute").wait_for()
    # What the browser notes here is the server's refusal.
    page.complaints.clear()
    for choice, recompute, precision in (("", ["b.0", "b.1"], "as-drawn"), ("bfloat16", [], "bfloat16")):
        page.select_option("#dock [data-choice=precision]", choice)
        page.locator("[data-recompute=block]").set_checked(bool(recompute))
        page.click(START)
        done = "n => document.querySelectorAll('#dock .run.finished').length === n"
        page.wait_for_function(done, arg=1 if recompute else 2, timeout=120_000)
        recipe = run_of(page)["recipe"]
        assert (recipe["precision"], recipe["recompute"], recipe["workers"]) == (precision, recompute, 1)


def test_a_switch_of_engines_that_is_none_is_told_in_the_panel(page):
    open_panel(page, "no switch")
    page.fill("#dock [data-attribute=switch_engine]", "plain")
    page.click(START)
    words = "recipe.switch_engine: 'plain' is not possible here; give ENGINE@STEP"
    page.locator("#dock [data-refused]").filter(has_text=words).wait_for()
    # What the browser notes here is the server's refusal.
    page.complaints.clear()


@pytest.mark.skipif(find_spec("ray") is None, reason="the extra 'cluster' is not installed")
@pytest.mark.parametrize("then", ["pause", pytest.param("pause and go on", marks=pytest.mark.soak)])
def test_two_workers_train_from_the_panel_and_pause_and_go_on(page, then):
    open_panel(page, f"two workers {then}")
    page.fill("#dock [data-attribute=workers]", "2")
    page.fill("#dock [data-attribute=epochs]", "400")
    page.click(START)
    page.wait_for_selector("#dock [data-accuracy]", timeout=PATIENCE)
    page.click("#dock [data-steer=pause]")
    page.wait_for_selector("#dock [data-run-state=paused]", timeout=PATIENCE)
    run = run_of(page)
    assert run["recipe"]["workers"] == 2
    if then == "pause":
        return
    page.click("#dock [data-steer=resume]")
    page.wait_for_selector("#dock [data-run-state=running]", timeout=PATIENCE)
    page.wait_for_function(GOES_ON, arg=[drawing_id(page), run["step"]], timeout=PATIENCE)
    page.click("#dock [data-steer=stop]")
    page.wait_for_selector("#dock [data-run-state=interrupted]", timeout=PATIENCE)
    run = run_of(page)
    assert (run["recipe"]["workers"], run["resumed"]) == (2, 1)
    assert run["inexact"] == ""
