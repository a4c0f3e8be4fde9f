"""The page of runs: found, chosen, overlaid, compared, noted, deleted and brought back, and trained again."""

import json
import math
import re

import pytest
from hands import open_zoo, serious
from playwright.sync_api import expect

from inkcap.drawing import from_text, to_text
from inkcap.recipes import DataSpec, MetricWriter, OptimiserSpec, Recipe, RunFolder, layout
from inkcap.zoo import draw


def make_run(workspace, drawing, rate, state="finished", **more):
    run = RunFolder.create(workspace, drawing.name, "digits")
    run.write_text(layout.DRAWING, to_text(drawing))
    run.write_recipe(Recipe(DataSpec("digits"), epochs=10, batch=100, optimiser=OptimiserSpec("adam", rate), **more))
    run.write_json(layout.ENVIRONMENT, {})
    run.write_json(layout.DATA, {"split": {"training_samples": 1000}})
    run = run.update(state="running")
    last = 100 if state == "finished" else 55
    with MetricWriter(run.path / layout.METRICS) as log:
        for step in range(1, last + 1):
            loss = 2.3 * math.exp(-rate * step * 20) + 0.05 * math.sin(step * 7.0) ** 2 + 0.02
            log.write("step", (step - 1) // 10 + 1, step, {"loss": loss, "rate": rate})
            if step % 10 == 0:
                values = {"loss": loss, "rate": rate, "val_loss": loss * 1.1, "val_accuracy": 1 - loss / 2.5}
                log.write("epoch", step // 10, step, values)
    if state == "running":
        return run
    values = {"loss": loss, "val_loss": loss * 1.1, "val_accuracy": 1 - loss / 2.5}
    best = {"best_epoch": 9, "best_value": loss * 1.05, "monitor": "loss", "seconds": 12.5}
    run.write_json(layout.SUMMARY, {"epochs": 10, "steps": last, "values": values, "state": state, **best})
    return run.update(state=state, reason="all 10 epochs done", finished=layout.now())


@pytest.fixture(scope="session")
def runs(studio):
    """Three runs that have ended, of two drawings that differ, and one that goes on."""
    workspace = studio.workspace
    # A name of its own: other tests leave runs in the same workspace.
    wider = json.loads(to_text(draw("lenet-digits"))) | {"name": "Seen"}
    drawing = from_text(json.dumps(wider))
    first = next(line for line in wider["connections"] if line["symbol"] == "convolution")
    first["attributes"]["kernels"] = 48
    made = [
        make_run(workspace, drawing, 0.001),
        make_run(workspace, drawing, 0.004, seed=3),
        make_run(workspace, from_text(json.dumps(wider)), 0.002),
        make_run(workspace, drawing, 0.003, state="running"),
    ]
    return [run.id for run in made]


def show_runs(page):
    page.click("header a[href='#/runs']")
    page.fill("input[type=search]", "seen")
    page.wait_for_selector("tr[data-run]")


def row(page, name):
    return page.locator(f"tr[data-run='{name}']")


def test_runs_are_found_sorted_chosen_and_compared(page, runs):
    show_runs(page)
    quicker, going = runs[1], runs[3]
    expect(page.locator("tr[data-run]")).to_have_count(4)
    assert 0.5 < float(row(page, going).locator("progress").get_attribute("value")) < 0.6
    row(page, going).focus()
    page.keyboard.press("/")
    page.keyboard.press("End")
    page.keyboard.type(" finished")
    page.wait_for_selector("[data-count='3']")
    page.click("[data-column=best]")
    assert page.locator("tr[data-run]").first.get_attribute("data-run") == quicker
    # By the keys alone: the first row, and the second beside it.
    page.locator("tr[data-run]").first.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    page.wait_for_selector(".overlaid canvas")
    expect(page.locator("[aria-selected=true]")).to_have_count(2)
    expect(page.locator(".run-legend li")).to_have_count(2)
    page.get_by_text("Accuracy", exact=True).last.click()
    page.locator(".smoothing input").fill("0.6")
    page.get_by_label("log scale").check()
    assert re.search("Accuracy: ", page.get_attribute(".overlaid", "aria-label"))
    page.click("[data-tab=recipe]")
    fields = page.locator(".recipe-table tbody tr")
    page.wait_for_selector("[data-field='optimiser.rate']")
    assert {fields.nth(i).get_attribute("data-field") for i in range(fields.count())} == {"optimiser.rate", "seed"}
    page.keyboard.press("Escape")


def test_drawings_of_two_runs_are_laid_over_each_other(page, runs):
    show_runs(page)
    row(page, runs[0]).click()
    row(page, runs[2]).locator("input").check()
    page.click("[data-tab=drawing]")
    page.wait_for_selector(".comparing .react-flow__node")
    expect(page.locator(".drawing-differences [data-difference]").first).to_contain_text("48", use_inner_text=True)


def test_notes_and_tags_are_kept_and_a_deleted_run_comes_back(page, runs):
    show_runs(page)
    row(page, runs[0]).click()
    page.click("[data-tab=notes]")
    page.fill("#run-tags", "baseline, slow")
    page.fill("#run-note", "The first one.")
    page.wait_for_selector(f"tr[data-run='{runs[0]}'] em >> text=+1")
    page.fill("input[type=search]", "seen first one")
    page.wait_for_selector("[data-count='1']")
    page.fill("input[type=search]", "")
    page.locator(".run-actions .danger").click()
    row(page, runs[0]).wait_for(state="detached")
    page.locator(".notice button").first.click()
    page.wait_for_selector(f"tr[data-run='{runs[0]}'] em >> text=baseline")


def test_a_run_is_trained_again_from_the_dock_with_its_recipe(page, runs):
    open_zoo(page, "lenet-digits")
    page.click("header a[href='#/runs']")
    row(page, runs[1]).click()
    page.get_by_text("Train again with").click()
    page.wait_for_selector("#dock .again")
    # The form fills itself once the fields of a recipe are known, which the answer of the server decides.
    for field, value in {"seed": "3", "batch": "100", "rate": "0.004"}.items():
        expect(page.locator(f"#dock [data-attribute={field}]")).to_have_value(value)
    expect(page.locator("#data")).to_have_value("digits")
    page.wait_for_selector("#data option[value=iris]", state="attached")
    page.fill("#dock [data-attribute=epochs]", "1")
    page.keyboard.press("Tab")
    sent = []
    page.on("request", lambda asked: sent.append(asked.post_data_json) if asked.url.endswith("/train") else None)
    page.click("#dock .recipe .primary:not([disabled])")
    page.wait_for_selector("#dock [data-run-state=finished]", timeout=90_000)
    (asked,) = sent
    assert asked["data"]["name"] == "digits"
    assert (asked["recipe"]["epochs"], asked["recipe"]["seed"], asked["recipe"]["optimiser"]["rate"]) == (1, 3, 0.004)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_can_be_used_by_those_who_do_not_see_it(page, runs, theme):
    show_runs(page)
    if theme == "dark":
        page.get_by_text("Dark mode").click()
    row(page, runs[0]).click()
    row(page, runs[1]).locator("input").check()
    page.wait_for_selector(".overlaid canvas")
    assert not serious(page)


def test_the_page_speaks_chinese(page, runs):
    show_runs(page)
    page.get_by_text("中文").click()
    page.wait_for_selector("text=开始时间")
    assert row(page, runs[0]).inner_text().count("已完成") == 1
