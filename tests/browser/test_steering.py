"""A training is paused, gone on with and continued by hand, in the dock and on the page of runs."""

from hands import expect_vertices, open_zoo
from playwright.sync_api import expect


def state(page, where, wanted):
    page.wait_for_selector(f"{where} [data-run-state={wanted}]", timeout=90_000)


def test_a_run_is_paused_in_the_dock_resumed_and_continued_on_the_page_of_runs(page, studio):
    open_zoo(page, "lenet-digits")
    page.keyboard.press("r")
    page.fill("#dock [data-attribute=epochs]", "400")
    page.keyboard.press("Tab")
    page.fill("#dock [data-attribute=batch]", "512")
    page.keyboard.press("Tab")
    page.click("#dock .recipe .primary:not([disabled])")
    page.wait_for_selector("#dock [data-accuracy]", timeout=90_000)
    page.wait_for_selector("#dock .run-facts >> text=/learning rate .*samples.s .* left/")
    page.click("#dock [data-steer=pause]")
    state(page, "#dock", "paused")
    assert 0 < float(page.get_attribute("#dock .run-progress progress", "value")) < 1
    page.click("#dock [data-steer=resume]")
    state(page, "#dock", "running")
    # The start screen shows it too, with its bar.
    page.click(".logo")
    # Other tests leave runs of other drawings.
    page.wait_for_selector("[data-going^=LeNet] progress")
    page.click("[data-going^=LeNet] [data-steer=stop]")
    page.wait_for_selector("[data-going^=LeNet]", state="detached")
    page.click("header a[href='#/runs']")
    page.locator("tr[data-state=interrupted]").first.click()
    state(page, ".chosen-runs", "interrupted")
    expect(page.locator(".facts-line")).to_contain_text("stopped by SIGINT", use_inner_text=True)
    page.click(".chosen-runs [data-tab=recipe]")
    page.wait_for_selector("[data-field=epochs]")


def test_a_finished_run_goes_on_for_more_epochs_and_then_with_the_changed_drawing(page):
    open_zoo(page, "lenet-digits")
    page.keyboard.press("r")
    page.fill("#dock [data-attribute=epochs]", "1")
    page.keyboard.press("Tab")
    page.click("#dock .recipe .primary:not([disabled])")
    state(page, "#dock", "finished")
    page.click("#dock [data-steer=continue]")
    page.fill("#more-epochs", "1")
    page.keyboard.press("Enter")
    page.wait_for_selector("#dock .run-facts >> text=epoch 2/2", timeout=90_000)
    state(page, "#dock", "finished")
    expect(page.locator("[data-mark=inexact]")).to_have_count(0)
    expect(page.locator("[data-steer=changed]")).to_have_count(0)
    page.click("#canvas [data-id='g']")
    page.fill("#inspector [data-attribute=dimension]", "64")
    page.keyboard.press("Tab")
    page.click("[data-steer=changed]")
    page.wait_for_selector("dialog [data-kept]", timeout=90_000)
    # Keys in a dialog are meant for it: they neither delete the chosen capsule nor leave the dialog open.
    page.keyboard.press("Delete")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    expect_vertices(page, 8)
    page.click("[data-steer=changed]")
    page.wait_for_selector("dialog [data-kept]", timeout=90_000)
    assert page.inner_text("dialog [data-kept]") == "a-b.weight, b.bias, c-d.weight, d.bias, h.bias"
    expect(page.locator("dialog [data-anew]")).to_contain_text("f-g.weight its shape is 64×256", use_inner_text=True)
    expect(page.locator("dialog [data-memory]")).to_contain_text("to 5 of them", use_inner_text=True)
    page.click("[data-start=changed]")
    page.wait_for_selector("dialog", state="detached", timeout=90_000)
    page.wait_for_selector("#dock .run.on.finished", timeout=90_000)
    page.click("header a[href='#/runs']")
    page.locator("tr[data-state=finished]").first.click()
    page.click("[data-tab=recipe]")
    page.wait_for_selector("[data-origin]")
    assert page.inner_text("[data-origin] [data-kept]").startswith("a-b.weight")
