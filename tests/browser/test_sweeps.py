"""The page of sweeps: started from the training panel, brushed, sorted, the best taken and undone, deleted and back."""

import dataclasses
import math

import pytest
from hands import open_text, open_zoo, serious
from playwright.sync_api import expect

from inkcap.drawing import to_text
from inkcap.recipes import DataSpec, Recipe
from inkcap.sweeps import read_space
from inkcap.sweeps.record import SweepLog
from inkcap.sweeps.running import begin_sweep, plan_sweep
from inkcap.zoo import draw

NAME = "seen-sweep"
LONG = 240_000
"""Milliseconds for two real trainings on a machine that is busy."""


@pytest.fixture(scope="session")
def sweep(studio):
    """A sweep of 3 × 4 trials whose record says that they have ended, but for one that is not possible."""
    space = read_space(
        {"recipe.optimiser.rate": [0.001, 0.01, 0.1], "drawing.b.kernels": [4, 8, 16, 32]},
        draw("lenet-digits"),
        Recipe(DataSpec("digits"), epochs=9),
    )
    made = begin_sweep(studio.workspace, plan_sweep(space, studio.workspace, name=NAME), space)
    log = SweepLog(made)
    log.sweep("running")
    for trial in made.trials.values():
        rate, kernels = trial.values.values()
        loss = 0.2 + abs(math.log10(rate) + 2.1) + 1 / kernels
        told = {"epochs": 9, "value": loss, "best_epoch": 8, "monitor": "val_loss"}
        ended = dataclasses.replace(trial, state="done", run=f"seen-digits-{trial.number:04d}", **told)
        if trial.number == 12:
            ended = dataclasses.replace(trial, state="impossible", reason="it is too wide")
        log.trial(ended)
    log.sweep("finished")
    log.close()
    return made


def show(page):
    page.click("header a[href='#/runs']")
    page.click("header a[href='#/sweeps']")
    page.click(f"[data-sweep='{NAME}']")
    page.wait_for_selector(f"section[aria-label='{NAME}'] .trial-line.best")


def numbers(page):
    return [int(row.get_attribute("data-trial-row")) for row in page.locator("[data-trial-row]").all()]


def test_the_best_comes_first_and_columns_sort(page, sweep):
    show(page)
    assert numbers(page) == [8, 7, 6, 5, 4, 3, 2, 1, 11, 10, 9, 12]
    expect(page.locator("[data-trial-row='8'] .best-mark")).to_have_count(1)
    expect(page.locator(".trial-line")).to_have_count(12)
    expect(page.locator("g.axis")).to_have_count(3)
    page.click("th [data-column='number']")
    assert numbers(page) == list(range(1, 13))
    page.click("th [data-column='drawing.a-b.kernels']")
    page.click("th [data-column='drawing.a-b.kernels']")
    assert numbers(page)[:3] == [8, 4, 12], "among equals the better one comes first"
    expect(page.locator("[data-trial-row='12']")).to_contain_text("it is too wide", use_inner_text=True)
    assert page.locator("[data-trial-row='3'] a").get_attribute("href").startswith("#/runs/")


def test_an_axis_is_brushed_and_a_line_lights_up_its_row(page, sweep):
    show(page)
    reach = page.locator("g[data-axis='recipe.optimiser.rate'] .reach").bounding_box()
    middle, height = reach["x"] + reach["width"] / 2, reach["height"]
    page.mouse.move(middle, reach["y"] + 0.3 * height)
    page.mouse.down()
    page.mouse.move(middle, reach["y"] + 0.7 * height, steps=4)
    page.mouse.up()
    page.wait_for_selector("[data-shown='4']")
    assert sorted(numbers(page)) == [5, 6, 7, 8]
    expect(page.locator(".trial-line.out")).to_have_count(8)
    page.locator("[data-trial-row='6']").hover()
    page.wait_for_selector(".trial-line.lifted")
    page.mouse.click(middle, reach["y"] + 0.5 * height)
    page.wait_for_selector("[data-shown]", state="detached")
    assert len(numbers(page)) == 12


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nobody_is_shut_out(page, sweep, theme):
    show(page)
    if page.evaluate("document.documentElement.dataset.theme ?? 'light'") != theme:
        page.click("header button >> nth=0")
    assert serious(page) == []
    if theme == "dark":
        page.click("header button >> nth=0")


def test_a_sweep_is_deleted_and_comes_back(page, sweep):
    show(page)
    page.locator(".shown-sweep").get_by_role("button", name="Delete").click()
    page.wait_for_selector(f"[data-sweep='{NAME}']", state="detached")
    page.locator(".notice").get_by_role("button", name="Undo").click()
    page.wait_for_selector(f"[data-sweep='{NAME}']")
    assert (sweep.path / "sweep.json").is_file()


def test_a_sweep_is_started_from_the_training_panel_and_its_best_is_taken_and_undone(page, studio):
    open_zoo(page, "lenet-digits")
    page.keyboard.press("r")
    page.wait_for_selector("#dock .recipe option[value=digits]", state="attached", timeout=LONG)
    page.fill("#dock [data-attribute=epochs]", "1")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Vary").click()
    page.wait_for_selector("[data-place='recipe.optimiser.rate']")
    page.fill("dialog input[type=search]", "g.dimension")
    page.click("[data-place='drawing.g.dimension']")
    field = page.locator("[data-varied='drawing.g.dimension'] input")
    field.fill("16, 0")
    assert serious(page) == []
    page.get_by_role("button", name="Start the sweep").click()
    page.wait_for_selector("dialog [role=alert]")
    expect(page.locator("dialog [role=alert]")).to_contain_text("must be from 1 to", use_inner_text=True)
    page.complaints.clear()
    field.fill("16, 24")
    page.wait_for_selector("[data-count='2']")
    page.get_by_role("button", name="Start the sweep").click()
    page.wait_for_selector(".shown-sweep h2", timeout=LONG)
    page.wait_for_selector("[data-ended='2']", timeout=LONG)
    page.wait_for_selector(".shown-sweep .facts-line .state.finished", timeout=LONG)
    best = page.locator("tr:has(.best-mark) td.number").nth(1).inner_text()
    assert best in ("16", "24")
    page.get_by_role("button", name="Take the best").click()
    page.wait_for_selector("#dock .again")
    shown = "() => document.querySelector('#canvas')?.innerText.includes(arguments_)"
    page.wait_for_function(shown.replace("arguments_", f"'{best}×256'"))
    page.locator(".notice").get_by_role("button", name="Undo").click()
    page.wait_for_function(shown.replace("arguments_", "'128×256'"))


def test_an_empty_page_says_what_to_do(page, studio):
    page.route("**/api/sweeps", lambda route: route.fulfill(json=[]))
    page.evaluate("location.hash = '#/sweeps'")
    page.get_by_text("No sweep yet").wait_for()
    page.unroute("**/api/sweeps")
    open_text(page, to_text(draw("lenet-digits")), "after")
