"""What networks drawn to be trained come to in the studio, by the hands of a person: held-out pictures, two cores."""

import re

import pytest
from hands import open_zoo

MINUTES = 30
"""Longer than any of them takes on a busy machine; what they took is in the guides."""


def choose_data(page, name: str, options: dict[str, object]) -> None:
    """Choose data by their name, with options where some are given."""
    page.wait_for_selector(f"#data option[value='{name}']", state="attached")
    if not options:
        page.select_option("#data", name)
        return
    page.select_option("#data", label="Own data …")
    page.fill("dialog [name=path]", name)
    page.get_by_role("button", name="Look into it").click()
    page.wait_for_selector("dialog .data-outline", timeout=120_000)
    page.locator("dialog details summary").click()
    for option, value in options.items():
        page.fill(f"dialog [data-option={option}]", str(value))
        page.keyboard.press("Enter")
        told = re.compile(str(value).replace("000", ".?000"))
        page.locator("dialog .data-outline").filter(has_text=told).wait_for(timeout=120_000)
    page.locator("dialog footer .primary").click()


def train(page, zoo: str, data: str, options: dict[str, object], schedule: str, **recipe: object) -> str:
    """Open a network, choose data and recipe in the panel, start, and give the name of the finished run."""
    open_zoo(page, zoo)
    page.keyboard.press("r")
    choose_data(page, data, options)
    page.locator("#dock .recipe details summary").click()
    if schedule:
        page.select_option("#schedule", schedule)
    for name, value in recipe.items():
        page.fill(f"#dock [data-attribute={name}]", str(value))
        page.keyboard.press("Tab")
    page.click("#dock .recipe .primary:not([disabled])")
    page.wait_for_selector("#dock [data-run-state=finished]", timeout=MINUTES * 60_000)
    return page.evaluate("async () => (await (await fetch('/api/runs')).json())[0].id")


MANY = {"n": 2000}
SMALL = {"batch": 16, "epochs": 12, "rate": 0.003}
CASES = [
    ("ssd_narrow", "shapes", MANY, "one-cycle", SMALL | {"rate": 0.004, "augment": "flip=both"}, "val_map", 0.5),
    ("faster_rcnn_narrow", "shapes", MANY, "one-cycle", SMALL, "val_map", 0.5),
    ("mask_rcnn_narrow", "shapes", MANY, "one-cycle", SMALL, "val_mean_iou", 0.7),
    ("fcn_narrow", "shapes", MANY, "one-cycle", SMALL | {"rate": 0.01, "augment": "flip=both"}, "val_mean_iou", 0.7),
    ("facenet_narrow", "digits", {}, "", {"batch": 64, "epochs": 12, "resize": "32x32"}, "val_retrieval", 0.95),
    ("dqn_small", "grid-world", {}, "cosine", {"epochs": 20}, "val_solved", 0.9),
]


@pytest.mark.soak
@pytest.mark.parametrize(("zoo", "data", "options", "schedule", "recipe", "measure", "least"), CASES)
def test_it_learns(page, zoo, data, options, schedule, recipe, measure, least):
    run = train(page, zoo, data, options, schedule, **recipe)
    found = page.evaluate("async (run) => (await (await fetch(`/api/runs/${run}`)).json()).values", run)
    print(zoo, found)
    assert found[measure] >= least
