"""A drawing of the zoo is one click away, and trains from the dock until its accuracy is seen."""


def test_lenet_trains_and_shows_its_accuracy(page):
    page.wait_for_selector("[data-zoo='lenet-digits']")
    page.click("[data-zoo='lenet-digits']")
    page.wait_for_selector(".chip.ok")
    page.keyboard.press("r")
    page.wait_for_selector("#dock .recipe")
    page.fill("#dock [data-attribute=epochs]", "2")
    page.keyboard.press("Tab")
    page.click("#dock .recipe .primary:not([disabled])")
    page.wait_for_selector("#dock [data-accuracy]", timeout=90_000)
    page.wait_for_selector("#dock .curve canvas")
    page.wait_for_selector("#dock [data-run-state=finished], #dock [data-run-state=done]", timeout=90_000)
    assert float(page.get_attribute("#dock [data-accuracy]", "data-accuracy")) > 0.7
