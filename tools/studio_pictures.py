"""Takes the pictures of the studio that the docs show, in a real browser: ``python tools/studio_pictures.py [NAME]``.

Look at them afterwards, and at the difference to those before.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tests" / "browser")]

from foreign import model_of  # noqa: E402
from hands import drop, open_zoo, quick_add, start_empty, train_in_studio  # noqa: E402
from serving import Server  # noqa: E402

from browser import SWITCHES, find_chromium  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
Page = Any


def _start(page: Page) -> None:
    for name in ("lenet_fig21_32-64-512", "capsnet-digits", "googlenet_tv_main"):
        open_zoo(page, name)
    page.evaluate("location.hash = '#/'")
    page.wait_for_selector("[data-zoo=resnet18]")
    page.wait_for_load_state("networkidle")


def _lenet(page: Page) -> None:
    open_zoo(page, "lenet_fig21_32-64-512")
    page.locator(".react-flow__edge .badge").first.click(force=True)
    page.wait_for_selector("#inspector .katex")


def _resnet(page: Page) -> None:
    open_zoo(page, "resnet18")


def _neurons(page: Page) -> None:
    open_zoo(page, "mlp-figure-22")


def _error(page: Page) -> None:
    start_empty(page)
    for typed in ("2D-data 9x9x1", "2D-ReLU kernels=8 kernel=3", "2D-maximum window=2", "1D-softmax 10"):
        quick_add(page, typed)
    page.wait_for_selector(".chip.bad")
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("#inspector .fix")


def _dark(page: Page) -> None:
    page.get_by_text("Dark mode").click()
    open_zoo(page, "capsnet-digits")
    page.keyboard.press("/")
    page.wait_for_selector(".quick")
    page.keyboard.type("2D-re")


def _training(page: Page) -> None:
    open_zoo(page, "lenet-digits")
    page.keyboard.press("r")
    page.wait_for_selector("#dock .recipe option", state="attached")
    page.fill("#dock [data-attribute=epochs]", "40")
    page.keyboard.press("Tab")
    page.click("#dock .recipe .primary:not([disabled])")
    page.wait_for_function(
        "() => /epoch (1[0-9]|2[0-9])\\//.test(document.querySelector('#dock')?.innerText)", timeout=180_000
    )


def _sweep(page: Page) -> None:
    open_zoo(page, "lenet-digits")
    page.keyboard.press("r")
    page.wait_for_selector("#dock .recipe option[value=digits]", state="attached")
    page.fill("#dock [data-attribute=epochs]", "9")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Vary").click()
    page.wait_for_selector("[data-place='recipe.optimiser.rate']")
    for path, values in (
        ("recipe.optimiser.rate", "0.0003..0.03 log"),
        ("recipe.batch", "16, 32, 64, 128"),
        ("drawing.a-b.kernels", "4, 8, 16, 32"),
        ("drawing.g.symbol", "relu, tanh"),
    ):
        page.fill("dialog input[type=search]", path.partition(".")[2])
        page.click(f"[data-place='{path}']")
        page.fill(f"[data-varied='{path}'] input", values)
    page.locator(".vary-method select").select_option("halving")
    page.locator(".vary-method input").first.fill("18")
    page.get_by_role("button", name="Start the sweep").click()
    page.wait_for_selector(".shown-sweep .facts-line .state.finished", timeout=1_800_000)


def _trained(page: Page) -> None:
    """Train LeNet on the digits as a person does, and show it on the network."""
    open_zoo(page, "lenet-digits")
    page.keyboard.press("r")
    page.wait_for_selector("#data option[value=digits]", state="attached")
    page.fill("#dock [data-attribute=epochs]", "12")
    page.keyboard.press("Tab")
    page.click("#dock .recipe .primary:not([disabled])")
    page.wait_for_selector("#dock [data-run-state=finished]", timeout=300_000)
    page.locator("#dock").get_by_text("Show on the network").click()
    page.wait_for_selector("#insight .legend-scale")


def _overlay(page: Page) -> None:
    _trained(page)
    page.keyboard.press("r")
    page.wait_for_selector("[data-example]", timeout=120_000)
    page.locator("[data-example]").nth(3).click()
    page.wait_for_selector("canvas.mosaic")
    page.locator(".react-flow__edge .badge").first.click(force=True)
    page.wait_for_selector(".values .kernels")
    page.mouse.move(700, 700)


def _playground(page: Page) -> None:
    _trained(page)
    page.keyboard.press("p")
    page.wait_for_selector(".pad canvas", timeout=120_000)
    box = page.locator(".pad canvas").bounding_box()
    # A three: two bows, one above the other.
    turns = [math.pi * (-0.75 + i / 8) for i in range(11)]
    bows = [(0.5 + 0.2 * math.cos(turn), y + 0.19 * math.sin(turn)) for y in (0.3, 0.68) for turn in turns]
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in bows]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=3)
    page.mouse.up()
    page.wait_for_selector(".answer[data-best]")
    page.locator(".react-flow__node[data-id=b]").click()
    page.wait_for_selector(".values [data-values=activation]")
    page.mouse.move(700, 480)


def _runs(page: Page) -> None:
    """Train LeNet three times at other rates, and lay the runs over each other."""
    open_zoo(page, "lenet-digits")
    page.keyboard.press("r")
    page.wait_for_selector("#data option[value=digits]", state="attached")
    page.fill("#dock [data-attribute=epochs]", "8")
    for number, rate in enumerate(("0.0003", "0.001", "0.01")):
        page.fill("#dock [data-attribute=rate]", rate)
        page.keyboard.press("Tab")
        page.click("#dock .recipe .primary:not([disabled])")
        page.locator("#dock .run.finished").nth(number).wait_for(timeout=300_000)
    page.evaluate("location.hash = '#/runs'")
    page.wait_for_selector("tr[data-run]")
    rows = page.locator("tr[data-run]")
    rows.first.click()
    for place in range(1, rows.count()):
        rows.nth(place).locator("input").check()
    page.wait_for_selector(".overlaid canvas")
    page.wait_for_timeout(1_000)


def _imported(page: Page) -> None:
    """Drop a model of which two operators have no symbol."""
    stored: dict[str, Any] = {"kernels": np.ones((4, 1, 3, 3), "f4"), "two": [2], "one": [1]}
    stored["matrix"] = np.ones((48, 10), "f4")
    nodes = [
        ("Conv", ["images", "kernels"], ["strokes"], {}),
        ("Relu", ["strokes"], ["found"], {}),
        ("TopK", ["found", "two"], ["best", "places"], {"axis": 2}),
        ("Flatten", ["best"], ["row"], {}),
        ("CumSum", ["row", "one"], ["sums"], {}),
        ("Gemm", ["sums", "matrix"], ["scores"], {}),
        ("Softmax", ["scores"], ["classes"], {}),
    ]
    drop(page, ".start", ranked__onnx=model_of(nodes, {"images": ("n", 1, 8, 8)}, ["classes"], stored))
    page.wait_for_selector(".brought li", timeout=120_000)
    page.wait_for_selector(".chip.bad")


def _found(page: Page, zoo: str, **recipe: object) -> None:
    """Train a network on shapes as a person does, and show what it finds on pictures that it has not seen."""
    train_in_studio(page, zoo, "shapes", {"n": 2000}, "one-cycle", batch=16, **recipe)
    page.locator("#dock").get_by_text("Show on the network").click()
    page.wait_for_selector("#insight .legend-scale")
    page.keyboard.press("w")
    page.wait_for_selector(".found-gallery [data-shown] .marked", timeout=120_000)


def _detector(page: Page) -> None:
    _found(page, "ssd_narrow", epochs=15, rate=0.004, augment="flip=both")


def _masks(page: Page) -> None:
    page.get_by_text("Dark mode").click()
    _found(page, "mask_rcnn_narrow", epochs=12, rate=0.003)


SCENES: dict[str, Callable[[Page], None]] = {
    scene.__name__[1:]: scene
    for scene in (
        *(_start, _lenet, _resnet, _neurons, _error, _dark, _training, _sweep, _overlay, _playground, _runs),
        *(_imported, _detector, _masks),
    )
}


def main(names: list[str]) -> None:
    """Take the named pictures, or all."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=find_chromium(), args=list(SWITCHES))
        for name in names or list(SCENES):
            workspace = Path(folder) / name / "networks"
            workspace.mkdir(parents=True)
            with Server(workspace) as server:
                page = opened.new_context(viewport={"width": 1440, "height": 900}, locale="en-GB").new_page()
                page.goto(f"{server.address}?code={server.code}")
                page.wait_for_selector(".hero-card.new")
                SCENES[name](page)
                page.wait_for_timeout(700)
                page.screenshot(path=PICTURES / f"studio-{name}.png")
                page.context.close()
            print(f"wrote docs/pictures/studio-{name}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
