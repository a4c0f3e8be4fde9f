"""A drawing of the zoo is one click away, says why it cannot start, and trains until its accuracy is seen."""

import pytest
from hands import drawing_id

START = "#dock .recipe .primary:not([disabled])"
REFUSED = "#dock .recipe [data-refused]"
WRONG = {
    "resize": ("32", "resize=32: a size is written HEIGHTxWIDTH. Write for example resize=28x28."),
    "augment": ("flop=1", "augment: flop is not known. Did you mean flip?"),
}


def fill(page, name: str, text: str) -> None:
    page.fill(f"#dock [data-attribute={name}]", text)


@pytest.fixture(scope="module")
def panel(open_page):
    """Open a drawing of the zoo with its training panel."""
    open_page.click("[data-zoo='lenet-digits']")
    open_page.wait_for_selector(".chip.ok")
    open_page.keyboard.press("r")
    open_page.wait_for_selector("#data option[value='digits']", state="attached", timeout=90_000)
    open_page.locator("#dock .recipe details summary").click()
    return open_page


def runs_of(page) -> list[dict[str, object]]:
    asked = "async id => (await (await fetch(`/api/runs?drawing=${id}`)).json())"
    return page.evaluate(asked, drawing_id(page))


@pytest.mark.parametrize("field", WRONG)
def test_a_mistake_in_how_data_are_prepared_is_told_in_the_panel_and_no_run_starts(panel, field):
    text, words = WRONG[field]
    fill(panel, field, text)
    panel.click(START)
    panel.locator(REFUSED).filter(has_text=words).wait_for()
    assert panel.locator(".notice.bad").count() == 0
    assert runs_of(panel) == []
    # What the browser notes here is the server's refusal.
    panel.complaints.clear()
    fill(panel, field, "")


def test_a_field_that_shows_a_mistake_is_seen_again_and_nothing_is_trained_in_its_place(panel):
    fill(panel, "clip", "much")
    panel.keyboard.press("Tab")
    panel.wait_for_selector("#dock .recipe .wrong")
    panel.locator("#dock .recipe details summary").click()
    panel.click(START)
    panel.wait_for_selector("#dock .recipe details[open] [data-attribute=clip]:focus")
    assert runs_of(panel) == []
    fill(panel, "clip", "")


def test_lenet_trains_after_one_click_and_shows_its_accuracy(panel):
    fill(panel, "epochs", "many")
    panel.keyboard.press("Tab")
    panel.wait_for_selector("#dock .recipe .wrong")
    # The field is left by the very click that starts.
    fill(panel, "epochs", "2")
    panel.click(START)
    panel.wait_for_selector("#dock [data-accuracy]", timeout=90_000)
    assert panel.locator(REFUSED).count() == 0
    panel.wait_for_selector("#dock .curve canvas")
    panel.wait_for_selector("#dock [data-run-state=finished], #dock [data-run-state=done]", timeout=90_000)
    assert float(panel.get_attribute("#dock [data-accuracy]", "data-accuracy")) > 0.7
    assert runs_of(panel)[0]["epochs"] == 2
