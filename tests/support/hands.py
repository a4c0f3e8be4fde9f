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
