"""Every kind of mistake is seen on its very thing, says what is wrong, and goes away by the offered buttons."""

from __future__ import annotations

import pytest
from hands import open_text
from wrong_drawings import CASES

from inkcap.network import RULES, check

MOST_FIXES = 6
SAID = "said => document.querySelector('#inspector')?.innerText.includes(said)"


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "empty"])
def test_a_mistake_is_marked_and_mended(open_page, rule):
    page, drawing = open_page, CASES[rule]()
    report = check(drawing)
    found = next(d for d in report.diagnostics if d.rule == rule)
    open_text(page, drawing.to_text(), rule)
    page.wait_for_function(SAID, arg=found.message)
    page.wait_for_selector(".chip.ok" if report.well_formed else ".chip.bad")
    drawn = {*drawing.capsules, *drawing.uses, *drawing.connections}
    # What is wrong with a group's definition stands beside the drawing: nothing drawn is at fault.
    if any(where.split(".", 1)[0] in drawn for where in found.where):
        page.locator("#canvas .flaw-mark").first.wait_for(state="attached")
    pressed = 0
    while pressed < MOST_FIXES and (offered := page.locator("#inspector .fix")).count():
        label = offered.first.inner_text()
        offered.first.click()
        page.wait_for_function(
            "gone => ![...document.querySelectorAll('#inspector .fix')].some(one => one.innerText === gone)", arg=label
        )
        pressed += 1
    assert bool(pressed) >= (found.fix is not None), "a fix was offered to Python, but not here"
    assert not page.locator("#inspector .fix").count()
    for _ in range(pressed):
        page.keyboard.press("Control+z")
    if pressed:
        page.wait_for_function(
            "said => document.querySelector('#inspector').innerText.includes(said)", arg=found.message
        )
