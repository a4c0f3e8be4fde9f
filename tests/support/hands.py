"""Hands at the studio's page: the gestures that browser tests share."""

import base64
import re

from front_end import SOURCE
from inkcap.zoo import NETWORKS

AXE = SOURCE / "node_modules" / "axe-core" / "axe.min.js"


DROP = """
([selector, files]) => {
  const data = new DataTransfer();
  for (const [name, text] of files)
    data.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], name));
  const target = document.querySelector(selector);
  for (const type of ['dragover', 'drop'])
    target.dispatchEvent(new DragEvent(type, {dataTransfer: data, bubbles: true, cancelable: true}));
}
"""


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


def select_vertex(page, selector: str):
    """Click a vertex until it is selected: while the view still glides, a click may meet the paper beside it."""
    for _ in range(20):
        page.locator(selector).click()
        if page.locator(f"{selector}.selected").count():
            return
        page.wait_for_timeout(200)
    page.wait_for_selector(f"{selector}.selected")


def open_text(page, text: str, name: str):
    """Put a drawing's text into the workspace and open it."""
    _open_new(page, {"name": name, "text": text})


def open_zoo(page, name: str):
    """Open a network of the zoo as a new drawing and wait until it is checked and seen."""
    _open_new(page, {"name": NETWORKS[name].title, "zoo": name})
    page.wait_for_selector("#canvas[data-vertices]:not([data-vertices='0'])")
    page.wait_for_selector(".chip.ok")


def _open_new(page, what: dict[str, str]):
    made = page.evaluate(
        """async what => {
            const answer = await fetch("/api/drawings", {
                method: "POST",
                headers: { "Content-Type": "application/json" },
                body: JSON.stringify(what),
            });
            return answer.json();
        }""",
        what,
    )
    assert "id" in made, made
    page.evaluate("id => { location.hash = `#/drawing/${id}` }", made["id"])
    page.wait_for_selector(f"#canvas[data-drawing='{made['id']}']")


def drop(page, selector: str, **files: bytes):
    """Drop files on a part of the page; two underscores in a name are its dot."""
    named = [[name.replace("__", "."), base64.b64encode(content).decode()] for name, content in files.items()]
    page.evaluate(DROP, [selector, named])


def drawing_id(page) -> str:
    """Give the id of the drawing that is open."""
    found = re.search(r"#/drawing/([\w-]+)", page.url)
    assert found
    return found[1]


LEARNT = 1_800_000
"""Milliseconds that no training of the guides takes, on a busy machine either."""


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


def train_in_studio(page, zoo: str, data: str, options: dict[str, object], schedule: str, **recipe: object) -> str:
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
    page.wait_for_selector("#dock [data-run-state=finished]", timeout=LEARNT)
    return page.evaluate("async () => (await (await fetch('/api/runs')).json())[0].id")
