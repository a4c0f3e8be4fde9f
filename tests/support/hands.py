"""Hands at the studio's page: the gestures that browser tests share."""


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
