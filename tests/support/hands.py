"""Hands at the studio's page: the gestures that browser tests share."""

from front_end import SOURCE

AXE = SOURCE / "node_modules" / "axe-core" / "axe.min.js"


def serious(page) -> list[str]:
    """List what shuts people out of the page, as axe sees it."""
    # The page's own policy lets no foreign script in; the test speaks through the debugger instead.
    page.evaluate(AXE.read_text(encoding="utf-8") + "; undefined")
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {one['help']} ({one['nodes'][0]['html'][:120]})"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


def start_empty(page):
    page.click(".hero-card.new")
    page.wait_for_selector(".empty-canvas")


def expect_total(page, number: str):
    page.wait_for_function(
        "n => document.querySelector('[data-total=parameters]')?.innerText.replace(/\\D/g, '') === n", arg=number
    )


def expect_vertices(page, number: int):
    page.wait_for_selector(f"#canvas[data-vertices='{number}']")


def quick_add(page, text: str):
    """Press / and type: one gesture of a person who draws by keys."""
    page.keyboard.press("/")
    page.wait_for_selector(".quick")
    page.keyboard.type(text)
    page.keyboard.press("Enter")
    page.wait_for_selector(".quick", state="detached")
